"""The host API of NVSHMEM in Python (`nvshmem.core`, `nvshmem.bindings`) over a team: allocation, teams, barriers, and puts, gets
and signals on streams."""

import enum

import torch

from ... import _tandem
from ...host.shown import shown_at
from .cuda_bindings import wait_value, write_value
from .rank import is_rank, state
from .streams import synchronize
from .tensors import copy_async, free, peer_of, symmetric

_SIGNAL_BYTES = 8


class Teams(enum.IntEnum):
    TEAM_INVALID = -1
    TEAM_WORLD = 0
    TEAM_SHARED = 1
    TEAM_NODE = 2


class SignalOp(enum.IntEnum):
    SIGNAL_SET = 9
    SIGNAL_ADD = 10


class ComparisonType(enum.IntEnum):
    CMP_EQ = 0
    CMP_NE = 1
    CMP_GT = 2
    CMP_LE = 3
    CMP_LT = 4
    CMP_GE = 5


class InitStatus(enum.IntEnum):
    STATUS_NOT_INITIALIZED = 0
    STATUS_IS_INITIALIZED = 2


class NvshmemError(RuntimeError):
    pass


def _members(team):
    """World ranks of a team."""
    me = state()
    team = getattr(team, "value", team)  # a kernel's constant
    if team is None or team == Teams.TEAM_WORLD:
        return list(range(me.team.size))
    if team in (Teams.TEAM_NODE, Teams.TEAM_SHARED):
        first = me.team.rank - me.local_rank
        return list(range(first, first + me.local_size))
    return list(team.members)


def _team(team):
    """The team of Tandem [collective over its members at first use]."""
    me = state()
    members = tuple(_members(team))
    if members == tuple(range(me.team.size)):
        return me.team
    made = me.__dict__.setdefault("teams", {})
    if members not in made:
        made[members] = me.team.split(members)
    return made[members]


def _stream(stream):
    """The stream of a CUDA stream object of any library, or of a handle; None is the current one."""
    me = state()
    if stream is None:
        return me.current
    if hasattr(stream, "__cuda_stream__"):
        told = stream.__cuda_stream__
        stream = (told() if callable(told) else told)[1]
    return me.stream(getattr(stream, "handle", getattr(stream, "cuda_stream", stream)))


def init(device=None, uid=None, rank=None, nranks=None, mpi_comm=None, initializer_method="", **_):
    me = state()
    if nranks not in (None, me.team.size) or rank not in (None, me.team.rank):
        raise NvshmemError(f"this is rank {me.team.rank} of {me.team.size}, not {rank} of {nranks}")


def finalize():
    synchronize()


def get_unique_id(empty=False):
    return "unique id"


def is_initialized():
    return InitStatus.STATUS_IS_INITIALIZED


def my_pe():
    return state().team.rank


def n_pes():
    return state().team.size


def team_my_pe(team=Teams.TEAM_WORLD):
    return _members(team).index(state().team.rank)


def team_n_pes(team=Teams.TEAM_WORLD):
    return len(_members(team))


def team_translate_pe(team, pe, to):
    world = _members(team)[pe]
    return _members(to).index(world) if world in _members(to) else -1


class _SplitTeam:
    """A team [collective over its members]; kernels take its number, `int(team)`."""

    def __init__(self, members):
        self.members = members
        self.number = _team(self).id

    def __index__(self):
        return self.number


def team_split_strided(parent, start, stride, size, *_, **__):
    members = [_members(parent)[start + i * stride] for i in range(size)]
    return _SplitTeam(members) if state().team.rank in members else Teams.TEAM_INVALID


class TeamConfig:
    """Options of a new team, of which simulated ranks need none."""


