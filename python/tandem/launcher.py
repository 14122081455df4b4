"""Launches a kernel on the current rank: specialises it on its arguments, moves host arrays, packs the arguments."""

import math
import operator
import os

import numpy as np

from . import _tandem
from ._names import DType, constexpr
from .arrays import Tensor, _Memory, type_word
from .descriptor import TensorDescriptor
from .gpu import element_word
from .host_memory import host_array
from .jit import Aggregate, JITFunction, annotated_type, scalar_bits, scalar_type
from .mock_tensor import MockTensor
from .request import RequestBuilder
from .session import current_team
from .team import Stream, host_place

_OPTIONS = {"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None, "debug": None}
_COOPERATIVE = 1  # TD_COOPERATIVE
_IGNORED = {"grid", "warmup", "launch_cooperative_grid", "launch_pdl", "launch_cluster", "enable_fp_fusion", "waves_per_eu",
            "matrix_instr_nonkdim", "kpack"}


class _HostArrays:
    """The host arrays of one launch on the device; those that overlap in memory share one place. A simulated rank uses them where they lie,
    except for those that are read-only; they, and all on GPUs, are copied there and back."""

    def __init__(self, kernel, team, stream):
        self.kernel, self.team, self.stream = kernel, team, stream
        self.arrays = []
        self.names = {}  # of the arguments, by address
        self.ranges = []  # [begin, end, device address, writable]
        self.unwritable = []  # (name, read-only host memory, what it would be now)

    def add(self, name, array):
        self.arrays.append(array)
        self.names.setdefault(array.begin, name)

    def plan(self):
        """Decides which arrays share a place; `offset` is known from here on. Places are in the arguments' order: addresses are other ones
        in each run."""
        firsts = []  # of each range, the first argument
        for at, array in sorted(enumerate(self.arrays), key=lambda a: (a[1].begin, -a[1].end)):
            last = self.ranges[-1] if self.ranges else None
            if last and array.begin < last[1]:
                last[1] = max(last[1], array.end)
                last[3] |= array.writable
                firsts[-1] = min(firsts[-1], at)
            else:
                self.ranges.append([array.begin, array.end, 0, array.writable])
                firsts.append(at)
        self.ranges = [r for _, r in sorted(zip(firsts, self.ranges))]

    def place(self):
        for r in self.ranges:
            if self._is_mapped(r):
                r[2] = self.team._call(_tandem.map_host, r[0], r[1] - r[0], "host array", *host_place())
                continue
            r[2] = self.team._call(_tandem.allocate, r[1] - r[0], 0, 0, "host array", *host_place())
            self.team._call(_tandem.copy_from_host, self.stream.index, r[2], r[0], r[1] - r[0])

    def _is_mapped(self, r):
        return r[3] and r[0] < r[1] and not self.team._session.is_gpu

    def _range(self, array):
        return next(r for r in self.ranges if r[0] <= array.begin < r[1] or r[0] == r[1] == array.begin)

    def offset(self, array):
        """Bytes from the start of its place."""
        return array.address - self._range(array)[0]

    def address(self, array):
        return self._range(array)[2] + self.offset(array)

    def give_back(self):
        """Ends the use of the places and copies back, in stream order; the team holds on to the host memory until it has synchronised."""
        for r in self.ranges:
            begin, end, device, writable = r
            if self._is_mapped(r):
                self.team._call(_tandem.release_async, self.stream.index, device)
                continue
            came_back = begin
            if not writable:
                copy = np.empty(end - begin, np.uint8)
                came_back = copy.ctypes.data
                self.unwritable.append((self.names[begin], _bytes_at(begin, end), copy))
            self.team._call(_tandem.copy_to_host, self.stream.index, came_back, device, end - begin)
            self.team._call(_tandem.release_async, self.stream.index, device)

    def finish(self, waits):
        """After `give_back`: waits for the stream, or has the team keep the host memory until it is idle."""
        if waits and self.ranges:
            self.stream.synchronize()
            self.check_unwritable()
        elif self.ranges:
            self.team.hold(self)

    def check_unwritable(self):
        for name, before, after in self.unwritable:
            if (before != after).any():
                raise ValueError(f"kernel `{self.kernel.__name__}` wrote to argument `{name}`, a host array that is read-only")


def _bytes_at(begin, end):
    return np.asarray(_Memory(begin, (end - begin,), (1,), np.dtype(np.uint8), False, None))


class _Packer:
    """Turns Python arguments into the request's ARGUMENTs and the launch's 64-bit words."""

    def __init__(self, kernel, team, stream):
        self.kernel = kernel
        self.host = _HostArrays(kernel, team, stream)
        self.specs = []
        self.words = []  # callables, run once device addresses are known
        self.builder = RequestBuilder()  # knows the functions passed as constants

    def constant(self, name, value):
        return {"name": name, "constexpr": self.builder.value(value)}

    def add(self, parameter, value):
        if self.kernel.is_constexpr(parameter):
            self.specs.append(self.constant(parameter.name, value))
        else:
            self.specs.append(self.spec(parameter.name, value, parameter))

    def spec(self, name, value, parameter=None):
        if isinstance(value, constexpr):
            return self.constant(name, value)
        if isinstance(value, np.generic) and value.shape == ():
            value = value.item()
        if isinstance(value, TensorDescriptor):
            return self.descriptor(name, value)
        if isinstance(value, MockTensor):
            return {"name": name, "type": "*" + self.told(name, element_word, value.dtype)}
        array = None if isinstance(value, Tensor) else self.told(name, host_array, value)
        if isinstance(value, Tensor):
            if value.team._session is not self.host.team._session:
                raise ValueError(f"argument `{name}` of kernel `{self.kernel.__name__}` is a tensor of another run")
            self.words.append(lambda: value.address)
            return {"name": name, "type": "*" + type_word(value.dtype)}
        if array is not None:
            self.host.add(name, array)
            self.words.append(lambda: self.host.address(array))
            return {"name": name, "type": "*" + self.told(name, array.word)}
        if isinstance(value, (bool, int, float)):
            return self.number(name, value, parameter)
        if isinstance(value, tuple):
            spec = {"name": name, "tuple": [self.spec(f"{name}.{i}", v) for i, v in enumerate(value)]}
            return spec | {"names": list(value._fields)} if hasattr(value, "_fields") else spec
        if value is None or isinstance(value, (str, DType, JITFunction, Aggregate)):
            return self.constant(name, value)
        raise TypeError(f"argument `{name}` of kernel `{self.kernel.__name__}` has type `{type(value).__name__}`, "
                        "which kernels cannot take")

    def number(self, name, value, parameter):
        wanted = annotated_type(parameter) if parameter else None
        specialise = name not in self.kernel.do_not_specialize
        if wanted is None and specialise and type(value) is int and value == 1:
            return self.constant(name, 1)
        word = wanted or self.told(name, scalar_type, value)
        bits = self.told(name, scalar_bits, value, word)
        self.words.append(lambda: bits)
        return {"name": name, "type": word}

    def told(self, name, work, *args):
        """work(*args), whose complaints name the argument."""
        try:
            return work(*args)
        except (TypeError, OverflowError) as error:
            raise type(error)(f"argument `{name}` of kernel `{self.kernel.__name__}`: {error}") from None

    def descriptor(self, name, d):
        inner = self.spec(name, d.base)
        self.words += [lambda v=v: v & (2**64 - 1) for v in (*d.shape, *d.strides)]
        return {"name": name, "descriptor": {"dtype": inner["type"][1:], "block_shape": list(d.block_shape), "padding": d.padding}}


def _is_debugging():
    """Whether the environment asks for debug mode of every kernel."""
    return any(os.environ.get(name, "").lower() not in ("", "0", "false", "off", "no") for name in ("TANDEM_DEBUG", "TRITON_DEBUG"))


def bind_call(kernel, args, kwargs):
    """(arguments by name, options, stream) of a call."""
    options = {**_OPTIONS, "debug": kernel.debug}
    names = set(kernel.arg_names)
    stream = None
    rest = {}
    for key, value in kwargs.items():
        if key in options:
            options[key] = value
        if key in names:  # also when it is an option: the kernel wants to know it
            rest[key] = value
        elif key == "stream":
            stream = value
        elif key not in options and key not in _IGNORED:
            raise TypeError(f"kernel `{kernel.__name__}` has no parameter `{key}`")
    try:
        bound = kernel.signature.bind(*args, **rest)
    except TypeError as error:
        raise TypeError(f"kernel `{kernel.__name__}`: {error}") from None
    bound.apply_defaults()
    options["debug"] = bool(options["debug"]) or _is_debugging()
    for name, value in bound.arguments.items():
        if isinstance(value, MockTensor) and not kwargs.get("warmup"):
            raise TypeError(f"argument `{name}` of kernel `{kernel.__name__}` stands for an array; only `warmup`, which compiles, takes it")
    return bound.arguments, {k: v for k, v in options.items() if v is not None}, stream


def grid_sizes(grid, arguments, options):
    """The three sizes of a grid, or of what a grid function gives for the arguments."""
    if callable(grid):
        grid = grid({**{k: v.value if isinstance(v, constexpr) else v for k, v in arguments.items()}, **options})
    try:
        sizes = (grid,) if isinstance(grid, (int, np.integer)) else tuple(grid)
        sizes = tuple(operator.index(size.value if isinstance(size, constexpr) else size) for size in sizes)
    except TypeError:
        raise TypeError(f"a grid is one to three integers, not {grid!r}") from None
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"a grid has one to three sizes, not {len(sizes)}")
    if min(sizes) < 0 or max(sizes) >= 2**31 or math.prod(sizes) >= 2**40:
        raise ValueError(f"grid {sizes} is negative or too large: sizes are below 2**31, their product below 2**40")
    return sizes + (1,) * (3 - len(sizes))


