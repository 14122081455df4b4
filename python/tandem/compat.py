"""Makes `import triton` and `import triton_dist` mean Tandem, so that existing kernels run without an edit."""

import importlib.machinery
import sys
import types

from ._names import module_of, table


def _host(name, canonical, **members):
    """A module of host-side names that also holds the kernel-side names of `canonical`."""
    module = types.ModuleType(name)
    module.__dict__.update({k: v for k, v in vars(module_of(canonical)).items() if not k.startswith("__")}, __tandem_module__=canonical)
    module.__dict__.update(members)
    return module


def _modules():
    import tandem
    from tandem import triton_driver
    from tandem.autotune import Autotuned
    from tandem.descriptor import TensorDescriptor
    from tandem.mock_tensor import MockTensor
    modules = {name: module_of(canonical) for name, canonical in table()["modules"].items() if name.startswith("triton")}
    core = {"jit": tandem.jit, "cdiv": tandem.cdiv, "next_power_of_2": tandem.next_power_of_2, "Config": tandem.Config,
            "autotune": tandem.autotune, "heuristics": tandem.heuristics, "constexpr_function": tandem.constexpr_function,
            "JITFunction": tandem.JITFunction, "OutOfResources": tandem.OutOfResources, "set_allocator": lambda allocator: None,
            "MockTensor": MockTensor, "__version__": "3.6.0"}
    modules["triton"] = _host("triton", "triton", **core, language=tandem.language)
    modules["triton_dist"] = _host("triton_dist", "triton_dist", **core, language=tandem.dist)
    runtime = modules["triton.runtime"] = types.ModuleType("triton.runtime")
    runtime.JITFunction, runtime.driver, runtime.OutOfResources = tandem.JITFunction, triton_driver.driver, tandem.OutOfResources
    runtime.Autotuner, runtime.Config, runtime.MockTensor = Autotuned, tandem.Config, MockTensor
    modules["triton.runtime.jit"] = runtime.jit = types.ModuleType("triton.runtime.jit")
    runtime.jit.JITFunction, runtime.jit.MockTensor = tandem.JITFunction, MockTensor
    modules["triton.testing"] = tandem.testing
    modules |= triton_driver.profiler()
    for name in ("runtime", "testing", "profiler"):
        setattr(modules["triton"], name, modules[f"triton.{name}"])
    modules["triton.tools"] = types.ModuleType("triton.tools")
    modules["triton.tools.tensor_descriptor"] = types.ModuleType("triton.tools.tensor_descriptor")
    modules["triton.tools.tensor_descriptor"].TensorDescriptor = TensorDescriptor
    for name, module in modules.items():
        if module is not tandem.testing:
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
