"""Starts a process for each rank, passes their output on, and ends all when one fails. This file knows nothing of
GPUs."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time

from .process import RENDEZVOUS, STOPPED_BY_ANOTHER, WAIT_TIMEOUT

_NOTICE_SECONDS = 5.0  # for ranks to notice by themselves that another one is gone
_LEAVE_SECONDS = 2.0  # from SIGTERM to SIGKILL
_POLL_SECONDS = 0.02


def _free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def _environment(ranks, wait_timeout):
    """Returns the variables that the ranks' environments share. The names are torchrun's, as scripts expect."""
    shared = {
        **os.environ,
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(ranks),
        "PYTHONUNBUFFERED": "1",
        RENDEZVOUS: f"tandem-{os.getpid()}-{secrets.token_hex(8)}",
    }
    shared.setdefault("MASTER_ADDR", "127.0.0.1")
    shared.setdefault("MASTER_PORT", str(_free_port()))
    if wait_timeout is not None:
        shared[WAIT_TIMEOUT] = str(wait_timeout)
    return shared


class _Rank:
    """One process and the threads that pass its lines on whole."""

    def __init__(self, rank, command, environment):
        self.rank = rank
        self.code = None  # once it has ended; negative: the signal
        self.process = subprocess.Popen(
            command,
            env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        pairs = ((self.process.stdout, sys.stdout), (self.process.stderr, sys.stderr))
        self.readers = [threading.Thread(target=_pass_on, args=pair, daemon=True) for pair in pairs]
        for reader in self.readers:
            reader.start()

    def send(self, number):
        """Signals the process and those that it has started. The process is not reaped before, so that its number is
        still its own."""
        try:
            os.killpg(self.process.pid, number)
        except (ProcessLookupError, PermissionError):
            pass

    def has_ended(self):
        if self.code is None:
            found = os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is not None:
                self.code = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        return self.code is not None

    def ending(self):
        """Says in a sentence how it ended."""
        if self.code >= 0:
            return f"rank {self.rank} ended with exit code {self.code}"
        return f"rank {self.rank} was killed by {signal.Signals(-self.code).name}"


_printing = threading.Lock()


def _pass_on(source, dest):
    for line in source:
        try:
            with _printing:
                dest.write(line.decode(errors="replace"))
                dest.flush()
        except (OSError, ValueError):
            pass  # nobody reads any more; the rank may go on


def _wait(ranks, seconds=None):
    """Until all have ended, or, without a time, until one has failed. Gives those that failed, in the order they did."""
    failed, until = [], None if seconds is None else time.monotonic() + seconds
    waiting = list(ranks)
    while waiting:
        for rank in list(waiting):
            if rank.has_ended():
                waiting.remove(rank)
                if rank.code:
                    failed.append(rank)
        if (until is None and failed) or (until is not None and time.monotonic() > until):
            break
        time.sleep(_POLL_SECONDS if waiting else 0)
    return failed


def _end(ranks, failed):
    """Ends the ranks that are still there; after a failure also the processes that they have started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        running = [r for r in ranks if not r.has_ended()]
        for rank in running:
            rank.send(number)
        if running:
            _wait(running, _LEAVE_SECONDS)
    for rank in ranks:
        if failed:
            rank.send(signal.SIGKILL)
        rank.process.wait()
        for reader in rank.readers:
            reader.join(1)


def _exit_code(code):
    return 128 - code if code < 0 else 1 if code == STOPPED_BY_ANOTHER else code


def _stop(number, frame):
    raise SystemExit(128 + number)


@contextlib.contextmanager
def _held(*numbers):
    """Signals that arrive meanwhile wait for its end."""
    arrived = []
    handlers = {n: handler for n in numbers if callable(handler := signal.getsignal(n))}
    for number in handlers:
        signal.signal(number, lambda number, _: arrived.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in arrived:
            signal.raise_signal(number)


def run_processes(command, ranks, wait_timeout=None):
    """Runs `command` once for each rank with torchrun's environment variables; gives the exit code of the first rank that failed."""
    environment = _environment(ranks, wait_timeout)
    started, failed = [], True
    previous = signal.signal(signal.SIGTERM, _stop)
    try:
        for rank in range(ranks):
            with _held(signal.SIGINT, signal.SIGTERM):  # a process that has started is known as one to end
                started.append(_Rank(rank, command, environment))
        failed = _wait(started)
        if not failed:
            return 0
        others = [r for r in started if r not in failed]
        failed += _wait(others, _NOTICE_SECONDS)
        first = next((r for r in failed if r.code != STOPPED_BY_ANOTHER), failed[0])
        forced = [r.rank for r in others if not r.has_ended()]
        _end(started, failed)
        print(f"tandem: {first.ending()}{f'; {_named(forced)} ended with it' if forced else ''}", file=sys.stderr)
        return _exit_code(first.code)
    except KeyboardInterrupt:
        for rank in started:
            rank.send(signal.SIGINT)
        _wait([r for r in started if not r.has_ended()], _LEAVE_SECONDS)
        _end(started, True)
        print("tandem: interrupted", file=sys.stderr)
        return 130
    finally:
        signal.signal(signal.SIGTERM, previous)
        _end(started, failed)


def _named(ranks):
    return f"rank {ranks[0]} was" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))} were"
