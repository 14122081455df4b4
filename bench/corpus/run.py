"""Measures the corpus on the GPUs of a machine: python bench/corpus/run.py [--libraries FOLDER] [--only TEXT] OUT.json

The first calls of all cases are had in several processes at once, on the first GPU, each with cores of its own, so that they are those of
a machine of so many cores. As soon as both sides of a case have compiled, it is timed under both, one after the other, on a GPU that runs
nothing else meanwhile: on the other GPUs from the start, on the first one when all have compiled. Then its results are checked. Rows are
written as they come; what is in OUT.json already stays, and with --missing only what is not there is measured. The table and the picture
are made from it by table.py.
"""

import argparse
import contextlib
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).parent
BACKENDS = {"triton": 1, "tandem": 4}  # the cores of a process that compiles: Triton's tuner compiles one configuration after another


def cases_and_gpus(folder, only):
    program = (
        f"import sys; sys.path.insert(0, {str(HERE)!r}); import case, json, torch; case.load({str(folder)!r}); "
        "print(json.dumps([list(case.CASES), torch.cuda.device_count()]))"
    )
    names, gpus = json.loads(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True).stdout.splitlines()[-1])
    return [name for name in names if any(word in name for word in only)], gpus


class Worker:
    """A process that runs cases; one that says nothing for `patience` seconds is ended, its case has failed, and the next case gets a
    new process."""

    def __init__(self, arguments, cores, environment, patience, until):
        self.arguments, self.cores, self.patience, self.until = arguments, cores, patience, until
        self.environment = {**os.environ, **environment}
        self.process = None

    def run(self, name, modules=()):
        """The row of a case; None when the time is over."""
        if self.process is None or self.process.poll() is not None:
            self._begin()
        why = "the process ended"
        try:
            self.process.stdin.write(json.dumps({"name": name, "modules": list(modules)}) + "\n")
            self.process.stdin.flush()
            while (line := self.lines.get(timeout=max(0.1, min(self.patience, self.until - time.monotonic())))) is not None:
                told = json.loads(line) if line.startswith('{"') else {}
                if told.get("name") == name:
                    return told
        except queue.Empty:
            why = f"no end within {self.patience} s"
        except BrokenPipeError:
            pass
        self.end()
        if time.monotonic() >= self.until:
            return None
        return {"name": name, "failed": f"{why}: {''.join(self.errors[-3:]).strip()[-300:]}"}

    def _begin(self):
        self.lines, self.errors = queue.Queue(), []
        self.process = subprocess.Popen(
            self.arguments,
            preexec_fn=(lambda: os.sched_setaffinity(0, self.cores)) if self.cores else None,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )
        out, err, lines, errors = self.process.stdout, self.process.stderr, self.lines, self.errors
        threading.Thread(target=lambda: [lines.put(line) for line in out] + [lines.put(None)], daemon=True).start()
        threading.Thread(target=lambda: errors.extend(err), daemon=True).start()

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()


class Table:
    """The rows of OUT.json."""

    def __init__(self, path):
        self.path, self.lock, self.begun = path, threading.Lock(), time.monotonic()
        self.rows = json.loads(path.read_text())["rows"] if path.exists() else {}
        self.modules = {}

    def of(self, name, backend):
        return self.rows.setdefault(name, {}).setdefault(backend, {})

    def keep(self, name, backend, step, told):
        if told is None:
            return
        with self.lock:
            self.modules.setdefault(name, []).extend(told.get("modules", ()))
            told = {k: v for k, v in told.items() if k not in ("name", "backend", "step", "modules")}
            row = self.of(name, backend)
            for key in ("failed", "first_call_s") if step == "compile" else ("failed", "error", "ms", "host_ms"):
                row.pop(key, None)
            row.update(told)
            self.path.write_text(json.dumps({"rows": self.rows}, indent=1) + "\n")
            figures = " ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={str(v)[:200]!r}" for k, v in told.items())
            print(f"{time.monotonic() - self.begun:.0f} s, {backend} {step} {name}: {figures}", file=sys.stderr, flush=True)


def rank_in(table, name):
    """Cases without times first, then those that compiled long."""
    rows = [table.get(name, {}).get(backend, {}) for backend in BACKENDS]
    return (all("ms" in row for row in rows), -max(row.get("first_call_s", 0.0) for row in rows))


