"""A rank's view of a run: its team, its memory, its streams and barriers. Knows not whether the ranks are simulated or GPUs."""

import json
import operator
import os
import threading
import weakref
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from .. import _tandem
from ..kernel.element_types import as_dtype, type_word
from .arrays import Tensor, numpy_readable
from .frames import host_place

Shape: TypeAlias = int | Sequence[int]
_SET, _WAIT = 0, 16  # actions of `td_signal_step`
_COMPARE = {word: number for number, word in enumerate(_tandem.COMPARISONS.split())}


class Stream:
    """An ordered queue of work on one rank. On a GPU `cuda_stream` is the CUDA stream's handle, as PyTorch's streams have it."""

    def __init__(self, team: "Team", index: int, cuda_stream: int | None = None):
        self.owner = weakref.ref(team)  # which has the stream: a run's memory goes with its last user, not with a collection of cycles
        self.index = index
        self.cuda_stream = cuda_stream
        self.pending = False  # something may be queued that `synchronize` has not waited for

    @property
    def team(self) -> "Team":
        """The team whose stream it is, as long as somebody has that."""
        team = self.owner()
        if team is None:
            raise RuntimeError("the stream's team is no longer there")
        return team

    def _queue(self, function, *args):
        self.pending = True
        self.team._session.note_queued(self.team, self)
        return self.team._call(function, self.index, *args)

    def synchronize(self) -> None:
        """Waits until all that this stream was given is done."""
        self.team._call(_tandem.synchronize, self.index)
        self.pending = False

    def copy(self, dest: Tensor, source: Tensor) -> None:
        """Copy engine: copies one contiguous tensor into another (either may be a peer's)."""
        for tensor in (dest, source):
            if not isinstance(tensor, Tensor):
                raise TypeError(f"the copy engine copies tensors of the team, not `{type(tensor).__name__}`")
        if dest.nbytes != source.nbytes:
            raise ValueError(f"copy of {source.nbytes} bytes into {dest.nbytes} bytes")
        if not (dest.is_contiguous() and source.is_contiguous()):
            raise ValueError("the copy engine copies contiguous tensors only")
        self._queue(_tandem.copy, dest.address, source.address, source.nbytes)

    def copy_columns(self, dest: Tensor, source: Tensor, first: int, count: int) -> None:
        """Copy engine: copies `count` columns from `first` on into the same ones of a tensor of this shape (either may be a peer's).
        Columns are the elements of all axes but the first."""
        for tensor in (dest, source):
            if not isinstance(tensor, Tensor):
                raise TypeError(f"the copy engine copies tensors of the team, not `{type(tensor).__name__}`")
            if not (tensor.ndim and tensor.is_contiguous()):
                raise ValueError("the copy engine copies contiguous tensors only")
        if (dest.shape, dest.dtype) != (source.shape, source.dtype):
            raise ValueError(f"columns of {source.dtype}{list(source.shape)} are copied into {dest.dtype}{list(dest.shape)}")
        columns = Tensor.size_of(dest.shape[1:])
        if not 0 <= first <= first + count <= columns:
            raise ValueError(f"{count} columns from column {first} of {columns}")
        pitch, at = columns * dest.itemsize, first * dest.itemsize
        self._queue(_tandem.copy_rows, dest.address + at, pitch, source.address + at, pitch, count * dest.itemsize, dest.shape[0])

    def memset(self, dest: Tensor, value: int = 0) -> None:
        """Sets every byte of a contiguous tensor, which may be a peer's, to `value`, in stream order."""
        self._queue(_tandem.set, dest.address, value, dest.nbytes)

    def signal_write(self, signal: Tensor, value: int, add: bool = False) -> None:
        """Writes (or adds to) every element of a contiguous 32- or 64-bit signal tensor, in stream order."""
        self._queue(_tandem.signal_write, signal.address, _signal_count(signal), _integer(value, "value"), signal.itemsize, int(add))

    def signal_wait(self, signal: Tensor, value: int, compare: str = "eq") -> None:
        """Holds the stream until every element of the signal compares true."""
        compared = _comparison(compare), _integer(value, "value")
        self._queue(_tandem.signal_wait, signal.address, _signal_count(signal), *compared, signal.itemsize)

    def signals(self, steps):
        """Several in one call, in their order, which is much cheaper on a GPU: (signal, value) is a write, (signal, value, compare) a
        wait."""
        made = [_step(*step) for step in steps]
        if made:
            self._queue(_tandem.signals, made, len(made))

    def barrier(self) -> None:
        """Joins the team's ranks on their streams."""
        self._queue(_tandem.barrier_on_stream, self.team.id)

    def record_event(self) -> int:
        """An event that is reached when all queued so far is done; `wait_event` takes it."""
        return self.team._call(_tandem.record_event, self.index)

    def record_time(self) -> int:
        """An event that remembers when it was reached, until 16384 more are recorded; on GPUs only."""
        return self.team._call(_tandem.record_time, self.index)

    def microseconds(self, begin: int, end: int) -> float:
        """Waits for two of `record_time` and gives the time between them."""
        return self.team._call(_tandem.microseconds, begin, end)

    def wait_event(self, event: int) -> None:
        """What is queued from here on waits for an event of this rank's streams."""
        self._queue(_tandem.wait_event, _integer(event, "event"))


