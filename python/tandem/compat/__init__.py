"""Makes `import triton` and `import triton_dist` mean Tandem, so that existing kernels, and libraries of them, run without an edit."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import types

from .. import dist, language, testing
from ..errors import AutotunerError, CompileError, KernelError, OutOfResources
from ..gpu.compiled import disassembly
from ..jit import ConstexprFunction, JITFunction, KernelInterface, constexpr_function, jit
from ..kernel.descriptor import TensorDescriptor
from ..kernel.mock_tensor import MockTensor
from ..kernel.names import Builtin, module_of, table
from ..kernel.parameter import KernelParameter
from ..kernel.sizes import cdiv, next_power_of_2
from ..kernel.source import Source
from ..kernel.tensor_wrapper import TensorWrapper, reinterpret
from ..tune.autotune import Autotuner, Config, Heuristics, autotune, heuristics
from . import backends, cache, compilation, gluon, knobs, libtriton, mxfp, ragged, target_info, triton_driver, ttir


_PROCESSES = str(pathlib.Path(__file__).parent / "processes")


class InterpreterError(KernelError):
    """Triton's interpreter raises it, which Tandem's simulator stands in for."""


class PTXASError(CompileError):
    """Triton raises it where the assembler fails; Tandem's assembler errors are CompileErrors like others."""


def must_use_result(function, also=None):
    """Marks a function whose result a kernel has to use: the compiler reads the mark in its text. With a text, which Triton's error ends
    in, it is the decorator."""
    return must_use_result if isinstance(function, str) else function


class NullAllocator:
    """What `triton.set_allocator` is given to take an allocator back."""


def _set_allocator(allocator):
    """Triton calls the allocator for memory of descriptors that kernels make; Tandem's kernels bring their own."""