def launch_kernel(kernel, grid, args, kwargs):
    """Launches on the current rank. With `stream=` it only queues; otherwise it also waits when an argument is a host array."""
    team = current_team()
    if kwargs.get("stream") is not None and not isinstance(kwargs["stream"], Stream) and "stream" not in kernel.arg_names:
        raise TypeError(f"`stream` of kernel `{kernel.__name__}` is a `{type(kwargs['stream']).__name__}`, not a stream of the team")
    arguments, options, stream = bind_call(kernel, args, kwargs)
    packer = _Packer(kernel, team, stream or team.stream)
    for parameter in kernel.parameters:
        packer.add(parameter, arguments[parameter.name])
    compiled = kernel.specialize(packer.specs, {**options, "target": "sim"}, packer.builder)
    if kwargs.get("warmup"):
        return compiled
    sizes = grid_sizes(grid, arguments, options)
    if 0 in sizes:
        return compiled
    packer.host.plan()
    target = packer.host.stream
    flags = _COOPERATIVE if kwargs.get("launch_cooperative_grid") else 0
    try:
        packer.host.place()
        words = [word() for word in packer.words]
        team._call(_tandem.launch, target.index, compiled.program, *sizes, options["num_warps"], flags, words, len(words), *host_place())
    except BaseException:
        team.hold(packer.host)  # the copies that are queued still read it
        raise
    packer.host.give_back()
    packer.host.finish(waits=stream is None)
    return compiled
