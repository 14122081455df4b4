"""`torch.distributed` over simulated ranks. They share a process: a collective is a meeting at which each reads what the others lay down,
and a message lies in a box until the number of messages, in symmetric memory, tells its receiver that it is there.

What they move takes no part in the modelled time and is not what the checker checks; they order the ranks that take part.
"""

import collections
import contextlib
import itertools
import pickle

import torch

from .cuda_bindings import wait_value, write_value
from .rank import state
from .tensors import peer_of, symmetric


class Work:
    """The handle of an asynchronous collective or of a message that was sent: it is over already."""

    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True

    def synchronize(self):
        """Nothing is left to wait for."""

    def get_future(self):
        future = torch.futures.Future()
        future.set_result(None)
        return future


class Group(torch.distributed.ProcessGroup):
    """A process group seen from one of its ranks."""

    def __init__(self, team, backend="nccl"):
        super().__init__(team.rank, team.size)
        self.team, self.backend = team, backend
        self._meetings = itertools.count()
        self._tables = team._session.__dict__.setdefault("meetings", {})  # by team and number of the meeting: what each rank laid down

    def rank(self):
        return self.team.rank

    def size(self):
        return self.team.size

    def meet(self, value):
        """Every rank's value, in their order [collective]. They may be read until the ranks meet again."""
        state().current.settle()
        key = self.team.id, next(self._meetings)
        table = self._tables.setdefault(key, [None] * self.size())
        table[self.rank()] = value
        self.team.gather(None)
        return key, list(table)

    def part(self, key):
        """After what a meeting laid down has been read [collective]."""
        state().current.settle()
        self.team.gather(None)
        self._tables.pop(key, None)

    @contextlib.contextmanager
    def all(self, value):
        key, values = self.meet(value)
        yield values
        self.part(key)

    def barrier(self, *_, **__):
        with self.all(None):
            return Work()

    def allreduce(self, tensors, *_, **__):
        for tensor in tensors if isinstance(tensors, (list, tuple)) else [tensors]:
            all_reduce(tensor, group=self)
        return Work()

    def __repr__(self):
        return f"<group of {self.size()} simulated ranks, rank {self.rank()}>"


class _World(type):
    @property
    def WORLD(cls):
        return state().world


class GroupMember(metaclass=_World):
    NON_GROUP_MEMBER = object()


class group(metaclass=_World):
    pass


def _group(chosen):
    found = chosen if isinstance(chosen, Group) else state().world
    if found is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return found


def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, *_, **__):
    me = state()
    if me.world is not None:
        raise ValueError("trying to initialize the default process group twice!")
    for name, told, is_now in (("world_size", world_size, me.team.size), ("rank", rank, me.team.rank)):
        if told not in (-1, None, is_now):
            raise ValueError(f"`{name}` is {told}, and {is_now} in this run")
    me.world = Group(me.team)
    me.arrived = symmetric(me.team.size, torch.int64).zero_()
    me.world.barrier()


def new_group(ranks=None, timeout=None, backend=None, *_, **__):
    """A group of some ranks; every rank calls, as it must with torchrun."""
    world = _group(None)
    ranks = list(range(world.size())) if ranks is None else sorted(ranks)
    team = world.team.split(ranks) if world.rank() in ranks else None
    return GroupMember.NON_GROUP_MEMBER if team is None else Group(team, backend or "nccl")


