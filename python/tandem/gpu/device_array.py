"""Arrays in a GPU's memory: the host reads and writes them by copies, frameworks share them."""

import itertools

import numpy as np

from .. import _tandem
from ..host.arrays import Tensor, numpy_readable
from ..host.layout import runs_of
from ..kernel.element_types import FRAMEWORK_NAME_OF, type_word

_FEW = 256  # copies of single pieces; what has more is read with the gaps between


class DeviceTensor(Tensor):
    """Device memory of a rank on a GPU.

    `np.asarray(t)`, `t.numpy()` and elements are copies on the host, made after the rank's streams are idle; `t[...] = array` copies to
    the device. `torch.as_tensor(t, device="cuda")` and `t.torch()` share the memory.
    """

    def _raw(self, writable):
        """The tensor's shape, strides and addresses as an array that nobody may read."""
        if self.team._session.finished:
            raise ValueError("the run is over, and its memory with it: copy what is needed before the rank's main returns")
        return super()._raw(writable)

    def _fetch(self, part):
        """A copy of a view's elements."""
        self.team.synchronize()
        host = np.empty(part.shape, self.dtype)
        if part.size == 0:
            return host
        pieces = list(itertools.islice(runs_of(part), _FEW + 1))
        if len(pieces) > _FEW:
            return self._fetch_with_gaps(part)
        at = _address(host)
        for address, count in pieces:
            self.team._call(_tandem.copy_to_host, self.team.stream.index, at, address, count)
            at += count
        self.team.stream.synchronize()
        return host

    def _fetch_with_gaps(self, part):
        low, high = _bounds(part)
        cover = np.empty(high - low, np.uint8)
        self.team._call(_tandem.copy_to_host, self.team.stream.index, _address(cover), low, high - low)
        self.team.stream.synchronize()
        return np.ndarray(part.shape, self.dtype, cover, _address(part) - low, part.strides).copy()

    def _send(self, part, value):
        host = np.empty(part.shape, self.dtype)
        host[...] = value
        at = _address(host)
        for address, count in runs_of(part):
            self.team._call(_tandem.copy_from_host, self.team.stream.index, address, at, count)
            at += count
        self.team.stream.synchronize()

    def _part(self, index):
        """(the view that an index names, whether it names one element); None for an index that is not slices and integers."""
        index = index if isinstance(index, tuple) else (index,)
        if not all(
            i is None or i is Ellipsis or isinstance(i, slice) or (isinstance(i, (int, np.integer)) and not isinstance(i, bool))
            for i in index
        ):
            return None
        whole = any(i is Ellipsis for i in index)
        part = self._raw(False)[index if whole else (*index, ...)]
        return part, part.ndim == 0 and not whole

    def get_device(self):
        return self.team.device

    def data_ptr(self):
        """The address, for a launch."""
        if self._freed or self.team._session.finished:
            self._raw(False)  # which says so
        return self.address

    def numpy(self):
        """A copy on the host. It cannot be written, so that no write is lost."""
        copy = self._fetch(self._raw(False))
        copy.flags.writeable = False
        return copy

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("an array on a GPU cannot be a NumPy array without a copy")
        found = self._fetch(self._raw(False))
        return found.astype(dtype) if dtype is not None and np.dtype(dtype) != self.dtype else found

    def __getitem__(self, index):
        found = self._part(index)
        if found is None:
            return self._fetch(self._raw(False))[index]
        part, element = found
        if element:
            return self._fetch(part)[()]
        return DeviceTensor(self.team, _address(part), part.shape, self.dtype, part.strides, owner=self, symmetric=self.symmetric)

    def __setitem__(self, index, value):
        found = self._part(index)
        if found is None:
            whole = self._raw(False)
            host = self._fetch(whole)
            host[index] = numpy_readable(value)
            return self._send(whole, host)
        part = found[0]
        on_device = self._contiguous_device_memory(value, part)
        self.team.synchronize()
        if on_device is None:
            return self._send(part, numpy_readable(value))
        if part.size:
            self.team._call(_tandem.copy, self.team.stream.index, _address(part), on_device[0], part.nbytes)
            self.team.stream.synchronize()

    def _contiguous_device_memory(self, value, part):
        """Returns (address, owner) of an array that can be copied into the part on the device; None if the host must
        convert, spread or lay it out."""
        if isinstance(value, Tensor):
            fits = isinstance(value, DeviceTensor) and value.dtype == self.dtype and value.is_contiguous() and value.shape == part.shape
            return (value.address, value) if fits and part.flags.c_contiguous else None
        session = self.team._session
        if not session.takes(value):
            return None
        if not part.flags.c_contiguous or session.shape_of(value) != part.shape:
            raise ValueError(f"a CUDA array of shape {session.shape_of(value)} fills contiguous tensors of its shape, not {part.shape}")
        return session.memory_of(self.team, value, type_word(self.dtype))

    @property
    def __cuda_array_interface__(self):
        plain = self.dtype if self.dtype.isbuiltin == 1 else np.dtype(f"V{self.itemsize}")
        return self._interface(plain.str)

    def _interface(self, typestr):
        self._raw(False)
        self.team._session.order_framework(self.team)
        return {
            "version": 3,
            "shape": self.shape,
            "strides": None if self.is_contiguous() else self.strides,
            "typestr": typestr,
            "data": (self.address if self.numel() else 0, False),
        }

    def torch(self):
        """Returns a PyTorch tensor of the same memory. Work on its stream comes after the work given to the team's
        default stream."""
        import torch

        word = type_word(self.dtype)
        dtype = getattr(torch, FRAMEWORK_NAME_OF[word])
        device = torch.device("cuda", self.team.device)
        if not self.numel():
            return torch.empty(self.shape, dtype=dtype, device=device)
        carrier = {1: "|u1", 2: "<i2", 4: "<i4", 8: "<i8"}[self.itemsize]  # types that every PyTorch takes
        return torch.as_tensor(_Shared(self, self._interface(carrier)), device=device).view(dtype)


class _Shared:
    """Memory under another element type; keeps its tensor."""

    def __init__(self, tensor, interface):
        self.tensor, self.__cuda_array_interface__ = tensor, interface


def _address(array):
    return array.__array_interface__["data"][0]


def _bounds(array):
    """(first byte, byte past the last) of a strided view."""
    reach = [(n - 1) * step for n, step in zip(array.shape, array.strides)]
    low = _address(array) + sum(r for r in reach if r < 0)
    return low, _address(array) + sum(r for r in reach if r > 0) + array.itemsize
