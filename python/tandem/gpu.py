"""Kernels on NVIDIA GPUs: `kernel[grid](...)` with CUDA arrays, outside of a run or on a rank that is a GPU.

Arrays are whatever has `data_ptr()`, `dtype` and `get_device()` (PyTorch's tensors) or `__cuda_array_interface__`. A kernel is compiled
for the device its arrays are on and launched on PyTorch's current stream (or `stream=`, or the default stream).
"""

import functools
import inspect
import json
import os
import sys
import types

import numpy as np

from . import _tandem
from ._names import DType, constexpr
from .arrays import Tensor, type_word
from .descriptor import TensorDescriptor
from .errors import CompileError, OutOfResources
from .mock_tensor import MockTensor
from .jit import Aggregate, JITFunction, annotated_type, scalar_bits, scalar_type
from .request import RequestBuilder, specialized

_COOPERATIVE, _DEPENDENT = 1, 2
_TORCH_WORDS = {"bool": "i1", "float16": "fp16", "half": "fp16", "bfloat16": "bf16", "float32": "fp32", "float": "fp32",
                "float64": "fp64", "double": "fp64", "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5", "float8_e4m3fnuz": "fp8e4b8",
                "float8_e5m2fnuz": "fp8e5b16", "int": "i32", "long": "i64", "short": "i16"}
