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


class Array:
    """A copy of a NumPy array, with its strides. What lies between its elements is its own too."""

    def __init__(self, array):
        self.dtype, self.shape, self.strides = array.dtype, array.shape, array.strides
        self._low, self._bytes = _extent(array)
        host = np.zeros(self._bytes, np.uint8)
        np.ndarray(self.shape, self.dtype, host, -self._low, self.strides)[...] = array
        address = ctypes.c_uint64()
        _check(_driver().cuMemAlloc_v2(ctypes.byref(address), ctypes.c_uint64(max(self._bytes, 1))), "cuMemAlloc")
        self._memory = address.value
        _copy("cuMemcpyHtoDAsync_v2", self._memory, host.ctypes.data, self._bytes)

    def __del__(self):
        _driver().cuMemFree_v2(ctypes.c_uint64(self._memory))

    def data_ptr(self):
        return self._memory - self._low

    def get_device(self):
        return 0

    def stride(self):
        return tuple(s // self.dtype.itemsize for s in self.strides)

    def host(self):
        synchronize()
        host = np.zeros(self._bytes, np.uint8)
        _copy("cuMemcpyDtoHAsync_v2", host.ctypes.data, self._memory, self._bytes)
        return np.ndarray(self.shape, self.dtype, host, -self._low, self.strides).copy()


def _extent(array):
    """(first byte from the array's first element, bytes)."""
    reach = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
    low = sum(r for r in reach if r < 0)
    return low, (sum(r for r in reach if r > 0) - low + array.itemsize) if array.size else 0
