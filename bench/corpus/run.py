"""Measures the corpus on one GPU: python bench/corpus/run.py [--libraries FOLDER] [--backends triton,tandem] [--only TEXT] OUT.json

First every case compiles, in several processes at once, each with cores of its own, so that first calls are those of a machine of so many
cores; then each is checked and timed, one after another. What is in OUT.json already stays unless it is measured again. The table and the
picture are made from it by table.py.
"""

import argparse
import concurrent.futures
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


def names_of(folder, only):
    program = f"import sys; sys.path.insert(0, {str(HERE)!r}); import case; case.load({str(folder)!r}); print(*case.CASES, sep='\\n')"
    listed = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split("\n")
    return [name for name in listed if name and any(word in name for word in only)]


class Workers:
    """Runs worker processes; one that says nothing for `patience` seconds is ended and its case has failed."""

    def __init__(self, backend, folder, caches, patience):
        self.backend, self.folder, self.patience = backend, folder, patience
        self.environment = {**os.environ, "TRITON_CACHE_DIR": f"{caches}/triton", "TANDEM_CACHE_DIR": f"{caches}/tandem"}

    def run(self, step, names, keep, cores=()):
        """Runs a step for these cases, on `cores` only, if any are named."""
        left = list(names)
        while left:
            process = subprocess.Popen(
                [sys.executable, str(HERE / "worker.py"), self.backend, str(self.folder), step, *left],
                preexec_fn=(lambda: os.sched_setaffinity(0, cores)) if cores else None,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=self.environment,
            )
            lines, errors = queue.Queue(), []
            threading.Thread(target=lambda: [lines.put(line) for line in process.stdout] + [lines.put(None)], daemon=True).start()
            threading.Thread(target=lambda: errors.extend(process.stderr), daemon=True).start()
            begun, reason = None, None
            while True:
                try:
                    line = lines.get(timeout=self.patience)
                except queue.Empty:
                    process.kill()
                    reason = f"no end within {self.patience} s"
                    break
                if line is None:
                    break
                told = json.loads(line) if line.startswith('{"') else {}
                begun = told.get("begins", begun)
                if "name" in told:
                    left.remove(told["name"])
                    keep(told)
                    begun = None
            process.wait()
            if left:
                lost = begun or left[0]
                left.remove(lost)
                keep(
                    {
                        "name": lost,
                        "step": step,
                        "backend": self.backend,
                        "failed": reason or f"the process ended: {''.join(errors[-3:]).strip()[-300:]}",
                    }
                )


def measure(options, target, names, results):
    lock = threading.Lock()

    def keep(told):
        with lock:
            name, backend, step = (told.pop(key) for key in ("name", "backend", "step"))
            row = results.setdefault(name, {}).setdefault(backend, {})
            for key in ("failed", "first_call_s") if step == "compile" else ("failed", "error", "ms", "host_ms"):
                row.pop(key, None)
            row.update(told)
            options.out.write_text(json.dumps({"rows": results}, indent=1) + "\n")
            figures = " ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={str(v)[:200]!r}" for k, v in told.items())
            print(f"{backend} {step} {name}: {figures}", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as caches:
        workers = Workers(target, options.libraries, caches, options.patience)
        cores = sorted(os.sched_getaffinity(0))
        jobs = max(1, len(cores) // options.cores)
        shares = [(names[i::jobs], cores[i * options.cores : (i + 1) * options.cores]) for i in range(jobs)]
        if "compile" in options.steps:
            with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
                list(pool.map(lambda share: workers.run("compile", share[0], keep, share[1]), shares))
        if "measure" in options.steps:
            workers.run("measure", names, keep)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--libraries", type=pathlib.Path, default=HERE / ".libraries")
    parser.add_argument("--backends", default="triton,tandem")
    parser.add_argument("--only", default="", help="texts, one of which a case's name must hold, between commas")
    parser.add_argument("--cores", type=int, default=4, help="for each process that compiles; all cores are used")
    parser.add_argument("--steps", default="compile,measure")
    parser.add_argument("--patience", type=float, default=240, help="seconds for a case")
    options = parser.parse_args()
    results = json.loads(options.out.read_text())["rows"] if options.out.exists() else {}
    names = names_of(options.libraries, options.only.split(","))
    for backend in options.backends.split(","):
        start = time.monotonic()
        measure(options, backend, names, results)
        print(f"{backend}: {len(names)} cases in {time.monotonic() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
