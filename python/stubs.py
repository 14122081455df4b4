"""Writes stubs for editors and type checkers into a built package: python/stubs.py BUILD/python/tandem.

They are of the kernel language, from the compiler's table, and of the operators' classes and functions, from theirs. Nothing of the package
runs but what reads tables, so neither NumPy nor PyTorch is needed.
"""

import ast
import keyword
import pathlib
import sys
import textwrap
import types

MODULES = {"language": "tl", "dist": "dl", "shmem": "shmem", "simt": "extra", "libdevice": "tl.extra.libdevice"}
WIDTH = 120

TYPES = '''
class constexpr:
    """A compile-time constant. Arithmetic on it gives constants."""

    value: Any
    def __init__(self, value: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    def __index__(self) -> int: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
OPERATORS
class dtype:
    """A scalar type of the kernel language, or a pointer to one. `primitive_bitwidth` is in bits."""

    name: str
    def __init__(self, name: str) -> None: ...
    def __getattr__(self, name: str) -> Any: ...

def pointer_type(element_ty: dtype) -> dtype: ...
'''

BINARY = "add sub mul truediv floordiv mod pow lshift rshift and or xor".split()
OPERATORS = "".join(
    [f"    def __{side}{word}__(self, other: Any) -> Any: ...\n" for word in BINARY for side in ("", "r")]
    + [f"    def __{word}__(self, other: Any) -> Any: ...\n" for word in ("lt", "le", "gt", "ge")]
    + [f"    def __{word}__(self) -> Any: ...\n" for word in ("neg", "pos", "invert")]
)


def parameters(signature):
    """The parameters of a row as a stub has them: a default that is no literal is `...`, and no type is taken from one that is."""
    arguments = ast.parse(f"def f({signature}): pass").body[0].args
    for group in (arguments.posonlyargs, arguments.args, arguments.kwonlyargs, [arguments.vararg, arguments.kwarg]):
        for argument in filter(None, group):
            argument.annotation = None
    with_default = arguments.args[len(arguments.args) - len(arguments.defaults) :]
    for argument, value in zip([*with_default, *arguments.kwonlyargs], [*arguments.defaults, *arguments.kw_defaults]):
        if isinstance(value, ast.Constant) and value.value is not None:
            argument.annotation = ast.Name("Any")
    plain = lambda value: value if isinstance(value, ast.Constant) or ast.unparse(value) == "()" else ast.Constant(...)
    arguments.defaults = [plain(value) for value in arguments.defaults]
    arguments.kw_defaults = [value and plain(value) for value in arguments.kw_defaults]
    return ast.unparse(arguments)


def function(row, text, indent):
    yield from [f"{indent}@staticmethod"] if indent else []
    yield f"{indent}def {row['name']}({parameters(row['signature'])}) -> Any:"
    indent += "    "
    lines = textwrap.wrap(text.replace("\\", "\\\\"), WIDTH - len(indent) - 3, break_on_hyphens=False)
    yield from [indent + line for line in f'"""{chr(10).join(lines)}"""'.split("\n")]
    yield f"{indent}..."


def constant(row, indent):
    ((kind, _),) = ((k, v) for k, v in row["value"].items() if k != "names")
    yield f"{indent}{row['name']}: {({'int': 'int', 'float': 'float', 'str': 'str', 'bool': 'bool', 'dtype': 'dtype'}).get(kind, 'Any')}"


class Stub:
    """One module's stub. A namespace without a stub of its own is a class where it is named first."""

    def __init__(self, names, canonical):
        self.names, self.canonical, self.described = names, canonical, {canonical}

    def lines(self):
        return self.members(self.canonical, "")

    def members(self, canonical, indent):
        rows = [r for r in self.names.table()["names"] if r["module"] == canonical and not keyword.iskeyword(r["name"])]
        for row in sorted(rows, key=lambda r: r["name"]):
            if row["kind"] != "constant":
                if row["name"] not in ("constexpr", "dtype", "pointer_type") and not row["doc"].startswith("Not supported"):
                    yield from function(row, self.names.described(row), indent)
            elif "namespace" in row["value"]:
                yield from self.namespace(row["name"], row["value"]["name"], indent)
            else:
                yield from constant(row, indent)

    def namespace(self, name, canonical, indent):
        if canonical in self.described or canonical in MODULES.values():
            yield f"{indent}{name}: Any"
        else:
            self.described.add(canonical)
            inside = list(self.members(canonical, indent + "    "))
            yield from [f"{indent}class {name}:", *inside] if inside else [f"{indent}{name}: Any"]