def team_split_2d(parent, xrange, *_, **__):
    """The teams of a rank's row and of its column in rows of `xrange` ranks [collective]."""
    size, me = team_n_pes(parent), team_my_pe(parent)
    row = team_split_strided(parent, me - me % xrange, 1, min(xrange, size - (me - me % xrange)))
    column = team_split_strided(parent, me % xrange, xrange, (size - me % xrange - 1) // xrange + 1)
    return row, column


def tensor(shape, dtype=None, release=False, morder=None, except_on_del=True, **_):
    """Symmetric memory as a tensor [collective]."""
    result = symmetric(shape, dtype or torch.get_default_dtype())
    state().team.barrier()
    return result


def bytetensor(shape, dtype=None, **options):
    return tensor(shape, dtype or torch.uint8, **options)


def free_tensor(given):
    """[collective] After the rank's end, when Python clears what is left, there is nothing to free."""
    if not is_rank():
        return
    synchronize()
    state().team.barrier()
    free(given)


def get_peer_tensor(given, peer_pe=None):
    return peer_of(given, peer_pe)


def barrier(team=Teams.TEAM_WORLD, stream=None):
    """Joins the ranks of a team, on a stream [collective]."""
    on = _stream(stream)
    on.queue._queue(_tandem.barrier_on_stream, _team(team).id)


def barrier_all(stream=None):
    barrier(Teams.TEAM_WORLD, stream)


def quiet(stream=None):
    """Copies of a stream are done in its order: nothing is left to wait for."""


def _address(thing):
    return thing if isinstance(thing, int) else thing.data_ptr()


def _bytes(thing):
    return thing.numel() * thing.element_size()


def put(dst, src, remote_pe=-1, stream=None):
    copy_async(_address(peer_of(dst, remote_pe)), _address(src), min(_bytes(dst), _bytes(src)), _stream(stream))


def get(dst, src, remote_pe=-1, stream=None):
    copy_async(_address(dst), _address(peer_of(src, remote_pe)), min(_bytes(dst), _bytes(src)), _stream(stream))


def put_signal(dst, src, signal_var, signal_val, signal_op=SignalOp.SIGNAL_SET, remote_pe=-1, stream=None):
    put(dst, src, remote_pe, stream)
    signal_op_on_stream(signal_var, signal_val, signal_op, remote_pe, stream)


def signal_op_on_stream(signal_var, signal_val, signal_op=SignalOp.SIGNAL_SET, remote_pe=-1, stream=None):
    if signal_op != SignalOp.SIGNAL_SET:
        raise NotImplementedError("streams of simulated ranks set signals; kernels add to them")
    write_value(_stream(stream), _address(peer_of(signal_var, remote_pe)), signal_val, _SIGNAL_BYTES)


def signal_wait(signal_var, signal_val, signal_op=ComparisonType.CMP_EQ, stream=None):
    word = ComparisonType(signal_op).name[len("CMP_") :].lower()
    wait_value(_stream(stream), _address(signal_var), signal_val, _SIGNAL_BYTES, word)


def _ptr(address, pe):
    """The address of symmetric memory on another rank."""
    base = shown_at(address)
    return base.peer(pe).address + address - base.address if base is not None else 0


_CORE = (
    "Teams SignalOp ComparisonType InitStatus NvshmemError init finalize get_unique_id is_initialized my_pe n_pes team_my_pe team_n_pes "
    "tensor bytetensor free_tensor get_peer_tensor barrier barrier_all quiet put get put_signal signal_wait team_split_strided "
    "team_split_2d TeamConfig"
).split()


def modules(module):
    """The modules, made by `module(name, **members)`."""
    core = {name: globals()[name] for name in _CORE} | {"sync": barrier, "sync_all": barrier_all, "signal_op": signal_op_on_stream}
    bindings = {name: globals()[name] for name in "my_pe n_pes team_my_pe team_n_pes team_translate_pe quiet barrier_all".split()}
    bindings |= {"ptr": _ptr, "mc_ptr": lambda team, address: 0}
    yield module("nvshmem", __version__="3.4.5")
    yield module("nvshmem.core", **core)
    yield module("nvshmem.core.utils", _configure_logging=lambda *_: None)
    yield module("nvshmem.bindings", **bindings)
    yield module("nvshmem.bindings.nvshmem", **bindings)
