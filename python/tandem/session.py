"""Runs: a session of N ranks, the teams that host code works with, and `launch`."""

import json
import linecache
import operator
import os
import sys
import threading
import traceback
import types
import warnings

import numpy as np

from . import _tandem
from .arrays import Tensor, as_dtype, type_word
from .errors import CompileError, SimulationError, SimulationWarning

_here = os.path.dirname(os.path.abspath(__file__))
_current = threading.local()
_INTERRUPT_SECONDS = 5


def _check_default():
    return os.environ.get("TANDEM_CHECK", "0") not in ("", "0")


def host_place():
    """(file, line) of the nearest caller outside this package."""
    frame = sys._getframe(1)
    while frame and os.path.dirname(os.path.abspath(frame.f_code.co_filename)) == _here:
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame else ("", 0)


class Session:
    """N simulated ranks of one run."""

    def __init__(self, ranks, seed=0, trace=False, check=None, **options):
        for name, value in {"ranks": ranks, "seed": seed, **options}.items():
            if name not in ("policy", "log_stores") and not isinstance(value, (int, np.integer)):
                raise TypeError(f"`{name}` must be an integer, not {value!r}")
        try:
            options = {"ranks": int(ranks), "seed": int(seed) % 2**64, "trace": bool(trace),
                       "check": _check_default() if check is None else bool(check), **options}
            self.handle = _tandem.session_create(json.dumps(options))
        except RuntimeError as error:
            raise ValueError(str(error)) from None
        self.ranks = ranks
        self.stopped = False  # no rank can use it any more: it failed
        self.finished = False

    def reports(self):
        return json.loads(_tandem.reports(self.handle))

    def check(self):
        """Raises what the simulator has found."""
        reports = self.reports()
        if any(r["severity"] == "error" for r in reports):
            self.stopped = True
            raise SimulationError(reports)

    def guarded(self, function, *args):
        """Calls into the library; a run that stopped raises the simulator's report."""
        try:
            return function(self.handle, *args)
        except RuntimeError:
            self.check()
            raise
        except KeyboardInterrupt:
            self.stopped = True
            raise

    def release(self, rank, address):
        self.guarded(_tandem.release, rank, address, *host_place())


class Stream:
    """An ordered queue of work on one rank. `Stream.index` 0 is the default stream."""

    def __init__(self, team, index):
        self.team = team
        self.index = index

    def synchronize(self):
        self.team._call(_tandem.synchronize, self.index)

    def copy(self, dest, source):
        """Copy engine: copies one contiguous tensor into another (either may be a peer's)."""
        for tensor in (dest, source):
            if not isinstance(tensor, Tensor):
                raise TypeError(f"the copy engine copies tensors of the team, not `{type(tensor).__name__}`")
        if dest.nbytes != source.nbytes:
            raise ValueError(f"copy of {source.nbytes} bytes into {dest.nbytes} bytes")
        if not (dest.is_contiguous() and source.is_contiguous()):
            raise ValueError("the copy engine copies contiguous tensors only")
        self.team._call(_tandem.copy, self.index, dest.address, source.address, source.nbytes)

    def memset(self, dest, value=0):
        self.team._call(_tandem.set, self.index, dest.address, value, dest.nbytes)

    def signal_write(self, signal, value, add=False):
        """Writes (or adds to) one element of a 32- or 64-bit signal tensor, in stream order."""
        self.team._call(_tandem.signal_write, self.index, signal.address, value, signal.itemsize, int(add))

    def signal_wait(self, signal, value, compare="eq"):
        """Holds the stream until the signal compares true."""
        self.team._call(_tandem.signal_wait, self.index, signal.address, _COMPARE[compare], value, signal.itemsize)

    def barrier(self):
        """Joins the team's ranks on their streams."""
        self.team._call(_tandem.barrier_on_stream, self.index, self.team.id)

    def record_event(self):
        return self.team._call(_tandem.record_event, self.index)

    def wait_event(self, event):
        self.team._call(_tandem.wait_event, self.index, event)


_COMPARE = {"eq": 0, "ne": 1, "gt": 2, "le": 3, "lt": 4, "ge": 5}