def text_of(names, package, module):
    head = (package / f"{module}.py").read_text().split('"""')[1]
    first = [f'"""{head}"""', "", "from typing import Any"]
    kinds = TYPES.replace("OPERATORS\n", OPERATORS + "\n").split("\n") if module == "language" else ["from .language import dtype", ""]
    return "\n".join([*first, *kinds, *Stub(names, MODULES[module]).lines()]) + "\n"


def text_of_operators(signature, tables):
    """The stub of `tandem.ops`' classes, which no source file has."""
    yield '"""One class for each operator of the library."""\n'
    yield "from typing import Any\n\nfrom .host.team import Team\nfrom .ops.operator import Operator, Tuned\n"
    yield f"__all__ = {[table['class'] for table in tables]}"
    said = lambda text, indent: textwrap.indent(f'"""{text}"""', indent).replace("\\", "\\\\")
    for table in tables:
        sizes = [size["name"] for size in table["sizes"]]
        parameters, _ = signature.call(table)
        yield f"\nclass {table['class']}(Operator):\n{said(signature.description(table), '    ')}\n"
        yield from [f"    {name}: int" for name in sizes]
        made_for = ", ".join(f"{name}: int" for name in sizes)
        options = "".join(f", {option['name']}: Any = None" for option in table["options"])
        yield f"    def __init__(self, team: Team, {made_for}, dtype: Any{options}, **others: Any) -> None: ..."
        yield f"    def __call__({parameters}) -> Any:\n{said(signature.description_of_call(table), ' ' * 8)}\n        ..."
        if table["tunes"]:
            yield f"    def tune({parameters}) -> Tuned:\n{said(signature.OF_TUNE, ' ' * 8)}\n        ..."


def text_of_torch(function, tables, own):
    """The stub of `tandem.torch`'s functions and layers, but for those that its source has: `own`."""
    yield '"""A function for each operator, and linear layers."""\n'
    yield "from collections.abc import Sequence\nfrom typing import Any, Literal\n\nfrom torch import Tensor, dtype\n"
    yield "from .torch.linear import ParallelLinear\n"
    functions = [function.function_of(table) for table in tables if table["name"] not in own]
    layers = function.layers_of(tables)
    yield f"__all__ = {[*layers, *(f.name for f in functions)]}"
    said = lambda text: textwrap.indent(f'"""{text}"""', "    ").replace("\\", "\\\\")
    for name, forms in layers.items():
        yield f"\nclass {name}(ParallelLinear):\n{said(function.description_of_layer(forms))}"
    for f in functions:
        yield f"\ndef {f.name}({f.parameters()}) -> {f.result}:\n{said(f.description())}\n    ..."


def imported(source):
    """The names that a file imports."""
    return {a.asname or a.name for node in ast.parse(source).body if isinstance(node, ast.ImportFrom) for a in node.names}


def main():
    package = pathlib.Path(sys.argv[1])
    for name in ("tandem", "tandem.ops"):
        root = sys.modules[name] = types.ModuleType(name)
        root.__path__ = [str(package.parent / name.replace(".", "/"))]
    from tandem.kernel import names
    from tandem.ops import function, signature, table

    for module in MODULES:
        (package / f"{module}.pyi").write_text(text_of(names, package, module))
    (package / "operator_classes.pyi").write_text("\n".join(text_of_operators(signature, table.TABLES.values())) + "\n")
    own = imported((package / "torch" / "__init__.py").read_text())
    (package / "torch_functions.pyi").write_text("\n".join(text_of_torch(function, table.TABLES.values(), own)) + "\n")


if __name__ == "__main__":
    main()
