"""Starts a process for each rank, passes on what they print, and ends all when one fails. Knows nothing of GPUs."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time

from .process import RENDEZVOUS, WAIT_TIMEOUT
from .rank_process import STOPPED_BY_ANOTHER

_NOTICE_SECONDS = 5.0  # for ranks to notice by themselves that another one is gone
_LEAVE_SECONDS = 2.0   # from SIGTERM to SIGKILL
_POLL_SECONDS = 0.02


def _free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def _environment(ranks, wait_timeout):
    """What the ranks' environments share. The names are torchrun's, so that scripts find what they expect."""
    shared = {**os.environ, "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "PYTHONUNBUFFERED": "1",
              RENDEZVOUS: f"tandem-{os.getpid()}-{secrets.token_hex(8)}"}
    shared.setdefault("MASTER_ADDR", "127.0.0.1")
    shared.setdefault("MASTER_PORT", str(_free_port()))
    if wait_timeout is not None:
        shared[WAIT_TIMEOUT] = str(wait_timeout)
    return shared


class _Rank:
    """One process and the threads that pass its lines on whole."""

    def __init__(self, rank, command, environment):
        self.rank = rank
        self.process = subprocess.Popen(command, env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)}, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        pairs = ((self.process.stdout, sys.stdout), (self.process.stderr, sys.stderr))
        self.readers = [threading.Thread(target=_pass_on, args=pair, daemon=True) for pair in pairs]
        for reader in self.readers:
            reader.start()

    def send(self, number):
        """Signals the process and what it has started."""
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def ending(self):
        """How it ended, as a sentence."""
        code = self.process.returncode
        if code >= 0:
            return f"rank {self.rank} ended with exit code {code}"
        name = signal.Signals(-code).name if -code in signal.valid_signals() else f"signal {-code}"
        return f"rank {self.rank} was killed by {name}"


_printing = threading.Lock()


def _pass_on(source, dest):
    for line in source:
        with _printing:
            dest.write(line.decode(errors="replace"))
            dest.flush()


def _wait(ranks, seconds=None):
    """Until all have ended, or, without a time, until one has failed. Gives those that failed, in the order they did."""
    failed, until = [], None if seconds is None else time.monotonic() + seconds
    waiting = list(ranks)
    while waiting:
        for rank in list(waiting):
            if rank.process.poll() is not None:
                waiting.remove(rank)
                if rank.process.returncode:
                    failed.append(rank)
        if (until is None and failed) or (until is not None and time.monotonic() > until):
            break
        time.sleep(_POLL_SECONDS if waiting else 0)
    return failed


def _end(ranks):
    """Ends what is still there."""
    running = [r for r in ranks if r.process.poll() is None]
    for number, seconds in ((signal.SIGTERM, _LEAVE_SECONDS), (signal.SIGKILL, None)):
        running = [r for r in running if r.process.poll() is None]
        for rank in running:
            rank.send(number)
        if running and seconds:
            _wait(running, seconds)
    for rank in ranks:
        rank.process.wait()
        rank.send(signal.SIGKILL)  # what it started and left behind
        for reader in rank.readers:
            reader.join(1)


def _exit_code(failed):
    """The first failure that is no other's consequence decides."""
    code = failed.process.returncode
    return 128 - code if code < 0 else 1 if code == STOPPED_BY_ANOTHER else code


def _stop(number, frame):
    raise SystemExit(128 + number)


def run_processes(command, ranks, wait_timeout=None):
    """Runs `command` once for each rank with torchrun's environment variables; gives the exit code of the first rank that failed."""
    environment = _environment(ranks, wait_timeout)
    started = []
    previous = signal.signal(signal.SIGTERM, _stop)
    try:
        for rank in range(ranks):
            started.append(_Rank(rank, command, environment))
        failed = _wait(started)
        if not failed:
            return 0
        others = [r for r in started if r not in failed]
        late = _wait(others, _NOTICE_SECONDS)
        failed += late
        first = next((r for r in failed if r.process.returncode != STOPPED_BY_ANOTHER), failed[0])
        ended = [r.rank for r in others if r.process.poll() is None]
        _end(started)
        consequence = f"; {_named(ended)} ended with it" if ended else ""
        if ranks > 1:
            print(f"tandem: {first.ending()}{consequence}", file=sys.stderr)
        return _exit_code(first)
    except KeyboardInterrupt:
        for rank in started:
            rank.send(signal.SIGINT)
        _wait([r for r in started if r.process.poll() is None], _LEAVE_SECONDS)
        print("tandem: interrupted", file=sys.stderr)
        return 130
    finally:
        signal.signal(signal.SIGTERM, previous)
        _end(started)


def _named(ranks):
    return f"rank {ranks[0]} was" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))} were"
