"""Launches under Triton itself where there is no GPU: each compiles its kernel. Beside `without_gpu`, which gives PyTorch a GPU."""

import functools

from triton.compiler import CompiledKernel
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction, KernelInterface


class Launches:
    """The machine code of what is launched, each kernel once: as `under_tandem.Launches`, for the first `configs` configurations."""

    def __init__(self, configs):
        self._configs, self._made = configs, {}
        CompiledKernel._init_handles = lambda kernel: None
        CompiledKernel.__getitem__ = lambda kernel, grid: lambda *args, **kwargs: None
        CompiledKernel.n_regs, CompiledKernel.n_spills = 32, 0
        JITFunction.run = functools.partialmethod(_launch, self, JITFunction.run)
        JITFunction.__getitem__ = KernelInterface.__getitem__
        Autotuner.run = functools.partialmethod(_search, self)

    def take(self):
        """[(name, kernel)] of the launches since the last call."""
        made, self._made = self._made, {}
        return [(kernel.metadata.name, kernel) for kernel in made.values()]


def _launch(function, launches, run, *args, grid, warmup=False, **kwargs):
    kernel = run(function, *args, grid=grid, warmup=True, **kwargs)
    launches._made.setdefault(kernel.hash, kernel)
    return kernel


def _search(tuner, launches, *args, **kwargs):
    tuner.nargs = dict(zip(tuner.arg_names, args))
    configs, tuner.nargs = tuner.prune_configs(kwargs)[: launches._configs], None
    for config in configs:
        if config.pre_hook:
            config.pre_hook({**dict(zip(tuner.arg_names, args)), **kwargs, **config.all_kwargs()})
        tuner.fn.run(*args, **{**kwargs, **config.all_kwargs()})
