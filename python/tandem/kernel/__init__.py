"""A kernel before anybody runs it: names of the language, source texts, element types, the compile request."""
