"""The public functions, one for each operator's table. Plain tensors outside of a trace go straight to the operators, or to a class of
autograd; everything else goes through torch.library, which takes the host five times as long."""

from collections.abc import Sequence
from typing import Any, Literal

import torch

from . import solved
from . import world as worlds
from .arguments import check_contiguous, check_matrices, check_rows, check_same_dtype, check_shape, check_tensor, is_transposed, like
from .shapes import OPERATIONS


GRADIENTS = {}  # by operation: a class of autograd, for tensors that torch.library need not see
_TENSORS = torch.Tensor, torch.nn.Parameter
_modes, _transforms = torch._C._len_torch_dispatch_stack, torch._C._functorch.peek_interpreter_stack


def call(name, world, inputs, told, out_dtype=None, out=None):
    """Checks the arguments, allocates the output and queues the operator. `told`: the numbers of the call that are no shape's."""
    if told:
        told = tuple(tuple(value) if isinstance(value, list) else value for value in told)
    key = (name, out_dtype, told, like(inputs), out if out is None else like((out,)))
    shape, dtype, ready = world.operators.known(key, lambda: _checked(name, world, inputs, told, out_dtype, out))
    if out is None:
        out = torch.empty(shape, dtype=dtype, device=world.device)
    if ready is not None:
        world.operators.queue(ready, [t.data_ptr() for t in (*inputs, out)])
    return out


def _checked(name, world, inputs, told, out_dtype, out):
    """The output's shape and type, and what queues the call, None for one of no elements."""
    operation, x = OPERATIONS[name], inputs[0]
    types = operation.table["types"], operation.table["type_words"]
    check_tensor(name, operation.inputs[0], x, world, *types)
    check_contiguous(name, operation.inputs[0], x)
    transposed, n = False, None
    if operation.multiplies:
        b = inputs[1]
        check_tensor(name, "b", b, world, *types)
        check_same_dtype(name, x, b)
        check_matrices(name, x, b)
        transposed, n = is_transposed(name, b), b.shape[1]
    elif x.dim() == 0:
        raise ValueError(f"`{name}`: `x` has no dimension")
    values = operation.values(x.shape, n, dict(zip(operation.told, told)), world.size)
    if not operation.is_free:
        check_rows(name, x, operation.rows_in(values, world), values.get("m", x.shape[0]), world)
    shape = operation.output_shape(x.shape, values, world)
    dtype = out_dtype or operation.result_dtype(x.dtype)
    if out is not None:
        check_tensor(name, "out", out, world, *(() if operation.has_type else types))
        check_contiguous(name, "out", out)
        check_shape(name, "out", out, shape)
        dtype = out.dtype
    if not operation.has_type and dtype != x.dtype:
        raise TypeError(f"`{name}`: `out` is {dtype}, `x` is {x.dtype}")
    sizes, numbers = operation.sizes(values), operation.numbers(values)
    ready = world.operators.ready(name, sizes, x.dtype, transposed, numbers, dtype) if all(sizes) else None
    return shape, dtype, ready


def _is_seen(tensors):
    """Returns true if others need to see the call: a trace, a subclass, a dispatch mode, a transform of torch.func."""
    if torch.compiler.is_compiling():
        return True
    for t in tensors:  # quicker than `any`
        if type(t) not in _TENSORS and isinstance(t, torch.Tensor):
            return True
    return bool(_modes() or _transforms())


def _has_gradient(tensors):
    if torch.is_grad_enabled():
        for t in tensors:
            if isinstance(t, torch.Tensor) and t.requires_grad:
                return True
    return False


def _flat(told):
    """Nested lists, which torch.library does not take, in one; of lists, which a caller may write to later, copies."""
    return tuple(_numbers(value) if isinstance(value, (list, tuple)) else value for value in told)


def _numbers(value):
    return tuple(count for row in value for count in row) if value and isinstance(value[0], (list, tuple)) else tuple(value)


