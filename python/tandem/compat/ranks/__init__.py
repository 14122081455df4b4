"""The host side of scripts for several GPUs: what `tandem run --compat` gives a script that uses PyTorch, torch.distributed, NVSHMEM's host
API and Triton-distributed's host modules. Simulated ranks have all of it; on GPUs PyTorch's own stays."""

import contextlib
import sys
import types


def _module(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members, __tandem_compat__=True)
    module.__path__ = []
    return module


def _add_modules(register, package, driver, runtime, others=()):
    """Registers the modules that a rank has anywhere; `driver` and `runtime` are what `cuda.bindings` holds."""
    from . import distributed, nvshmem

    found = {m.__name__: m for m in [*others, *nvshmem.modules(_module), *distributed.modules(_module, package, driver, runtime)]}
    distributed.finish({**found, "triton_dist": package})
    for name in found:
        sys.modules.pop(name, None)
    register(found)
    for name, made in found.items():
        parent, _, last = name.rpartition(".")
        if parent:
            vars(sys.modules[parent]).setdefault(last, made)


class _NotInstalled(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise ImportError(f"`{name}` is cuda-python's, which is not installed: `pip install cuda-bindings`")


def install_on_gpu(register, package):
    """Registers the modules for this process, which is a rank on a GPU once it calls one of them."""
    try:
        from cuda.bindings import driver, runtime
    except ImportError:
        driver = runtime = _NotInstalled("cuda.bindings")
    from . import gpus, rank

    _add_modules(register, package, driver, runtime)
    rank.is_process(gpus.begin)


def install(register, package):
    """Makes PyTorch's `cuda` and `distributed` speak of simulated ranks, and registers the modules by `register(modules)`. `package` is
    the module `triton_dist`. Returns what each rank's thread enters, a context manager of its team."""
    import torch
    import torch.distributed
    import torch.profiler

    from . import collectives, cuda_bindings, environment, measuring, rank, streams, tensors

    shared = "cuda" in sys.modules  # a namespace that other packages share
    bindings = {module.__name__: module for module in cuda_bindings.modules(_module) if not (shared and module.__name__ == "cuda")}
    driver, runtime = bindings["cuda.bindings.driver"], bindings["cuda.bindings.runtime"]
    _add_modules(register, package, driver, runtime, bindings.values())
    streams.install(torch)
    tensors.install()
    collectives.install()
    environment.install()
    torch.profiler.profile = measuring.Profile
    numbers = rank.RandomNumbers()

    @contextlib.contextmanager
    def as_rank(team):
        me = rank.begin(team, environment.local_size(team.size))
        streams.begin(me)
        team.resumed = numbers.resume
        numbers.resume()
        try:
            with tensors.CudaTensors():
                yield
            team.synchronize()
        finally:
            rank.end()

    return as_rank
