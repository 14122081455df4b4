"""Runs cases in one process, under Triton or under Tandem, and prints a line of JSON for each.

worker.py BACKEND LIBRARIES STEP [LOCKS] reads a line of JSON for each case, its `name` and the `modules` to import before. STEP is
`compile`: the first calls, with all configurations of autotuners, none of them timed; or `measure`: the GPU's time, then correctness. A
case's line is printed when it is done; one that ends the process has none. Processes that measure on the same GPU share the folder LOCKS.
"""

import builtins
import contextlib
import fcntl
import functools
import gc
import importlib
import json
import os
import pathlib
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


TUNING = {"warmup": 5, "rep": 20}  # milliseconds for each configuration, at most


def untimed(call, *args, quantiles=None, **kwargs):
    """An autotuner calls every configuration once and takes the first."""
    call()
    return [1.0] * len(quantiles) if quantiles else 1.0


def once(call, *args, quantiles=None, **kwargs):
    """The time of one call."""
    import torch

    call()
    first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    first.record()
    call()
    last.record()
    last.synchronize()
    time = first.elapsed_time(last)
    return [time] * len(quantiles) if quantiles else time


class Tuning:
    """How autotuners time their configurations; their choices are kept for this process alone."""

    def __init__(self, backend):
        import triton.runtime.autotuner as autotuner
        import triton.testing

        self.testing, self.real = triton.testing, (triton.testing.do_bench, triton.testing.do_bench_cudagraph)
        autotuner.driver.active.get_benchmarker = lambda: lambda *args, **kwargs: self.testing.do_bench(*args, **kwargs)
        if backend == "tandem":
            from tandem.tune.tuning_cache import TuningCache

            TuningCache.store = lambda *args: None
        else:
            autotuner.Autotuner.check_disk_cache = lambda tuner, key, configs, bench: bool(bench())
        self.most, prune = None, autotuner.Autotuner.prune_configs
        autotuner.Autotuner.prune_configs = lambda tuner, kwargs: prune(tuner, kwargs)[: self.most]

    def by(self, timing, most=None):
        """`timing` for every configuration, or for the first `most`; without one, what the tuner asks for, in less time."""
        self.most = most
        self.testing.do_bench = timing or functools.partial(self._short, self.real[0], TUNING)
        self.testing.do_bench_cudagraph = timing or self.real[1]

    def _short(self, real, most, call, **kwargs):
        return real(call, **{**kwargs, **{name: min(kwargs.get(name) or time, time) for name, time in most.items()}})


class Gpu:
    """The GPU among processes that use it: `alone`, or beside others. Who waits to be alone comes before later ones."""

    def __init__(self, folder):
        self.turn, self.use = (open(pathlib.Path(folder) / name, "a") for name in ("turn", "use")) if folder else (None, None)

    @contextlib.contextmanager
    def held(self, alone):
        if self.use:
            how = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
            fcntl.flock(self.turn, how)
            fcntl.flock(self.use, how)
            fcntl.flock(self.turn, fcntl.LOCK_UN)
        try:
            yield
        finally:
            if self.use:
                fcntl.flock(self.use, fcntl.LOCK_UN)


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
    return {"ms": statistics.median(times), "host_ms": host * 1e3, "gpu": torch.cuda.get_device_name()}


CHECKED = {"triton": 2, "tandem": None}  # configurations that a check chooses from: Triton's error is only compared with


def compile_step(backend, case, row, tuning, gpu):
    tuning.by(untimed)
    yield first_call(case, row)
    tuning.by(untimed, CHECKED[backend])
    with contextlib.suppress(Exception):  # so that a check, which will say what fails, finds its kernels
        case.Run(row, row.inputs(case.Make("check")), row.function)()


def measure_step(backend, case, row, tuning, gpu):
    tuning.by(None)
    with gpu.held(alone=True):
        yield gpu_time(case, row)
    tuning.by(once, CHECKED[backend])
    with gpu.held(alone=False):
        yield check(case, row)


def imported_from(folder, known):
    """The names of the libraries' modules that were imported since, in that order."""
    new = [(name, getattr(module, "__file__", None)) for name, module in list(sys.modules.items()) if name not in known]
    return [name for name, place in new if place and place.startswith(folder)]


def main():
    backend, folder, step, *locks = sys.argv[1:]
    case = prepare(backend, folder)
    tuning, gpu = Tuning(backend), Gpu(*locks or [""])
    folder = str(pathlib.Path(folder).resolve())
    import torch

    for line in sys.stdin:
        asked = json.loads(line)
        name = asked["name"]
        result, known = {}, set(sys.modules)
        try:
            for module in asked["modules"]:
                with contextlib.suppress(Exception):  # the case itself imports what it needs
                    importlib.import_module(module)
            for part in (compile_step if step == "compile" else measure_step)(backend, case, case.CASES[name], tuning, gpu):
                result |= part
        except Exception as error:
            result["failed"] = f"{type(error).__name__}: {str(error).strip()[:600]}"
            if os.environ.get("CORPUS_TRACEBACK"):
                traceback.print_exc()
        result["modules"] = imported_from(folder, known)
        print(json.dumps({"name": name, "step": step, "backend": backend, **result}), flush=True)
        gc.collect()
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
