"""Autotuning decorators. On a GPU configurations are timed and the winner is kept, in memory and on disk; among the ranks of a run, on all
of them together. The simulator's time says nothing about a GPU's, so there a tuned kernel takes the first configuration that is left
after pruning.
"""

import copy
import functools
import inspect
import math
import operator
import sys
import threading
import time

import numpy as np

from .. import _tandem, testing
from ..errors import AutotunerError, CompileError, OutOfResources
from ..gpu.ahead import CompiledAhead
from ..gpu.compiled import CompiledKernel
from ..host.arrays import Tensor
from ..host.call import grid_sizes
from ..host.current import is_simulating
from ..host.variables import is_on
from ..jit import JITFunction, KernelInterface
from .rank_tuning import choose_together
from .tuning_cache import TuningCache

# A configuration that takes longer than the quickest by this factor in two launches is not timed further.
FAR_BEHIND = 1.25


class Config:
    """One choice of constants and launch options. `pre_hook` gets all arguments by name before each launch, and
    before the compilation of a configuration that will be timed."""

    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None):
        self.kwargs, self.num_warps, self.num_stages, self.num_ctas, self.maxnreg = dict(kwargs), num_warps, num_stages, num_ctas, maxnreg
        self.pre_hook, self.ir_override = pre_hook, ir_override

    def all_kwargs(self):
        """What the kernel is called with: the constants and those options that are set."""
        options = {
            "num_warps": self.num_warps,
            "num_ctas": self.num_ctas,
            "num_stages": self.num_stages,
            "maxnreg": self.maxnreg,
            "ir_override": self.ir_override,
        }
        return {**self.kwargs, **{k: v for k, v in options.items() if v is not None}}

    def __eq__(self, other):
        return isinstance(other, Config) and self.all_kwargs() == other.all_kwargs() and self.pre_hook == other.pre_hook

    def __hash__(self):
        return hash((*self.all_kwargs().items(), self.pre_hook))

    def __repr__(self):
        return f"Config({self.all_kwargs()})"

    def __str__(self):
        return ", ".join(f"{k}: {v}" for k, v in self.all_kwargs().items())


class _Wrapper(KernelInterface):
    """A kernel whose launch gets more arguments."""

    def __init__(self, fn, arg_names):
        self.fn, self.arg_names = fn, arg_names
        self.__name__ = fn.__name__

    def __getattr__(self, name):
        if name == "fn":  # while an object is being copied
            raise AttributeError(name)
        return getattr(self.fn, name)

    def around(self, fn):
        """The same around another kernel of these arguments."""
        made = copy.copy(self)
        made.fn = fn
        return made


def jit_function(kernel):
    """Returns the JITFunction below the decorators of a kernel."""
    while not isinstance(kernel, JITFunction):
        kernel = kernel.fn
    return kernel


