"""Kernels that `triton.compile` makes in another process, as PyTorch's compile workers do, and takes to the one that launches them."""

import subprocess
import sys

import pytest

KERNELS = """
import triton
import triton.language as tl

@triton.jit
def scale(x, o, n, factor, BLOCK: tl.constexpr, ACT: tl.constexpr = None):
    tl.static_assert(ACT is None)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.device_assert(n > 0, "some")
    tl.store(o + i, tl.load(x + i, i < n) * factor, i < n)
"""

COMPILE = """
import sys

def source():
    from triton.compiler import ASTSource
    from kernels import scale
    types = {"x": "*fp32", "o": "*fp32", "n": "i64", "factor": "fp32", "BLOCK": "constexpr", "ACT": "constexpr"}
    return ASTSource(scale, types, {"BLOCK": 128}, {(0,): [["tt.divisibility", 16]]})

def compile_it(options={"debug": True, "sanitize_overflow": False}):
    import triton
    from triton.backends.compiler import GPUTarget
    return triton.compile(source(), GPUTarget("cuda", 90, 32), options)

def compile_there():
    kernel = compile_it()
    scale = kernel.src.fn
    scale.fn = scale.__globals__ = scale.used_global_vals = scale.repr = None
    return {**kernel.__dict__, "module": None, "function": None, "run": None}

if __name__ == "__main__":
    import tandem.compat
    tandem.compat.install()
    import multiprocessing
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        state = pool.apply(compile_there)
"""

TESTS = {
    "what it is": """
from triton.compiler import CompiledKernel
from tandem.gpu.compiled import CompiledKernel as Launched
kernel = CompiledKernel.__new__(CompiledKernel)
kernel.__dict__.update(state)
own = compile_it()
assert kernel.hash == own.hash and kernel.name == "scale" and kernel.asm["ptx"] == own.asm["ptx"] and kernel.n_spills == 0
assert kernel.metadata.num_warps == 4 and callable(kernel.run) and kernel.function is not None and kernel.shared == 0
assert kernel.src.fn.arg_names == own.src.fn.arg_names and kernel.src.fn.constexprs == [4, 5] and kernel.src.fn.src == own.src.fn.src
assert isinstance(own, CompiledKernel) and isinstance(Launched.__new__(Launched), CompiledKernel)
try:
    kernel.no_such_thing
except AttributeError:
    print("passed")
""",
    "options": """
asserts = [compile_it({"debug": debug, "sanitize_overflow": checks}).asm["ptx"].count("assertfail") for debug, checks in
           [(False, True), (True, False), (True, True)]]
assert asserts[0] == 0 < asserts[1] < asserts[2], asserts
print("passed")
""",
    "what it writes": """
from triton import _utils
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend
from triton.runtime.jit import mangle_type, native_specialize_impl
target, context, seen = GPUTarget("cuda", 90, 32), ir.context(), []
backend = make_backend(target)
ir.load_dialects(context), backend.load_dialects(context)
options = backend.parse_options({})
module = source().make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
module.walk(seen.append)
store, end, function = seen
block = store.get_block()
assert module.verify() and [op.get_name() for op in seen] == ["tt.store", "tt.return", "tt.func"] and block.get_num_arguments() == 4
assert store.get_operand(0).id() == block.get_argument(1).id() and store.get_num_results() == 0 == end.get_num_operands()
assert function.get_region(0).id() == block.get_parent().id() and function.get_str_attr("sym_name") == "scale"
assert [mangle_type(x) for x in (2, 2**40, 0.5, True, None)] == ["i32", "i64", "fp32", "u1", "constexpr"]
assert [native_specialize_impl(None, x, False, True, True) for x in (1, 2, 32)] == [("constexpr", 1), ("i32", ""), ("i32", "D")]
values = [1, ["D", ("", 2)]]
places = _utils.find_paths_if(values, lambda path, x: isinstance(x, str))
known = [backend.parse_attr(_utils.get_iterable_path(values, path)) for path in places]
assert known == [[["tt.divisibility", 16]], []] and places == [(1, 0), (1, 1, 0)]
print("passed")
""",
    "launches": """
import tandem
from tandem.gpu.compiled import CompiledKernel as Launched
kernel, calls = compile_it(), []
Launched._launch = lambda self, grid, *args, stream: calls.append((grid, args, stream, self.flags))
from triton import knobs
enter = knobs.runtime.launch_enter_hook
kernel.run(2, 3, 1, 77, kernel.function, kernel.packed_metadata, None, enter, None, "x", "o", 5, 0.5, 128, None)
compile_it({"launch_pdl": True}).run(1, 1, 1, 0, None, None, None, None, None)
assert calls == [((2, 3, 1), ("x", "o", 5, 0.5, 128, None), 77, 0), ((1, 1, 1), (), 0, 2)] and not enter
print("passed")
""",
}


@pytest.mark.parametrize("text", TESTS.values(), ids=TESTS)
def test_kernel_of_another_process(tmp_path, monkeypatch, text):
    monkeypatch.setenv("TANDEM_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "script.py").write_text(COMPILE + "".join(f"    {line}\n" for line in text.strip().splitlines()))
    done = subprocess.run([sys.executable, str(tmp_path / "script.py")], capture_output=True, text=True)
    assert done.stdout == "passed\n", done.stderr