_TORCH_WORDS |= {f"{sign}int{bits}": f"{'u' if sign else 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_INTEGER_PACKS = {"i1": "o", "i8": "B", "u8": "B", "i16": "H", "u16": "H", "i32": "W", "u32": "W", "i64": "Q", "u64": "Q"}


@functools.cache
def devices():
    """One dict a GPU: name, target, memory_bytes, multiprocessors, ... Empty when there is none."""
    try:
        return json.loads(_tandem.gpu_devices())
    except RuntimeError:
        return []


def is_available():
    return bool(devices())


def current_device():
    """The index of the calling thread's device."""
    return _tandem.gpu_current_device()


def synchronize(device=-1):
    """Waits for everything that is queued on a device."""
    _tandem.gpu_synchronize(device)


def element_word(dtype):
    """The kernel language's word for a framework's or NumPy's element type, or an array interface's typestr."""
    text = str(dtype)
    word = _TORCH_WORDS.get(text[6:]) if text.startswith("torch.") else None
    return word or (dtype.name if isinstance(dtype, DType) else type_word(dtype))


def letter_of(value):
    """How the launcher treats values of this type (see python/bindings/gpu_launcher.h)."""
    if type(value) is Tensor or isinstance(value, (np.ndarray, np.generic, tuple, MockTensor)):
        return "s"
    if is_descriptor(value):
        return "d"
    if all(hasattr(value, name) for name in ("data_ptr", "dtype", "get_device")):
        return "t"
    if hasattr(value, "__cuda_array_interface__"):
        return "i"
    if value is None or isinstance(value, (str, DType, JITFunction, Aggregate)):
        return "c"
    return "s"


def is_descriptor(value):
    """A tensor descriptor made on the host, Tandem's or Triton's."""
    return isinstance(value, TensorDescriptor) or (type(value).__name__ == "TensorDescriptor" and hasattr(value, "block_shape"))


def is_cuda_array(value):
    """Whether a GPU launch is meant. A tensor on the CPU is none."""
    if isinstance(value, tuple):
        return any(map(is_cuda_array, value))
    match letter_of(value):
        case "t":
            return value.get_device() >= 0 or bool(getattr(value, "is_pinned", bool)())
        case "i":
            return True
        case "d":
            return is_cuda_array(value.base)
    return isinstance(value, MockTensor) and (is_available() or "TANDEM_TARGET" in os.environ)


def _address(value):
    if hasattr(value, "data_ptr"):
        return value.data_ptr()
    return value.__cuda_array_interface__["data"][0]


class _Asm(dict):
    """The kernel's texts, read when asked for."""

    def __init__(self, handle):
        super().__init__()
        self._read = {"ptx": lambda: _tandem.gpu_kernel_ptx(handle), "cubin": lambda: _tandem.gpu_kernel_cubin(handle)}

    def __missing__(self, name):
        if name not in self._read:
            raise KeyError(name)
        self[name] = self._read[name]()
        return self[name]

    def keys(self):
        return self._read.keys()

    def __iter__(self):
        return iter(self._read)

    def __len__(self):
        return len(self._read)

    def __contains__(self, name):
        return name in self._read


class CompiledKernel:
    """A kernel compiled for one GPU and one set of argument types and constants. `kernel[grid](...)` launches it with all arguments."""

    def __init__(self, function, handle, options, device):
        self.function, self.handle, self.device = function, handle, device
        self.info = json.loads(_tandem.gpu_kernel_info(handle))
        self.asm = _Asm(handle)
        self.name = self.info["name"]
        self.options = options
        self.metadata = types.SimpleNamespace(name=self.name, shared=self.info["shared_bytes"], target=self.info["target"],
                                              cluster_dims=tuple(self.info["cluster"]),
                                              **{k: options.get(k) for k in ("num_warps", "num_stages", "num_ctas", "maxnreg")})

    @property
    def shared(self):
        return self.info["shared_bytes"]

    @functools.cached_property
    def _driver_numbers(self):
        return prepare(self.handle, self.device)

    @property
    def n_regs(self):
        return self.info["registers"] or self._driver_numbers[0]

    @property
    def n_spills(self):
        """Spilled 32-bit words of a thread."""
        return (self.info["spill_bytes"] if self.info["registers"] else self._driver_numbers[1]) // 4

    def _init_handles(self):
        self._driver_numbers

    def __getitem__(self, grid):
        return functools.partial(self.function.run, grid, **self.options)

    def __repr__(self):
        return f"<{self.name} for {self.info['target']}: {self.info['threads']} threads, {self.shared} bytes of shared memory>"


def prepare(handle, device):
    """(registers, bytes of local memory) of a thread. Loads the code."""
    try:
        return _tandem.gpu_kernel_prepare(handle, device)
    except RuntimeError as error:
        raise (OutOfResources(str(error)) if str(error).startswith("out of resources") else error) from None


class Arguments:
    """A call's arguments as ARGUMENTs of the request, and what the launch passes for each."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.builder = RequestBuilder()
        self.specs, self.words = [], []
        self.packs = ""  # one letter a parameter; see python/bindings/gpu_launcher.h
        self.device = -1

    def add(self, parameter, value):
        if self.kernel.is_constexpr(parameter):
            self._put(self._constant(parameter.name, value), "s")
        else:
            self._put(*self._spec(parameter.name, value, parameter))

    def _put(self, spec, pack):
        self.specs.append(spec)
        self.packs += pack

    def _constant(self, name, value):
        return {"name": name, "constexpr": self.builder.value(value)}

    def _spec(self, name, value, parameter=None):
        if isinstance(value, constexpr):
            return self._constant(name, value), "s"
        if isinstance(value, np.generic) and value.shape == ():
            value = value.item()
        if is_descriptor(value):
            return self._descriptor(name, value), "c"
        if isinstance(value, (bool, int, float)):
            return self._number(name, value, parameter)
        if isinstance(value, tuple):
            spec = {"name": name, "tuple": [self._spec(f"{name}.{i}", v)[0] for i, v in enumerate(value)]}
            return (spec | {"names": list(value._fields)} if hasattr(value, "_fields") else spec), "?"
        if value is None or isinstance(value, (str, DType, JITFunction, Aggregate)):
            return self._constant(name, value), "s"
        if self.takes(value):
            return self._array(name, value, parameter), "c"
        what = "an array of the host" if isinstance(value, np.ndarray) or hasattr(value, "data_ptr") else f"a `{type(value).__name__}`"
        raise TypeError(f"argument `{name}` of kernel `{self.kernel.__name__}` is {what}; on a GPU kernels take CUDA arrays, numbers and "
                        "host descriptors")

    def takes(self, value):
        """Whether a value is an array for the kernel."""
        return is_cuda_array(value)

    def memory(self, name, value):
        """(element word, what is passed, a number of the same remainder by 16) of an array."""
        address = _address(value)
        if self.device < 0 and hasattr(value, "get_device"):
            self.device = value.get_device()
        dtype = value.dtype if hasattr(value, "data_ptr") else value.__cuda_array_interface__["typestr"]
        return element_word(dtype), address, address

    def _array(self, name, value, parameter=None):
        word, passed, alignment = self.memory(name, value)
        self.words.append(passed)
        return self._aligned({"name": name, "type": "*" + word}, alignment, parameter)

    def _aligned(self, spec, value, parameter):
        exempt = parameter and (parameter.name in self.kernel.do_not_specialize or
                                parameter.name in self.kernel.do_not_specialize_on_alignment)
        return spec if exempt or value % 16 else spec | {"divisibility": 16}

    def _number(self, name, value, parameter):
        wanted = annotated_type(parameter) if parameter else None
        if wanted is None and type(value) is int and value == 1 and name not in self.kernel.do_not_specialize:
            return self._constant(name, 1), "s"
        word = wanted or scalar_type(value)
        self.words.append(scalar_bits(value, word))
        spec = {"name": name, "type": word}
        if type(value) is int and word[0] in "iu":
            spec = self._aligned(spec, value, parameter)
        floats = {"fp32": "f", "fp64": "d"}
        return spec, (_INTEGER_PACKS | floats).get(word, "?") if wanted else "c"

    def _descriptor(self, name, d):
        if not self.takes(d.base):
            raise TypeError(f"the descriptor `{name}` of kernel `{self.kernel.__name__}` is not of a CUDA array")
        inner = self._array(name, d.base)
        self.words += [v & (2**64 - 1) for v in (*d.shape, *d.strides)]
        block = {"dtype": inner["type"][1:], "block_shape": list(d.block_shape), "padding": getattr(d, "padding", "zero")}
        return {"name": name, "descriptor": block}


def compile_request(request):
    """The capsule of a compiled kernel. Raises CompileError."""
    try:
        return _tandem.gpu_compile(request)
    except RuntimeError as error:
        raise CompileError(str(error).rstrip("\n")) from None


def _compiled(kernel, arguments, options, device):
    """(the compiled kernel, the reads of host values that it rests on)"""
    options = {**options, "target": target_of(device)}
    key = (json.dumps([arguments.specs, options], sort_keys=True), *arguments.builder.items)
    launch_options = {k: v for k, v in options.items() if k != "target"}
    with kernel.compiling:
        return specialized(kernel.gpu_kernels, key, arguments.builder, lambda: kernel.request(arguments.specs, options, arguments.builder),
                           lambda request: CompiledKernel(kernel, compile_request(request), launch_options, device))


rank_targets = {}  # by device, of ranks in traced runs or through NVSHMEM


def target_of(device):
    """The word kernels for a device are compiled for, such as "sm_90a": `$TANDEM_TARGET`, that of its rank in a run that is traced
    or goes through NVSHMEM, or the device's own. Code for an older target runs as PTX that the driver compiles."""
    if "TANDEM_TARGET" in os.environ:
        return os.environ["TANDEM_TARGET"]
    if device in rank_targets:
        return rank_targets[device]
    if not devices():
        _tandem.gpu_devices()  # raises the reason
    return devices()[device]["target"]


def _stream_handle(stream, device):
    if stream is None:
        current = _torch_stream()
        return current(device) if current else 0
    handle = getattr(stream, "cuda_stream", stream)
    if not isinstance(handle, int):
        raise TypeError(f"`stream` is a `{type(stream).__name__}`, not a CUDA stream or its handle")
    return handle


def _torch_stream():
    """PyTorch's function from a device to its current stream, when PyTorch is in use."""
    torch = sys.modules.get("torch")
    return getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)


