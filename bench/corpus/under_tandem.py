"""Launches under Tandem where there is no GPU become requests to its compiler. Beside `without_gpu`, which gives PyTorch a GPU."""

import collections
import functools
import types

from tandem.gpu.arguments import Arguments
from tandem.host.call import bind_call
from tandem.jit import JITFunction, KernelInterface
from tandem.tune.autotune import Autotuner

TARGET = "sm_90a"


class Launches:
    """The kernels that launches ask for, each once, as requests to the compiler. An autotuner asks for its first `configs`
    configurations. Once made, it takes all launches of the process."""

    def __init__(self, configs):
        self.configs, self._made = configs, {}
        JITFunction.run = functools.partialmethod(_launch, self)
        JITFunction.__getitem__ = KernelInterface.__getitem__
        Autotuner.run = functools.partialmethod(_search, self)

    def add(self, request, label):
        self._made.setdefault(request, label)

    def take(self):
        """{request: the kernel's name and constants} of the launches since the last call. Names are different."""
        made, self._made = self._made, {}
        seen = collections.Counter()
        for request, label in made.items():
            seen[label] += 1
            made[request] = label if seen[label] == 1 else f"{label} ({seen[label]})"
        return made


class _Compiled:
    """What scripts ask of a compiled kernel before they choose a grid."""

    n_regs, n_spills = 32, 0
    metadata = types.SimpleNamespace(shared=1024)

    def _init_handles(self):
        pass

    def __getitem__(self, grid):
        return lambda *args, **kwargs: None


def _launch(kernel, launches, *args, grid, warmup=False, **kwargs):
    values, options, _ = bind_call(kernel, args, kwargs)
    arguments = Arguments(kernel)
    for parameter in kernel.parameters:
        arguments.add(parameter, values[parameter.name])
    request = kernel.request(arguments.specs, {**options, "target": TARGET}, arguments.builder, overlapping=[])
    launches.add(request, _label(kernel, values, options))
    return _Compiled()


def _search(tuner, launches, *args, **kwargs):
    tuner.nargs = dict(zip(tuner.arg_names, args))
    configs, tuner.nargs = tuner.prune_configs(kwargs)[: launches.configs], None
    for config in configs:
        if config.pre_hook:
            config.pre_hook({**dict(zip(tuner.arg_names, args)), **kwargs, **config.all_kwargs()})
        tuner.fn.run(*args, **{**kwargs, **config.all_kwargs()})


def _label(kernel, values, options):
    """The kernel's name and what a configuration chooses."""
    shown = {p.name: values[p.name] for p in kernel.parameters if kernel.is_constexpr(p)}
    shown |= {name: options[name] for name in ("num_warps", "num_stages")}
    plain = {name: getattr(value, "value", value) for name, value in shown.items()}
    return " ".join([kernel.__name__, *(f"{name}={value}" for name, value in plain.items() if isinstance(value, int))])
