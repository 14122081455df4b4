"""The parts of Triton-distributed that measure, tune and profile: simulated ranks make few calls and have no times to compare."""

import contextlib
import functools

import torch

from .rank import state

_TIMED_CALLS = 2  # a simulated run gives the same result again, and has no time to measure


# ---- triton_dist.profiler_utils


def perf_func(func, iters, warmup_iters):
    """(the last result, milliseconds of a call). Simulated ranks make few calls; the time is what the simulation took."""
    on_gpu = state().on_gpu
    for _ in range(warmup_iters if on_gpu else 0):
        func()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    calls = max(1, iters if on_gpu else min(iters, _TIMED_CALLS))
    torch.cuda.synchronize()
    begin.record()
    for _ in range(calls):
        result = func()
    end.record()
    torch.cuda.synchronize()
    return result, begin.elapsed_time(end) / calls


def benchmark_latency_memory(func, iters=100, warmup_iters=10, pre_func=None):
    if pre_func is not None:
        pre_func()
    return perf_func(func, iters, warmup_iters)[1], 0.0


class group_profile:
    """Profiles nothing on simulated ranks: `tandem run --trace` does."""

    def __init__(self, name="", do_prof=True, *_, **__):
        self.name = name

    def __enter__(self):
        return None

    def __exit__(self, *failure):
        return None


def get_torch_prof_ctx(do_prof):
    return contextlib.nullcontext()


class Profile:
    """`torch.profiler.profile`, which records nothing here: `tandem run --trace` does."""

    def __init__(self, *_, **__):
        """Whatever it was to record."""

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        return None

    def step(self):
        """No step is told from another."""

    start = stop = step

    def key_averages(self, *_, **__):
        return torch.autograd.profiler_util.EventList([])

    def export_chrome_trace(self, path):
        with open(path, "w") as file:
            file.write('{"traceEvents": []}')


def print_benchmark_comparison(all_implementations, *_, **__):
    for name, found in dict(all_implementations).items():
        print(f"{name}: {found}")


# ---- triton_dist.tune, triton_dist.autotuner


class AutoTuner:
    """Calls with the first configuration that is left after pruning: simulated ranks have no times to compare."""

    def __init__(self, func, config_space, key_fn=None, prune_fn=None):
        functools.update_wrapper(self, func)
        self.fn, self.config_space, self.key_fn, self.prune_fn = func, config_space, key_fn, prune_fn

    def __call__(self, *args, autotune=False, autotune_pg=None, **kwargs):
        if autotune:
            kept = [c for c in self.config_space if self.prune_fn is None or self.prune_fn(c, *args, **kwargs)]
            if kept:
                kwargs = {**kept[0], **kwargs}
        return self.fn(*args, **kwargs)


def autotune(config_space, key_fn=None, prune_fn=None):
    return lambda func: AutoTuner(func, config_space, key_fn, prune_fn)


def to_hashable(tensor):
    return (tuple(tensor.shape), tensor.dtype, tuple(tensor.stride())) if isinstance(tensor, torch.Tensor) else tensor


def contextual_autotune(is_dist=False, n_repeat=5, n_warmup=3):
    return lambda func: func


# ---- triton_dist.tools


def aot_compile_spaces(spaces=None, *_, **__):
    return lambda function: function


def alloc_profiler_buffer(max_num_profile_slots):
    return torch.zeros(max_num_profile_slots, dtype=torch.int64)


class ProfilerBuffer:
    """The buffer that a kernel's profiler writes to; it is not drawn: `tandem run --trace` draws."""

    def __init__(self, max_num_profile_slots, trace_file=None, task_names=None):
        self.profiler_buffer = alloc_profiler_buffer(max_num_profile_slots)

    def __enter__(self):
        return self.profiler_buffer

    def __exit__(self, *failure):
        return None
