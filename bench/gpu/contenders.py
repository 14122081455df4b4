"""The same kernel file through two compilers, and how things are timed."""

import importlib.util
import pathlib
import statistics
import sys

import torch

HERE = pathlib.Path(__file__).resolve().parent


def load(path, name, modules):
    """Imports a kernel file with `modules` standing for the modules it imports."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    saved = {key: sys.modules.get(key) for key in modules}
    sys.modules.update(modules)
    try:
        spec.loader.exec_module(module)
    finally:
        for key, value in saved.items():
            if value is None:
                sys.modules.pop(key, None)
            else:
                sys.modules[key] = value
    return module


def kernels():
    """(Tandem's, Triton's) module of kernels; None for Triton's where it is not installed."""
    import tandem
    import tandem.language

    path = HERE / "kernels.py"
    ours = load(path, "kernels_of_tandem", {"triton": tandem, "triton.language": tandem.language})
    try:
        import triton
    except ImportError:
        return ours, None
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device="cuda", dtype=torch.int8))
    return ours, load(path, "kernels_of_triton", {})


_flush = None


def flush_cache():
    global _flush
    if _flush is None:
        _flush = torch.empty(256 * 1024 * 1024, dtype=torch.int8, device="cuda")
    _flush.zero_()


def microseconds(*functions, repetitions=100):
    """Median of each function's times. They take turns, so that heat and clocks are the same for all; L2 is flushed before each."""
    for function in functions:
        for _ in range(3):
            function()
    times = [[] for _ in functions]
    for _ in range(repetitions):
        for function, own in zip(functions, times):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            flush_cache()
            start.record()
            function()
            end.record()
            own.append((start, end))
    torch.cuda.synchronize()
    medians = [statistics.median_high(s.elapsed_time(e) * 1e3 for s, e in own) for own in times]
    return medians if len(medians) > 1 else medians[0]
