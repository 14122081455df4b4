"""Runs a function on each rank of a session, on a thread each."""

import ctypes
import math
import sys
import threading
import time

from .. import _tandem
from ..errors import RankStopped, RunError
from .current import joined_team, set_thread_team
from .frames import host_notes, in_package, users_traceback
from .session import SimulatedSession
from .team import Team

_INTERRUPT_SECONDS = 5
_GRACE_SECONDS = 1  # for the simulator to end a run by itself when its time is over
_LOOK_SECONDS = 0.2  # between looks for a signal, which does not wake a thread that is only about to wait


def run_ranks(main, ranks, args, **options):
    """Runs `main(team, *args)` on each rank of a new simulated session to its end; returns the session and each
    rank's value."""
    team = joined_team()
    if team is not None and team.refuses_launch:
        raise SystemExit(team.refuses_launch)
    session = SimulatedSession(ranks, **options)
    return session, run_on(session, main, args)


def run_on(session, main, args):
    """Runs `main(team, *args)` on a thread for each rank; returns each rank's value."""
    ranks = session.ranks
    values, failures = [None] * ranks, []
    teams = []  # what they queued may be carried out after their rank has failed

    def body(rank):
        try:
            session.enter(rank)
            team = Team(session, rank)
            set_thread_team(team)
            teams.append(team)
            try:
                values[rank] = main(team, *args)
            except SystemExit as leaving:
                if leaving.code not in (None, 0):
                    raise
            session.leave(rank)
        except _OutOfTime as late:
            _tandem.expire(session.handle)
            error = session.error(session.reports()).with_traceback(late.__traceback__)
            failures.append((rank, error))
            _tandem.leave(session.handle, rank)  # the others learn of it one after another
        except BaseException as error:
            failures.append((rank, error))
            session.fail(rank, f"{type(error).__name__}: {error}")
        finally:
            set_thread_team(None)

    threads = [threading.Thread(target=body, args=(r,), name=f"tandem rank {r}", daemon=True) for r in range(ranks)]
    for thread in threads:
        thread.start()
    try:
        _join(threads, session.timeout)
    except KeyboardInterrupt:
        _tandem.interrupt(session.handle)
        for thread in threads:
            thread.join(_INTERRUPT_SECONDS)
        raise
    session.finished = True
    if failures:
        _raise_first(session, failures)
    session.end()
    return values


class _OutOfTime(BaseException):
    """Raised in host code that goes on without a call of the package when the run's time is over."""


def _join(threads, timeout):
    """Waits for the ranks' threads; interrupts those in code of their own when the time (seconds, or None) is over."""
    deadline = time.monotonic() + timeout + _GRACE_SECONDS if timeout else math.inf
    for thread in threads:
        while thread.is_alive() and (left := deadline - time.monotonic()) > 0:
            thread.join(min(left, _LOOK_SECONDS))
    busy = list(threads)
    while any(thread.is_alive() for thread in threads):
        frames = sys._current_frames()
        for thread in [t for t in busy if t.ident in frames and not in_package(frames[t.ident].f_code)]:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_OutOfTime))
            busy.remove(thread)
        time.sleep(0.1)


def _raise_first(session, failures):
    """Raises the exception that ended the run. On GPUs the ranks run at once, and the first to fail is the reason of
    the others' failures."""
    stops = [f for f in failures if isinstance(f[1], RunError)]
    own = [f for f in failures if not isinstance(f[1], (RunError, RankStopped))]
    if session.ranks > 1:
        for rank, error in own:
            error.add_note(f"raised on rank {rank} of {session.ranks}")
    error = (failures if session.is_gpu else stops or own or failures)[0][1]
    reports = session.reports()
    if not session.is_gpu and any(r["severity"] == "error" for r in reports):
        error = session.error(reports).with_traceback(error.__traceback__)
        error.raised = own
        for rank, raised in own:
            error.add_note(f"and rank {rank} raised {type(raised).__name__}: {raised}")
    if isinstance(error, RunError):
        error.add_places(host_notes(stops))
    raise error.with_traceback(users_traceback(error))
