"""Makes `import triton` and `import triton_dist` mean Tandem, so that existing kernels run without an edit."""

import importlib.machinery
import sys
import types

from .. import dist, language, testing
from ..errors import OutOfResources
from ..jit import JITFunction, constexpr_function, jit
from ..kernel.descriptor import TensorDescriptor
from ..kernel.mock_tensor import MockTensor
from ..kernel.names import module_of, table
from ..kernel.sizes import cdiv, next_power_of_2
from ..tune.autotune import Autotuned, Config, autotune, heuristics
from . import triton_driver


def _host(name, canonical, **members):
    """A module of host-side names that also holds the kernel-side names of `canonical`."""
    module = types.ModuleType(name)
    module.__dict__.update({k: v for k, v in vars(module_of(canonical)).items() if not k.startswith("__")}, __tandem_module__=canonical)
    module.__dict__.update(members)
    return module


def _modules():
    modules = {name: module_of(canonical) for name, canonical in table()["modules"].items() if name.startswith("triton")}
    core = {"jit": jit, "cdiv": cdiv, "next_power_of_2": next_power_of_2, "Config": Config, "autotune": autotune, "heuristics": heuristics,
            "constexpr_function": constexpr_function, "JITFunction": JITFunction, "OutOfResources": OutOfResources,
            "set_allocator": lambda allocator: None, "MockTensor": MockTensor, "__version__": "3.6.0"}
    modules["triton"] = _host("triton", "triton", **core, language=language)
    modules["triton_dist"] = _host("triton_dist", "triton_dist", **core, language=dist)
    runtime = modules["triton.runtime"] = types.ModuleType("triton.runtime")
    runtime.JITFunction, runtime.driver, runtime.OutOfResources = JITFunction, triton_driver.driver, OutOfResources
    runtime.Autotuner, runtime.Config, runtime.MockTensor = Autotuned, Config, MockTensor
    modules["triton.runtime.jit"] = runtime.jit = types.ModuleType("triton.runtime.jit")
    runtime.jit.JITFunction, runtime.jit.MockTensor = JITFunction, MockTensor
    modules["triton.testing"] = testing
    modules |= triton_driver.profiler()
    for name in ("runtime", "testing", "profiler"):
        setattr(modules["triton"], name, modules[f"triton.{name}"])
    modules["triton.tools"] = types.ModuleType("triton.tools")
    modules["triton.tools.tensor_descriptor"] = types.ModuleType("triton.tools.tensor_descriptor")
    modules["triton.tools.tensor_descriptor"].TensorDescriptor = TensorDescriptor
    for name, module in modules.items():
        if module is not testing:
            module.__dict__.setdefault("__path__", [])
    return modules


def install():
    """Registers the modules. A real Triton that is already imported stays what it is and is an error here."""
    for name, module in _modules().items():
        present = sys.modules.get(name)
        if present is not None and not getattr(present, "__tandem_compat__", False):
            raise ImportError(f"`{name}` is already imported; install the compatibility modules first")
        module.__dict__.setdefault("__tandem_compat__", True)
        if module.__spec__ is None:  # PyTorch asks importlib whether there is a Triton
            module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        sys.modules[name] = module