def _comparison(word):
    if word not in _COMPARE:
        raise ValueError(f"`compare` is `{word}`; it is one of {', '.join(_COMPARE)}")
    return _COMPARE[word]


def _integer(value, name):
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"`{name}` is an integer, not {value!r}") from None


def _step(signal, value, compare=None):
    """A write or a wait, as `td_signals` takes it."""
    action = _SET if compare is None else _WAIT + _comparison(compare)
    return signal.address, _integer(value, "value"), _signal_count(signal), signal.itemsize, action


def _signal_count(signal):
    if signal.dtype.kind not in "iu":
        raise TypeError(f"signals are integers of 32 or 64 bits, not {signal.dtype}")
    if not signal.is_contiguous():
        raise ValueError("signals are elements of a contiguous tensor")
    return signal.numel()


class Team:
    """The ranks a program runs on, seen from one of them. `team.rank` of `team.size`; memory, kernels, streams, barriers."""

    def __init__(self, session, world_rank, members=None, ident=0):
        self._session = session
        self.world_rank = world_rank
        self.members = list(range(session.ranks)) if members is None else list(members)
        self.id = ident
        self.rank: int = self.members.index(world_rank)
        self.size: int = len(self.members)
        self.num_ranks = self.size
        self.device = session.device_of(world_rank)
        self._thread = threading.get_ident()
        self._held = []
        self._parts = []  # kept for their streams, which do not keep them
        self._own = None  # of a part of the ranks: its session, made when first needed
        self.queue = None  # the stream of launches that name none and do not wait; without one they take `stream`, and wait for host arrays
        self.refuses_launch = None  # why its rank may start no ranks of its own
        self.resumed = None  # called when the rank goes on after a call, at which others may have run
        self.stream: Stream = session.default_stream(self)

    def _call(self, function, *args):
        if threading.get_ident() != self._thread and not (self._session.finished or self._session.any_thread):
            raise RuntimeError(f"the team of rank {self.world_rank} is used from another thread than the rank's")
        if self._session.tells_places:
            _tandem.host_place(self._session.handle, self.world_rank, *host_place())
        result = self._session.guarded(function, self.world_rank, *args)
        if self.resumed is not None:
            self.resumed()
        return result

    def _call_own(self, function, *args):
        """Calls what is the team's alone, symmetric memory and operators, of which a team of some ranks has its own [collective]."""
        if not self.id:
            return self._call(function, *args)
        if self._own is None:
            self._own = self._call(_tandem.team_session, self.id)
        return self._call(lambda _, __, *given: function(self._own, self.rank, *given), *args)

    def world_rank_of(self, rank: int) -> int:
        """The world's number of the team's rank `rank`."""
        try:
            is_one = 0 <= operator.index(rank) < self.size
        except TypeError:
            raise TypeError(f"a rank is an integer, not {rank!r}") from None
        if not is_one:
            raise IndexError(f"rank {rank} is not one of the team's {self.size} ranks")
        return self.members[rank]

    def _allocate(self, shape, dtype, symmetric, initialised, name):
        try:
            shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(operator.index(d) for d in shape)
        except TypeError:
            raise TypeError(f"a shape is an integer or a tuple of integers, not {shape!r}") from None
        dtype = as_dtype(dtype)
        type_word(dtype)
        count = Tensor.size_of(shape)
        if any(d < 0 for d in shape):
            raise ValueError(f"negative size in shape {shape}")
        if count * dtype.itemsize >= 2**63:
            raise ValueError(f"shape {shape} has more bytes than 64 bits can count")
        file, line = host_place()
        name = name or f"{os.path.basename(file)}:{line}"
        if not isinstance(name, str):
            raise TypeError(f"`name` is a word, not {name!r}")
        call = self._call_own if symmetric else self._call
        address = call(_tandem.allocate, count * dtype.itemsize, int(symmetric), int(initialised), name, file, line)
        return self._session.tensor_type(self, address, shape, dtype, symmetric=symmetric)

    def _filled(self, array, symmetric, name):
        if self._session.takes(array):
            dtype, shape = self._session.element_type(array), self._session.shape_of(array)
        else:
            array = array if isinstance(array, Tensor) else np.asarray(numpy_readable(array))
            dtype, shape = array.dtype, array.shape
        tensor = self._allocate(shape, dtype, symmetric, True, name)
        tensor[...] = array
        return tensor

    def empty(self, shape: Shape, dtype: Any = "float32", name: str | None = None) -> Tensor:
        """Symmetric memory that holds nothing yet: reading it before a write is reported. Every rank calls, with the same size."""
        return self._allocate(shape, dtype, True, False, name)

    def zeros(self, shape: Shape, dtype: Any = "float32", name: str | None = None) -> Tensor:
        """Symmetric memory of zeros; `shape` counts elements, and is the same on all ranks [collective]."""
        return self._allocate(shape, dtype, True, True, name)

    def full(self, shape: Shape, value: Any, dtype: Any = "float32", name: str | None = None) -> Tensor:
        """Symmetric memory with this rank's `value` in every element; one shape on all ranks [collective]."""
        tensor = self._allocate(shape, dtype, True, True, name)
        tensor[...] = value
        return tensor

    def from_array(self, array: Any, name: str | None = None) -> Tensor:
        """Symmetric memory holding this rank's array. Shapes and dtypes must agree on all ranks."""
        return self._filled(array, True, name)

    def local_empty(self, shape: Shape, dtype: Any = "float32", name: str | None = None) -> Tensor:
        """Device memory of this rank alone."""
        return self._allocate(shape, dtype, False, False, name)

    def local_from_array(self, array: Any, name: str | None = None) -> Tensor:
        """This rank's own memory holding the array, which no peer reaches. Shapes may differ from rank to rank."""
        return self._filled(array, False, name)

    def new_stream(self) -> Stream:
        """A stream of this rank, beside the team's own one `team.stream`."""
        return self._session.new_stream(self)

    def stream_beside(self, stream: Stream) -> Stream:
        """The stream for copies and signals that go on while a kernel on `stream` waits for them: the same each time."""
        return Stream(self, self._call(_tandem.stream_beside, stream.index))

    def adopt(self, stream: Any) -> Stream:
        """A CUDA stream of PyTorch, or its handle, as a stream of the team; its owner keeps it."""
        return self._session.adopt(self, stream)

    def synchronize(self) -> None:
        """Waits until all streams of this rank are idle."""
        self._call(_tandem.synchronize, -1)
        self._session.note_idle(self)
        self._held.clear()

    def hold(self, host_arrays):
        """Keeps the host memory of a queued launch alive until the next `synchronize`."""
        self._held.append(host_arrays)

    def barrier(self) -> None:
        """Waits for this rank's streams and for every rank of the team to get here."""
        self._call(_tandem.barrier, self.id)
        self._session.note_idle(self)

    def gather(self, value: Any) -> list[Any]:
        """Returns the values of all ranks, anything that JSON takes, in their order [collective]. Streams are not
        waited for."""
        return [json.loads(text) for text in json.loads(self._call(_tandem.gather, self.id, json.dumps(value)))]

    def split(self, members: Sequence[int]) -> "Team":
        """A team of some of the ranks (their ranks in this team, in order); only they call. Its symmetric memory and its operators are
        its own; kernels know the ranks of the whole run, and not its memory on others, but within `tandem.on` of it."""
        world = [self.world_rank_of(m) for m in members]
        self._parts.append(Team(self._session, self.world_rank, world, self._call(_tandem.create_team, world, len(world))))
        return self._parts[-1]
