"""What a script's rank knows of itself: its team, its streams, the state of random numbers. Each simulated rank is a thread; one on a GPU
is its process."""

import random
import threading

import numpy as np
import torch

from ... import _tandem
from ...host.current import rank_team
from ...host.frames import host_place
from ...host.layout import Memory
from ...host.shown import shown_at


class _Ranks(threading.local):
    state = None
    begin_process = None  # makes this process a rank, and returns its state


_ranks = _Ranks()


class RankState:
    """One rank's streams, by the handle that scripts pass around, and the stream that it queues work on."""

    def __init__(self, team, local_size):
        self.team = team
        self.local_size = local_size
        self.local_rank = team.rank % local_size
        self.streams = {}
        self.current = None
        self.world = None  # its process group
        self.numbers = None  # the state of its random numbers while another rank runs

    on_gpu = False

    def stream(self, handle):
        """The stream of a handle; 0 and None are the default stream."""
        return self.streams[int(handle or 0)]

    def use(self, stream):
        self.current = stream
        self.team.queue = stream.queue

    def synchronize(self):
        self.team.synchronize()
        for each in self.streams.values():
            each.queue.pending = False

    def bytes_at(self, address, count, owner):
        """Memory of the team as a tensor of bytes."""
        return torch.from_numpy(np.asarray(Memory(address, (count,), (1,), np.dtype(np.uint8), True, owner)))


def state():
    """The calling rank's state."""
    if _ranks.state is None and _Ranks.begin_process is not None:
        _Ranks.state = _Ranks.begin_process()
    if _ranks.state is None:
        raise RuntimeError("the host API of several GPUs is for ranks: run the script by `tandem run --compat --ranks N script.py`")
    return _ranks.state


def is_process(begin):
    """From now on this process is a rank, once it asks: `begin()` makes its state."""
    _Ranks.begin_process = staticmethod(begin)


def is_rank():
    """Returns true on the thread of a rank that has begun."""
    return _ranks.state is not None and rank_team() is not None


def begin(team, local_size):
    """Makes the calling thread know itself as a rank of a script."""
    _ranks.state = RankState(team, local_size)
    return _ranks.state


def end():
    _ranks.state = None


class mapped:
    """`with mapped(address, bytes, stream) as device`: memory as kernels and streams address it. Tensors on the host are lent to the
    simulator for the work that is queued meanwhile."""

    def __init__(self, address, count, stream):
        self.address, self.count, self.stream = address, count, stream
        self.lent = None

    def __enter__(self):
        if state().on_gpu or shown_at(self.address) is not None:
            return self.address
        self.lent = state().team._call(_tandem.map_host, self.address, self.count, "host tensor", *host_place())
        return self.lent

    def __exit__(self, *_):
        if self.lent is not None:
            state().team._call(_tandem.release_async, self.stream.queue.index, self.lent)


class RandomNumbers:
    """Ranks share the process, and each believes that the generators are its own: what a rank has of them is put back when it goes on."""

    def __init__(self):
        self.owner = None
        self.first = self._take()

    def _take(self):
        return random.getstate(), np.random.get_state(), torch.get_rng_state()

    def resume(self):
        me = state()
        if self.owner is me:
            return
        if self.owner is not None:
            self.owner.numbers = self._take()
        of_python, of_numpy, of_torch = me.numbers or self.first
        random.setstate(of_python)
        np.random.set_state(of_numpy)
        torch.set_rng_state(of_torch)
        self.owner = me
