"""The arrays of a call, kept while it is tried out."""

import ctypes

import numpy as np

from ..gpu.arguments import is_cuda_array
from ..gpu.rank_launch import arrays_in
from ..host.arrays import Tensor
from ..host.layout import row_major
from ..host.memory import host_array


def bounds_of(value):
    """[begin, end) of the memory of an argument, if it is an array on a device: from its first to its last element."""
    if isinstance(value, Tensor):
        return _bounds(value.address, value.shape, value.strides, value.itemsize)
    if not is_cuda_array(value):
        return 0, 0
    if _is_unsized(value):
        return value.data_ptr(), value.data_ptr() + 1
    if hasattr(value, "data_ptr"):
        size = value.element_size()
        return _bounds(value.data_ptr(), value.shape, [stride * size for stride in value.stride()], size)
    interface = value.__cuda_array_interface__
    size = np.dtype(interface["typestr"]).itemsize
    return _bounds(interface["data"][0], interface["shape"], interface.get("strides") or row_major(interface["shape"], size), size)


def _is_unsized(value):
    """An array that does not say how large it is."""
    return hasattr(value, "data_ptr") and not hasattr(value, "element_size")


def _bounds(address, shape, strides, itemsize):
    if 0 in shape:
        return address, address
    ways = [(size - 1) * stride for size, stride in zip(shape, strides)]
    return address + sum(way for way in ways if way < 0), address + sum(way for way in ways if way > 0) + itemsize


class Kept:
    """Copies of all arrays among the arguments, from their first to their last element. In the end of a `with` they are put back."""

    def __init__(self, team, stream, values):
        self.stream, self.host, self.device = stream, {}, []
        ranges = set()
        for array in (array for value in values for array in arrays_in(value)):
            if isinstance(array, Tensor) or is_cuda_array(array):
                if _is_unsized(array):
                    raise TypeError("plans are tried out with copies of the arguments; a pointer does not say how much lies there")
                ranges.add(bounds_of(array))
            elif (found := host_array(array)) is not None and found.writable and found.begin < found.end:
                self.host[found.begin] = ctypes.string_at(found.begin, found.end - found.begin)
        for begin, end in sorted(ranges):
            if begin < end:
                there = team._session.tensor_type(team, begin, (end - begin,), "uint8", symmetric=False)
                self.device.append((there, team.local_empty(end - begin, "uint8")))

    def __enter__(self):
        for there, copy in self.device:
            self.stream.copy(copy, there)
        return self

    def restore(self):
        """Queues that the arrays are as they were; those of the host are at once."""
        for there, copy in self.device:
            self.stream.copy(there, copy)
        for begin, copy in self.host.items():
            ctypes.memmove(begin, copy, len(copy))

    def __exit__(self, *_):
        self.restore()
        self.stream.synchronize()
        for _, copy in self.device:
            copy.free()