def new_subgroups(group_size=None, *_, **__):
    world = _group(None)
    size = group_size or state().local_size
    groups = [new_group(range(at, at + size)) for at in range(0, world.size(), size)]
    return groups[world.rank() // size], groups


def destroy_process_group(group=None):
    if group is None or group is state().world:
        state().world = None


def is_initialized():
    return state().world is not None


def get_rank(group=None):
    return -1 if group is GroupMember.NON_GROUP_MEMBER else _group(group).rank()


def get_world_size(group=None):
    return -1 if group is GroupMember.NON_GROUP_MEMBER else _group(group).size()


def get_process_group_ranks(group):
    return list(_group(group).team.members)


def get_global_rank(group, group_rank):
    return _group(group).team.members[group_rank]


def get_group_rank(group, global_rank):
    return _group(group).team.members.index(global_rank)


def get_backend(group=None):
    return _group(group).backend


def get_node_local_rank(fallback_rank=None):
    return state().local_rank


def _place(group, src, group_src=None):
    return group_src if group_src is not None else group.team.members.index(src or 0)


def _collective(function):
    """A collective's last arguments: `group` chooses the ranks, `async_op` wants a handle."""

    def call(*args, group=None, async_op=False, **kwargs):
        args = list(args)
        for at, value in enumerate(args):
            if isinstance(value, Group):
                group = args.pop(at)
                break
        result = function(_group(group), *args, **kwargs)
        return Work() if async_op else result

    call.__name__ = function.__name__
    return call


@_collective
def barrier(group, *_, **__):
    group.barrier()


@_collective
def all_gather(group, tensor_list, tensor):
    with group.all(tensor) as tensors:
        for to, source in zip(tensor_list, tensors):
            to.copy_(source)


@_collective
def all_gather_into_tensor(group, output_tensor, input_tensor):
    parts = _parts(output_tensor, group.size())
    with group.all(input_tensor.clone()) as tensors:  # the input may be a part of the output
        for to, source in zip(parts, tensors):
            to.copy_(source.reshape(to.shape))


def _parts(tensor, count):
    return tensor.view(-1).chunk(count) if tensor.is_contiguous() else tensor.chunk(count)


class _Sums:
    """What a reduction does with the ranks' tensors."""

    @staticmethod
    def reduce(tensors, op):
        op = str(op).rpartition(".")[2].lower()
        wide = [t.float() if t.dtype in (torch.float16, torch.bfloat16) else t for t in tensors]
        if op in ("sum", "avg", "premul_sum"):
            total = wide[0].clone()
            for tensor in wide[1:]:
                total = total + tensor
            total = total / len(wide) if op == "avg" else total
        elif op in ("max", "min", "product"):
            combine = {"max": torch.maximum, "min": torch.minimum, "product": torch.mul}[op]
            total = wide[0]
            for tensor in wide[1:]:
                total = combine(total, tensor)
        else:
            raise ValueError(f"reductions of simulated ranks are sum, avg, max, min and product, not `{op}`")
        return total.to(tensors[0].dtype)


@_collective
def all_reduce(group, tensor, op="sum"):
    with group.all(tensor.clone()) as tensors:
        tensor.copy_(_Sums.reduce(tensors, op))


@_collective
def reduce(group, tensor, dst=0, op="sum", group_dst=None):
    with group.all(tensor.clone()) as tensors:
        if group.rank() == _place(group, dst, group_dst):
            tensor.copy_(_Sums.reduce(tensors, op))


@_collective
def reduce_scatter_tensor(group, output, input, op="sum"):
    with group.all(input) as tensors:
        mine = [_parts(tensor, group.size())[group.rank()] for tensor in tensors]
        total = _Sums.reduce(mine, op).reshape(output.shape)
    output.copy_(total)


@_collective
def reduce_scatter(group, output, input_list, op="sum"):
    with group.all(input_list) as lists:
        total = _Sums.reduce([tensors[group.rank()] for tensors in lists], op)
    output.copy_(total)


@_collective
def broadcast(group, tensor, src=None, group_src=None):
    with group.all(tensor) as tensors:
        at = _place(group, src, group_src)
        if at != group.rank():
            tensor.copy_(tensors[at])


@_collective
def all_to_all_single(group, output, input, output_split_sizes=None, input_split_sizes=None):
    count = group.size()
    splits = list(input_split_sizes) if input_split_sizes else [input.shape[0] // count] * count
    with group.all((input.clone(), splits)) as sent:
        parts = [tensor.split(sizes)[group.rank()] for tensor, sizes in sent]
        received = torch.cat(parts) if parts else output
        wanted = list(output_split_sizes) if output_split_sizes else None
        found = [part.shape[0] for part in parts]
        if wanted is not None and wanted != found:
            raise ValueError(f"rank {group.rank()} expects {wanted} rows, and the ranks send {found}")
        output.copy_(received.reshape(output.shape))


@_collective
def all_to_all(group, output_tensor_list, input_tensor_list):
    with group.all([tensor.clone() for tensor in input_tensor_list]) as sent:
        for to, tensors in zip(output_tensor_list, sent):
            to.copy_(tensors[group.rank()])


@_collective
def gather(group, tensor, gather_list=None, dst=0, group_dst=None):
    with group.all(tensor) as tensors:
        if group.rank() == _place(group, dst, group_dst):
            for to, source in zip(gather_list, tensors):
                to.copy_(source)


@_collective
def scatter(group, tensor, scatter_list=None, src=0, group_src=None):
    with group.all(scatter_list) as lists:
        tensor.copy_(lists[_place(group, src, group_src)][group.rank()])


@_collective
def all_gather_object(group, object_list, obj):
    with group.all(pickle.dumps(obj)) as texts:
        object_list[:] = [pickle.loads(text) for text in texts]


@_collective
def gather_object(group, obj, object_gather_list=None, dst=0, group_dst=None):
    with group.all(pickle.dumps(obj)) as texts:
        if group.rank() == _place(group, dst, group_dst):
            object_gather_list[:] = [pickle.loads(text) for text in texts]


@_collective
def broadcast_object_list(group, object_list, src=0, device=None, group_src=None):
    with group.all(pickle.dumps(object_list)) as texts:
        object_list[:] = pickle.loads(texts[_place(group, src, group_src)])


class _Line:
    """The messages from one rank to another. Those of a group and a tag arrive in the order in which they are sent."""

    def __init__(self):
        self.sent, self.awaited = 0, 0
        self.posted, self.asked = collections.Counter(), collections.Counter()  # by group and tag
        self.boxes = {}  # (group and tag, which of them) -> (which of all messages, tensor)


def _line(source, to):
    return state().team._session.__dict__.setdefault("lines", collections.defaultdict(_Line))[source, to]


def _peer(group, rank, group_rank):
    if rank is None and group_rank is None:
        raise ValueError("simulated ranks send to and receive from a rank that the call names")
    return rank if group_rank is None else group.team.members[group_rank]


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    me, group = state(), _group(group)
    to = _peer(group, dst, group_dst)
    line, key = _line(me.team.rank, to), (group.team.id, tag)
    me.current.settle()
    line.sent += 1
    line.boxes[key, line.posted[key]] = line.sent, tensor.clone()
    line.posted[key] += 1
    counts = peer_of(me.arrived, to)[me.team.rank :]
    write_value(me.current, counts.data_ptr(), line.sent, counts.element_size())
    me.current.settle()
    return Work()


class _Receipt(Work):
    """What `irecv` returns: whoever waits for it waits for the message."""

    def __init__(self, tensor, source, key):
        self.tensor, self.source, self.key = tensor, source, key
        line = _line(source, state().team.rank)
        self.number = line.asked[key]
        line.asked[key] += 1

    def wait(self, timeout=None):
        if self.tensor is not None:
            self._receive()
            self.tensor = None
        return True

    is_completed = synchronize = wait

    def _receive(self):
        line, box = _line(self.source, state().team.rank), (self.key, self.number)
        while box not in line.boxes:
            self._await(line, line.awaited + 1)
        number, value = line.boxes.pop(box)
        self._await(line, number)
        self.tensor.copy_(value.reshape(self.tensor.shape))

    def _await(self, line, count):
        me = state()
        if count > line.awaited:
            counts = me.arrived[self.source :]
            wait_value(me.current, counts.data_ptr(), count, counts.element_size(), "ge")
            me.current.settle()
            line.awaited = count


def irecv(tensor, src=None, group=None, tag=0, group_src=None):
    group = _group(group)
    return _Receipt(tensor, _peer(group, src, group_src), (group.team.id, tag))


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    isend(tensor, dst, group, tag, group_dst)


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    receipt = irecv(tensor, src, group, tag, group_src)
    receipt.wait()
    return receipt.source


class P2POp:
    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        self.call = lambda: op(tensor, peer, group, tag, group_peer)


def batch_isend_irecv(p2p_op_list):
    return [each.call() for each in p2p_op_list]


_NAMES = (
    "init_process_group new_group new_subgroups destroy_process_group is_initialized get_rank get_world_size get_process_group_ranks "
    "get_global_rank get_group_rank get_backend get_node_local_rank barrier all_gather all_gather_into_tensor all_reduce reduce "
    "reduce_scatter_tensor reduce_scatter broadcast all_to_all_single all_to_all gather scatter all_gather_object gather_object "
    "broadcast_object_list isend irecv send recv P2POp batch_isend_irecv group GroupMember"
).split()


def install():
    """Makes `torch.distributed` speak of simulated ranks."""
    distributed = torch.distributed
    names = {name: globals()[name] for name in _NAMES}
    names |= {"is_available": lambda: True, "is_nccl_available": lambda: True}
    names |= {"_all_gather_base": all_gather_into_tensor, "_reduce_scatter_base": reduce_scatter_tensor}
    distributed.__dict__.update(names)
    present = getattr(distributed, "distributed_c10d", None)
    if present is not None:
        present.__dict__.update(names)
