"""The rank that this process is, as its launcher's environment says (`tandem run`, torchrun, mpirun): joining the run and leaving it."""

import atexit
import dataclasses
import os
import sys

from ..host.current import set_process_team
from ..host.team import Team
from .session import GpuSession, check_devices, device_count

# rank, ranks, rank on this host, ranks on this host
_NAMES = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
)
RENDEZVOUS = "TANDEM_RENDEZVOUS"  # set by `tandem run`
WAIT_TIMEOUT = "TANDEM_WAIT_TIMEOUT"
TRANSPORT = "TANDEM_TRANSPORT"
STOPPED_BY_ANOTHER = 71  # exit code of a rank that ended because another one did
TRACE = "TANDEM_TRACE"  # the file to which each process of a run on GPUs adds its part


@dataclasses.dataclass(frozen=True)
class Place:
    """One process of a run. `rendezvous` is the same in all of them."""

    rank: int
    ranks: int
    local_rank: int
    rendezvous: str


def _number(environment, name, default=None):
    text = environment.get(name, "")
    if not text and default is not None:
        return default
    if not text.isdecimal():
        raise RuntimeError(f"the environment's {name} is `{text}`, not a number")
    return int(text)


def _wait_timeout_in(environment):
    """Returns the seconds that an environment gives a wait, or None."""
    text = environment.get(WAIT_TIMEOUT)
    try:
        return float(text) if text else None
    except ValueError:
        raise RuntimeError(f"the environment's {WAIT_TIMEOUT} is `{text}`, not a number of seconds") from None


def place_in(environment):
    """The Place that an environment describes; None when no launcher started this process."""
    names = next((n for n in _NAMES if n[0] in environment and n[1] in environment), None)
    if names is None:
        return Place(0, 1, 0, environment[RENDEZVOUS]) if RENDEZVOUS in environment else None
    rank, ranks = _number(environment, names[0]), _number(environment, names[1])
    if not rank < ranks:
        raise RuntimeError(f"the environment's {names[0]} is {rank}, but there are {ranks} ranks")
    here = _number(environment, names[3], ranks)
    if here != ranks:
        raise RuntimeError(f"{here} of the {ranks} ranks are on this host; ranks on GPUs share one host")
    return Place(rank, ranks, _number(environment, names[2], rank), _rendezvous(environment))


def _rendezvous(environment):
    """Returns a name that the launcher gives all processes of one run, and that no other run has."""
    if RENDEZVOUS in environment:
        return environment[RENDEZVOUS]
    job = [
        environment[n]
        for n in (
            "PMIX_NAMESPACE",
            "OMPI_MCA_ess_base_jobid",
            "TORCHELASTIC_RUN_ID",
            "MASTER_ADDR",
            "MASTER_PORT",
            "TORCHELASTIC_RESTART_COUNT",
        )
        if environment.get(n)
    ]
    return "-".join(["tandem", str(os.getuid()), *(job or [str(os.getppid())])])


def device_for(place, count, visible):
    """The GPU of a process among the `count` that it sees; a launcher may have left it only its own."""
    if count >= place.ranks:
        return place.local_rank
    if count == 1 and visible:
        return 0
    raise RuntimeError(f"{place.ranks} ranks on GPUs need {place.ranks} GPUs, this machine has {count}")


class _Joined:
    """This process as a rank, until it leaves."""

    def __init__(self, place, wait_timeout, number, transport):
        count, _ = device_count()
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        if count == 0:
            check_devices(place.ranks)  # which says why
        device = device_for(place, count, visible)
        self.place = place
        self.failure = None
        self.session = GpuSession(
            place.ranks,
            devices=device,
            wait_timeout=wait_timeout,
            rank=place.rank,
            rendezvous=f"{place.rendezvous}-{number}" if number else place.rendezvous,
            transport=transport,
        )
        self.session.enter(place.rank)
        self.team = Team(self.session, place.rank)

    def leave(self):
        """Ends this rank's part; raises the error that the run has found."""
        if self.session.finished:
            return
        try:
            self.session.leave(self.place.rank)
            self.session.end()
        except BaseException as error:
            self.fail(f"{type(error).__name__}: {error}")
            raise
        finally:
            self.session.finished = True
            set_process_team(None)

    def fail(self, why):
        """Ends this rank's part because it failed; the other ranks' calls raise."""
        if not self.session.finished:
            self.session.finished = True
            set_process_team(None)
            self.session.fail(self.place.rank, why)


_joined = None
_joins = 0


def join(wait_timeout=None, transport=None):
    """The team of this process, which becomes a rank on its GPU; None when no launcher started it."""
    global _joined, _joins
    place = place_in(os.environ)
    if place is None:
        return None
    if wait_timeout is None:
        wait_timeout = _wait_timeout_in(os.environ)
    _joined = _Joined(place, wait_timeout, _joins, transport)
    if not _joins:
        atexit.register(_leave_at_exit)
        _note_exceptions()
    _joins += 1
    set_process_team(_joined.team)
    return _joined.team


def leave():
    """Ends this process's part of the run, if it has joined one."""
    if _joined is not None:
        _joined.leave()


def fail(why):
    if _joined is not None:
        _joined.fail(why)


def _note_exceptions():
    """An exception that ends the script also ends the other ranks' waiting for it."""
    previous = sys.excepthook

    def hook(kind, error, trace):
        _joined.failure = f"{kind.__name__}: {error}"
        previous(kind, error, trace)

    sys.excepthook = hook


def _leave_at_exit():
    if _joined.failure is not None:
        _joined.fail(_joined.failure)
        return
    try:
        _joined.leave()
    except RuntimeError as error:  # too late to change the exit code in another way
        print(error, file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
