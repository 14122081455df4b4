"""The parts of cuda-python (`cuda.bindings.driver`, `cuda.bindings.runtime`, `cuda.core.Device`) that scripts of several GPUs call: copies,
values written to and awaited in memory by streams, attributes."""

import enum
import types

from ... import _tandem
from ...host.simulated_gpu import SIMULATED_GPU
from .rank import mapped, state
from .streams import properties, synchronize
from .tensors import copy_async


class CUresult(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1


class cudaError_t(enum.IntEnum):
    cudaSuccess = 0
    cudaErrorInvalidValue = 1


class CUstreamWriteValue_flags(enum.IntEnum):
    CU_STREAM_WRITE_VALUE_DEFAULT = 0
    CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER = 1


class CUstreamWaitValue_flags(enum.IntFlag):
    CU_STREAM_WAIT_VALUE_GEQ = 0
    CU_STREAM_WAIT_VALUE_EQ = 1
    CU_STREAM_WAIT_VALUE_AND = 2
    CU_STREAM_WAIT_VALUE_NOR = 3
    CU_STREAM_WAIT_VALUE_FLUSH = 1 << 30


class cudaMemcpyKind(enum.IntEnum):
    cudaMemcpyHostToHost = 0
    cudaMemcpyHostToDevice = 1
    cudaMemcpyDeviceToHost = 2
    cudaMemcpyDeviceToDevice = 3
    cudaMemcpyDefault = 4


class CUdevice_attribute(enum.IntEnum):
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
    CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED = 132
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76


class cudaDeviceAttr(enum.IntEnum):
    cudaDevAttrMultiProcessorCount = 16
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97


class cudaDeviceP2PAttr(enum.IntEnum):
    cudaDevP2PAttrPerformanceRank = 1
    cudaDevP2PAttrAccessSupported = 2
    cudaDevP2PAttrNativeAtomicSupported = 3


_COMPARE = {0: "ge", 1: "eq"}


def _handle(stream):
    return state().stream(getattr(stream, "cuda_stream", stream))


def write_value(stream, address, value, size):
    """A stream writes a word of `size` bytes."""
    with mapped(int(address), size, stream) as at:
        state().team._call(_tandem.signal_write, stream.queue.index, at, 1, int(value), size, 0)
    stream.queue.pending = True


def wait_value(stream, address, value, size, compare):
    """Holds a stream until a word compares true."""
    with mapped(int(address), size, stream) as at:
        number = _tandem.COMPARISONS.split().index(compare)
        state().team._call(_tandem.signal_wait, stream.queue.index, at, 1, number, int(value), size)
    stream.queue.pending = True


def _writer(size):
    def write(stream, address, value, flags=0):
        write_value(_handle(stream), address, value, size)
        return (CUresult.CUDA_SUCCESS,)

    return write


def _waiter(size):
    def wait(stream, address, value, flags=0):
        how = int(flags) & 3
        if how not in _COMPARE:
            raise NotImplementedError("streams of simulated ranks wait for `equal` and `at least`")
        wait_value(_handle(stream), address, value, size, _COMPARE[how])
        return (CUresult.CUDA_SUCCESS,)

    return wait


def _memcpy(success):
    def copy(to, source, count, *rest):
        """(kind, stream) or (stream) follow."""
        copy_async(int(to), int(source), int(count), _handle(rest[-1] if rest else 0))
        return (success,)

    return copy


def _memset(success):
    def fill(to, value, count, stream=0):
        stream = _handle(stream)
        with mapped(int(to), int(count), stream) as at:
            state().team._call(_tandem.set, stream.queue.index, at, int(value), int(count))
        stream.queue.pending = True
        return (success,)

    return fill


def _synchronous(queue):
    def call(*args):
        result = queue(*args)
        synchronize()
        return result

    return call


def _attribute(success):
    def get(attribute, device=0):
        word = {16: "multiprocessors", 97: "max_shared_bytes", 75: "major", 76: "minor"}.get(int(attribute))
        return success, SIMULATED_GPU[word] if word else 0

    return get


def _success(value):
    return lambda *args: (value,)


def _synchronize(success):
    def wait(*stream):
        _handle(stream[0]).synchronize() if stream else synchronize()
        return (success,)

    return wait


def _driver():
    ok = CUresult.CUDA_SUCCESS
    names = {each.__name__: each for each in (CUresult, CUstreamWriteValue_flags, CUstreamWaitValue_flags, CUdevice_attribute)}
    for kind in ("", "DtoD", "HtoD", "DtoH"):
        names[f"cuMemcpy{kind}Async"] = _memcpy(ok)
        names[f"cuMemcpy{kind}"] = _synchronous(_memcpy(ok))
    return names | {
        "CUstream": int,
        "CUdeviceptr": int,
        "CUfunction": lambda function: function,
        "cuInit": _success(ok),
        "cuStreamWriteValue32": _writer(4),
        "cuStreamWriteValue64": _writer(8),
        "cuStreamWaitValue32": _waiter(4),
        "cuStreamWaitValue64": _waiter(8),
        "cuMemsetD8Async": _memset(ok),
        "cuStreamSynchronize": _synchronize(ok),
        "cuCtxSynchronize": _synchronize(ok),
        "cuDriverGetVersion": lambda: (ok, 13000),
        "cuDeviceGet": lambda index: (ok, index),
        "cuDeviceGetCount": lambda: (ok, state().local_size),
        "cuDeviceGetAttribute": _attribute(ok),
        "cuGetErrorName": lambda error: (ok, str(error).encode()),
        "cuGetErrorString": lambda error: (ok, str(error).encode()),
    }


def _runtime():
    ok = cudaError_t.cudaSuccess
    names = {each.__name__: each for each in (cudaError_t, cudaMemcpyKind, cudaDeviceAttr, cudaDeviceP2PAttr)}
    return names | {
        "cudaStream_t": int,
        "cudaMemcpyAsync": _memcpy(ok),
        "cudaMemcpy": _synchronous(_memcpy(ok)),
        "cudaMemsetAsync": _memset(ok),
        "cudaMemset": _synchronous(_memset(ok)),
        "cudaFree": _success(ok),
        "cudaSetDevice": _success(ok),
        "cudaGetDevice": lambda: (ok, state().local_rank),
        "cudaGetDeviceCount": lambda: (ok, state().local_size),
        "cudaStreamSynchronize": _synchronize(ok),
        "cudaDeviceSynchronize": _synchronize(ok),
        "cudaDeviceGetAttribute": _attribute(ok),
        "cudaDeviceGetP2PAttribute": lambda attribute, device, peer: (ok, 1),
        "cudaDeviceCanAccessPeer": lambda device, peer: (ok, 1),
        "cudaGetDeviceProperties": lambda device=0: (ok, _runtime_properties()),
        "cudaGetErrorString": lambda error: (ok, str(error).encode()),
        "cudaGetErrorName": lambda error: (ok, str(error).encode()),
        "cudaGetLastError": _success(ok),
        "cudaRuntimeGetVersion": lambda: (ok, 13000),
    }


def _runtime_properties():
    found = properties()
    return types.SimpleNamespace(
        name=found.name.encode(),
        multiProcessorCount=found.multi_processor_count,
        sharedMemPerBlockOptin=found.shared_memory_per_block_optin,
        totalGlobalMem=found.total_memory,
        major=found.major,
        minor=found.minor,
        clockRate=found.clock_rate,
        l2CacheSize=found.L2_cache_size,
        warpSize=32,
    )


class Device:
    """`cuda.core.Device`."""

    def __init__(self, device_id=None):
        self.device_id = state().local_rank if device_id is None else device_id

    def set_current(self, context=None):
        """A rank has one device."""

    def sync(self):
        synchronize()

    def create_stream(self, obj=None, options=None):
        return obj

    @property
    def compute_capability(self):
        return types.SimpleNamespace(major=SIMULATED_GPU["major"], minor=SIMULATED_GPU["minor"])


def modules(module):
    """The modules, made by `module(name, **members)`."""
    driver, runtime = _driver(), _runtime()
    yield module("cuda")
    yield module("cuda.cuda", **driver)
    yield module("cuda.cudart", **runtime)
    yield module("cuda.bindings")
    yield module("cuda.bindings.driver", **driver)
    yield module("cuda.bindings.runtime", **runtime)
    yield module("cuda.core", Device=Device)
    yield module("cuda.core.experimental", Device=Device)
