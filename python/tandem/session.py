"""Runs: a session of N ranks, the calling thread's team, and `launch`."""

import ctypes
import dis
import json
import linecache
import os
import sys
import threading
import time
import traceback
import types
import warnings

import numpy as np

from . import _tandem
from .allowance import seriousness
from .arrays import Tensor
from .errors import CompileError, RankStopped, RunError, SimulationError, SimulationWarning
from .team import Stream, Team, host_place, in_package

_current = threading.local()
_INTERRUPT_SECONDS = 5
_GRACE_SECONDS = 1  # for the simulator to end a run by itself when its time is over


def check_default():
    """Whether the environment asks for the checker."""
    return os.environ.get("TANDEM_CHECK", "0") not in ("", "0")


def _check_options(check):
    """The session's options for an argument `check`."""
    if check is None:
        check = check_default()
    if not isinstance(check, dict):
        return {"check": bool(check)}
    if unknown := set(check) - {"scope", "portability"}:
        raise ValueError(f"`check` has `scope` and `portability`, not `{min(unknown, key=str)}`")
    return {"check": True, **{name: bool(value) for name, value in check.items()}}


class Session:
    """N ranks of one run. What differs between simulated ranks and GPUs is in the subclasses."""

    tensor_type = Tensor
    error = RunError
    is_gpu = False
    tells_places = False  # each call's host line, for reports
    any_thread = False  # the rank's calls may come from any thread of the process

    def __init__(self, ranks, options, search=None):
        text = json.dumps(options)
        try:
            self.handle = _tandem.session_create(text) if search is None else _tandem.search_session(search, text)
        except RuntimeError as error:
            raise ValueError(str(error)) from None
        self.ranks = ranks
        self.checks = bool(options.get("check"))
        self.timeout = options.get("timeout")
        self.stopped = False  # no rank can use it any more: it failed
        self.failure = ""     # of the first rank whose host failed, while the others go on
        self._told = set()    # threads that have been told why it failed
        self.finished = False

    def device_of(self, rank):
        return None

    def takes(self, array):
        """Whether a tensor of the team is filled from `array` without NumPy."""
        return False

    def adopt(self, team, stream):
        raise TypeError("a simulated rank has no CUDA streams")

    def note_queued(self, team, stream):
        """Something is queued on a stream."""

    def note_idle(self, team):
        """The rank's streams are idle."""

    def reports(self):
        """The most serious first."""
        return sorted(json.loads(_tandem.reports(self.handle)), key=lambda report: seriousness(report["kind"]))

    def check(self):
        """Raises what the run has found."""
        reports = self.reports()
        if any(r["severity"] == "error" for r in reports):
            self.stopped = True
            again = threading.get_ident() in self._told
            self._told.add(threading.get_ident())
            raise self.error(reports, again)

    def guarded(self, function, *args):
        """Calls into the library; a run that stopped raises its report."""
        try:
            return function(self.handle, *args)
        except RuntimeError as error:
            self.check()
            if self.failure and str(error) == self.failure:
                raise RankStopped(self.failure) from None
            raise
        except KeyboardInterrupt:
            self.stopped = True
            raise

    def enter(self, rank):
        self.guarded(_tandem.enter, rank)

    def leave(self, rank):
        self.guarded(_tandem.leave, rank)

    def fail(self, rank, why):
        """The host of `rank` has failed."""
        self.failure = self.failure or f"rank {rank} failed: {why}"
        _tandem.fail(self.handle, rank, why)

    def default_stream(self, team):
        return Stream(team, 0)

    def new_stream(self, team):
        return Stream(team, team._call(_tandem.create_stream))

    def release(self, rank, address):
        self.guarded(_tandem.release, rank, address, *host_place())

    def end(self):
        """After all ranks left: raises what was left over."""
        self.finished = True
        _tandem.finish(self.handle)
        self.check()


