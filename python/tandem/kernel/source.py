"""Python objects that kernels reach by their source text, and the names that such a text reads."""

import ast
import functools
import inspect
import re
import sys
import textwrap
import typing


class _Uses(ast.NodeVisitor):
    """The attribute chains and bare names a function reads: {"tl": {"load": {}}, "BLOCK": {}}."""

    def __init__(self):
        self.tree = {}

    def visit_Name(self, node):
        self.tree.setdefault(node.id, {})

    def visit_Attribute(self, node):
        chain = [node.attr]
        at = node.value
        while isinstance(at, ast.Attribute):
            chain.append(at.attr)
            at = at.value
        if not isinstance(at, ast.Name):
            self.generic_visit(node)
            return
        level = self.tree.setdefault(at.id, {})
        for name in reversed(chain):
            level = level.setdefault(name, {})


def uses_of(source):
    visitor = _Uses()
    visitor.visit(ast.parse(textwrap.dedent(source)))
    return visitor.tree


_OF_CONSTANTS = (ast.Call, ast.keyword, ast.Attribute, ast.Load, ast.Constant, ast.UnaryOp, ast.USub)


class _HostCalls(ast.NodeVisitor):
    """The expressions, as large as they go, that call something and read nothing but constants and names from `outside`."""

    def __init__(self, outside):
        self.outside = outside
        self.found = []

    def visit(self, node):
        if isinstance(node, (ast.Call, ast.Attribute)) and self._calls_on_constants(node):
            self.found.append(node)
        else:
            self.generic_visit(node)

    def _calls_on_constants(self, node):
        if not all(n.id in self.outside if isinstance(n, ast.Name) else isinstance(n, _OF_CONSTANTS) for n in ast.walk(node)):
            return False
        functions = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
        return bool(functions) and all(isinstance(n, (ast.Name, ast.Attribute, ast.Load)) for f in functions for n in ast.walk(f))


def source_of(target):
    """(file, first line, text) of a function or class, decorators included."""
    try:
        lines, line = inspect.getsourcelines(target)
    except (OSError, TypeError) as error:
        raise ValueError(f"the source of `{target.__name__}` cannot be read ({error}); define kernels in a file") from None
    file = inspect.getsourcefile(target) or "<unknown>"
    return file, max(line, 1), "".join(lines)


class Source:
    """A Python object that kernels reach by its source text."""

    kind = "jit"

    def __init__(self, target):
        self.target = target
        self.__name__ = target.__name__
        self.__doc__ = target.__doc__
        self.__module__ = target.__module__
        self.__wrapped__ = target
        self._text = None
        self.hash = None  # of `cache_key`, once asked for

    def _load(self):
        if self._text is None:
            self._text = source_of(self.target)
        return self._text

    @property
    def file(self):
        """The file that the text is of, or the name of a notebook's cell."""
        return self._load()[0] or inspect.getsourcefile(self.target)

    @property
    def line(self):
        """The first line of the text in its file, decorators included."""
        return self._load()[1]

    @property
    def source(self):
        """The text, decorators included."""
        return self._load()[2]

    @property
    def src(self):
        """The text from its `def` or `class` on: without decorators and without the indentation of its first line."""
        text = textwrap.dedent(self.source)
        return text[re.search(r"^(def|class)\s", text, re.MULTILINE).start() :]

    @functools.cached_property
    def raw_src(self):
        """The lines of the function in its file, decorators included (Triton's name); a library may say others."""
        return self.source.splitlines(keepends=True)

    @property
    def starting_line_number(self):
        """`line` under Triton's name; libraries that write kernels set it to the place of their template."""
        return self.line

    @starting_line_number.setter
    def starting_line_number(self, line):
        file, _, text = self._load()
        self._text = file, line, text
        self.hash = None

    def _unsafe_update_src(self, text):
        """Replaces the text that compilations from now on read (Triton's name). What is compiled already stays as it is.
        The file is from now on the one that the function's code names, which libraries replace, too."""
        self._text = None, self.line, text
        self.hash = None
        self.__dict__.pop("uses", None)

    def get_capture_scope(self):
        """The names from outside that the function can read, each with its value (Triton's name)."""
        return self.target.__globals__ | inspect.getclosurevars(self.target).nonlocals

    def functions(self):
        """The Python functions that the text defines."""
        return [self.target]

    @property
    def namespace(self):
        """The names of the module that the text stands in."""
        return self.target.__globals__

    @functools.cached_property
    def uses(self):
        """The names from outside that the text reads, each with the attributes it reads of it: {"tl": {"load": {}}}."""
        code = getattr(self.target, "__code__", None)
        own = {*code.co_varnames, *code.co_cellvars} if code else ()
        return {name: attributes for name, attributes in uses_of(self.source).items() if name not in own}

    @functools.cached_property
    def host_calls(self):
        """The calls in the body that read only constants and names from outside: [(their place in the file, the expression)]."""
        text = textwrap.dedent(self.source)
        indent = len(self.source.partition("\n")[0]) - len(text.partition("\n")[0])
        calls = _HostCalls(self.uses.keys())
        for node in ast.parse(text).body:
            for statement in getattr(node, "body", ()):
                calls.visit(statement)
        line = lambda number: number + self.line - 1
        place = lambda n: f"{line(n.lineno)}:{n.col_offset + indent + 1}-{line(n.end_lineno)}:{n.end_col_offset + indent + 1}"
        return [(place(node), node) for node in calls.found]

    def place_of(self, name):
        """Returns (owner, key) of the place that a name from outside refers to: a closure's cell, or the namespace
        of the module."""
        for function in self.functions():
            if name in function.__code__.co_freevars:
                return function.__closure__[function.__code__.co_freevars.index(name)], "cell_contents"
        return self.namespace, name


class ConstantFunction(Source):
    """A function of compile time: one under `tl.constexpr`."""

    kind = "constexpr_function"


@functools.cache
def constant_function(function):
    return ConstantFunction(function)


class Aggregate(Source):
    """A class whose instances kernels carry as a bundle of their fields (Triton's `@aggregate`)."""

    kind = "aggregate"
    namespace = None

    def __init__(self, target):
        super().__init__(target)
        self.namespace = vars(sys.modules[target.__module__])  # another module may have the name later

    def functions(self):
        """The methods of the class."""
        members = (m.target if isinstance(m, Source) else getattr(m, "__func__", m) for m in vars(self.target).values())
        return [m for m in members if inspect.isfunction(m)]

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"the aggregate `{self.__name__}` can be made only inside a kernel")


@typing.dataclass_transform()  # for checkers of types: without an `__init__` the fields are its arguments
def aggregate(cls):
    """A class whose members kernels may use: its fields are values, its methods functions of the kernel language."""
    return Aggregate(cls)
