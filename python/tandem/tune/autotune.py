"""Autotuning decorators. On a GPU configurations are timed and the winner is kept, in memory and on disk; among the ranks of a run, on all
of them together. The simulator's time says nothing about a GPU's, so there a tuned kernel takes its first configuration.
"""

import inspect
import math
import os
import statistics
import sys

import numpy as np

from .. import _tandem, testing
from ..errors import CompileError, OutOfResources
from ..gpu.rank_launch import stream_of
from ..host.arrays import Tensor
from ..host.current import is_simulating
from ..kernel.mock_tensor import warm_up
from .rank_clock import RankClock
from .tuning_cache import TuningCache


class Config:
    """One choice of constants and launch options. `pre_hook` gets all arguments by name before each launch."""

    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None):
        self.kwargs, self.num_warps, self.num_stages, self.num_ctas, self.maxnreg = dict(kwargs), num_warps, num_stages, num_ctas, maxnreg
        self.pre_hook = pre_hook

    def all_kwargs(self):
        options = {"num_warps": self.num_warps, "num_stages": self.num_stages, "num_ctas": self.num_ctas}
        if self.maxnreg is not None:
            options["maxnreg"] = self.maxnreg
        return {**self.kwargs, **options}

    def __repr__(self):
        return f"Config({self.all_kwargs()})"

    def __str__(self):
        return ", ".join(f"{k}: {v}" for k, v in self.all_kwargs().items())


class _Wrapper:
    """A kernel whose launch gets more arguments."""

    def __init__(self, fn):
        self.fn = fn
        self.__name__ = fn.__name__
        self.arg_names = fn.arg_names

    def __getattr__(self, name):
        return getattr(self.fn, name)

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(grid, *args, **kwargs)

    def warmup(self, *args, grid=(1,), **kwargs):
        return warm_up(self, grid, args, kwargs)

    @property
    def base_fn(self):
        return self.fn.base_fn if isinstance(self.fn, _Wrapper) else self.fn


