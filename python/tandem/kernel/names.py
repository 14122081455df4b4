"""Stub objects for the names kernels use. They are made from the compiler's own table, so there is one list of names."""

import ast
import functools
import inspect
import json
import operator
import sys
import types

from .. import _tandem


class _Text(str):
    """A default that is no literal, as a signature shows it."""

    __repr__ = str.__str__


def _default(node):
    try:
        return ast.literal_eval(node)
    except ValueError:
        return _Text(ast.unparse(node))


class Builtin:
    """A function of the kernel language. It means something inside a kernel only."""

    def __init__(self, row):
        self.canonical = f"{row['module']}.{row['name']}"
        self.__name__ = row["name"]
        self.__doc__ = f"{self.__name__}({row['signature']})\n\n{described(row)}"
        self._parameters = row["signature"]

    @property
    def __signature__(self):
        """For inspect.signature: names, kinds and defaults; a default that is no literal shows as its text."""
        arguments = ast.parse(f"def f({self._parameters}): pass").body[0].args
        nodes = [*arguments.defaults, *filter(None, arguments.kw_defaults)]
        arguments.defaults = [ast.Constant(i) for i in range(len(arguments.defaults))]
        numbers = iter(range(len(arguments.defaults), len(nodes)))
        arguments.kw_defaults = [value and ast.Constant(next(numbers)) for value in arguments.kw_defaults]
        function = ast.Expression(ast.Lambda(arguments, ast.Constant(None)))
        for argument in [*arguments.args, *arguments.kwonlyargs]:
            argument.annotation = None
        shape = inspect.signature(eval(compile(ast.fix_missing_locations(function), "<signature>", "eval")))
        has_default = lambda parameter: parameter.default is not inspect.Parameter.empty
        with_default = lambda p: p.replace(default=_default(nodes[p.default])) if has_default(p) else p
        return shape.replace(parameters=[with_default(p) for p in shape.parameters.values()])

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"`{self.canonical}` can be called only inside a kernel (a function under @tandem.jit)")

    def __or__(self, other):
        """In an annotation, `tl.tensor | tl.tensor_descriptor`."""
        return self

    __ror__ = __or__

    def __repr__(self):
        return f"<tandem builtin {self.canonical}>"


class Answer(Builtin):
    """A function of the kernel language that answers on the host, too: there it is `host`."""

    def __init__(self, row, host):
        super().__init__(row)
        self._host = host

    def __call__(self, *args, **kwargs):
        return self._host(*map(_plain, args), **{name: _plain(value) for name, value in kwargs.items()})


class DType:
    """A scalar type of the kernel language, or a pointer to one."""

    SINT_TYPES = ["int8", "int16", "int32", "int64"]
    UINT_TYPES = ["int1", "uint8", "uint16", "uint32", "uint64"]
    FP_TYPES = ["fp8e4b15", "fp8e4nv", "fp8e4b8", "fp8e5", "fp8e5b16", "fp16", "bf16", "fp32", "fp64"]
    STANDARD_FP_TYPES = ["fp16", "bf16", "fp32", "fp64"]
    OTHER_TYPES = ["void"]

    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return isinstance(other, DType) and other.name == self.name

    def __hash__(self):
        return hash(("tandem.dtype", self.name))

    def __repr__(self):
        if self.name.startswith("*"):
            return f"tl.pointer_type({DType(self.name[1:])!r})"
        return f"tl.{self.codegen_name() if self.name in table()['dtypes'] else self.name}"

    def __str__(self):
        return self.name

    def __getattr__(self, name):
        """Gives the type's attributes and methods as kernels see them: `primitive_bitwidth`, `is_floating()`, ..."""
        if name.startswith("__") or name == "name":  # also asked for while an object is being copied
            raise AttributeError(name)
        facts = table()["dtypes"].get("*" if self.name.startswith("*") else self.name, {})
        if name in facts.get("attributes", ()):
            return plain_value(facts["attributes"][name])
        if name in facts.get("methods", ()):
            return lambda: plain_value(facts["methods"][name])
        raise AttributeError(f"type `{self.name}` has no `{name}`")

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"the type `{self.name}` can be called only inside a kernel")


