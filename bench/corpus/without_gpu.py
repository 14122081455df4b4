"""Runs the corpus where there is no GPU: tensors "on the GPU" are the CPU's, and a launch (under_tandem.py, under_triton.py) compiles the
kernel for its arguments and leaves the results as they were. What a library computes between its launches is computed, so that it takes
the way it takes on a GPU."""

import atexit
import contextlib
import types

import torch
import torch._dynamo.utils  # before `case` puts a stand-in where `tabulate` is missing
import triton
from torch.overrides import TorchFunctionMode
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.driver import CudaDriver


class _OnCpu(TorchFunctionMode):
    """PyTorch's functions make on the CPU what is asked for on the GPU."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = {name: _cpu(value) if name == "device" else value for name, value in (kwargs or {}).items()}
        if function in (torch.Tensor.to, torch.Tensor.cuda):
            args = tuple(map(_cpu, args))
        return args[0] if function is torch.Tensor.cuda else function(*args, **kwargs)


def _cpu(value):
    is_gpu = isinstance(value, (str, torch.device)) and str(value).partition(":")[0] == "cuda"
    return "cpu" if is_gpu or type(value) is int and value == 0 else value


class _Generator:
    def __new__(cls, device="cpu", make=torch.Generator):
        return make(_cpu(device))


class _Nothing(contextlib.nullcontext):
    """Where code runs: `torch.cuda.device`, `torch.cuda.stream`."""

    def __init__(self, *_):
        super().__init__()


class _Stream:
    """PyTorch's stream, and an event of one."""

    cuda_stream = 0

    def __init__(self, *_, **__):
        pass

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


class _Driver(CudaDriver):
    def __init__(self):
        pass

    class utils:
        @staticmethod
        def get_device_properties(device=0):
            return {"max_shared_mem": 227 << 10, "max_num_regs": 1 << 16, "multiprocessor_count": 132, "warpSize": 32}

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_active_torch_device(self):
        return torch.device("cpu")


def _properties(_=None):
    return types.SimpleNamespace(
        name="NVIDIA H200",
        major=9,
        minor=0,
        multi_processor_count=132,
        warp_size=32,
        total_memory=141 << 30,
        shared_memory_per_block_optin=227 << 10,
        regs_per_multiprocessor=1 << 16,
        max_threads_per_multi_processor=2048,
        L2_cache_size=50 << 20,
    )


def pretend():
    """Gives PyTorch and `triton` (Triton's, or Tandem's stand-in) an H200 that computes nothing, so that results are never wrong. There is
    no way back."""
    cuda = torch.cuda
    answers = {
        "is_available": True,
        "is_initialized": True,
        "device_count": 1,
        "current_device": 0,
        "get_device_capability": (9, 0),
        "get_device_name": "NVIDIA H200",
        "is_bf16_supported": True,
        "synchronize": None,
        "set_device": None,
        "empty_cache": None,
        "current_stream": _Stream(),
        "default_stream": _Stream(),
    }
    for name, answer in answers.items():
        setattr(cuda, name, lambda *args, answer=answer, **kwargs: answer)
    cuda.get_device_properties = _properties
    cuda.device = cuda.stream = cuda.device_of = _Nothing
    cuda.Stream = cuda.Event = _Stream
    torch.Generator = _Generator
    torch.version.cuda = torch.version.cuda or "12.8"
    torch.Tensor.is_cuda = property(lambda self: True)
    torch.Tensor.get_device = lambda self: 0
    type(triton.runtime.driver).active = _Driver()
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8))
    torch.allclose = lambda *args, **kwargs: True
    torch.testing.assert_close = lambda *args, **kwargs: None
    atexit.unregister(torch._dynamo.utils.dump_compile_times)  # it would write with the stand-in
    _OnCpu().__enter__()
