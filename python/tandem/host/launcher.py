"""Launches a kernel on the current rank: specialises it on its arguments, moves host arrays, packs the arguments."""

import numpy as np

from .. import _tandem
from ..kernel.descriptor import TensorDescriptor
from ..kernel.element_types import element_word, type_word
from ..kernel.mock_tensor import MockTensor
from ..kernel.names import DType, constexpr
from ..kernel.request import RequestBuilder
from ..kernel.scalars import annotated_type, scalar_bits, scalar_type
from ..kernel.source import Source
from .arrays import Tensor
from .call import bind_call, grid_sizes, launch_flags
from .current import current_team
from .frames import host_place
from .host_arrays import HostArrays
from .memory import host_array
from .shown import shown_at
from .team import Stream


class _Packer:
    """Turns Python arguments into the request's ARGUMENTs and the launch's 64-bit words."""

    def __init__(self, kernel, team, stream):
        self.kernel = kernel
        self.host = HostArrays(kernel, team, stream)
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
        if array is not None and shown_at(array.address) is not None:
            self.words.append(lambda: array.address)
            return {"name": name, "type": "*" + self.told(name, array.word)}
        if array is not None:
            self.host.add(name, array)
            self.words.append(lambda: self.host.address(array))
            return {"name": name, "type": "*" + self.told(name, array.word)}
        if isinstance(value, (bool, int, float)):
            return self.number(name, value, parameter)
        if isinstance(value, tuple):
            spec = {"name": name, "tuple": [self.spec(f"{name}.{i}", v) for i, v in enumerate(value)]}
            return spec | {"names": list(value._fields)} if hasattr(value, "_fields") else spec
        if value is None or isinstance(value, (str, DType, Source)):
            return self.constant(name, value)
        hint = "; give it as `np.array(...)` or as a tuple" if isinstance(value, list) else ""
        raise TypeError(
            f"argument `{name}` of kernel `{self.kernel.__name__}` has type `{type(value).__name__}`, which kernels cannot take{hint}"
        )

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


def launch_kernel(kernel, grid, args, kwargs):
    """Launches on the current rank. With `stream=` it only queues; otherwise it also waits when an argument is a host array."""
    team = current_team()
    if kwargs.get("stream") is not None and not isinstance(kwargs["stream"], Stream) and "stream" not in kernel.arg_names:
        raise TypeError(f"`stream` of kernel `{kernel.__name__}` is a `{type(kwargs['stream']).__name__}`, not a stream of the team")
    arguments, options, stream = bind_call(kernel, args, kwargs)
    stream = stream or team.queue
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
    target.pending = True
    flags = launch_flags(kwargs)
    try:
        packer.host.place()
        words = [word() for word in packer.words]
        team._call_own(
            _tandem.launch, target.index, compiled.program, *sizes, options["num_warps"], flags, words, len(words), *host_place()
        )
    except BaseException:
        team.hold(packer.host)  # the copies that are queued still read it
        raise
    packer.host.give_back()
    packer.host.finish(waits=stream is None)
    return compiled