class SimulatedSession(Session):
    error = SimulationError
    tells_places = True

    def __init__(self, ranks, seed=0, trace=False, check=None, search=None, schedule=None, timeout=None, **options):
        if schedule is not None:
            options["schedule"] = str(schedule)
        if timeout is not None:
            options["timeout"] = float(timeout)
        options = {name: value for name, value in options.items() if value is not None}
        for name, value in {"ranks": ranks, "seed": seed, **options}.items():
            if name not in ("policy", "log_stores", "schedule", "timeout") and not isinstance(value, (int, np.integer)):
                raise TypeError(f"`{name}` must be an integer, not {value!r}")
        super().__init__(ranks, {"ranks": int(ranks), "seed": int(seed) % 2**64, "trace": bool(trace),
                                 **_check_options(check), **options}, search)


def rank_team():
    """The team of the calling thread when it is a rank of a run; None in a program that makes its own rank when it needs one."""
    team = getattr(_current, "team", None) or _process_team
    return None if team is None or team._session is getattr(_current, "own_session", None) else team


def is_simulating():
    """Whether the calling thread is a rank of a simulated run."""
    team = rank_team()
    return team is not None and not team._session.is_gpu


_process_team = None  # of a process that is one rank; whichever thread asks


def set_process_team(team):
    global _process_team
    _process_team = team


def current_team():
    """The team of the calling thread. Outside of any launch: a simulated run of one rank, made on first use."""
    team = getattr(_current, "team", None) or _process_team
    if team is None or (team._session is getattr(_current, "own_session", None) and team._session.stopped):
        session = _current.own_session = SimulatedSession(1)
        _tandem.enter(session.handle, 0)
        team = _current.team = Team(session, 0)
    return team


def _user_frames(trace):
    """A traceback without the frames of this package."""
    if trace is None:
        return None
    rest = _user_frames(trace.tb_next)
    if in_package(trace.tb_frame.f_code):
        return rest
    return types.TracebackType(rest, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)


def users_traceback(error):
    """How the user's code led to an error: without the frames of this package, unless the error is one that it did not mean to raise."""
    last = error.__traceback__
    while last.tb_next:
        last = last.tb_next
    is_meant = isinstance(error, (CompileError, RunError)) or last.tb_frame.f_code.co_code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    return _user_frames(error.__traceback__) if is_meant or _user_frames(last) else error.__traceback__


def _host_notes(stops):
    """Where the ranks' host code was when the run stopped: one note a line of code."""
    ranks_at = {}
    for rank, error in sorted(stops, key=lambda stop: stop[0]):
        for frame in traceback.extract_tb(_user_frames(error.__traceback__))[-1:]:
            ranks_at.setdefault((frame.filename, frame.lineno), []).append(rank)
    for (file, line), ranks in ranks_at.items():
        who = f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))}"
        yield f"{file}:{line}: note: the host of {who} is here\n    {linecache.getline(file, line).rstrip()}\n"


def init(wait_timeout=None, transport=None):
    """The team of a script.

    Under `tandem run`: of the simulated rank, or of this process and its GPU. Under torchrun or mpirun: of this process and its GPU;
    `wait_timeout` (seconds) then ends waits that nobody satisfies, and `transport` says how kernels reach peers: "nvlink" (mapped memory),
    "nvshmem", or "auto", which takes NVSHMEM where a GPU cannot reach another. A script that runs by itself is one simulated rank.
    """
    if getattr(_current, "team", None) is None and _process_team is None:
        from .process import join
        return join(wait_timeout, transport) or current_team()
    return current_team()


class Result:
    """What a run left behind: each rank's return value, reports, counters and the timeline (with `trace=True`)."""

    def __init__(self, session, values):
        self._session = session
        self.values = values
        self.reports = session.reports()

    @property
    def counters(self):
        if self._session.is_gpu:
            raise RuntimeError("only a simulated run has counters")
        return json.loads(_tandem.counters(self._session.handle))

    @property
    def summary(self):
        """Totals by rank, modelled or measured: compute, wait and transfer time, and how much of the transfer was overlapped."""
        return json.loads(_tandem.trace_summary(self._session.handle))

    def timeline(self, width=80):
        return _tandem.timeline(self._session.handle, width)

    def write_trace(self, path):
        """Writes a trace that ui.perfetto.dev opens."""
        trace = _tandem.chrome_trace(self._session.handle)
        with open(path, "w") as file:
            file.write(trace)


