"""Arrays kernels take: symmetric tensors, and the element types NumPy and the kernel language share."""

import operator
from typing import Any

import numpy as np

from .. import _tandem
from .layout import READ, VIEW, WRITE, Memory, as_slices, begin_of, is_view, row_major, runs_of, selected_runs
from .memory import host_array
from .view import HostView


def numpy_readable(value):
    """A value for NumPy to read: itself, or a NumPy array over its memory. NumPy refuses a framework's tensors on the host that have a
    gradient or an element type of which it knows nothing (bf16, fp8), and whatever speaks only DLPack."""
    if isinstance(value, (np.ndarray, Tensor)) or not (hasattr(value, "data_ptr") or hasattr(value, "__dlpack__")):
        return value
    try:
        array = np.asarray(value)
    except (TypeError, RuntimeError):
        array = None
    if array is not None and array.dtype != object:
        return array
    return host_array(value).numpy()


def _by_numpy(do, *args):
    """What NumPy says of an index or a value is for the caller to read: raised anew, it has no frames of this package."""
    try:
        return do(*args)
    except (IndexError, OverflowError, TypeError, ValueError) as error:
        raise error.with_traceback(None)  # noqa: B904  the same error


class Tensor:
    """Device memory of one rank seen as an array. Symmetric when it was made by the team on every rank.

    `np.asarray(t)` and `t.numpy()` wait for the rank's streams, so they show what earlier kernels wrote. `numpy()` gives a writable view
    and counts as writing the whole tensor, but for the host itself, which is told if it uses what nothing has written (host_view.py);
    `np.asarray`, `np.array` and indexing only read.
    """

    def __init__(self, team, address, shape, dtype, strides=None, owner=None, symmetric=True):
        self.team = team
        self.address = address
        self.dtype: np.dtype = np.dtype(dtype)
        self.shape: tuple[int, ...] = tuple(shape)
        self.symmetric = symmetric
        self._owner = owner
        self.strides = tuple(strides) if strides is not None else row_major(self.shape, self.dtype.itemsize)
        self._freed = False

    @staticmethod
    def size_of(shape):
        """The elements of a shape."""
        n = 1
        for d in shape:
            n *= d
        return n

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.numel() * self.itemsize

    def numel(self) -> int:
        """The number of elements."""
        return self.size_of(self.shape)

    def size(self, axis=None):
        """The shape in elements, or its size along one axis."""
        return self.shape if axis is None else self.shape[axis]

    def stride(self, axis=None):
        """The distances of neighbours along the axes, or along one, in elements; `strides` has them in bytes."""
        elements = tuple(s // self.itemsize for s in self.strides)
        return elements if axis is None else elements[axis]

    def element_size(self) -> int:
        """The bytes of an element."""
        return self.itemsize

    def data_ptr(self) -> int:
        """The address, in bytes, of the first element."""
        return self.address

    def is_contiguous(self) -> bool:
        """True if the elements lie one behind the other, the last axis fastest."""
        return self.strides == row_major(self.shape, self.itemsize)

    def _raw(self, writable):
        """The memory as it is now, with no regard to queued work."""
        if self._freed:
            raise ValueError("this tensor has been freed")
        array = np.asarray(Memory(self.address, self.shape, self.strides, self.dtype, writable, self))
        return array.view(self.dtype) if array.dtype != self.dtype else array

    def _view(self, writable):
        self.team.synchronize()
        return self._raw(writable)

    def numpy(self) -> np.ndarray:
        """The memory as a NumPy array, without a copy, when the work queued before is done."""
        view = self._view(True)
        self._note(view, VIEW)
        if all(self.team._call(_tandem.is_written, address, count) for address, count in runs_of(view)):
            return view
        view = view.view(HostView)
        view._tensor = self
        return view

    def _note(self, view, how):
        """Tells the simulator that the host reads or writes the elements of a view, or keeps it to do so."""
        self._tell(runs_of(view), how)

    def _tell(self, pieces, how):
        for address, count in pieces:
            self.team._call(_tandem.host_access, address, count, how)

    def __array__(self, dtype=None, copy=None):
        view = self._view(False)
        self._note(view, READ)
        return view.astype(dtype) if dtype is not None and np.dtype(dtype) != self.dtype else view.copy() if copy else view

    def __getitem__(self, index: Any) -> Any:
        """A part of the tensor (slices; no waiting), or an element or a NumPy copy (which waits for the streams)."""
        raw = self._raw(False)
        part = _by_numpy(operator.getitem, raw, index)
        if not isinstance(part, np.ndarray) or not is_view(index):
            view = self._view(False)
            self._tell(runs_of(view[as_slices(index)]) if np.ndim(part) == 0 else selected_runs(view, index), READ)
            return view[index]
        # Peers are written to where a part without elements begins, too.
        address = part.__array_interface__["data"][0] if part.size else self.address + begin_of(raw, index)
        return Tensor(self.team, address, part.shape, self.dtype, part.strides, owner=self, symmetric=self.symmetric)

    def __setitem__(self, index: Any, value: Any) -> None:
        view = self._view(True)
        part = _by_numpy(operator.getitem, self._raw(False), index)
        if is_view(index) and self._is_copy(part, value):
            dest = self[index]
            self.team.stream.copy(dest, value)
            return self.team.stream.synchronize()
        _by_numpy(operator.setitem, view, index, numpy_readable(value))
        if not isinstance(part, np.ndarray):
            part = self._raw(False)[as_slices(index)]
        self._note(part if is_view(index) else view, WRITE)

    @staticmethod
    def _is_copy(part, value):
        """Returns true if the copy engine does the assignment to a view: it carries unwritten elements along, which the host
        may not read."""
        return (
            isinstance(value, Tensor)
            and isinstance(part, np.ndarray)
            and part.dtype == value.dtype
            and part.shape == value.shape
            and part.size > 0
            and part.flags.c_contiguous
            and value.is_contiguous()
            and not np.may_share_memory(part, value._raw(False))
        )

    def fill_(self, value: Any) -> "Tensor":
        """Sets every element; returns the tensor."""
        self[...] = value
        return self

    def copy_(self, source: Any) -> "Tensor":
        """Copies an array of this shape, or of one that broadcasts to it; returns the tensor."""
        self[...] = source
        return self

    def peer(self, rank: int) -> "Tensor":
        """The same symmetric tensor on another rank."""
        if not self.symmetric:
            raise ValueError("only symmetric tensors have peers")
        self.team.world_rank_of(rank)
        address = self.team._call_own(_tandem.peer_address, self.address, rank)
        return type(self)(self.team, address, self.shape, self.dtype, self.strides, owner=self)

    def free(self) -> None:
        """Gives the memory back; using the tensor in a kernel afterwards is reported."""
        if self._owner is not None:
            raise ValueError("a view cannot be freed; free the tensor it came from")
        if self._freed and not self.team._session.checks:
            raise ValueError("this tensor has been freed already")
        self.team._session.release(self.team.world_rank, self.address)
        self._freed = True

    def __repr__(self):
        return f"tandem.Tensor(shape={self.shape}, dtype={self.dtype}, rank={self.team.rank}, address={self.address:#x})"