class Autotuner(_Wrapper):
    """A kernel with configurations. `configs_timings` holds the milliseconds of the last search, `best_config` the last choice, `cache` the
    choices by key: the values of the arguments named in `keys`, of arrays their shapes and strides, then the element types.

    Subclasses may replace `run`, `_bench` (milliseconds of a configuration) and `prune_configs`. While one of them runs, `nargs` are the
    call's positional arguments by name.
    """

    def __init__(
        self,
        fn,
        arg_names,
        configs,
        key,
        reset_to_zero,
        restore_value,
        pre_hook=None,
        post_hook=None,
        prune_configs_by=None,
        warmup=None,
        rep=None,
        use_cuda_graph=False,
        do_bench=None,
        cache_results=False,
    ):
        super().__init__(fn, arg_names)
        self.configs, self.keys = list(configs) or [Config({})], list(key or ())
        self.best_config = self.configs[0]
        self.cache, self.team_cache, self.configs_timings, self.bench_time = {}, {}, {}, 0.0
        self.reset_to_zero, self.restore_value = list(reset_to_zero or ()), list(restore_value or ())
        self.user_defined_pre_hook, self.user_defined_post_hook = pre_hook is not None, post_hook is not None
        self._users_pre_hook, self._users_post_hook = pre_hook, post_hook
        prune = prune_configs_by or {}
        self.perf_model, self.early_config_prune = prune.get("perf_model"), prune.get("early_config_prune")
        self.configs_top_k = 1.0 if prune.get("top_k") is None else prune["top_k"]
        self._do_bench, self.num_warmups, self.num_reps, self.use_cuda_graph = do_bench, warmup, rep, use_cuda_graph
        self.cache_results = cache_results
        self._saved = TuningCache() if cache_results else None
        self._call = threading.local()  # ranks of a run share this object

    def around(self, fn):
        made = super().around(fn)
        made.cache, made.team_cache, made.configs_timings, made._call = {}, {}, {}, threading.local()
        return made

    @property
    def nargs(self):
        return getattr(self._call, "nargs", None)

    @nargs.setter
    def nargs(self, value):
        self._call.nargs = value

    @property
    def base_fn(self):
        return jit_function(self.fn).fn

    @functools.cached_property
    def do_bench(self):
        """(call, quantiles) -> milliseconds."""
        if self._do_bench:
            return self._do_bench
        rep = 100 if self.num_reps is None else self.num_reps
        if self.use_cuda_graph:
            return lambda call, quantiles: testing.do_bench_cudagraph(call, rep=rep, quantiles=quantiles)
        warmup = 25 if self.num_warmups is None else self.num_warmups
        return lambda call, quantiles: testing.do_bench(call, warmup=warmup, rep=rep, quantiles=quantiles)

    def pre_hook(self, arguments, reset_only=False):
        """Runs before each timed launch: the user's hook, then the named arguments are zeroed and copied. With `reset_only` nothing is
        copied: the launch that counts comes next."""
        if self._users_pre_hook:
            _call_hook(self._users_pre_hook, arguments, reset_only=reset_only)
        for name in self.reset_to_zero:
            if arguments[name] is not None:
                _zero(arguments[name])
        if not reset_only:
            self._call.kept = {name: _copy_of(arguments[name]) for name in self.restore_value if arguments[name] is not None}

    def post_hook(self, arguments, exception):
        """Runs after each timed launch: the copied arguments get their values back, then the user's hook."""
        for name, value in getattr(self._call, "kept", {}).items():
            _overwrite(arguments[name], value)
        self._call.kept = {}
        if self._users_post_hook:
            _call_hook(self._users_post_hook, arguments, exception=exception)

    def run(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        config = self.best_config = self._choose(args, kwargs)
        if config.pre_hook:
            config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
        self.nargs = None
        return self.fn.run(*args, **{**config.all_kwargs(), **kwargs})

    def warmup(self, *args, grid=(1,), **kwargs):
        """Returns the compiled kernel of each configuration worth timing."""
        self.nargs = dict(zip(self.arg_names, args))
        configs = self.prune_configs({"grid": grid, **kwargs})
        self.nargs = None
        return [self.fn.warmup(*args, grid=grid, **{**config.all_kwargs(), **kwargs}) for config in configs]

    def _choose(self, args, kwargs):
        if len(self.configs) == 1:
            return self.configs[0]
        named = {name: value for name, value in {**self.nargs, **kwargs}.items() if name in self.arg_names}
        team = team_among(named.values())
        if team is not None and team._session.is_gpu:
            return choose_together(self, team, args, kwargs)
        device = None if team is not None or is_simulating() else device_among(named.values())
        if device is None:
            return self._choose_untimed(self.key_of(named), kwargs)
        key = self.key_of(named) if device == 0 else (*self.key_of(named), f"device {device}")
        if key not in self.cache:
            self.cache[key] = self._search(key, device, args, kwargs)
        return self.cache[key]

    def _choose_untimed(self, key, kwargs):
        """The simulator's choice. Each rank of a run is a thread, and its first call with a key is as the first one that counts."""
        chosen = vars(self._call).setdefault("chosen", {})
        if key not in chosen:
            self.refuse_clash(kwargs)
            best = chosen[key] = self.prune_configs(kwargs)[0]
            self.pre_hook({**self.nargs, **kwargs, **best.all_kwargs()}, reset_only=True)
        return chosen[key]

    def key_of(self, named):
        types = [str(value.dtype) for value in named.values() if hasattr(value, "dtype")]
        return (*[_form_of(named[name]) for name in self.keys if name in named], *types)

    def saved_for(self, device, key):
        """Returns the configuration that an earlier process found."""
        return self._saved.find(jit_function(self.fn), self.configs, (device, *key)) if self._saved else None

    def keep(self, device, key, best):
        """Keeps the choice for other processes."""
        if is_on("TANDEM_PRINT_AUTOTUNING", "TRITON_PRINT_AUTOTUNING"):
            print(f"autotuning `{self.__name__}` for {(device, *key)}: {best}", file=sys.stderr)
        if self._saved:
            self._saved.store(jit_function(self.fn), self.configs, (device, *key), best, self.configs_timings)

    def refuse_clash(self, kwargs):
        """Raises ValueError when the call gives a constant that the configurations choose."""
        clash = sorted({name for config in self.configs for name in config.kwargs} & set(kwargs))
        if clash:
            raise ValueError(f"`{clash[0]}` of kernel `{self.__name__}` is chosen by the autotuner and also given in the call")

    def _search(self, key, device, args, kwargs):
        self.refuse_clash(kwargs)
        saved = self.saved_for(device, key)
        if saved is not None:
            return saved
        candidates = self._call.to_compile = self.prune_configs(kwargs)  # a subclass may have left out more
        best = candidates[0]
        if len(candidates) > 1:
            start = time.monotonic()
            self.configs_timings = self._times_of(candidates, args, kwargs)
            self.bench_time = time.monotonic() - start
            best = min(candidates, key=lambda c: milliseconds(self.configs_timings[c]))
            if not math.isfinite(milliseconds(self.configs_timings[best])):
                raise AutotunerError(f"none of the {len(candidates)} configurations of kernel `{self.__name__}` compiles and fits the GPU")
            self.pre_hook({**self.nargs, **kwargs, **best.all_kwargs()}, reset_only=True)
        self.keep(device, key, best)
        return best

    def _times_of(self, candidates, args, kwargs):
        """{configuration: what `_bench` gives}; configurations that launch the same program in the same grid have one timing. Those that
        a glance shows to be far behind have the time of the quickest, as many times as they took longer."""
        self._compile_ahead(candidates[0], args, kwargs)
        first_of = {}
        of_program = {c: first_of.setdefault(self._program_of(c, args, kwargs) or c, c) for c in candidates}
        distinct = list(first_of.values())
        glances = self._glance_at(distinct, args, kwargs)
        limit = FAR_BEHIND * min(glances.values(), default=math.inf)
        timings = {c: self._bench(*args, config=c, **kwargs) for c in distinct if glances.get(c, 0) <= limit}
        if len(timings) < len(distinct):
            quickest = min(timings, key=lambda c: milliseconds(timings[c]))
            scale = milliseconds(timings[quickest]) / glances[quickest]
            timings.update({c: [glances[c] * scale] * 3 for c in distinct if c not in timings})
        return {c: timings[of_program[c]] for c in candidates}

    def _glance_at(self, candidates, args, kwargs):
        """{configuration: milliseconds of two launches} of those that can be launched; nothing where all are timed in a way of the
        user's, or are too few for a glance to pay."""
        if self._do_bench or self.use_cuda_graph or type(self)._bench is not Autotuner._bench or len(candidates) <= 2:
            return {}
        launchable = [c for c in candidates if self._can_launch(c, args, kwargs)]
        calls = [functools.partial(self.launch_once, c, args, kwargs) for c in launchable]
        return dict(zip(launchable, testing.times_at_a_glance(calls)))

    def _can_launch(self, config, args, kwargs):
        try:
            self.launch_once(config, args, kwargs)
        except (OutOfResources, CompileError):
            return False
        return True

    def _program_of(self, config, args, kwargs):
        """What a launch with the configuration runs; None where hooks may change the arguments, or where this cannot be told."""
        if config.pre_hook or self.user_defined_pre_hook:
            return None
        try:
            compiled = self._warmup_of(config, args, kwargs)
        except (OutOfResources, CompileError):
            return None
        try:
            sizes = grid_sizes(kwargs["grid"], {**self.nargs, **kwargs}, config.all_kwargs())
        except KeyError:  # of what only the launch knows, such as the constants of heuristics
            return None
        return (compiled.asm["ptx"], compiled.info["threads"], compiled.shared, sizes) if isinstance(compiled, CompiledKernel) else None

    def prune_configs(self, kwargs):
        """The configurations worth timing: `early_config_prune`, then the `top_k` that `perf_model` estimates as the quickest."""
        candidates = list(self.configs)
        if self.early_config_prune:
            candidates = list(self.early_config_prune(candidates, self.nargs, **kwargs))
            if not candidates:
                raise AutotunerError(f"`early_config_prune` of kernel `{self.__name__}` leaves no configuration")
        if self.perf_model:
            keep = self.configs_top_k
            keep = int(len(self.configs) * keep) if isinstance(keep, float) and keep <= 1.0 else int(keep)
            if len(candidates) > keep:
                estimate = {c: self.perf_model(**{**self.nargs, **kwargs, **c.all_kwargs()}) for c in candidates}
                candidates = sorted(candidates, key=estimate.get)[: max(1, keep)]
        self._call.to_compile = candidates
        return candidates

    def _bench(self, *args, config, **kwargs):
        """Milliseconds of a configuration, a number or a sequence that begins with the one that counts; infinite if it does not compile
        or does not fit."""
        self._compile_ahead(config, args, kwargs)
        try:
            return self.do_bench(lambda: self.launch_once(config, args, kwargs), quantiles=(0.5, 0.2, 0.8))
        except (OutOfResources, CompileError):
            return [math.inf] * 3

    def _compile_ahead(self, config, args, kwargs):
        """Before the first configuration of those worth timing is timed, compiles them all."""
        candidates, self._call.to_compile = getattr(self._call, "to_compile", ()), ()
        if len(candidates) > 1 and config in candidates:
            if earlier := getattr(self._call, "ahead", None):
                earlier.forget()
            self._call.ahead = CompiledAhead([functools.partial(self._warmup_of, c, args, kwargs) for c in candidates])

    def _warmup_of(self, config, args, kwargs):
        """The compiled kernel of a configuration."""
        given = {**kwargs, **config.all_kwargs()}
        if config.pre_hook:
            config.pre_hook({**self.nargs, **given})
        return self.fn.run(*args, **{**given, "warmup": True})

    def launch_once(self, config, args, kwargs):
        """Launches between the hooks."""
        given = {**kwargs, **config.all_kwargs()}
        full = {**self.nargs, **given}
        if config.pre_hook:
            config.pre_hook(full)
        self.pre_hook(full)
        failure = None
        try:
            self.fn.run(*args, **given)
        except Exception as error:
            failure = error
            raise
        finally:
            self.post_hook(full, exception=failure)


def _form_of(value):
    """An array in a key stands for its shape and strides: as an object it would be new in each call, and its text waits for the GPU."""
    if not hasattr(value, "shape"):
        return value
    strides = value.stride() if callable(getattr(value, "stride", None)) else getattr(value, "strides", ())
    return (*value.shape, "strides", *strides)


def _zero(array):
    """PyTorch's arrays have their own way; NumPy's and those of teams are assigned to."""
    array.zero_() if hasattr(array, "zero_") else _overwrite(array, 0)


def _copy_of(array):
    return array.clone() if hasattr(array, "clone") else np.array(array)


def _overwrite(array, value):
    array.copy_(value) if hasattr(array, "clone") else operator.setitem(array, ..., value)


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


def milliseconds(timing):
    return timing[0] if isinstance(timing, (tuple, list)) else timing


class Heuristics(_Wrapper):
    """A kernel with constants that are computed from the other arguments."""

    def __init__(self, fn, arg_names, values):
        super().__init__(fn, arg_names)
        self.values = values

    def run(self, *args, **kwargs):
        for name, value in self.values.items():
            kwargs[name] = value({**dict(zip(self.arg_names, args)), **kwargs})
        return self.fn.run(*args, **kwargs)


def autotune(
    configs,
    key=(),
    prune_configs_by=None,
    reset_to_zero=None,
    restore_value=None,
    pre_hook=None,
    post_hook=None,
    warmup=None,
    rep=None,
    use_cuda_graph=False,
    do_bench=None,
    cache_results=True,
):
    """Chooses among `configs` once for each device, each value of the arguments named in `key`, of arrays each shape with strides, and each
    set of element types.

    `prune_configs_by`: {"early_config_prune": f(configs, arguments, **kwargs), "perf_model": f(**arguments), "top_k": count or share}.
    Arguments in `reset_to_zero` are zeroed before each timed launch and before the first one that counts, those in `restore_value` keep
    their value. Results are kept on disk ($TANDEM_CACHE_DIR) unless `cache_results` is False. `do_bench(call, quantiles)` gives
    milliseconds: a number, or a sequence that begins with the one that counts. `warmup` and `rep` are milliseconds.

    Among the ranks of a run calls are timed in batches of 10, queued before they begin, so that the host's time is not in it, with
    `use_cuda_graph` or without; `warmup` and `rep` become whole batches, one when not given. Every rank calls `do_bench` for each
    configuration, and the slowest one's number counts; where ranks wait for each other it has to launch as often on all of them.
    """
    return lambda fn: Autotuner(
        fn,
        fn.arg_names,
        configs,
        key,
        reset_to_zero,
        restore_value,
        pre_hook,
        post_hook,
        prune_configs_by,
        warmup,
        rep,
        use_cuda_graph,
        do_bench,
        cache_results,
    )


def heuristics(values):
    """Computes constants from the other arguments: {"EVEN": lambda args: args["n"] % 32 == 0}."""
    return lambda fn: Heuristics(fn, fn.arg_names, values)