class Team:
    """The ranks a program runs on, seen from one of them. `team.rank` of `team.size`; memory, kernels, streams, barriers."""

    def __init__(self, session, world_rank, members=None, ident=0):
        self._session = session
        self.world_rank = world_rank
        self.members = list(range(session.ranks)) if members is None else list(members)
        self.id = ident
        self.rank = self.members.index(world_rank)
        self.size = len(self.members)
        self.num_ranks = self.size
        self._thread = threading.get_ident()
        self._held = []
        self.stream = Stream(self, 0)

    def _call(self, function, *args):
        if threading.get_ident() != self._thread and not self._session.finished:
            raise RuntimeError(f"the team of rank {self.world_rank} is used from another thread than the rank's")
        return self._session.guarded(function, self.world_rank, *args)

    def world_rank_of(self, rank):
        if not 0 <= rank < self.size:
            raise IndexError(f"rank {rank} is not one of the team's {self.size} ranks")
        return self.members[rank]

    def _allocate(self, shape, dtype, symmetric, initialised, name):
        shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(operator.index(d) for d in shape)
        dtype = as_dtype(dtype)
        type_word(dtype)
        count = Tensor.size_of(shape)
        if any(d < 0 for d in shape):
            raise ValueError(f"negative size in shape {shape}")
        file, line = host_place()
        name = name or f"{os.path.basename(file)}:{line}"
        address = self._call(_tandem.allocate, count * dtype.itemsize, int(symmetric), int(initialised), name, file, line)
        return Tensor(self, address, shape, dtype, symmetric=symmetric)

    def empty(self, shape, dtype="float32", name=None):
        """Symmetric memory that holds nothing yet: reading it before a write is reported. Every rank calls, with the same size."""
        return self._allocate(shape, dtype, True, False, name)

    def zeros(self, shape, dtype="float32", name=None):
        return self._allocate(shape, dtype, True, True, name)

    def full(self, shape, value, dtype="float32", name=None):
        tensor = self._allocate(shape, dtype, True, True, name)
        tensor[...] = value
        return tensor

    def from_array(self, array, name=None):
        """Symmetric memory holding this rank's array. Shapes and dtypes must agree on all ranks."""
        array = np.asarray(array)
        tensor = self._allocate(array.shape, array.dtype, True, True, name)
        tensor[...] = array
        return tensor

    def local_empty(self, shape, dtype="float32", name=None):
        """Device memory of this rank alone."""
        return self._allocate(shape, dtype, False, False, name)

    def local_from_array(self, array, name=None):
        array = np.asarray(array)
        tensor = self._allocate(array.shape, array.dtype, False, True, name)
        tensor[...] = array
        return tensor

    def new_stream(self):
        return Stream(self, self._call(_tandem.create_stream))

    def synchronize(self):
        """Waits until all streams of this rank are idle."""
        self._call(_tandem.synchronize, -1)
        self._held.clear()

    def hold(self, host_arrays):
        """Keeps the host memory of a queued launch alive until the next `synchronize`."""
        self._held.append(host_arrays)

    def barrier(self):
        """Waits for this rank's streams and for every rank of the team to get here."""
        self._call(_tandem.barrier, self.id)

    def split(self, members):
        """A team of some of the ranks (their ranks in this team, in order); only they call."""
        world = [self.world_rank_of(m) for m in members]
        return Team(self._session, self.world_rank, world, self._call(_tandem.create_team, world, len(world)))


def is_simulating():
    """Whether the calling thread is a rank of a run, rather than a program that makes its own rank when it needs one."""
    team = getattr(_current, "team", None)
    return team is not None and team._session is not getattr(_current, "own_session", None)


def current_team():
    """The team of the calling thread. Outside of any launch: a session of one rank, made on first use."""
    team = getattr(_current, "team", None)
    if team is None or (team._session is getattr(_current, "own_session", None) and team._session.stopped):
        session = _current.own_session = Session(1)
        _tandem.enter(session.handle, 0)
        team = _current.team = Team(session, 0)
    return team


def _user_frames(trace):
    """A traceback without the frames of this package."""
    if trace is None:
        return None
    rest = _user_frames(trace.tb_next)
    if os.path.dirname(os.path.abspath(trace.tb_frame.f_code.co_filename)) == _here:
        return rest
    return types.TracebackType(rest, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)


