"""A launch's arguments on a GPU: the arrays among them, and the values that the launch passes."""

import os

import numpy as np

from ..host.arrays import Tensor
from ..kernel.descriptor import TensorDescriptor
from ..kernel.element_types import element_word
from ..kernel.mock_tensor import MockTensor
from ..kernel.names import DType, constexpr
from ..kernel.request import RequestBuilder
from ..kernel.scalars import annotated_type, scalar_bits, scalar_type
from ..kernel.source import Source
from .device import is_available

_INTEGER_PACKS = {"i1": "o", "i8": "B", "u8": "B", "i16": "H", "u16": "H", "i32": "W", "u32": "W", "i64": "Q", "u64": "Q"}
NUMBER_PACKS = {**_INTEGER_PACKS, "fp32": "f", "fp64": "d"}  # by types of scalars; see python/bindings/gpu_launcher.h


def letter_of(value):
    """Returns the letter by which the launcher knows how to treat values of this type (see
    python/bindings/gpu_launcher.h)."""
    if type(value) is Tensor or isinstance(value, (np.ndarray, np.generic, tuple, MockTensor)):
        return "s"
    if is_descriptor(value):
        return "d"
    if all(hasattr(value, name) for name in ("data_ptr", "dtype", "get_device")):
        return "t"
    if hasattr(value, "__cuda_array_interface__"):
        return "i"
    if value is None or isinstance(value, (str, DType, Source)):
        return "c"
    return "s"


def is_descriptor(value):
    """A tensor descriptor made on the host, Tandem's or Triton's."""
    return isinstance(value, TensorDescriptor) or (type(value).__name__ == "TensorDescriptor" and hasattr(value, "block_shape"))


def is_cuda_array(value):
    """Returns true if a GPU launch is meant. A tensor on the CPU does not mean one."""
    if isinstance(value, tuple):
        return any(map(is_cuda_array, value))
    match letter_of(value):
        case "t":
            return value.get_device() >= 0 or bool(getattr(value, "is_pinned", bool)())
        case "i":
            return True
        case "d":
            return is_cuda_array(value.base)
    return _is_pointer(value) and (is_available() or bool(os.environ.get("TANDEM_TARGET")))


def telling(value):
    """Returns how many arrays a value holds that tell what memory they are part of. One without memory counts."""
    if isinstance(value, tuple):
        return sum(map(telling, value))
    if hasattr(value, "untyped_storage") or isinstance(value, MockTensor):
        return 1
    return telling(value.base) if hasattr(value, "data_ptr") and hasattr(value, "base") or is_descriptor(value) else 0


def _is_pointer(value):
    """An object that stands for an array on the current GPU, with nothing but `data_ptr()` and `dtype`; a MockTensor is one."""
    return not isinstance(value, Tensor) and hasattr(value, "data_ptr") and hasattr(value, "dtype")


def _address(value):
    if hasattr(value, "data_ptr"):
        return value.data_ptr()
    return value.__cuda_array_interface__["data"][0]


def words_of(kernel, specs, values):
    """The values that a launch passes to a kernel that was compiled for `specs`, the ARGUMENTs of its parameters."""
    arguments = Arguments(kernel)
    for parameter, spec in zip(kernel.parameters, specs):
        value = values[parameter.name]
        word = spec.get("type", "*")
        if "constexpr" not in spec and word[0] != "*":
            arguments.words.append(scalar_bits(value.value if isinstance(value, constexpr) else value, word))
        elif "constexpr" not in spec:
            arguments.add(parameter, value)
    return arguments.words


def divisor_of(number):
    """Returns the largest power of two up to 16 that divides the number."""
    return next(d for d in (16, 8, 4, 2, 1) if number % d == 0)


class Arguments:
    """A call's arguments as ARGUMENTs of the request, and the values that the launch passes."""

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
        if value is None or isinstance(value, (str, DType, Source)):
            return self._constant(name, value), "s"
        if self.takes(value):
            return self._array(name, value, parameter), "c"
        what = "an array of the host" if isinstance(value, np.ndarray) or hasattr(value, "data_ptr") else f"a `{type(value).__name__}`"
        raise TypeError(
            f"argument `{name}` of kernel `{self.kernel.__name__}` is {what}; on a GPU kernels take CUDA arrays, numbers and "
            "host descriptors"
        )

    def takes(self, value):
        """Returns true if a value is an array for the kernel."""
        return is_cuda_array(value)

    def memory(self, name, value):
        """Returns (element word, the value that is passed, a number of the same remainder by 16) of an array."""
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
        exempt = parameter and (
            parameter.name in self.kernel.do_not_specialize or parameter.name in self.kernel.do_not_specialize_on_alignment
        )
        divisor = divisor_of(value) if spec["type"][0] != "*" or value % 16 == 0 else 1
        return spec if exempt or divisor == 1 else spec | {"divisibility": divisor}

    def _number(self, name, value, parameter):
        wanted = annotated_type(parameter) if parameter else None
        if wanted is None and type(value) is int and value == 1 and name not in self.kernel.do_not_specialize:
            return self._constant(name, 1), "s"
        word = wanted or scalar_type(value)
        self.words.append(scalar_bits(value, word))
        spec = {"name": name, "type": word}
        if type(value) is int and word[0] in "iu":
            spec = self._aligned(spec, value, parameter)
        return spec, NUMBER_PACKS.get(word, "?") if wanted else "c"

    def _descriptor(self, name, d):
        if not self.takes(d.base):
            raise TypeError(f"the descriptor `{name}` of kernel `{self.kernel.__name__}` is not of a CUDA array")
        inner = self._array(name, d.base)
        self.words += [v & (2**64 - 1) for v in (*d.shape, *d.strides)]
        block = {"dtype": inner["type"][1:], "block_shape": list(d.block_shape), "padding": getattr(d, "padding", "zero")}
        return {"name": name, "descriptor": block}
