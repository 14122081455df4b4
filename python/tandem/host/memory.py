"""Arrays on the host as kernels take them, where they lie: NumPy's, a framework's tensors on the CPU, whatever speaks DLPack."""

import ctypes
import gc
import itertools
import sys
import weakref

import numpy as np

from ..kernel.element_types import DTYPE_OF, ELEMENT_TYPES, element_word
from .layout import Memory, row_major

_ON_HOST = (1, 3)  # kDLCPU, kDLCUDAHost
_DLPACK_WORDS = {(e.dlpack_code, e.dtype.itemsize * 8): e.word for e in ELEMENT_TYPES}


class HostArray:
    """`address` of the first element, and `reach`, [begin, end) of the memory around it that kernels may use. `strides` in bytes. `owner`
    keeps it alive."""

    def __init__(self, owner, dtype, address, shape, strides, reach, writable=True):
        self.owner, self.dtype, self.address, self.writable = owner, dtype, address, writable
        self.shape, self.strides, (self.begin, self.end) = tuple(shape), tuple(strides), reach

    def word(self):
        """The kernel language's word for the elements."""
        return self.dtype if isinstance(self.dtype, str) else element_word(self.dtype)

    def numpy(self):
        """The elements as NumPy reads them, where they lie."""
        dtype = DTYPE_OF[self.word()]
        return np.asarray(Memory(self.address, self.shape, self.strides, dtype, False, self)).view(dtype)


def host_array(value):
    """`value` as a HostArray when it is an array on the host, else None."""
    if isinstance(value, np.ndarray):
        begin, end = (np.lib.array_utils if hasattr(np.lib, "array_utils") else np).byte_bounds(value)
        address = value.__array_interface__["data"][0]
        reach = begin, end if value.size else begin
        return HostArray(value, value.dtype, address, value.shape, value.strides, reach, value.flags.writeable)
    if hasattr(value, "data_ptr") and hasattr(value, "dtype"):
        return _of_tensor(value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return _of_dlpack(value)
    return None


def _of_tensor(tensor):
    if not _is_on_host(tensor):
        raise TypeError(f"a tensor on `{tensor.device}` is no array of the host")
    address, strides = tensor.data_ptr(), [stride * tensor.element_size() for stride in tensor.stride()]
    reach = _storage(tensor) or _bounds(address, tensor.shape, strides, tensor.element_size())
    return HostArray(tensor, tensor.dtype, address, tensor.shape, strides, reach)


def _is_on_host(tensor):
    """Returns true if a framework's tensor lies in the host's memory, whatever device it says it is on."""
    return getattr(tensor, "is_cpu", getattr(getattr(tensor, "device", None), "type", "cpu") == "cpu")


def _storage(tensor):
    """[begin, end) of all that the tensor is a view of, as PyTorch gives it; None when it cannot tell."""
    storage = getattr(tensor, "untyped_storage", getattr(tensor, "storage", None))
    if storage is None:
        return None
    storage = storage()
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()


def _bounds(address, shape, strides, itemsize):
    """[begin, end) of the elements."""
    if 0 in shape:
        return address, address
    reach = [(size - 1) * stride for size, stride in zip(shape, strides)]
    return address + sum(r for r in reach if r < 0), address + sum(r for r in reach if r > 0) + itemsize


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    ]


def _of_dlpack(value):
    if value.__dlpack_device__()[0] not in _ON_HOST:
        return None
    try:
        capsule = value.__dlpack__(max_version=(1, 0))
    except TypeError:  # of before DLPack 1.0
        capsule = value.__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    is_versioned = 'dltensor_versioned"' in repr(capsule)
    if is_versioned:
        managed = _Versioned.from_address(pointer(capsule, b"dltensor_versioned"))
        tensor, writable = managed.tensor, not managed.flags & 1
    else:
        tensor, writable = _DLTensor.from_address(pointer(capsule, b"dltensor")), True
    kind = (tensor.code, tensor.bits)
    if kind not in _DLPACK_WORDS or tensor.lanes != 1:
        raise TypeError(f"arrays of DLPack's type {kind} cannot be kernel arguments")
    shape, itemsize = tensor.shape[: tensor.ndim], tensor.bits // 8
    strides = [n * itemsize for n in tensor.strides[: tensor.ndim]] if tensor.strides else row_major(shape, itemsize)
    address = (tensor.data or 0) + tensor.byte_offset
    return HostArray((value, capsule), _DLPACK_WORDS[kind], address, shape, strides, _bounds(address, shape, strides, itemsize), writable)


_found = []  # weak references to the tensors that were asked for before


def storage_at(address):
    """(begin, bytes, name, tensor) of a tensor of PyTorch on the CPU whose storage holds an address; None when there is none. So that
    tables of `data_ptr()` work: their tensors are no arguments of the kernel."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    _found[:] = [reference for reference in _found if reference() is not None]
    known = (reference() for reference in _found)
    tensors = (thing for thing in gc.get_objects() if issubclass(type(thing), torch.Tensor))
    for tensor in itertools.chain(known, tensors):
        if tensor is None or not _is_on_host(tensor):
            continue
        try:
            begin, end = _storage(tensor)
        except (RuntimeError, NotImplementedError):  # a tensor without memory
            continue
        if begin <= address < end:
            _found.append(weakref.ref(tensor))
            return begin, end - begin, "host tensor", tensor
    return None
