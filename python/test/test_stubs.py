"""The stubs that editors read name every function of the kernel language, with what it does."""

import ast
import pathlib

import tandem
import tandem.dist
import tandem.language
import tandem.libdevice
import tandem.shmem
import tandem.simt
from tandem.kernel.names import Builtin

PACKAGE = pathlib.Path(tandem.__file__).parent


def functions_of(module):
    tree = ast.parse((PACKAGE / f"{module}.pyi").read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_stubs_name_every_function():
    for module in ("language", "dist", "shmem", "simt", "libdevice"):
        stubbed = functions_of(module)
        names = {k: v for k, v in vars(getattr(tandem, module)).items() if isinstance(v, Builtin) and "Not supported" not in v.__doc__}
        assert names.keys() - stubbed.keys() <= {"constexpr", "dtype", "pointer_type"}, module
        for name in names.keys() & stubbed.keys():
            said = " ".join(ast.get_docstring(stubbed[name]).split())
            assert said == " ".join(names[name].__doc__.split("\n\n", 1)[1].split()), name


def test_a_stub_has_defaults_and_the_package_is_typed():
    load = functions_of("language")["load"]
    assert ast.unparse(load.args).startswith("pointer, mask=None, other=None, boundary_check=()")
    assert ast.unparse(functions_of("language")["dot"].args).endswith("out_dtype=...")
    assert (PACKAGE / "py.typed").is_file()
