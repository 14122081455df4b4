"""A session: the N ranks of one run."""

import json
import threading

import numpy as np

from .. import _tandem
from ..errors import RankStopped, RunError, SimulationError
from .arrays import Tensor
from .frames import host_place
from .report_kinds import KINDS
from .team import Stream
from .variables import is_on


def check_default():
    """Returns true if the environment asks for the checker."""
    return is_on("TANDEM_CHECK")


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
        self.failure = ""  # of the first rank whose host failed, while the others go on
        self._told = set()  # threads that have been told why it failed
        self.finished = False

    def device_of(self, rank):
        return None

    def takes(self, array):
        """Returns true if a tensor of the team is filled from `array` without NumPy."""
        return False

    def adopt(self, team, stream):
        raise TypeError("a simulated rank has no CUDA streams")

    def note_queued(self, team, stream):
        """Something is queued on a stream."""

    def note_idle(self, team):
        """The rank's streams are idle."""

    def reports(self):
        """The most serious first."""
        return sorted(json.loads(_tandem.reports(self.handle)), key=lambda report: KINDS[report["kind"]].group)

    def check(self):
        """Raises the error that the run has found."""
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
            raise error.with_traceback(None)  # noqa: B904  the same error, raised on purpose: see `users_traceback`
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
        """Called after all ranks left: raises an error for anything left over."""
        self.finished = True
        _tandem.finish(self.handle)
        self.check()


class SimulatedSession(Session):
    error = SimulationError
    tells_places = True

    def __init__(self, ranks, seed=0, trace=False, check=None, search=None, schedule=None, timeout=None, machine=None, **options):
        if schedule is not None:
            options["schedule"] = str(schedule)
        if timeout is not None:
            options["timeout"] = float(timeout)
        if machine is not None:
            options["machine"] = machine if isinstance(machine, str) else machine.text()
        options = {name: value for name, value in options.items() if value is not None}
        for name, value in {"ranks": ranks, "seed": seed, **options}.items():
            if name not in ("policy", "log_stores", "schedule", "timeout", "machine") and not isinstance(value, (int, np.integer)):
                raise TypeError(f"`{name}` must be an integer, not {value!r}")
        self.machine = machine  # whose time is modelled; None: round numbers
        super().__init__(
            ranks, {"ranks": int(ranks), "seed": int(seed) % 2**64, "trace": bool(trace), **_check_options(check), **options}, search
        )
