"""Arrays in the memory of the emulated driver, which `$TANDEM_CUDA_DRIVER` names; its own functions copy. Knows no kernels."""

import ctypes
import functools
import os

import numpy as np


def is_chosen():
    return "emulated_cuda" in os.path.basename(os.environ.get("TANDEM_CUDA_DRIVER", ""))


@functools.cache
def _driver():
    library = ctypes.CDLL(os.environ["TANDEM_CUDA_DRIVER"])
    context = ctypes.c_void_p()
    library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    library.cuCtxSetCurrent(context)
    return library


def _check(result, call):
    if result:
        raise RuntimeError(f"{call} gave {result}")


def synchronize():
    _check(_driver().cuCtxSynchronize(), "cuCtxSynchronize")


def _copy(call, to, source, count):
    if count:
        word = ctypes.c_uint64
        _check(getattr(_driver(), call)(word(to), word(source), word(count), None), call)
        _check(_driver().cuStreamSynchronize(None), call)


class _Memory:
    def __init__(self, count):
        address = ctypes.c_uint64()
        _check(_driver().cuMemAlloc_v2(ctypes.byref(address), ctypes.c_uint64(max(count, 1))), "cuMemAlloc")
        self.address = address.value

    def __del__(self):
        _driver().cuMemFree_v2(ctypes.c_uint64(self.address))


class Array:
    """A copy of a NumPy array, with its strides. What lies between its elements is its own too."""

    def __init__(self, array, memory=None, begin=0):
        self.dtype, self.shape, self.strides = array.dtype, array.shape, array.strides
        self.itemsize = array.itemsize
        self._low, self._bytes = _extent(array)
        self._memory, self._begin = memory or _Memory(self._bytes), begin
        if memory is None:
            host = np.zeros(self._bytes, np.uint8)
            np.ndarray(self.shape, self.dtype, host, -self._low, self.strides)[...] = array
            _copy("cuMemcpyHtoDAsync_v2", self._memory.address, host.ctypes.data, self._bytes)

    def __getitem__(self, part):
        """A part of an array of one dimension, in the same memory."""
        begin = range(self.shape[0])[part].start * self.itemsize
        return Array(np.empty(self.shape, self.dtype)[part], self._memory, self._begin + begin)

    def data_ptr(self):
        return self._memory.address + self._begin - self._low

    def get_device(self):
        return 0

    def host(self):
        synchronize()
        host = np.zeros(self._bytes, np.uint8)
        _copy("cuMemcpyDtoHAsync_v2", host.ctypes.data, self._memory.address + self._begin, self._bytes)
        return np.ndarray(self.shape, self.dtype, host, -self._low, self.strides).copy()


def _extent(array):
    """(first byte from the array's first element, bytes)."""
    reach = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
    low = sum(r for r in reach if r < 0)
    return low, (sum(r for r in reach if r > 0) - low + array.itemsize) if array.size else 0
