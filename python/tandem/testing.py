"""Timing kernels on a GPU: `do_bench`, benchmarks over a range of sizes, comparison of results."""

import contextlib
import csv
import functools
import os
import statistics
import subprocess
import time

import numpy as np

from . import _tandem
from .gpu.device import current_device, devices
from .gpu.streams import stream_handle
from .host.current import current_team, is_simulating
from .host.simulated_gpu import SIMULATED_GPU

_FLUSH_BYTES = 256 << 20  # more than any L2


@functools.cache
def _flush_buffer(device):
    return _tandem.gpu_malloc(device, _FLUSH_BYTES)


def _flush(device, stream):
    _tandem.gpu_memset(device, stream, _flush_buffer(device), 0, _FLUSH_BYTES)


class _Events:
    """Pairs of events around `count` calls on the current stream."""

    def __init__(self, device, count):
        self.device = device
        self.pairs = [(_tandem.gpu_event_create(device), _tandem.gpu_event_create(device)) for _ in range(count)]

    def milliseconds(self):
        _tandem.gpu_synchronize(self.device)
        times = [_tandem.gpu_event_elapsed(self.device, start, end) for start, end in self.pairs]
        for pair in self.pairs:
            for event in pair:
                _tandem.gpu_event_destroy(self.device, event)
        return times


def _summary(times, quantiles, return_mode):
    if quantiles is not None:
        found = np.quantile(times, quantiles).tolist()
        return found[0] if len(found) == 1 else found
    if return_mode == "all":
        return times
    return {"min": min, "max": max, "mean": statistics.fmean, "median": statistics.median}[return_mode](times)


def _check_mode(return_mode):
    if return_mode not in ("min", "max", "mean", "median", "all"):
        raise ValueError(f"`return_mode` is `min`, `max`, `mean`, `median` or `all`, not `{return_mode}`")


def _estimate(fn, device, stream):
    """Milliseconds of one of five calls: between events on the stream, and for the host to launch it."""
    events = _Events(device, 1)
    start, end = events.pairs[0]
    _tandem.gpu_event_record(device, stream, start)
    begin = time.perf_counter()
    for _ in range(5):
        fn()
    launched = time.perf_counter() - begin
    _tandem.gpu_event_record(device, stream, end)
    return max(events.milliseconds()[0] / 5, 1e-4), launched * 1e3 / 5


def _simulated_times(fn, grad_to_none):
    """Milliseconds of the host for each of two calls."""
    team, times = current_team(), []
    for _ in range(2):
        for x in grad_to_none or ():
            x.grad = None
        begin = time.perf_counter()
        fn()
        team.synchronize()
        times.append((time.perf_counter() - begin) * 1e3)
    return times


def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean"):
    """Milliseconds of `fn()` on the current device and stream, with a cold L2, without the host's time to launch it.

    `warmup` and `rep` are milliseconds to spend. Gives the `quantiles` (a list, or one number for one), else what `return_mode` says:
    "min", "max", "mean", "median" or "all". On a simulated rank, which has no clock, `fn` is called twice, and the time is the host's.
    """
    _check_mode(return_mode)
    if is_simulating():
        return _summary(_simulated_times(fn, grad_to_none), quantiles, return_mode)
    device = current_device()
    stream = stream_handle(None, device)
    fn()
    _tandem.gpu_synchronize(device)
    flush = _flush_time(device, stream)
    call, launch = _estimate(fn, device, stream)
    flushes = _flushes_behind(launch, flush)
    estimate = call + flushes * flush
    for _ in range(max(1, int(warmup / estimate))):
        fn()
    events = _Events(device, max(1, int(rep / estimate)))
    for start, end in events.pairs:
        for x in grad_to_none or ():
            x.grad = None
        _time_cold(fn, device, stream, flushes, start, end)
    return _summary(events.milliseconds(), quantiles, return_mode)


def times_at_a_glance(calls):
    """Milliseconds of each of `calls`, which have been made before, on the current device and stream, the quicker of two with a cold L2.
    They are made there and back, so that a clock that still rises favours none."""
    device = current_device()
    stream = stream_handle(None, device)
    flush, flushes = _flush_time(device, stream), []
    for call in calls:
        begin = time.perf_counter()
        call()
        flushes.append(_flushes_behind((time.perf_counter() - begin) * 1e3, flush))
    order = [*range(len(calls)), *reversed(range(len(calls)))]
    events = _Events(device, len(order))
    for i, (start, end) in zip(order, events.pairs):
        _time_cold(calls[i], device, stream, flushes[i], start, end)
    times = events.milliseconds()
    return [min(times[i], times[-1 - i]) for i in range(len(calls))]


