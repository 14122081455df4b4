"""The same kernel file through two compilers, and how things are timed."""

import importlib.util
import pathlib
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
    """(Tandem's, Triton's) module of kernels."""
    import triton
    import triton.language
    import tandem
    import tandem.language
    path = HERE / "kernels.py"
    ours = load(path, "kernels_of_tandem", {"triton": tandem, "triton.language": tandem.language})
    theirs = load(path, "kernels_of_triton", {"triton": triton, "triton.language": triton.language})
    return ours, theirs


_flush = None


def microseconds(function, repetitions=100):
    """Median over repetitions, L2 flushed before each."""
    global _flush
    if _flush is None:
        _flush = torch.empty(256 * 1024 * 1024, dtype=torch.int8, device="cuda")
    for _ in range(5):
        function()
    pairs = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(repetitions)]
    for start, end in pairs:
        _flush.zero_()
        start.record()
        function()
        end.record()
    torch.cuda.synchronize()
    return sorted(s.elapsed_time(e) * 1e3 for s, e in pairs)[repetitions // 2]