class constexpr:
    """A compile-time constant. Arithmetic on it gives constants."""

    def __init__(self, value):
        self.value = value.value if isinstance(value, constexpr) else value
        if isinstance(self.value, types.FunctionType):  # `@tl.constexpr`
            functools.update_wrapper(self, self.value)

    def __repr__(self):
        return f"constexpr({self.value!r})"

    def __hash__(self):
        return hash(self.value)

    def __bool__(self):
        return bool(self.value)

    def __index__(self):
        return operator.index(self.value)

    def __int__(self):
        return int(self.value)

    def __float__(self):
        return float(self.value)

    def __call__(self, *args, **kwargs):
        return self.value(*args, **kwargs)


def _plain(x):
    return x.value if isinstance(x, constexpr) else x


def _binary(op):
    return lambda self, other: constexpr(op(self.value, _plain(other)))


def _reflected(op):
    return lambda self, other: constexpr(op(_plain(other), self.value))


for _word in "add sub mul truediv floordiv mod pow lshift rshift and or xor".split():
    _op = getattr(operator, _word if _word not in ("and", "or") else _word + "_")
    setattr(constexpr, f"__{_word}__", _binary(_op))
    setattr(constexpr, f"__r{_word}__", _reflected(_op))
for _word in "eq ne lt le gt ge".split():
    setattr(constexpr, f"__{_word}__", _binary(getattr(operator, _word)))
for _word in "neg pos invert".split():
    setattr(constexpr, f"__{_word}__", lambda self, op=getattr(operator, _word): constexpr(op(self.value)))


@functools.cache
def table():
    """{"names": [...], "modules": {importable name: canonical module}}, from the compiler."""
    return json.loads(_tandem.builtins())


def meaning(row):
    """A function of the table in sentences: what it does, who executes it, the rule of the memory model."""
    by = f" Executed by {row['by']}." if "by" in row else ""
    rule = f" Memory model: {row['rule']}." if "rule" in row else ""
    return " ".join(row["doc"].split()) + by + rule


def described(row):
    """Its meaning, and what other libraries call it."""
    names = [f"{library}: `{name}`." for library, name in row.get("elsewhere", {}).items()]
    return " ".join([meaning(row), *(names or ["Tandem's own."])])


@functools.cache
def importable(canonical):
    """A name the compiler's requests can call a canonical module by."""
    return next((name for name, module in sorted(table()["modules"].items()) if module == canonical), canonical)


def plain_value(value):
    """The Python object for a VALUE of the compile request (docs/guide/compile_request.md)."""
    if "namespace" in value:
        module = module_of(value["name"])
        module.__dict__.update((name, plain_value(member)) for name, member in value["namespace"].items())
        return module
    ((kind, payload),) = ((k, v) for k, v in value.items() if k != "names")
    match kind:
        case "none":
            return None
        case "int":
            return int(payload)
        case "float":
            return float(payload)
        case "dtype":
            return DType(payload)
        case "tuple":
            return tuple(plain_value(v) for v in payload)
        case _:
            return payload


_modules = {}


def module_of(canonical):
    """The stub module of a canonical module, made on first use."""
    if canonical not in _modules:
        module = types.ModuleType(importable(canonical))
        populate(module.__dict__, canonical, module)
    return _modules[canonical]


def pointer_type(element, address_space=1, const=False):
    """The type of pointers to an element type."""
    return DType("*" + element.name)


def answers(canonical, hosts):
    """The functions of the canonical module that answer on the host, too: {name: Answer}, of {name: what answers there}."""
    rows = {row["name"]: row for row in table()["names"] if row["module"] == canonical}
    return {name: Answer(rows[name], host) for name, host in hosts.items()}


def populate(namespace, canonical, module=None):
    """Fills a module's namespace with the names of the canonical module, and marks it as ours."""
    _modules[canonical] = module or sys.modules[namespace["__name__"]]
    namespace["__tandem_module__"] = canonical
    for row in table()["names"]:
        if row["module"] != canonical:
            continue
        name = row["name"]
        if row["kind"] == "constant":
            namespace.setdefault(name, plain_value(row["value"]))
        else:
            namespace.setdefault(name, Builtin(row))
