"""Builds the compile request: the functions a kernel reaches, and the values of the global names they use."""

import ast
import enum
import inspect
import sys
import types

from .names import Builtin, DType, constexpr, importable
from .sizes import cdiv, next_power_of_2
from .source import Source, constant_function

_IN_KERNELS = {cdiv: "tl.cdiv", next_power_of_2: "tl.next_power_of_2"}  # what these functions of the host are there
ABSENT = inspect.Parameter.empty  # what a read gives that finds nothing


def _look_up(owner, key):
    """Returns the value of `key` in a namespace, at a place of a list, or as an attribute."""
    if isinstance(key, int):
        return owner[key] if key < len(owner) else ABSENT
    if type(owner) is dict:
        return owner.get(key, ABSENT)
    try:
        return getattr(owner, key, ABSENT)
    except ValueError:  # a closure variable without a value
        return ABSENT


def are_current(reads):
    """Returns true if the host's values are still the objects that they were when they were read."""
    return all(_look_up(owner, key) is value for owner, key, value in reads)


def specialized(table, key, builder, make_request, compile_it):
    """Returns (the kernel that `compile_it` made of a request, the reads that it depends on), from `table` when it
    has them. `key` stands for the arguments and the
    options: the request is made again only when a value of the host that it holds may have changed."""
    reads, compiled = table.get(key, (None, None))
    if reads is None or not are_current(reads):
        request = make_request()
        reads, compiled = builder.reads, table.get(request)
        if compiled is None:
            compiled = table[request] = compile_it(request)
        table[key] = reads, compiled
    return compiled, reads


_MATHEMATICS = {"math", "cmath", "numpy", "torch", "builtins"}


def _is_mathematics(x):
    return str(getattr(x, "__module__", None) or type(x).__module__).split(".")[0] in _MATHEMATICS


def _result(call, names):
    """Returns what functions of the host's mathematics make of constants; nothing where others are called, or it is no constant."""
    evaluate = lambda node: eval(compile(ast.Expression(node), "<kernel>", "eval"), names)
    try:
        called = [evaluate(node.func) for node in ast.walk(call) if isinstance(node, ast.Call)]
        result = evaluate(call) if all(map(_is_mathematics, called)) else None
    except Exception:
        return None  # the compiler says what it sees
    result = result.item() if type(result).__module__ == "numpy" else result
    return result if isinstance(result, (bool, int, float, str)) else None


def _foreign(x):
    """Returns the VALUE of an object that kernels cannot use, with a hint at a replacement."""
    name = getattr(x, "__name__", None) or str(x).rpartition(".")[2]
    if _is_mathematics(x) and name.isidentifier():
        on_constants = {"math": name} if getattr(x, "__module__", None) == "math" else {}
        return {"foreign": f"a `{type(x).__name__}` object of the host", "host_name": name, **on_constants}
    if isinstance(x, types.FunctionType):
        return {"foreign": "a Python function without `@tandem.jit`"}
    return {"foreign": f"a `{type(x).__name__}` object of the host"}


def _is_tritons(x):
    """Returns true if an object belongs to an installed Triton, for which ours does not stand in."""
    if isinstance(x, types.ModuleType):
        return x.__name__.split(".")[0] == "triton" and not hasattr(x, "__tandem_compat__")
    homes = str(getattr(x, "__module__", "")), type(x).__module__
    return any(home.split(".")[0] == "triton" and not hasattr(sys.modules.get(home), "__tandem_compat__") for home in homes)


class RequestBuilder:
    """Collects functions once each. `functions` is the request's table; `reads` are the places of the host it was made from, each with the
    object that was there."""

    def __init__(self):
        self.functions = {}
        self.items = []
        self.reads = []
        self._ids = {}

    def _read(self, owner, key):
        value = _look_up(owner, key)
        self.reads.append((owner, key, value))
        return value

    def value(self, x, attributes=None, in_constant=False):
        """A VALUE of the request. `attributes`: the members of `x` that are used, for modules and other containers. `in_constant`: a
        function of compile time reads it, which may call functions of Python."""
        if isinstance(x, constexpr):
            x = self._read(x, "value")
            x = constant_function(x) if isinstance(x, types.FunctionType) else x
        if in_constant and isinstance(x, types.FunctionType) and not _is_mathematics(x):
            x = constant_function(x)
        if x is None:
            return {"none": True}
        if isinstance(x, bool):
            return {"bool": x}
        if isinstance(x, enum.Enum) and not isinstance(x, (int, str)):
            return self.value(x.value)
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
        if isinstance(x, types.FunctionType) and x in _IN_KERNELS:
            return {"builtin": _IN_KERNELS[x]}
        if isinstance(x, Source):
            return {"function": self.add(x)}
        if isinstance(x, type) and issubclass(x, tuple) and hasattr(x, "_fields"):
            return {"function": self._add_named_tuple(x)}
        if isinstance(x, tuple):
            value = {"tuple": [self.value(e) for e in x]}
            if hasattr(x, "_fields"):
                value["names"] = list(x._fields)
            return value
        if isinstance(x, list):
            values = [self.value(self._read(x, i)) for i in range(len(x))]
            self._read(x, len(x))  # which finds nothing, until the list grows
            return {"list": values}
        if isinstance(x, types.ModuleType) and hasattr(x, "__tandem_module__"):
            return {"module": importable(x.__tandem_module__)}
        if _is_tritons(x):
            return {
                "foreign": "of the installed Triton",
                "hint": "run the program with `tandem run --compat`, or `import tandem.language as tl`",
            }
        if attributes and not isinstance(x, dict):
            members = {}
            for name, inner in attributes.items():
                if (member := self._read(x, name)) is not ABSENT:
                    members[name] = self.value(member, inner, in_constant)
            return {"namespace": members, "name": getattr(x, "__name__", type(x).__name__)}
        if hasattr(x, "item") and getattr(x, "shape", None) == ():  # a scalar of NumPy, or an array of one element, which may change
            self.reads.append((x, "item", None))
            return self.value(x.item())
        return _foreign(x)

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
        found = {name: self._read(*item.place_of(name)) for name in item.uses}
        is_constant = item.kind == "constexpr_function"
        entry["globals"] = {name: self.value(x, item.uses[name], is_constant) for name, x in found.items() if x is not ABSENT}
        names = {name: x for name, x in found.items() if x is not ABSENT}
        results = {place: self.value(x) for place, call in item.host_calls if (x := _result(call, names)) is not None}
        if results:
            entry["globals"]["host constants"] = {"namespace": results}
        entry["defaults"] = self._defaults(item.target)
        return ident

    def _defaults(self, target):
        if not isinstance(target, types.FunctionType):
            return {}
        code = target.__code__
        given = self._read(target, "__defaults__") or ()
        named = self._read(target, "__kwdefaults__") or {}
        values = dict(zip(code.co_varnames[code.co_argcount - len(given) : code.co_argcount], given))
        values |= {name: self._read(named, name) for name in named}
        return {name: self.value(value) for name, value in values.items()}