def launch(main, ranks=1, target="sim", seed=0, trace=False, args=(), slots_per_rank=None, check=None,
           policy="random", wait_timeout=None, devices=None, schedule=None, max_steps=None, timeout=None):
    """Runs `main(team, *args)` once on each of `ranks` ranks and returns a Result.

    Raises the first exception a rank raised, or SimulationError (on GPUs: RunError) with the reports when the run itself failed; its
    `raised` are the exceptions of ranks, after which a run under the checker goes on as far as it can.

    `target="sim"`: the same seed gives the same run; other seeds give other schedules and delays. `slots_per_rank`: how many programs of a
    rank are resident at once (132). `check`: look for races and misused signals (by default as the environment's TANDEM_CHECK says); a
    report of kind `race` or `signal-misuse` names both places; `{"scope": False}` looks for all but scopes that are too narrow only to the
    letter, `{"portability": True}` also for what is right here and not everywhere. `policy`: who runs next, one of `tandem.explore`'s.
    `schedule`: instead of both, the choices of a schedule that an exhaustive search has found. `max_steps` (instructions of programs, turns
    of programs and streams, calls of hosts that may wait) and `timeout` (seconds) end a run that goes on longer; its report says where each
    program stands.

    `trace`: programs and streams note what they did when; kernels on GPUs are compiled once more for that.

    `target="cuda"`: rank r runs on GPU r, or on `devices[r]`. A wait that takes longer than `wait_timeout` seconds ends the run on every
    rank, with the line of the wait. Seed and policy are the simulator's and mean nothing there.
    """
    try:
        if target == "cuda":
            for name, value in {"check": check, "slots_per_rank": slots_per_rank, "max_steps": max_steps, "timeout": timeout}.items():
                if value:
                    raise ValueError(f"`{name}` is the simulator's: only a simulated run has it")
            from .gpu_session import GpuSession
            session = GpuSession(ranks, devices=devices, wait_timeout=wait_timeout, trace=trace)
            return Result(session, run_on(session, main, args))
        if target != "sim":
            raise ValueError(f"target `{target}` is not available; this build has: sim, cuda")
        session, values = run_ranks(main, ranks, args, seed=seed, trace=trace, check=check, policy=policy, schedule=schedule,
                                    slots_per_rank=slots_per_rank, max_steps=max_steps, timeout=timeout)
        result = Result(session, values)
        for report in result.reports:
            warnings.warn("\n" + report["text"], SimulationWarning, stacklevel=2)
        return result
    except Exception as error:
        raise error.with_traceback(users_traceback(error))


def run_ranks(main, ranks, args, **options):
    """Runs `main(team, *args)` on each rank of a new simulated session to its end; gives the session and what each rank returned."""
    session = SimulatedSession(ranks, **options)
    return session, run_on(session, main, args)


def run_on(session, main, args):
    """Runs `main(team, *args)` on a thread for each rank; gives what each returned."""
    ranks = session.ranks
    values, failures = [None] * ranks, []
    teams = []  # what they queued may be carried out after their rank has failed

    def body(rank):
        try:
            session.enter(rank)
            _current.team = Team(session, rank)
            teams.append(_current.team)
            try:
                values[rank] = main(_current.team, *args)
            except SystemExit as leaving:
                if leaving.code not in (None, 0):
                    raise
            session.leave(rank)
        except _OutOfTime as late:
            _tandem.expire(session.handle)
            error = session.error(session.reports()).with_traceback(late.__traceback__)
            failures.append((rank, error))
        except BaseException as error:
            failures.append((rank, error))
            session.fail(rank, f"{type(error).__name__}: {error}")
        finally:
            _current.team = None

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
    deadline = time.monotonic() + timeout + _GRACE_SECONDS if timeout else None
    for thread in threads:
        thread.join(deadline and max(0, deadline - time.monotonic()))
    busy = list(threads)
    while any(thread.is_alive() for thread in threads):
        frames = sys._current_frames()
        for thread in [t for t in busy if t.ident in frames and not in_package(frames[t.ident].f_code)]:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_OutOfTime))
            busy.remove(thread)
        time.sleep(0.1)


def _raise_first(session, failures):
    """Raises what ended the run. On GPUs the ranks run at once, and the first to fail is the reason of the others' failures."""
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
        error.add_places(_host_notes(stops))
    raise error.with_traceback(users_traceback(error))
