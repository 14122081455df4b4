"""A rank as PyTorch sees it: its team, its device, and the operators made so far. Found by a tensor's device, so that autograd's threads
find it too."""

import threading

import torch

from .. import session
from ..host.team import Team
from .operators import Operators

_worlds = {}
_of_thread = threading.local()


class World:
    """One rank of a run on one device."""

    def __init__(self, team, device):
        self.team, self.device = team, device
        self.rank, self.size = team.rank, team.size
        self.operators = Operators(team, device)


def init(team: Team | None = None, wait_timeout: float | None = None) -> Team:
    """Joins the run [collective] and makes this rank's GPU PyTorch's current device. Gives the team.

    The launcher's variables say who this is (torchrun, mpirun, `tandem run --target cuda`); a rank of `tandem.launch(..., target="cuda")`
    hands over the team it was given. `wait_timeout`: as in `tandem.init`. A second call changes nothing.
    """
    known = getattr(_of_thread, "world", None)
    if known and team in (None, known.team) and not known.team._session.finished:
        return known.team
    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch sees no CUDA device: `tandem.torch` runs on GPUs only")
    team = team or session.init(wait_timeout)
    if not team._session.is_gpu:
        raise RuntimeError("this is no rank of a run on GPUs: start the script with torchrun, mpirun or `tandem run --target cuda`")
    torch.cuda.set_device(team.device)
    _join(World(team, torch.device("cuda", team.device)))
    return team


def _join(world):
    _of_thread.world = _worlds[world.device] = world


def current():
    """The calling thread's rank; where the process has only one, that one."""
    world = getattr(_of_thread, "world", None)
    if world is None and len(_worlds) == 1:
        world = next(iter(_worlds.values()))
    if world is None:
        raise RuntimeError("no session: call `tandem.torch.init()` first, on every rank")
    return world


def of(tensor):
    """The rank whose device holds a tensor."""
    world = getattr(_of_thread, "world", None)
    device = getattr(tensor, "device", None)
    if world is not None and world.device == device:
        return world
    found = _worlds.get(device)
    return found if found is not None else current()


def rank() -> int:
    """This rank's number, from 0."""
    return current().rank


def size() -> int:
    """The number of ranks."""
    return current().size


def release() -> None:
    """Gives the memory of all operators back [collective]. Graphs that were captured with them must not be replayed any more."""
    current().operators.close()