class Measurement:
    def __init__(self, options, folder, table, names, gpus):
        self.options, self.folder, self.table, self.gpus = options, folder, table, max(1, gpus)
        self.until = time.monotonic() + options.seconds
        self.cores = sorted(os.sched_getaffinity(0))
        self.backends = [b for b in BACKENDS if b in options.backends.split(",")]
        self.ready, self.left = queue.Queue(), {}
        self.names = sorted(names, key=lambda name: rank_in(options.like, name))
        self.to_compile = {b: queue.SimpleQueue() for b in self.backends}
        for name in self.names:
            wanted = [b for b in self.backends if "compile" in options.steps and self._is_wanted(name, b, "first_call_s")]
            self.left[name] = set(wanted)
            for backend in wanted:
                self.to_compile[backend].put(name)
            if not wanted:
                self.ready.put(name)

    def run(self):
        compiling, early, late = [*self._compilers()], [*self._measurers(range(1, self.gpus))], [*self._measurers([0])]
        for thread in (*compiling, *early):
            thread.start()
        for thread in compiling:
            thread.join()
        for thread in late:
            thread.start()
        for _ in (*early, *late):
            self.ready.put(None)
        for thread in (*early, *late):
            thread.join()

    def _is_wanted(self, name, backend, key):
        return not self.options.missing or key not in self.table.of(name, backend)

    def _compilers(self):
        """A thread for each process that compiles; the last cores are kept for those that measure meanwhile."""
        if "compile" not in self.options.steps:
            return
        free = self.cores[:-4] if self.gpus > 1 and len(self.cores) > 8 else self.cores
        for backend in self.backends[::-1]:
            each = BACKENDS[backend]
            part = len(free) // 2 if backend == "tandem" and "triton" in self.backends else len(free)
            for _ in range(max(1, part // each)):
                cores, free = free[:each] or self.cores, free[each:]
                yield threading.Thread(target=self._compile, args=(backend, cores))

    def _compile(self, backend, cores):
        worker = self._worker(backend, "compile", 0, cores)
        with contextlib.suppress(queue.Empty):
            while time.monotonic() < self.until:
                name = self.to_compile[backend].get_nowait()
                self.table.keep(name, backend, "compile", worker.run(name))
                with self.table.lock:
                    self.left[name].remove(backend)
                    if not self.left[name]:
                        self.ready.put(name)
        worker.end()

    def _measurers(self, gpus):
        for gpu in gpus:
            os.makedirs(f"{self.folder}/gpu{gpu}", exist_ok=True)
            for _ in range(self.options.lanes if "measure" in self.options.steps else 0):
                yield threading.Thread(target=self._measure, args=(gpu,))

    def _measure(self, gpu):
        workers = {b: self._worker(b, "measure", gpu, ()) for b in self.backends}
        while (name := self.ready.get()) is not None and time.monotonic() < self.until:
            if any(self._is_wanted(name, b, "ms") for b in self.backends):
                for backend in self.backends:
                    self.table.keep(name, backend, "measure", workers[backend].run(name, self.table.modules.get(name, ())))
        for worker in workers.values():
            worker.end()

    def _worker(self, backend, step, gpu, cores):
        environment = {
            "CUDA_VISIBLE_DEVICES": str(gpu),
            "TRITON_CACHE_DIR": f"{self.folder}/triton",
            "TANDEM_CACHE_DIR": f"{self.folder}/tandem",
            "FLAGGEMS_CACHE_DIR": tempfile.mkdtemp(dir=self.folder),  # its choices, which are not for other processes either
        }
        locks = [f"{self.folder}/gpu{gpu}"] if step == "measure" else []
        program = [sys.executable, str(HERE / "worker.py"), backend, str(self.options.libraries), step, *locks]
        return Worker(program, cores, environment, self.options.patience, self.until)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--libraries", type=pathlib.Path, default=HERE / ".libraries")
    parser.add_argument("--backends", default="triton,tandem")
    parser.add_argument("--only", default="", help="texts, one of which a case's name must hold, between commas")
    parser.add_argument("--steps", default="compile,measure")
    parser.add_argument("--like", type=lambda path: json.loads(pathlib.Path(path).read_text())["rows"], default={}, help="an older table")
    parser.add_argument("--missing", action="store_true", help="measure only what OUT.json does not hold")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing after these")
    parser.add_argument("--patience", type=float, default=240, help="seconds for a case")
    parser.add_argument("--lanes", type=int, default=3, help="cases in work on each GPU, of which one is timed")
    options = parser.parse_args()
    table = Table(options.out)
    names, gpus = cases_and_gpus(options.libraries, options.only.split(","))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Measurement(options, folder, table, names, gpus).run()
    print(f"{len(names)} cases in {time.monotonic() - table.begun:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