def _host_notes(stops):
    """Where the ranks' host code was when the run stopped: one note a line of code."""
    ranks_at = {}
    for rank, error in sorted(stops, key=lambda stop: stop[0]):
        for frame in traceback.extract_tb(_user_frames(error.__traceback__))[-1:]:
            ranks_at.setdefault((frame.filename, frame.lineno), []).append(rank)
    for (file, line), ranks in ranks_at.items():
        who = f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))}"
        yield f"{file}:{line}: note: the host of {who} is here\n    {linecache.getline(file, line).rstrip()}\n"


def init():
    """The team of a script under `tandem run`; one rank when the script runs by itself."""
    return current_team()


class Result:
    """What a run left behind: each rank's return value, reports, counters and the timeline (with `trace=True`)."""

    def __init__(self, session, values):
        self._session = session
        self.values = values
        self.reports = session.reports()

    @property
    def counters(self):
        return json.loads(_tandem.counters(self._session.handle))

    @property
    def summary(self):
        """Modelled totals by rank: compute, wait and transfer time, and how much of the transfer was overlapped."""
        return json.loads(_tandem.trace_summary(self._session.handle))

    def timeline(self, width=80):
        return _tandem.timeline(self._session.handle, width)

    def write_trace(self, path):
        """Writes a trace that ui.perfetto.dev opens."""
        with open(path, "w") as file:
            file.write(_tandem.chrome_trace(self._session.handle))


def launch(main, ranks=1, target="sim", seed=0, trace=False, args=(), slots_per_rank=None, check=None,
           policy="random"):
    """Runs `main(team, *args)` once on each of `ranks` ranks and returns a Result.

    Raises SimulationError with the reports when the simulator finds an error, or the first exception a rank raised.
    The same seed gives the same run; other seeds give other schedules and delays. `slots_per_rank`: how many programs of a
    rank are resident at once (132). `check`: look for races and misused signals (by default as the environment's
    TANDEM_CHECK says); a report of kind `race` or `signal-misuse` names both places. `policy`: who runs next, one of
    `tandem.explore`'s.
    """
    if target != "sim":
        raise ValueError(f"target `{target}` is not available; this build has: sim")
    options = {} if slots_per_rank is None else {"slots_per_rank": slots_per_rank}
    session, values = run_ranks(main, ranks, args, seed=seed, trace=trace, check=check, policy=policy, **options)
    result = Result(session, values)
    for report in result.reports:
        warnings.warn("\n" + report["text"], SimulationWarning, stacklevel=2)
    return result


def run_ranks(main, ranks, args, **options):
    """Runs `main(team, *args)` on each rank of a new session to its end; gives the session and what each rank returned."""
    session = Session(ranks, **options)
    values, failures = [None] * ranks, []

    def body(rank):
        try:
            _tandem.enter(session.handle, rank)
            _current.team = Team(session, rank)
            try:
                values[rank] = main(_current.team, *args)
            except SystemExit as leaving:
                if leaving.code not in (None, 0):
                    raise
            session.guarded(_tandem.leave, rank)
        except BaseException as error:
            failures.append((rank, error))
            _tandem.abort(session.handle, rank, f"{type(error).__name__}: {error}")
        finally:
            _current.team = None

    threads = [threading.Thread(target=body, args=(r,), name=f"tandem rank {r}", daemon=True) for r in range(ranks)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        _tandem.interrupt(session.handle)
        for thread in threads:
            thread.join(_INTERRUPT_SECONDS)
        raise
    session.finished = True
    if failures:
        stops = [f for f in failures if isinstance(f[1], SimulationError)]
        rank, error = (stops or failures)[0]
        if stops:
            error.add_places(_host_notes(stops))
        elif ranks > 1:
            error.add_note(f"raised on rank {rank} of {ranks}")
        if isinstance(error, (CompileError, SimulationError)):  # the message says where; our own frames would only hide it
            raise error.with_traceback(_user_frames(error.__traceback__)) from None
        raise error
    _tandem.finish(session.handle)
    session.check()
    return session, values
