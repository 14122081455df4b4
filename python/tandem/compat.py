"""Makes `import triton` and `import triton_dist` mean Tandem, so that existing kernels run without an edit."""

import sys
import types


def _module(name, **members):
    module = types.ModuleType(name)
    module.__path__ = []
    module.__dict__.update(members)
    return module


def _modules():
    import tandem
    from tandem import dist, language, libdevice, shmem, simt
    from tandem.descriptor import TensorDescriptor
    core = {"jit": tandem.jit, "cdiv": tandem.cdiv, "next_power_of_2": tandem.next_power_of_2, "Config": tandem.Config,
            "autotune": tandem.autotune, "heuristics": tandem.heuristics, "language": language, "constexpr_function": tandem.constexpr_function,
            "JITFunction": tandem.JITFunction, "set_allocator": lambda allocator: None, "__version__": "3.6.0"}
    cuda = _module("triton.language.extra.cuda", libdevice=libdevice, **{k: v for k, v in vars(simt).items() if not k.startswith("_")},
                   __tandem_module__="extra", language_extra=simt, libnvshmem_device=shmem)
    return {
        "triton": _module("triton", **core),
        "triton.language": language,
        "triton.language.core": language,
        "triton.language.standard": language,
        "triton.language.math": language.math,
        "triton.language.random": language,
        "triton.language.extra": _module("triton.language.extra", libdevice=libdevice, cuda=cuda, __tandem_module__="tl.extra"),
        "triton.language.extra.libdevice": libdevice,
        "triton.language.extra.cuda": cuda,
        "triton.language.extra.cuda.libdevice": libdevice,
        "triton.runtime": _module("triton.runtime", JITFunction=tandem.JITFunction),
        "triton.tools": _module("triton.tools"),
        "triton.tools.tensor_descriptor": _module("triton.tools.tensor_descriptor", TensorDescriptor=TensorDescriptor),
        "triton_dist": _module("triton_dist", language=dist, **{k: v for k, v in core.items() if k != "language"}),
        "triton_dist.language": dist,
        "triton_dist.language.core": dist,
        "triton_dist.language.distributed_ops": dist,
        "triton_dist.language.simt_ops": dist,
        "triton_dist.language.extra": _module("triton_dist.language.extra", libshmem_device=shmem, language_extra=simt, cuda=cuda),
        "triton_dist.language.extra.libshmem_device": shmem,
        "triton_dist.language.extra.language_extra": simt,
        "triton_dist.language.extra.cuda": cuda,
        "triton_dist.language.extra.cuda.language_extra": simt,
        "triton_dist.language.extra.cuda.libnvshmem_device": shmem,
    }


def install():
    """Registers the modules. A real Triton that is already imported stays what it is and is an error here."""
    for name, module in _modules().items():
        present = sys.modules.get(name)
        if present is not None and not getattr(present, "__tandem_compat__", False):
            raise ImportError(f"`{name}` is already imported; install the compatibility modules first")
        module.__dict__.setdefault("__tandem_compat__", True)
        sys.modules[name] = module
