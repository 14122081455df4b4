"""Runs checks by name in worker processes, one check at a time each. A check that takes its process or its GPU context down, or hangs,
fails alone: the worker is replaced and goes on.

Knows nothing of kernels: `checks.py` says what a name means.
"""

import contextlib
import dataclasses
import faulthandler
import multiprocessing
import multiprocessing.connection
import os
import signal
import tempfile
import time
import traceback

_ENOUGH = 1800  # characters of a message


@dataclasses.dataclass
class Outcome:
    """The outcome of one check: "passed", "failed", "crashed" (with its process or context), "hung", or "not run" in the time given."""

    status: str
    message: str = ""
    seconds: float = 0.0


def _work(channel, seed, stacks):
    import checks
    import device

    faulthandler.register(signal.SIGUSR1, open(stacks, "w"))
    checks.load_all()
    channel.send(("ready", None))
    for name in iter(channel.recv, None):
        started = time.monotonic()
        try:
            checks.run(name, seed)
            outcome = Outcome("passed")
        except BaseException as error:
            frames = "".join(traceback.format_tb(error.__traceback__)[-2:])
            text = f"{type(error).__name__}: {error}"
            lost = device.is_lost()
            outcome = Outcome(
                "crashed" if lost else "failed", text[:_ENOUGH] if isinstance(error, AssertionError) else (text[:_ENOUGH] + "\n" + frames)
            )
        outcome.seconds = time.monotonic() - started
        channel.send((name, outcome))
        if outcome.status == "crashed":
            return


class _Worker:
    def __init__(self, seed):
        context = multiprocessing.get_context("spawn")
        self.channel, theirs = context.Pipe()
        self.stacks = tempfile.NamedTemporaryFile("r")
        self.process = context.Process(target=_work, args=(theirs, seed, self.stacks.name), daemon=True)
        self.process.start()
        theirs.close()
        self.check, self.since = None, time.monotonic()

    def give(self, name):
        self.check, self.since = name, time.monotonic()
        self.channel.send(name)

    def where(self):
        """The Python stacks of the process's threads."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGUSR1)
        time.sleep(0.5)
        return self.stacks.read()

    def stop(self):
        self.process.kill()
        self.process.join()
        self.stacks.close()


class _Pool:
    def __init__(self, names, workers, seed, patience, report):
        self.waiting, self.seed, self.patience, self.report = list(reversed(names)), seed, patience, report
        self.outcomes = {}
        self.workers = [_Worker(seed) for _ in range(max(1, min(workers, len(names))))]

    def finish(self, worker, outcome):
        if worker.check is not None:
            self.outcomes[worker.check] = outcome
            self.report(worker.check, outcome)
            worker.check = None

    def feed(self, worker):
        if self.waiting:
            worker.give(self.waiting.pop())
        else:
            worker.channel.send(None)
            worker.stacks.close()
            self.workers.remove(worker)

    def replace(self, worker):
        worker.stop()
        self.workers.remove(worker)
        if self.waiting:
            self.workers.append(_Worker(self.seed))

    def hear(self, worker):
        try:
            name, outcome = worker.channel.recv()
        except (EOFError, OSError):
            worker.process.join(5)
            if worker.check is None:
                raise RuntimeError("a worker process ended before its first check") from None
            self.finish(
                worker, Outcome("crashed", f"the process ended with status {worker.process.exitcode}", time.monotonic() - worker.since)
            )
            self.replace(worker)
            return
        if outcome is not None:
            self.finish(worker, outcome)
        if outcome is not None and outcome.status == "crashed":
            self.replace(worker)
        else:
            self.feed(worker)

    def run(self, end):
        while self.workers and time.monotonic() < end:
            by_channel = {w.channel: w for w in self.workers}
            for channel in multiprocessing.connection.wait(list(by_channel), timeout=1):
                self.hear(by_channel[channel])
            for worker in list(self.workers):
                if worker.check is None or worker.channel.poll():
                    continue
                if time.monotonic() - worker.since > self.patience:
                    self.finish(worker, Outcome("hung", f"nothing after {self.patience} seconds\n{worker.where()}", self.patience))
                    self.replace(worker)
        for worker in self.workers:
            worker.stop()


def run(names, workers=8, seed=0, seconds=3600.0, patience=60.0, report=lambda name, outcome: None):
    """{name: Outcome} of all names. `seconds` bounds the whole run, `patience` a single check."""
    pool = _Pool(names, workers, seed, patience, report)
    pool.run(time.monotonic() + seconds)
    return {name: pool.outcomes.get(name, Outcome("not run")) for name in names}