class Autotuned(_Wrapper):
    """`configs_timings` holds the milliseconds of the last search, `best_config` the last choice."""

    def __init__(self, fn, configs, key, reset_to_zero=None, restore_value=None, pre_hook=None, post_hook=None, prune_configs_by=None,
                 warmup=None, rep=None, use_cuda_graph=False, do_bench=None, cache_results=True):
        super().__init__(fn)
        self.configs, self.key = list(configs) or [Config({})], list(key)
        self.best_config = self.configs[0]
        self.cache, self.configs_timings = {}, {}
        self.reset_to_zero, self.restore_value = list(reset_to_zero or ()), list(restore_value or ())
        self._pre_hook, self._post_hook = pre_hook, post_hook
        prune = prune_configs_by or {}
        self.early_config_prune, self.perf_model, self.top_k = (prune.get(k) for k in ("early_config_prune", "perf_model", "top_k"))
        self._do_bench, self._warmup, self._rep, self._use_cuda_graph = do_bench, warmup, rep, use_cuda_graph
        self._measure = do_bench or self._default_bench(warmup, rep, use_cuda_graph)
        self._saved = TuningCache() if cache_results else None

    @staticmethod
    def _default_bench(warmup, rep, use_cuda_graph):
        if use_cuda_graph:
            return lambda call, quantiles: testing.do_bench_cudagraph(call, rep=100 if rep is None else rep, quantiles=quantiles)
        return lambda call, quantiles: testing.do_bench(call, warmup=25 if warmup is None else warmup, rep=100 if rep is None else rep,
                                                quantiles=quantiles)

    def run(self, grid, *args, **kwargs):
        named = {**dict(zip(self.arg_names, args)), **kwargs}
        config = self._choose(grid, args, kwargs, named)
        self.best_config = config
        if config.pre_hook:
            config.pre_hook({**named, **config.all_kwargs()})
        return self.fn.run(grid, *args, **{**config.all_kwargs(), **kwargs})

    def warmup(self, *args, grid=(1,), **kwargs):
        """Returns the compiled kernel of each configuration worth timing."""
        named = {**dict(zip(self.arg_names, args)), **kwargs}
        return [self.fn.warmup(*args, grid=grid, **{**config.all_kwargs(), **kwargs}) for config in self.prune_configs(named, kwargs)]

    def _choose(self, grid, args, kwargs, named):
        if len(self.configs) == 1 or is_simulating():
            return self.configs[0]
        team = team_among(named.values())
        if team is not None:
            return self._choose_together(team, grid, args, kwargs, named) if team._session.is_gpu else self.configs[0]
        device = device_among(named.values())
        if device is None:
            return self.configs[0]
        key = self._key(device, named)
        found = self.cache.get(key)
        if found is None:
            found = self.cache[key] = self._search(key, grid, args, kwargs, named)
        return found

    def _key(self, device, named):
        types = [value.dtype for value in named.values() if hasattr(value, "dtype")]
        return (device, *[named[name] for name in self.key if name in named], *types)

    def _choose_together(self, team, grid, args, kwargs, named):
        """All ranks of the team call, with the same key. Ranks that are threads share this object: each has its own place in `cache`."""
        place = (*self._key(team.device, named), team.size)
        found = self.cache.get(place)
        if found is None:
            self._refuse_clash(kwargs)
            key = (team.device, *place[1:])
            saved = self._saved.find(self.base_fn, self.configs, key) if self._saved and team.rank == 0 else None
            first = team.gather(None if saved is None else self.configs.index(saved))[0]
            found = self._search_together(team, key, grid, args, kwargs, named) if first is None else self.configs[first]
            self.cache[place] = found
        return found

    def _search_together(self, team, key, grid, args, kwargs, named):
        """The time of a configuration is that of the slowest rank. Every rank launches as often as the others:
        kernels may wait for each
        other."""
        candidates = self.prune_configs(named, kwargs)
        left = team.gather([str(c) for c in candidates])
        if left.count(left[0]) != len(left):
            raise ValueError(f"the ranks prune the configurations of kernel `{self.__name__}` differently")
        with RankClock(team, stream_of(team, kwargs.get("stream"), named.values())) as clock:
            timings = {c: max(team.gather(self._time_together(clock, c, grid, args, kwargs, named))) for c in candidates}
        best = min(candidates, key=timings.get)
        if not math.isfinite(timings[best]):
            raise OutOfResources(f"none of the {len(candidates)} configurations of kernel `{self.__name__}` compiles and fits the GPU")
        if team.rank == 0:
            self.configs_timings = timings
            self._keep(key, best)
        return best

    def _keep(self, key, best):
        if os.environ.get("TANDEM_PRINT_AUTOTUNING") == "1":
            print(f"autotuning `{self.__name__}` for {key}: {best}", file=sys.stderr)
        if self._saved:
            self._saved.store(self.base_fn, self.configs, key, best, self.configs_timings)

    def _time_together(self, clock, config, grid, args, kwargs, named):
        """Milliseconds of one call; infinite where a rank cannot launch it."""
        call = lambda *_: self._launch_once(config, grid, args, kwargs, named)
        try:
            call()
            failed = False
        except (OutOfResources, CompileError):
            failed = True
        if any(clock.team.gather(failed)):
            return math.inf
        clock.team.barrier()
        if self._do_bench:
            return _milliseconds(self._do_bench(call, quantiles=(0.5, 0.2, 0.8)))
        waits = self._call_waits(config, named)
        if waits and self._use_cuda_graph:
            raise ValueError(f"`use_cuda_graph` of kernel `{self.__name__}`: a call with hooks or arrays of the host waits for its stream, "
                             "so no graph can hold it")
        return self._time_batches(clock, call, holds=not waits)

    def _time_batches(self, clock, call, holds, calls=10):
        """Batches for `warmup` milliseconds, then for `rep`, whose median counts; as many on all ranks. A stream that is held has no room
        for more calls than a batch has."""
        batch = lambda: clock.microseconds(call, calls, holds=holds) / 1e3
        first = batch()
        if self._warmup is None and self._rep is None:
            return first
        slowest = max(*clock.team.gather(first), 1e-3) * calls
        for _ in range(math.ceil((self._warmup or 0) / slowest) - 1):
            batch()
        return statistics.median(batch() for _ in range(max(1, math.ceil((self._rep or 0) / slowest))))

    def _call_waits(self, config, named):
        """Returns true if a call may wait for its stream, as hooks and arrays of the host do."""
        hooks = (self.reset_to_zero, self.restore_value, self._pre_hook, self._post_hook, config.pre_hook)
        return any(hooks) or any(isinstance(value, np.ndarray) for value in named.values())

    def _refuse_clash(self, kwargs):
        clash = sorted({name for config in self.configs for name in config.kwargs} & set(kwargs))
        if clash:
            raise ValueError(f"`{clash[0]}` of kernel `{self.__name__}` is chosen by the autotuner and also given in the call")

    def _search(self, key, grid, args, kwargs, named):
        self._refuse_clash(kwargs)
        saved = self._saved.find(self.base_fn, self.configs, key) if self._saved else None
        if saved is not None:
            return saved
        candidates = self.prune_configs(named, kwargs)
        if len(candidates) > 1:
            self.configs_timings = {c: self._time(c, grid, args, kwargs, named) for c in candidates}
            best = min(candidates, key=lambda c: _milliseconds(self.configs_timings[c]))
            if not math.isfinite(_milliseconds(self.configs_timings[best])):
                raise OutOfResources(f"none of the {len(candidates)} configurations of kernel `{self.__name__}` compiles and fits the GPU")
        else:
            best = candidates[0]
        self._keep(key, best)
        return best

    def prune_configs(self, named, kwargs):
        """The configurations worth timing: `early_config_prune`, then the `top_k` that `perf_model` estimates as the quickest."""
        arguments = {name: value for name, value in named.items() if name not in kwargs or name in self.arg_names}
        candidates = list(self.configs)
        if self.early_config_prune:
            candidates = list(self.early_config_prune(candidates, arguments, **kwargs))
            if not candidates:
                raise OutOfResources(f"`early_config_prune` of kernel `{self.__name__}` leaves no configuration")
        if self.perf_model:
            keep = 1.0 if self.top_k is None else self.top_k
            keep = int(len(self.configs) * keep) if isinstance(keep, float) and keep <= 1.0 else int(keep)
            if len(candidates) > keep:
                estimate = {c: self.perf_model(**{**arguments, **kwargs, **c.all_kwargs()}) for c in candidates}
                candidates = sorted(candidates, key=estimate.get)[:max(1, keep)]
        return candidates

    def _time(self, config, grid, args, kwargs, named):
        call = lambda: self._launch_once(config, grid, args, kwargs, named)
        try:
            return self._measure(call, quantiles=(0.5, 0.2, 0.8))
        except (OutOfResources, CompileError):
            return math.inf

    def _launch_once(self, config, grid, args, kwargs, named):
        full = {**named, **config.all_kwargs()}
        if config.pre_hook:
            config.pre_hook(full)
        kept = self._before(full)
        failure = None
        try:
            self.fn.run(grid, *args, **{**kwargs, **config.all_kwargs()})
        except Exception as error:
            failure = error
            raise
        finally:
            self._after(full, kept, failure)

    def _before(self, full):
        if self._pre_hook:
            _call_hook(self._pre_hook, full, reset_only=False)
        for name in self.reset_to_zero:
            full[name].zero_()
        return {name: full[name].clone() for name in self.restore_value}

    def _after(self, full, kept, failure):
        for name, value in kept.items():
            full[name].copy_(value)
        if self._post_hook:
            _call_hook(self._post_hook, full, exception=failure)


