"""Runs cases in one process, under Triton or under Tandem, and prints a line of JSON for each.

worker.py BACKEND LIBRARIES STEP NAME...; STEP is `compile`: the first calls, with all configurations of autotuners, none of them timed;
or `measure`: correctness, then the GPU's time. A case's line is printed when it is done; one that ends the process has none.
"""

import builtins
import json
import os
import statistics
import sys
import time
import traceback


def prepare(backend, folder):
    if backend == "tandem":
        import tandem.compat

        tandem.compat.install()
    import torch
    import triton

    import case

    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    case.load(folder)
    return case


def without_timing(backend):
    """Autotuners call every configuration once and take the first; nothing of it is kept for later processes."""
    import triton.runtime.autotuner as autotuner
    import triton.testing

    def once(call, *args, quantiles=None, **kwargs):
        call()
        return [1.0] * len(quantiles) if quantiles else 1.0

    if backend == "tandem":
        from tandem.tune.tuning_cache import TuningCache

        TuningCache.store = lambda *args: None
    triton.testing.do_bench = triton.testing.do_bench_cudagraph = once
    autotuner.driver.active.get_benchmarker = lambda: once


class Imports:
    """While it is entered, `seconds` are those of import statements: libraries are imported by their first case."""

    def __enter__(self):
        self.seconds, self.depth, self.real = 0.0, 0, builtins.__import__
        builtins.__import__ = self._import
        return self

    def __exit__(self, *_):
        builtins.__import__ = self.real

    def _import(self, *args, **kwargs):
        start, self.depth = time.perf_counter(), self.depth + 1
        try:
            return self.real(*args, **kwargs)
        finally:
            self.depth -= 1
            if not self.depth:
                self.seconds += time.perf_counter() - start


def first_call(case, row):
    import torch

    run = case.Run(row, row.inputs(case.Make("time")), row.function)
    with Imports() as imports:
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        whole = time.perf_counter() - start
    return {"first_call_s": whole - imports.seconds}


def check(case, row):
    run = case.Run(row, row.inputs(case.Make("check")), row.function)
    exact = [case.exact(x) for x in run.inputs]  # before the run: a library may write its gradients over its inputs
    results = run()
    return {"error": case.error(results, case.reference_of(row, exact, run.seeds)) if results else 0.0, "tolerance": row.tolerance}


def gpu_time(case, row, batches=5):
    """Milliseconds of a call on the GPU: the calls of a batch wait behind a long kernel until all are queued."""
    import torch

    run = case.Run(row, row.inputs(case.Make("time")), row.function)
    if not run():  # a case that launches nothing on this GPU
        return {}
    torch.cuda.synchronize()
    start = time.perf_counter()
    run()
    torch.cuda.synchronize()
    whole = time.perf_counter() - start
    start = time.perf_counter()
    run()
    host = time.perf_counter() - start
    torch.cuda.synchronize()
    count = max(1, min(20, int(0.02 / whole)))
    clock = torch.cuda.get_device_properties(0).clock_rate * 1e3 if hasattr(torch.cuda.get_device_properties(0), "clock_rate") else 1.98e9
    times = []
    for _ in range(batches):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(int(clock * min(0.2, host * count * 1.5)))
        first.record()
        for _ in range(count):
            run()
        last.record()
        torch.cuda.synchronize()
        times.append(first.elapsed_time(last) / count)
    return {"ms": statistics.median(times), "host_ms": host * 1e3}


def main():
    backend, folder, step, *names = sys.argv[1:]
    case = prepare(backend, folder)
    if step == "compile":
        without_timing(backend)
    for name in names:
        print(json.dumps({"begins": name}), flush=True)
        result = {}
        try:
            row = case.CASES[name]
            for work in (first_call,) if step == "compile" else (check, gpu_time):
                result |= work(case, row)
        except Exception as error:
            result["failed"] = f"{type(error).__name__}: {str(error).strip()[:600]}"
            if os.environ.get("CORPUS_TRACEBACK"):
                traceback.print_exc()
        print(json.dumps({"name": name, "step": step, "backend": backend, **result}), flush=True)


if __name__ == "__main__":
    main()