def _flush_time(device, stream):
    return _estimate(lambda: _flush(device, stream), device, stream)[0]


def _flushes_behind(launch, flush):
    """A GPU that ends its flushes before the host has launched the call would be timed idle. A launch may take twice its time."""
    return min(1 + int(2 * launch / flush), 32)


def _time_cold(fn, device, stream, flushes, start, end):
    for _ in range(flushes):
        _flush(device, stream)
    _tandem.gpu_event_record(device, stream, start)
    fn()
    _tandem.gpu_event_record(device, stream, end)


def do_bench_cudagraph(fn, rep=20, grad_to_none=None, quantiles=None, return_mode="mean"):
    """Like `do_bench`, from replays of a CUDA graph that PyTorch captures: without the host's overhead and with a warm L2."""
    _check_mode(return_mode)
    if is_simulating():
        return _summary(_simulated_times(fn, grad_to_none), quantiles, return_mode)
    try:
        import torch
    except ImportError:
        raise RuntimeError("`do_bench_cudagraph` captures with PyTorch, which is not installed") from None
    with torch.cuda.stream(torch.cuda.Stream()):
        device = current_device()
        stream = stream_handle(None, device)
        fn()
        for x in grad_to_none or ():
            x.detach_()
            x.requires_grad_(True)
            x.grad = None
        torch.cuda.synchronize()
        calls = max(1, int(rep / _estimate(fn, device, stream)[0]))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(calls):
                for x in grad_to_none or ():
                    x.grad = None
                fn()
        torch.cuda.synchronize()
        events = _Events(device, 10)
        for start, end in events.pairs:
            _tandem.gpu_event_record(device, stream, start)
            graph.replay()
            _tandem.gpu_event_record(device, stream, end)
        times = [t / calls for t in events.milliseconds()]
    return _summary(times, quantiles, return_mode)


class Benchmark:
    """A plot: `x_vals` of `x_names`, one line for each of `line_vals` of `line_arg`, other arguments in `args`."""

    def __init__(
        self, x_names, x_vals, line_arg, line_vals, line_names, plot_name, args, xlabel="", ylabel="", x_log=False, y_log=False, styles=None
    ):
        self.x_names, self.x_vals, self.line_arg, self.line_vals, self.line_names = x_names, x_vals, line_arg, line_vals, line_names
        self.plot_name, self.args, self.xlabel, self.ylabel = plot_name, args, xlabel, ylabel
        self.x_log, self.y_log, self.styles = x_log, y_log, styles


class Mark:
    """A function under `perf_report`."""

    def __init__(self, fn, benchmarks):
        self.fn, self.benchmarks = fn, benchmarks

    def rows(self, bench, **kwargs):
        """One dict a size; each line's value is what the function gave first (or alone)."""
        for x in bench.x_vals:
            x_args = dict(zip(bench.x_names, x if isinstance(x, (tuple, list)) else [x] * len(bench.x_names)))
            row = dict(x_args)
            for line, name in zip(bench.line_vals, bench.line_names):
                value = self.fn(**x_args, **{bench.line_arg: line}, **bench.args, **kwargs)
                row[name] = value[0] if isinstance(value, (tuple, list)) else value
            yield row

    def run(self, show_plots=False, print_data=False, save_path="", return_df=False, **kwargs):
        """Runs, and prints or saves the results as asked. Returns the rows with `return_df` (one list for each
        benchmark)."""
        single = isinstance(self.benchmarks, Benchmark)
        tables = []
        for bench in [self.benchmarks] if single else self.benchmarks:
            table = list(self.rows(bench, **kwargs))
            tables.append(table)
            if print_data:
                print(f"{bench.plot_name}:\n{_table(table)}")
            if show_plots or save_path:
                _plot(bench, table, show_plots, save_path)
        return (tables[0] if single else tables) if return_df else None


def perf_report(benchmarks):
    """Makes a benchmark of a function that gives the value of one point."""
    return lambda fn: Mark(fn, benchmarks)


