"""The host side of scripts for several GPUs, over simulated ranks: what `tandem run --compat` gives a script that uses PyTorch,
torch.distributed, NVSHMEM's host API and Triton-distributed's host modules."""

import contextlib
import sys
import types


def _module(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members, __tandem_compat__=True)
    module.__path__ = []
    return module


def install(register, package):
    """Makes PyTorch's `cuda` and `distributed` speak of simulated ranks, and registers the modules by `register(modules)`. `package` is
    the module `triton_dist`. Returns what each rank's thread enters, a context manager of its team."""
    import torch
    import torch.distributed
    import torch.profiler

    from . import collectives, cuda_bindings, distributed, environment, measuring, nvshmem, rank, streams, tensors

    modules = [*cuda_bindings.modules(_module), *nvshmem.modules(_module), *distributed.modules(_module, package)]
    found = {module.__name__: module for module in modules}
    distributed.finish({**found, "triton_dist": package})
    if "cuda" in sys.modules:  # a namespace that other packages share
        del found["cuda"]
    for name in found:
        sys.modules.pop(name, None)
    register(found)
    for name, made in found.items():
        parent, _, last = name.rpartition(".")
        if parent:
            vars(sys.modules[parent]).setdefault(last, made)
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
