"""The stubs that editors read name every function of the kernel language, with what it does."""

import ast
import inspect
import pathlib
import pydoc

import pytest

import tandem
import tandem.dist
import tandem.language
import tandem.libdevice
import tandem.shmem
import tandem.simt
from tandem import ops
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


@pytest.mark.parametrize(
    "function, words",
    [
        (
            tandem.language.load,
            [
                "a tensor for a tensor of addresses",
                "one element further",
                "Executed by the program",
                "M1",
                "Triton: `triton.language.load`.",
            ],
        ),
        (tandem.language.softmax, ["Executed by the program", "Triton: `triton.language.softmax`."]),
        (tandem.dist.notify, ["all threads of the program together", "M5", "Triton-distributed: `triton_dist.language.notify`."]),
        (tandem.dist.symm_at, ["M2", "OpenSHMEM: `shmem_ptr`."]),
        (tandem.dist.arriving, ["in `chunks` pieces of `chunk` elements", "M6", "Tandem's own."]),
        (tandem.shmem.putmem_nbi_block, ["`bytes` bytes", "M9", "Triton-distributed: `triton_dist.language.extra.libshmem_device.putmem"]),
        (tandem.shmem.putmem, ["OpenSHMEM: `shmem_putmem`."]),
        (tandem.simt.wait_eq, ["Executed by all threads of the program together", "M4"]),
        (tandem.libdevice.erf, ["Triton: `triton.language.extra.libdevice.erf`."]),
    ],
    ids=lambda value: getattr(value, "canonical", ""),
)
def test_help_says_units_who_executes_the_rule_and_what_others_call_it(function, words):
    said = pydoc.render_doc(function, renderer=pydoc.plaintext)
    assert [word for word in words if word not in said] == [], said


def test_a_stub_has_defaults_and_the_package_is_typed():
    load = functions_of("language")["load"]
    assert ast.unparse(load.args).startswith("pointer, mask=None, other=None, boundary_check=()")
    assert ast.unparse(functions_of("language")["dot"].args).endswith("out_dtype=...")
    assert (PACKAGE / "py.typed").is_file()


def test_operators_classes_have_stubs_with_their_signatures_and_docstrings():
    tree = ast.parse((PACKAGE / "operator_classes.pyi").read_text())
    stubbed = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    assert stubbed.keys() == {made.__name__ for made in ops.CLASSES.values()}
    for made in ops.CLASSES.values():
        stub = stubbed[made.__name__]
        assert ast.get_docstring(stub) == inspect.getdoc(made)
        functions = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
        assert functions.keys() == {"__init__", "__call__"} | ({"tune"} & vars(made).keys())
        for name, function in functions.items():
            names = list(inspect.signature(vars(made)[name]).parameters)
            arguments = [*function.args.args, *function.args.kwonlyargs, *filter(None, [function.args.kwarg])]
            assert [argument.arg for argument in arguments] == names, (made.__name__, name)


def test_functions_of_pytorch_have_stubs_with_types_and_docstrings():
    tree = ast.parse((PACKAGE / "torch_functions.pyi").read_text())
    stubbed = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    # Which tandem/torch has, with types and docstrings, too.
    by_hand = {"attention", "ag_attention", "ep_dispatch", "ep_combine", "qkv_gemm_a2a", "a2a_o_gemm"}
    assert stubbed.keys() == ops.CLASSES.keys() - by_hand | {"ColumnParallelLinear", "RowParallelLinear"}
    for name, node in stubbed.items():
        assert ast.get_docstring(node), name
        if isinstance(node, ast.FunctionDef):
            arguments = [*node.args.args, *node.args.kwonlyargs]
            assert node.returns and arguments and all(argument.annotation for argument in arguments), name
    assert "`a: [own(m), k]`" in ast.get_docstring(stubbed["ag_gemm"])


def test_functions_of_pytorch_are_those_of_the_stub():
    pytest.importorskip("torch")
    import tandem.torch

    for node in ast.parse((PACKAGE / "torch_functions.pyi").read_text()).body:
        if isinstance(node, ast.FunctionDef):
            made = inspect.signature(getattr(tandem.torch, node.name)).parameters
            assert list(made) == [argument.arg for argument in [*node.args.args, *node.args.kwonlyargs]]
            assert inspect.getdoc(getattr(tandem.torch, node.name)) == ast.get_docstring(node)


def test_signatures_have_the_defaults_themselves():
    default = lambda function, name: inspect.signature(function).parameters[name].default
    assert default(tandem.language.load, "boundary_check") == ()
    assert default(tandem.language.load, "mask") is None
    assert default(tandem.dist.symm_at, "team") == -1
    assert str(inspect.signature(tandem.language.dot)).endswith("out_dtype=float32)")


def test_what_hosts_use_has_docstrings():
    classes = [thing for name in tandem.__all__ if inspect.isclass(thing := getattr(tandem, name))]
    for thing in [*classes, *(thing for name in tandem.__all__ if inspect.isfunction(thing := getattr(tandem, name)))]:
        assert inspect.getdoc(thing), thing
    for owner in classes:
        for name, member in inspect.getmembers(owner):
            if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                assert inspect.getdoc(member), f"{owner.__name__}.{name}"