def _module(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    return module


def _host(name, canonical, **members):
    """A module of host-side names that also holds the kernel-side names of `canonical`."""
    module = types.ModuleType(name)
    module.__dict__.update({k: v for k, v in vars(module_of(canonical)).items() if not k.startswith("__")}, __tandem_module__=canonical)
    module.__dict__.update(members)
    return module


def _names(module, words):
    return {word: getattr(module, word) for word in words.split()}


_FUNCTIONS = {
    "jit": jit,
    "constexpr_function": constexpr_function,
    "JITFunction": JITFunction,
    "KernelInterface": KernelInterface,
    "MockTensor": MockTensor,
    "TensorWrapper": TensorWrapper,
    "reinterpret": reinterpret,
}
_TUNING = {"Config": Config, "autotune": autotune, "heuristics": heuristics}
_ERRORS = {"OutOfResources": OutOfResources, "InterpreterError": InterpreterError}
_CORE = {
    **_FUNCTIONS,
    **_TUNING,
    **_ERRORS,
    "cdiv": cdiv,
    "next_power_of_2": next_power_of_2,
    "TritonError": KernelError,
    "CompilationError": CompileError,
    "compile": compilation.compile,
    "set_allocator": _set_allocator,
    "must_use_result": must_use_result,
    "__version__": "3.6.0",
}


def _runtime():
    """`triton.runtime` and the modules in it."""
    tuner = {**_TUNING, "Autotuner": Autotuner, "Heuristics": Heuristics}
    functions = {name: function for name, function in _FUNCTIONS.items() if name != "jit"}  # there it is the module below
    yield _module("triton.runtime", **functions, **tuner, **_ERRORS, driver=triton_driver.driver)
    yield _module(
        "triton.runtime.jit",
        **_FUNCTIONS,
        KernelParam=KernelParameter,
        JITCallable=Source,
        ConstexprFunction=ConstexprFunction,
        JitFunctionInfo=knobs.JitFunctionInfo,
        **_names(ttir, "mangle_type native_specialize_impl"),
    )
    yield _module("triton.runtime.errors", **_ERRORS, PTXASError=PTXASError, AutotunerError=AutotunerError, TritonError=KernelError)
    yield _module(
        "triton.runtime.autotuner",
        **tuner,
        OutOfResources=OutOfResources,
        PTXASError=PTXASError,
        AutotunerError=AutotunerError,
        JITFunction=JITFunction,
        KernelInterface=KernelInterface,
        driver=triton_driver.driver,
    )
    yield _module(
        "triton.runtime.cache",
        **_names(cache, "CacheManager FileCacheManager get_cache_manager get_override_manager get_dump_manager triton_key _base32"),
        get_cache_key=compilation.get_cache_key,
    )
    yield _module("triton.runtime._allocation", NullAllocator=NullAllocator, set_allocator=_set_allocator)
    yield _module("triton.runtime.driver", driver=triton_driver.driver, active=triton_driver.driver.active)


def _compiler():
    """`triton.compiler` and `triton.backends` with the modules in them."""
    compiler = {
        **_names(compilation, "ASTSource compile get_cache_key"),
        "CompiledKernel": compilation.Compiled,
        "make_backend": backends.make_backend,
    }
    yield _module("triton.compiler", **compiler, CompilationError=CompileError)
    yield _module("triton.compiler.compiler", **compiler, triton_key=cache.triton_key, GPUTarget=backends.GPUTarget)
    yield _module(
        "triton.compiler.errors",
        CompilationError=CompileError,
        CompileTimeAssertionFailure=CompileError,
        UnsupportedLanguageConstruct=CompileError,
        TritonError=KernelError,
    )
    yield _module("triton.errors", TritonError=KernelError)
    target = _names(backends, "GPUTarget BaseBackend Language")
    drivers = _names(backends, "DriverBase GPUDriver")
    yield _module(
        "triton.backends",
        backends=backends.backends,
        Backend=backends.Backend,
        BaseBackend=backends.BaseBackend,
        DriverBase=backends.DriverBase,
    )
    yield _module("triton.backends.compiler", **target)
    yield _module("triton.backends.driver", **drivers)
    yield _module("triton.backends.nvidia")
    yield _module("triton.backends.nvidia.compiler", CUDABackend=backends.CUDABackend, **_names(backends, "get_ptxas get_ptxas_version"))
    yield _module("triton.backends.nvidia.driver", CudaDriver=backends.CudaDriver, libcuda_dirs=backends.libcuda_dirs)


def _tools():
    yield _module("triton.tools")
    yield _module("triton.tools.tensor_descriptor", TensorDescriptor=TensorDescriptor)
    yield _module("triton.tools.mxfp", MXFP4Tensor=mxfp.MXFP4Tensor, MXScaleTensor=mxfp.MXScaleTensor)
    yield _module(
        "triton.tools.ragged_tma", **_names(ragged, "create_ragged_descriptor to_ragged_indices load_ragged store_ragged atomic_add_ragged")
    )
    yield _module("triton.tools.disasm", get_sass=disassembly)
    yield _module("triton._C")
    yield _module("triton._utils", **_names(ttir, "find_paths_if get_iterable_path"))
    libraries = _names(libtriton, "ir nvidia")
    yield _module("triton._C.libtriton", **libraries, get_cache_invalidating_env_vars=libtriton.get_cache_invalidating_env_vars)


def _modules():
    modules = {name: module_of(canonical) for name, canonical in table()["modules"].items() if name.startswith("triton")}
    modules["triton"] = _host("triton", "triton", **_CORE, language=language)
    modules["triton_dist"] = _host("triton_dist", "triton_dist", **_CORE, language=dist)
    modules |= {module.__name__: module for part in (_runtime(), _compiler(), _tools(), gluon.modules()) for module in part}
    vars(modules["triton.language.target_info"]).update(target_info.NAMES)
    modules |= {"triton.testing": testing, "triton.knobs": knobs} | triton_driver.profiler()
    for name, module in modules.items():
        parent, _, last = name.rpartition(".")
        if parent in modules and parent != "triton.language":
            names = vars(modules[parent])
            names[last] = module if isinstance(names.get(last), Builtin) else names.get(last, module)
        if module is not testing and module is not knobs:
            module.__dict__.setdefault("__path__", [])
    return modules


def install():
    """Registers the modules, in this process and in those that it will start with its `sys.path`. A real Triton that is already imported
    stays what it is and is an error here."""
    _register(_modules())
    if _PROCESSES not in sys.path:
        sys.path.insert(min(1, len(sys.path)), _PROCESSES)


def hint(error):
    """Of an import that `--compat` would have satisfied: a line that says so; else an empty string."""
    name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    known = name in {module.partition(".")[0] for module in _modules()}
    return f"with `--compat`, `import {name}` means Tandem" if known else ""


def give_host_side_on_gpu(script):
    """Gives a script whose process is a rank on a GPU NVSHMEM's host API and Triton-distributed's host modules, if it uses them."""
    if script.imports("torch") and script.imports("triton_dist", "nvshmem"):
        from . import ranks

        ranks.install_on_gpu(_register, sys.modules["triton_dist"])


def give_host_side(script):
    """Gives a script that runs on simulated ranks the host API of scripts for several GPUs, if it uses one and PyTorch is here:
    `torch.cuda`, `torch.distributed`, `nvshmem.core`, `cuda.bindings`, Triton-distributed's host modules."""
    if script.imports("torch", "triton_dist", "nvshmem") and importlib.util.find_spec("torch"):
        from . import ranks

        script.as_rank = ranks.install(_register, sys.modules["triton_dist"])


def _register(modules):
    for name, module in modules.items():
        present = sys.modules.get(name)
        if present is not None and not getattr(present, "__tandem_compat__", False):
            raise ImportError(f"`{name}` is already imported; install the compatibility modules first")
        module.__dict__.setdefault("__tandem_compat__", True)
        if module.__spec__ is None:  # PyTorch asks importlib whether there is a Triton
            module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        sys.modules[name] = module
