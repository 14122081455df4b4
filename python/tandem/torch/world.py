"""A rank as PyTorch sees it: its team, its device, and the operators made so far. Found by a tensor's device, so that autograd's threads
find it too."""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.distributed as dist

from .. import session
from ..host.team import Team
from .operators import Operators

_worlds = {}  # that functions run on, by device
_of_thread = threading.local()


class World:
    """One rank of a run, or of a team of some of its ranks, on one device."""

    def __init__(self, team, device):
        self.team, self.device = team, device
        self.rank, self.size, self.members = team.rank, team.size, team.members
        self.operators = Operators(team, device)
        self.parts = {}  # of a run: teams of some ranks, by their members
        self.whole = self  # of a team: the run

    def part(self, members):
        """The team of these ranks of a run, made when first needed [collective over them]."""
        if members == list(range(self.size)):
            return self
        if self.rank not in members:
            raise ValueError(f"`group` has ranks {', '.join(map(str, members))}: rank {self.rank}, which calls, is not among them")
        if tuple(members) not in self.parts:
            made = self.parts[tuple(members)] = type(self)(self.team.split(members), self.device)
            made.whole = self
        return self.parts[tuple(members)]


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


@contextlib.contextmanager
def entered(world):
    """Functions of this thread run on this world."""
    before = getattr(_of_thread, "world", None)
    _of_thread.world = world
    try:
        yield
    finally:
        _of_thread.world = before


@contextlib.contextmanager
def on(group: Any) -> Iterator[Team]:
    """Functions and modules within run on a team of some of the ranks [collective over them]: those of a process group of PyTorch, or of
    a list, whose places there are their numbers. Gives the team.

    A gradient runs on the team of its function, wherever `backward` is called; that of a compiled function on the one around that call.
    """
    world = current().whole
    is_list = isinstance(group, Sequence) and not isinstance(group, str)
    part = world.part(list(group) if is_list else dist.get_process_group_ranks(group))
    before = _worlds.get(part.device)
    if before is not None:  # autograd's threads find the world of compiled gradients there
        _worlds[part.device] = part
    try:
        with entered(part):
            yield part.team
    finally:
        if before is not None:
            _worlds[part.device] = before


def keeps_world(function):
    """A class of autograd whose gradient runs where its function ran."""
    forward, backward = function.forward, function.backward

    def kept(ctx, x, *others):
        ctx.world = None if torch.compiler.is_compiling() else of(x)
        return forward(ctx, x, *others)

    def on_kept(ctx, *grads):
        if ctx.world is None:
            return backward(ctx, *grads)
        with entered(ctx.world):
            return backward(ctx, *grads)

    function.forward, function.backward = staticmethod(kept), staticmethod(on_kept)
    return function


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
    world = current().whole
    for one in (*world.parts.values(), world):
        one.operators.close()