def _queue(name, tensors, told, out_dtype, out):
    told, given = told and _flat(told), tensors if out is None else (*tensors, out)
    if not _is_seen(given):
        if not _has_gradient(given):
            return call(name, worlds.of(tensors[0]), tensors, told, out_dtype, out)
        if out is None and name in GRADIENTS:
            return GRADIENTS[name].apply(*tensors, (worlds.of(tensors[0]), told, out_dtype))
    if out is None:
        return getattr(torch.ops.tandem, name)(*tensors, *told, *((out_dtype,) if OPERATIONS[name].has_type else ()))
    getattr(torch.ops.tandem, name + "_out")(*tensors, *told, out)
    return out


def _compiled(operation, queue, passed):
    """The function of an operator, which hands its arguments to `queue`."""
    kinds = {"Any": Any, "Literal": Literal, "Sequence": Sequence, "Tensor": torch.Tensor, "dtype": torch.dtype}
    members = {"_queue": queue, **kinds}
    text = f"def {operation.name}({operation.parameters()}) -> {operation.result}:\n    return _queue({passed})"
    exec(compile(text, f"<{operation.name}>", "exec"), members)
    function = members[operation.name]
    function.__module__, function.__doc__ = __name__, operation.description()
    return function


def made(operation):
    """The function of an operator."""
    tensors, told = ", ".join(operation.inputs), ", ".join(operation.told)
    passed = f'"{operation.name}", ({tensors},), ({told}{"," if told else ""}), {"out_dtype" if operation.has_type else "None"}, out'
    return _compiled(operation, _queue, passed)


def _json(options):
    """Words, flags and numbers as JSON; PyTorch does not trace the module's."""
    words = [f'"{k}": "{v}"' if isinstance(v, str) else f'"{k}": {str(v).lower()}' for k, v in options.items()]
    return "{" + ", ".join(words) + "}"


def _queue_solved(name, tensors, more, told, options, out, flags):
    options = {option: value for option, value in options.items() if value is not None}
    operation, text = solved.OPERATIONS[name], _json(options)
    kept, written = len(operation.more), [operation.makes(options, t) for t in operation.written]
    if any(written) and isinstance(tensors[0], torch.Tensor):
        made, *beside = solved.results(name, tensors, told, options)
        out = made if out is None else out
        more = (*more[:kept], *(new if given is None else given for given, new in zip(more[kept:], beside)))
    given = [t for t in (*more, out) if t is not None]
    set_flags = [flag for flag, is_set in zip(operation.flags, flags) if is_set]
    if set_flags or not (_is_seen((*tensors, *given)) or _has_gradient((*tensors, *given))):
        out = solved.call(name, worlds.of(tensors[0]), tensors, more, told, text, out, set_flags)
    elif out is None:
        out = getattr(torch.ops.tandem, name)(*tensors, *told, text, *more[:kept])
    else:
        getattr(torch.ops.tandem, name + "_out")(*tensors, *told, text, out, *more)
    return (out, *(t for t, is_made in zip(more[kept:], written) if is_made)) if any(written) else out


def made_solved(operation):
    """The function of an operator whose sizes follow from several shapes: with its options as keywords."""
    tensors, told = ", ".join(operation.inputs), ", ".join(operation.told)
    more = "".join(f"{name}, " for name in (*operation.more, *(t["name"] for t in operation.written)))
    given = ", ".join(f'"{option["name"]}": {option["name"]}' for option in operation.keywords)
    flags = ", ".join(operation.flags)
    return _compiled(operation, _queue_solved, f'"{operation.name}", ({tensors},), ({more}), ({told},), {{{given}}}, out, [{flags}]')


FUNCTIONS = {name: made(operation) for name, operation in OPERATIONS.items()}
FUNCTIONS |= {name: made_solved(operation) for name, operation in solved.OPERATIONS.items()}
globals().update(FUNCTIONS)