def _table(rows):
    if not rows:
        return ""
    cells = [list(rows[0])] + [[f"{v:.6f}" if isinstance(v, float) else str(v) for v in row.values()] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in cells)


def _plot(bench, rows, show, folder):
    if folder:
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"{bench.plot_name}.csv"), "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*bench.x_names, *bench.line_names])
            writer.writerows(row.values() for row in rows)
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    figure, axes = plt.subplots()
    x = bench.x_names[0]
    for i, name in enumerate(bench.line_names):
        color, style = bench.styles[i] if bench.styles else (None, None)
        axes.plot([r[x] for r in rows], [r[name] for r in rows], label=name, color=color, ls=style)
    axes.set_xlabel(bench.xlabel or x)
    axes.set_ylabel(bench.ylabel)
    axes.set_xscale("log" if bench.x_log else "linear")
    axes.set_yscale("log" if bench.y_log else "linear")
    axes.legend()
    if folder:
        figure.savefig(os.path.join(folder, f"{bench.plot_name}.png"))
    if show:
        plt.show()
    plt.close(figure)


def assert_close(x, y, atol=None, rtol=None, err_msg=""):
    """Compares arrays of the host or of PyTorch (as fp32 when NumPy has no such type)."""
    x, y = _host(x), _host(y)
    atol, rtol = 1e-2 if atol is None else atol, 0.0 if rtol is None else rtol
    np.testing.assert_allclose(x, y, atol=atol, rtol=rtol, err_msg=err_msg, equal_nan=True)


def _host(x):
    if hasattr(x, "detach"):
        x = x.detach()
        x = (x.float() if str(x.dtype) == "torch.bfloat16" else x).cpu().numpy()
    return np.asarray(x)


def _device(number):
    return SIMULATED_GPU if is_simulating() else devices()[current_device() if number is None else number]


def get_dram_gbps(device=None):
    """The memory's bandwidth by its clock and width, in GB/s."""
    properties = _device(device)
    return properties["memory_clock_khz"] * properties["memory_bus_bits"] * 2 / 8 / 1e6


def get_max_tensorcore_tflops(dtype, clock_rate, device=None):
    """Returns the speed of all tensor cores at `clock_rate` kHz, in TFLOP/s (or T operations of integers), without sparsity."""
    properties = _device(device)
    word = str(dtype).rpartition(".")[2]
    bits = next((bits for bits, words in _TENSOR_CORE_TYPES.items() if word in words), None)
    if bits is None:
        raise RuntimeError(f"tensor cores do not multiply `{word}`")
    a_clock = {"sm_80": 1024, "sm_89": 512}.get(properties["target"], 2048)  # multiply-adds of 16 bits of a multiprocessor
    return properties["multiprocessors"] * a_clock * 16 // bits * 2 * clock_rate * 1e-9


_TENSOR_CORE_TYPES = {
    32: ("float32", "fp32"),
    16: ("float16", "fp16", "bfloat16", "bf16"),
    8: ("int8", "float8_e4m3fn", "float8_e5m2", "fp8e4nv", "fp8e5", "float8e4nv", "float8e5"),
}


def nvsmi(attributes):
    """Integers that nvidia-smi gives for the first GPU, such as of ["clocks.current.sm"]."""
    command = ["nvidia-smi", "-i", "0", "--query-gpu=" + ",".join(attributes), "--format=csv,noheader,nounits"]
    return [int(x) for x in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split(",")]


def get_max_simd_tflops(dtype, clock_rate, device=None):
    """Returns the speed of all cores at `clock_rate` kHz without tensor cores, in TFLOP/s; 16-bit types go two at a
    time where they may."""
    properties = _device(device)
    halves = 2 if str(dtype).rpartition(".")[2] in ("float16", "fp16", "bfloat16", "bf16") else 1
    fused_a_clock = 64 if properties["target"] == "sm_80" else 128
    return properties["multiprocessors"] * fused_a_clock * halves * 2 * clock_rate * 1e-9


@contextlib.contextmanager
def set_gpu_clock(ref_sm_clock=None, ref_mem_clock=None):
    """Clocks are the machine's business: nothing is set, the maxima are given."""
    properties = _device(None)
    yield properties["clock_khz"] // 1000, properties["memory_clock_khz"] // 1000
