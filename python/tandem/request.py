"""Builds the compile request: the functions a kernel reaches, and the values of the global names they use."""

import ast
import enum
import inspect
import textwrap
import types

from ._names import Builtin, DType, constexpr, importable


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


def _uses(source):
    visitor = _Uses()
    visitor.visit(ast.parse(textwrap.dedent(source)))
    return visitor.tree


def _environment(function):
    names = dict(function.__globals__)
    if function.__closure__:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__):
            try:
                names[name] = cell.cell_contents
            except ValueError:
                pass
    return names


_CONSTANTS = (bool, int, float, str, tuple, constexpr, DType)


class RequestBuilder:
    """Collects functions once each. `functions` is the request's table."""

    def __init__(self):
        self.functions = {}
        self.items = []
        self.constants = []  # (namespace, name, value) of the global constants that functions use
        self._ids = {}

    def value(self, x, attributes=None):
        """A VALUE of the request. `attributes`: the members of `x` that are used, for modules and other containers."""
        from .jit import Aggregate, JITFunction
        if isinstance(x, constexpr):
            x = x.value
        if x is None:
            return {"none": True}
        if isinstance(x, bool):
            return {"bool": x}
        if isinstance(x, enum.Enum) and not isinstance(x, (int, str)):
            x = x.value
        if isinstance(x, int):
            return {"int": str(int(x))}
        if isinstance(x, float):
            return {"float": repr(float(x))}
        if isinstance(x, str):
            return {"str": str(x)}
        if isinstance(x, DType):
            return {"dtype": x.name}
        if isinstance(x, Builtin):
            return {"builtin": x.canonical}
        if isinstance(x, (JITFunction, Aggregate)):
            return {"function": self.add(x)}
        if isinstance(x, type) and issubclass(x, tuple) and hasattr(x, "_fields"):
            return {"function": self._add_named_tuple(x)}
        if isinstance(x, tuple):
            value = {"tuple": [self.value(e) for e in x]}
            if hasattr(x, "_fields"):
                value["names"] = list(x._fields)
            return value
        if isinstance(x, list):
            return {"list": [self.value(e) for e in x]}
        if isinstance(x, types.ModuleType) and hasattr(x, "__tandem_module__"):
            return {"module": importable(x.__tandem_module__)}
        if attributes and not isinstance(x, dict):
            members = {}
            for name, inner in attributes.items():
                try:
                    members[name] = self.value(getattr(x, name), inner)
                except AttributeError:
                    continue
            return {"namespace": members, "name": getattr(x, "__name__", type(x).__name__)}
        if hasattr(x, "item") and getattr(x, "shape", None) == ():  # a NumPy scalar
            return self.value(x.item())
        if isinstance(x, types.FunctionType):
            return {"foreign": "a Python function without `@tandem.jit`"}
        return {"foreign": f"a `{type(x).__name__}` object of the host"}

    def _new_id(self, item):
        ident = self._ids[id(item)] = f"{item.__name__}#{len(self._ids)}"
        self.items.append(item)
        return ident

    def _add_named_tuple(self, cls):
        if id(cls) not in self._ids:
            defaults = {name: self.value(value) for name, value in cls._field_defaults.items()}
            entry = {"kind": "namedtuple", "name": cls.__name__, "fields": list(cls._fields), "defaults": defaults}
            self.functions[self._new_id(cls)] = entry
        return self._ids[id(cls)]

    def add(self, item):
        """The id of a jit function, constexpr function or aggregate class."""
        if id(item) in self._ids:
            return self._ids[id(item)]
        ident = self._new_id(item)
        entry = {"kind": item.kind, "name": item.__name__, "file": item.file, "line": item.line, "source": item.source}
        self.functions[ident] = entry
        environment, uses = item.environment(), _uses(item.source)
        entry["globals"] = {name: self.value(environment[name], inner) for name, inner in uses.items() if name in environment}
        namespace = getattr(item.target, "__globals__", {})
        self.constants += [(namespace, name, namespace[name]) for name in uses if isinstance(namespace.get(name), _CONSTANTS)]
        entry["defaults"] = {name: self.value(value) for name, value in item.defaults().items()}
        return ident


def source_of(target):
    """(file, first line, text) of a function or class, decorators included."""
    try:
        lines, line = inspect.getsourcelines(target)
    except (OSError, TypeError) as error:
        raise ValueError(f"the source of `{target.__name__}` cannot be read ({error}); define kernels in a file") from None
    file = inspect.getsourcefile(target) or "<unknown>"
    return file, max(line, 1), "".join(lines)
