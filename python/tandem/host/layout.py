"""Memory as NumPy's arrays: addresses, strides, the contiguous pieces of views."""

import numpy as np

READ, WRITE, VIEW, USE = range(4)  # how the host comes to memory


class Memory:
    """Device memory as NumPy's array interface."""

    def __init__(self, address, shape, strides, dtype, writable, owner):
        plain = dtype if dtype.isbuiltin == 1 else np.dtype(f"u{dtype.itemsize}")
        self.__array_interface__ = {
            "version": 3,
            "shape": tuple(shape),
            "strides": tuple(strides),
            "typestr": plain.str,
            "data": (address, not writable),
        }
        self._owner = owner


def row_major(shape, itemsize):
    strides, step = [], itemsize
    for d in reversed(shape):
        strides.append(step)
        step *= d
    return tuple(reversed(strides))


def as_slices(index):
    """The index of one element, as slices: it gives a view."""
    return (*(slice(i, i + 1 or None) for i in np.atleast_1d(index)),)


def is_view(index):
    """Whether an array gives a view for the index, not a copy."""
    return all(i is None or i is Ellipsis or (isinstance(i, int | np.integer | slice) and not isinstance(i, bool)) for i in listed(index))


def listed(index):
    return list(index) if isinstance(index, tuple) else [index]


def begin_of(array, index):
    """The bytes from the array's beginning to that of the view. NumPy lets a view without elements begin at the array's beginning."""
    index = [i for i in listed(index) if i is not None]
    if Ellipsis in index:
        at = index.index(Ellipsis)
        index[at : at + 1] = [slice(None)] * (array.ndim - len(index) + 1)
    firsts = (i.indices(n)[0] if isinstance(i, slice) else i % n for i, n in zip(index, array.shape))
    return sum(first * step for first, step in zip(firsts, array.strides))


def selected_runs(array, index):
    """(address, bytes) of the contiguous pieces of the elements that an index picks, of which NumPy makes a copy."""
    offsets = np.zeros(array.shape, np.int64)
    for axis, (size, step) in enumerate(zip(array.shape, array.strides)):
        offsets += np.expand_dims(np.arange(size) * step, [k for k in range(array.ndim) if k != axis])
    picked = np.unique(offsets[index])
    for piece in np.split(picked, np.flatnonzero(np.diff(picked) != array.itemsize) + 1) if picked.size else ():
        yield array.__array_interface__["data"][0] + int(piece[0]), piece.size * array.itemsize


def runs_of(array):
    """(address, bytes) of the contiguous pieces of an array."""
    if array.size == 0:
        return
    if array.flags.c_contiguous:
        yield array.__array_interface__["data"][0], array.nbytes
        return
    if array.ndim <= 1:
        for i in range(array.shape[0] if array.ndim else 1):
            yield array[i : i + 1].__array_interface__["data"][0], array.itemsize
        return
    for row in array:
        yield from runs_of(row)
