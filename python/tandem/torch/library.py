"""The operations under torch.ops.tandem: schemas, kernels, shapes for tracing, gradients."""

import importlib
import importlib.util

import torch

from . import solved
from . import world as worlds
from .functions import GRADIENTS, call
from .shapes import OPERATIONS

_library = torch.library.Library("tandem", "DEF")
_TAGS = (torch.Tag.needs_fixed_stride_order,)


_SCHEMAS = {"m": "SymInt? m", "counts": "SymInt[]? counts"}  # of numbers that may be left out; others are integers


def _define(operation):
    name, count = operation.name, len(operation.inputs)
    inputs = [f"Tensor {name}" for name in operation.inputs]
    told = [_SCHEMAS.get(name, f"int {name}") for name in operation.told]
    defaults = [f"{schema}={default}" for schema, default in zip(told, operation.told.values())]
    dtype = ["ScalarType? out_dtype=None"] * operation.has_type
    _library.define(f"{name}({', '.join(inputs + defaults + dtype)}) -> Tensor", tags=_TAGS)
    _library.define(f"{name}_out({', '.join(inputs + told)}, Tensor(a!) out) -> ()", tags=_TAGS)

    def split(given):
        """Splits arguments into inputs, told numbers, and the rest. Arguments at their defaults are not passed."""
        numbers = [*given[count : count + len(told)], *list(operation.told.values())[max(0, len(given) - count) :]]
        return given[:count], numbers, given[count + len(told) :]

    def kernel(*args):
        inputs, numbers, dtype = split(args)
        return call(name, worlds.of(inputs[0]), inputs, numbers, *dtype)

    def kernel_out(*args):
        inputs, numbers, _ = split(args[:-1])
        call(name, worlds.of(inputs[0]), inputs, numbers, out=args[-1])

    def fake(*args):
        (x, *more), numbers, dtype = split(args)
        world = worlds.of(x)
        values = operation.values(x.shape, more[0].shape[1] if more else None, dict(zip(operation.told, numbers)), world.size)
        return x.new_empty(
            operation.output_shape(x.shape, values, world), dtype=(dtype[0] if dtype else None) or operation.result_dtype(x.dtype)
        )

    _library.impl(name, kernel, "CompositeExplicitAutograd")
    _library.impl(f"{name}_out", kernel_out, "CompositeExplicitAutograd")
    torch.library.register_fake(f"tandem::{name}", fake, lib=_library)
    torch.library.register_fake(f"tandem::{name}_out", lambda *args: None, lib=_library)


def _gradient(name):
    """`ops/<name>/gradient.py`, where there is one: `save(ctx, inputs, output)` and `backward(ctx, grad)`."""
    if importlib.util.find_spec(f"tandem.gradients.{name}") is None:
        return
    module = importlib.import_module(f"tandem.gradients.{name}")

    def save(ctx, inputs, output):
        ctx.world = worlds.of(inputs[0])
        module.save(ctx, inputs, output)

    def backward(ctx, *grads):
        with worlds.entered(ctx.world):
            return module.backward(ctx, *grads)

    torch.library.register_autograd(f"tandem::{name}", backward, setup_context=save, lib=_library)
    if name in OPERATIONS:
        GRADIENTS[name] = _autograd(name, save, backward)


def _autograd(name, save, backward):
    """The same as a class for calls of plain tensors: its arguments are the inputs, then the world, what is told and the output's type."""

    def forward(ctx, *args):
        *inputs, (world, told, out_dtype) = args
        out = call(name, world, inputs, told, out_dtype)
        save(ctx, (*inputs, *told), out)
        return out

    def on_inputs(ctx, grad):
        return *backward(ctx, grad)[: len(OPERATIONS[name].inputs)], None

    methods = {"forward": staticmethod(forward), "backward": staticmethod(on_inputs)}
    return type(f"{name}_gradient", (torch.autograd.Function,), methods)


def _define_solved(operation):
    name, count = operation.name, len(operation.inputs)
    kinds = operation.kinds
    inputs = ", ".join(f"{kinds[name]} {name}" for name in operation.inputs)
    needed = "".join(f", SymInt {name}" for name in operation.needed)
    more = "".join(f", {kinds[name]}? {name}=None" for name in operation.more)
    written = "".join(f", Tensor({chr(ord('b') + i)}!)? {t['name']}=None" for i, t in enumerate(operation.written))
    _library.define(f"{name}({inputs}{needed}, SymInt? m=None, str options='{{}}'{more}) -> Tensor", tags=_TAGS)
    _library.define(f"{name}_out({inputs}{needed}, SymInt? m, str options, Tensor(a!) out{more}{written}) -> ()", tags=_TAGS)
    behind, extra = count + len(operation.needed), len(operation.more) + len(operation.written)

    def padded(tensors):
        return (*tensors, *[None] * (extra - len(tensors)))

    def split(given):
        m, options, *tensors = [*given[behind:], *(None, "{}")[len(given) - behind :]]
        return given[:count], (*given[count:behind], m), options, padded(tensors)

    def kernel(*args):
        tensors, told, options, more = split(args)
        return solved.call(name, worlds.of(tensors[0]), tensors, more, told, options)

    def kernel_out(*args):
        tensors, told, options, _ = split(args[: behind + 2])
        solved.call(name, worlds.of(tensors[0]), tensors, padded(args[behind + 3 :]), told, options, args[behind + 2])

    _library.impl(name, kernel, "CompositeExplicitAutograd")
    _library.impl(f"{name}_out", kernel_out, "CompositeExplicitAutograd")
    torch.library.register_fake(f"tandem::{name}", lambda *args: solved.fake(name, *split(args)[:3]), lib=_library)
    torch.library.register_fake(f"tandem::{name}_out", lambda *args: None, lib=_library)


for _operation in OPERATIONS.values():
    _define(_operation)
for _operation in solved.OPERATIONS.values():
    _define_solved(_operation)
for _name in (*OPERATIONS, *solved.OPERATIONS):
    _gradient(_name)