def _flags(kwargs):
    return (_COOPERATIVE if kwargs.get("launch_cooperative_grid") else 0) | (_DEPENDENT if kwargs.get("launch_pdl") else 0)


def _call(kernel, key, device, stream, grid, args, kwargs):
    """A call the launcher does not know yet: on a GPU when there is a CUDA array among the arguments, else simulated."""
    from .launcher import bind_call, grid_sizes
    if not any(map(is_cuda_array, (*args, *kwargs.values()))):
        return kernel.simulate(grid, args, kwargs)
    values, options, given_stream = bind_call(kernel, args, kwargs)
    arguments = Arguments(kernel)
    for parameter in kernel.parameters:
        arguments.add(parameter, values[parameter.name])
    device = device if device >= 0 else arguments.device if arguments.device >= 0 else current_device() if is_available() else 0
    compiled, reads = _compiled(kernel, arguments, options, device)
    if kwargs.get("warmup"):
        return compiled
    prepare(compiled.handle, device)
    stream = stream if key is not None else _stream_handle(given_stream, device)
    sizes = grid_sizes(grid, values, options)
    _tandem.gpu_launch(compiled.handle, device, stream, *sizes, arguments.words, len(arguments.words), _flags(kwargs))
    if key is not None and "?" not in arguments.packs:
        kernel.gpu_launcher.add(key, compiled.handle, arguments.packs.encode(), _flags(kwargs), options, tuple(reads), compiled)
    return compiled


def _miss(kernel, key, device, stream, grid, args, kwargs):
    try:
        return _call(kernel, key, device, stream, grid, args, kwargs)
    except CompileError as error:
        raise error.with_traceback(None) from None  # the kernel's mistake: frames of this package would hide it


def _kind(kernel, parameter):
    if kernel.is_constexpr(parameter):
        return "c"
    if parameter.name in kernel.do_not_specialize:
        return "n"
    if parameter.name in kernel.do_not_specialize_on_alignment:
        return "a"
    return "t" if annotated_type(parameter) else "r"


def make_launcher(kernel):
    """The launcher of a JITFunction."""
    def classify(value):
        letter = letter_of(value)
        if letter == "t" and type(value).__module__.startswith("torch"):
            launcher.stream_of = _torch_stream()
        return letter

    kinds = "".join(_kind(kernel, p) for p in kernel.parameters).encode()
    launcher = _tandem.GpuLauncher(tuple(kernel.arg_names), kinds, tuple(p.default for p in kernel.parameters), inspect.Parameter.empty,
                                   constexpr, classify, functools.partial(_miss, kernel))
    return launcher
