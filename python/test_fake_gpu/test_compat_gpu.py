"""The host names of Triton that libraries import, subclass and call, over the fake driver."""

import inspect
import os
import subprocess
import sys
import textwrap

import pytest
from gpu_fake import LIBRARY, FakeTensor, gpu, needs_fake  # noqa: F401

import tandem
import tandem.language as tl
from tandem.kernel.tensor_wrapper import reinterpret
from tandem.tune.autotune import Autotuner, Heuristics

pytestmark = needs_fake


def in_compat(script):
    """Runs a script with the compatibility modules; returns what it prints."""
    text = "import tandem.compat\ntandem.compat.install()\nimport triton\nimport triton.language as tl\n" + textwrap.dedent(script)
    environment = {k: v for k, v in os.environ.items() if k in ("PYTHONPATH", "PATH", "HOME")}
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, env={"TANDEM_CUDA_DRIVER": str(LIBRARY), **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_modules_that_libraries_import():
    assert in_compat("""
        import triton.backends.compiler, triton.backends.driver, triton.compiler.errors, triton.runtime.cache, triton.tools.mxfp
        from triton import CompilationError, TritonError, knobs, reinterpret
        from triton._C.libtriton import nvidia
        from triton.backends import backends
        from triton.compiler import ASTSource, CompiledKernel
        from triton.compiler.compiler import triton_key
        from triton.runtime.autotuner import Autotuner, Heuristics, OutOfResources, PTXASError
        from triton.runtime.errors import AutotunerError
        from triton.runtime.jit import JITFunction, KernelInterface, KernelParam
        from triton.tools.tensor_descriptor import TensorDescriptor
        active = [b for b in backends.values() if b.driver.is_active()]
        target = triton.runtime.driver.active.get_current_target()
        backend = triton.compiler.make_backend(target)
        print(len(active), target.arch, "cuda" in str(target), bool(backend.hash()), backend.parse_options({"num_warps": 8}).num_warps)
        print(issubclass(JITFunction, KernelInterface), issubclass(CompilationError, TritonError), issubclass(OutOfResources, TritonError))
        print(triton.tools.tensor_descriptor is sys.modules["triton.tools.tensor_descriptor"] if "sys" in dir() else True)
        assert tl.str_to_ty("fp32") == tl.float32 and tl.str_to_ty("i8") == tl.int8
        print(tl.str_to_ty("*bf16", None), tl.core.get_int_dtype(16, False), triton.runtime.driver.active.get_current_device())
        """) == ["1", "90", "True", "True", "8", "True", "True", "True", "True", "*bf16", "uint16", "0"]


def test_knobs(tmp_path):
    assert in_compat(f"""
        import os
        from triton import knobs
        with knobs.autotuning.scope():
            knobs.autotuning.print = True
            print(os.environ["TRITON_PRINT_AUTOTUNING"], knobs.autotuning.print)
        print(knobs.autotuning.print, knobs.runtime.launch_enter_hook.calls)
        try:
            knobs.runtime.launch_enter_hook.add(print)
        except RuntimeError as error:
            print("refused")
        os.environ["TRITON_CACHE_DIR"] = {str(tmp_path)!r}
        from triton.runtime.cache import get_cache_manager
        files = get_cache_manager("00ff")
        print(open(files.put("text", "a.txt", binary=False)).read(), files.get_file("b.txt"))
        files.put_group("a", {{"a.txt": files.get_file("a.txt")}})
        print(list(files.get_group("a")), files.get_group("b"))
        """) == ["1", "True", "False", "[]", "refused", "text", "None", "['a.txt']", "None"]


@tandem.jit(do_not_specialize=["n"])
def scale(x_ptr, n, factor: tl.float32, num_stages: tl.constexpr, BLOCK: tl.constexpr = 64):
    tl.store(x_ptr + tl.arange(0, BLOCK), n * factor * num_stages)


def test_parameters_and_source():
    names = [(p.num, p.name, p.is_constexpr, p.do_not_specialize, p.has_default) for p in scale.params]
    assert names == [
        (0, "x_ptr", False, False, False),
        (1, "n", False, True, False),
        (2, "factor", False, False, False),
        (3, "num_stages", True, False, False),
        (4, "BLOCK", True, False, True),
    ]
    assert scale.constexprs == [3, 4] and scale.params[4].default == 64 and scale.params[2].annotation == "fp32"
    assert scale.src.startswith("def scale(") and scale.__globals__ is globals()


def test_replaced_source(gpu):
    kernel = tandem.jit(scale.fn)
    before = kernel.cache_key
    assert before == tandem.jit(scale.fn).cache_key
    kernel._unsafe_update_src(kernel.src.replace("n * factor", "n + factor"))
    assert kernel.cache_key != before
    kernel[(1,)](FakeTensor(16), 5, 1.0, 2)
    assert "n + factor" in gpu.requests[-1]["functions"][gpu.requests[-1]["kernel"]]["source"]


def test_compiled_kernel_takes_all_arguments(gpu):
    """Also a parameter that is a launch option too, as in Triton's second tutorial."""
    compiled = scale.warmup(FakeTensor(16), 1, 0.5, num_stages=4, grid=(1,))
    compiled._init_handles()
    assert compiled.options["num_stages"] == 4 and not gpu.launches
    compiled[(3, 1, 1)](FakeTensor(32), 1, 0.5, 4, 64)
    assert " grid 3,1,1 " in gpu.launches[-1] and len(gpu.requests) == 1
    compiled[(2,)](FakeTensor(32), 7, 0.5, 4)
    assert " grid 2,1,1 " in gpu.launches[-1]


class Pointer:
    """Has what Triton asks of a pointer."""

    def __init__(self, address, dtype):
        self.address, self.dtype = address, dtype

    def data_ptr(self):
        return self.address


def test_pointers_of_few_words(gpu):
    scale[(1,)](Pointer(4096, FakeTensor(0).dtype), 1, 1.0, 1)
    assert gpu.requests[-1]["arguments"][0] == {"name": "x_ptr", "type": "*fp32", "divisibility": 16}


def test_reinterpreted_tensor(gpu):
    tensor = FakeTensor(16)
    scale[(1,)](reinterpret(tensor, tl.int32), 1, 1.0, 1)
    assert gpu.requests[-1]["arguments"][0]["type"] == "*int32"
    assert reinterpret(reinterpret(tensor, tl.int32), tensor.dtype) is tensor


def test_libraries_of_device_functions(gpu):
    scale[(1,)](FakeTensor(16), 1, 1.0, num_stages=1, extern_libs={"libdevice": "/nowhere/libdevice.10.bc"})
    with pytest.raises(TypeError, match="`extern_libs` names `ocml`"):
        scale[(1,)](FakeTensor(16), 1, 1.0, num_stages=1, extern_libs={"ocml": "/nowhere"})


class Chooser(Autotuner):
    """As libraries subclass it: they look into the cache before, keep hooks of their own, and time as they like."""

    def __init__(self, fn, arg_names, configs, key, reset_to_zero, restore_value, **kwargs):
        super().__init__(fn, arg_names, configs, key, reset_to_zero, restore_value, **kwargs)
        self.timed = []
        self.pre_hook = lambda arguments, reset_only=False: self.timed.append((arguments["BLOCK"], reset_only))

    def _bench(self, *args, config, **meta):
        self.pre_hook({**self.nargs, **meta, **config.all_kwargs()})
        return [float(config.kwargs["BLOCK"] != 64)] * 3

    def run(self, *args, **kwargs):
        self.seen = dict(zip(self.arg_names, args)), kwargs["grid"]
        return super().run(*args, **kwargs)


def test_a_library_s_own_autotuner(gpu):
    configs = [tandem.Config({"BLOCK": b, "num_stages": 1}) for b in (32, 64)]
    kernel = Chooser(tandem.jit(scale.fn), scale.arg_names, configs, ["n"], ["x_ptr"], None)
    x = FakeTensor(16)
    kernel[(1,)](x, 5, 1.0)
    assert kernel.seen == ({"x_ptr": x, "n": 5, "factor": 1.0}, (1,))
    assert kernel.timed == [(32, False), (64, False), (64, True)], "what counts comes after a reset"
    assert list(kernel.cache) == [(5, "torch.float32")] and kernel.cache[5, "torch.float32"] is kernel.best_config
    kernel.cache[7, "torch.float32"] = tandem.Config({"BLOCK": 128, "num_stages": 1})
    kernel[(1,)](x, 7, 1.0)
    assert len(kernel.timed) == 3 and kernel.best_config.kwargs["BLOCK"] == 128
    assert kernel.base_fn is scale.fn and inspect.signature(Autotuner.__init__).parameters["use_cuda_graph"].default is False


def test_heuristics_win_over_the_call(gpu):
    kernel = Heuristics(tandem.jit(scale.fn), scale.arg_names, {"BLOCK": lambda args: 2 * args["n"]})
    kernel[(1,)](FakeTensor(16), 32, 1.0, num_stages=1, BLOCK=16)
    assert gpu.requests[-1]["arguments"][-1] == {"name": "BLOCK", "constexpr": {"int": "64"}}


def test_compiling_without_a_call(gpu, monkeypatch):
    from tandem.compat.backends import GPUTarget
    from tandem.compat.compilation import ASTSource, compile

    monkeypatch.setattr("tandem.compat.compilation.compile_request", gpu.compile)
    types = {"x_ptr": "*fp32", "n": "i32", "factor": "fp32"}
    source = ASTSource(scale, types, {"num_stages": 2, (4,): 64}, {(0,): [["tt.divisibility", 16]]})
    compiled = compile(source, GPUTarget("cuda", 90, 32), {"num_warps": 8})
    assert compiled.metadata.num_warps == 8 and compiled.src is source and compiled.packed_metadata.name == "scale"
    assert compiled.hash != compile(source, GPUTarget("cuda", 90, 32), {"num_warps": 4}).hash
    gpu.requests.pop()
    request = gpu.requests[-1]
    assert request["options"] == {"num_warps": 8, "num_stages": 3, "num_ctas": 1, "debug": False, "target": "sm_90a"}
    assert request["arguments"][0] == {"name": "x_ptr", "type": "*fp32", "divisibility": 16}
    seen = []  # as PyTorch's compiler launches what it has compiled
    compiled.run(5, 1, 1, 0, compiled.function, compiled.packed_metadata, None, seen.append, None, FakeTensor(0x40), 8, 2, 2.5, 64)
    assert gpu.launches[-1].startswith("launch scale on 0 grid 5,1,1 block 256,1,1 ") and seen == [None]
    with pytest.raises(TypeError, match="takes an `ASTSource`"):
        compile("kernel.ttir")