def _array_of(value):
    """Returns the array that a descriptor describes; else the value."""
    return getattr(value, "base", value) if hasattr(value, "block_shape") else value


def team_among(values):
    """The team of the first tensor of one, or of a descriptor's; None when there is none."""
    return next((value.team for value in map(_array_of, values) if isinstance(value, Tensor)), None)


def device_among(values):
    """The device of the first CUDA array or descriptor; None when there is none."""
    for value in map(_array_of, values):
        if hasattr(value, "get_device") and value.get_device() >= 0:
            return value.get_device()
        if hasattr(value, "__cuda_array_interface__"):
            return _tandem.gpu_current_device()
    return None


def _call_hook(hook, full, **extra):
    """Hooks may take the arguments alone."""
    names = inspect.signature(hook).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in names.values())
    return hook(full, **{k: v for k, v in extra.items() if takes_all or k in names})


def _milliseconds(timing):
    return timing[0] if isinstance(timing, (tuple, list)) else timing


class Heuristics(_Wrapper):
    def __init__(self, fn, values):
        super().__init__(fn)
        self.values = values

    def run(self, grid, *args, **kwargs):
        known = {**dict(zip(self.arg_names, args)), **kwargs}
        for name, value in self.values.items():
            if name not in known:
                known[name] = kwargs[name] = value(known)
        return self.fn.run(grid, *args, **kwargs)


def autotune(configs, key=(), prune_configs_by=None, reset_to_zero=None, restore_value=None, pre_hook=None, post_hook=None, warmup=None,
             rep=None, use_cuda_graph=False, do_bench=None, cache_results=True):
    """Chooses among `configs` once for each device, each value of the arguments named in `key` and each set of element types.

    `prune_configs_by`: {"early_config_prune": f(configs, arguments, **kwargs), "perf_model": f(**arguments), "top_k": count or share}.
    Arguments in `reset_to_zero` are zeroed before each timed launch, those in `restore_value` keep their value. Results are kept on disk
    ($TANDEM_CACHE_DIR) unless `cache_results` is False. `do_bench(call, quantiles)` gives milliseconds: a number, or a sequence that begins
    with the one that counts. `warmup` and `rep` are milliseconds.

    Among the ranks of a run calls are timed in batches of 10, queued before they begin, so that the host's time is not in it, with
    `use_cuda_graph` or without; `warmup` and `rep` become whole batches, one when not given. Every rank calls `do_bench` for each
    configuration, and the slowest one's number counts; where ranks wait for each other it has to launch as often on all of them.
    """
    return lambda fn: Autotuned(fn, configs, key, reset_to_zero, restore_value, pre_hook, post_hook, prune_configs_by, warmup, rep,
                                use_cuda_graph, do_bench, cache_results)


def heuristics(values):
    """Computes constants from the other arguments: {"EVEN": lambda args: args["n"] % 32 == 0}."""
    return lambda fn: Heuristics(fn, values)
