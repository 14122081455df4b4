"""Checks of callers' arguments: each error is one clear line."""

import torch

from ..kernel.element_types import element_word

_SUMMED = ("fp16", "bf16", "fp32")


def like(tensors):
    """All that checks look at, of tensors and what is given in place of one."""
    return (*[(t.device, t.dtype, t.shape, t.stride()) if isinstance(t, torch.Tensor) else type(t) for t in tensors],)


def _name(dtype):
    return str(dtype).removeprefix("torch.")


def check_tensor(operation, name, tensor, world, types=_SUMMED, words="fp16, bf16 or fp32"):
    """`types`: the element types' words, which may be none for any; `words`: the same in words."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"`{operation}`: `{name}` is a `{type(tensor).__name__}`, not a tensor")
    if tensor.device != world.device:
        raise ValueError(f"`{operation}`: `{name}` is on {tensor.device}, this rank's device is {world.device}")
    if types and element_word(tensor.dtype) not in types:
        raise TypeError(f"`{operation}`: `{name}` is {_name(tensor.dtype)}; it must be {words}")


def check_contiguous(operation, name, tensor):
    if not tensor.is_contiguous():
        raise ValueError(
            f"`{operation}`: `{name}` of shape {list(tensor.shape)} has strides {list(tensor.stride())}, it must be contiguous"
        )


def check_same_dtype(operation, a, b):
    if a.dtype != b.dtype:
        raise TypeError(f"`{operation}`: `a` is {_name(a.dtype)} and `b` is {_name(b.dtype)}")


def check_matrices(operation, a, b):
    if a.dim() != 2 or b.dim() != 2:
        raise ValueError(f"`{operation}` multiplies matrices; `a` has {a.dim()} dimensions and `b` has {b.dim()}")
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"`{operation}`: `a` has {a.shape[1]} columns and `b` has {b.shape[0]} rows")


def is_transposed(operation, b):
    """Returns true if `b` [k, n] is the transpose of a contiguous [n, k] weight rather than contiguous itself."""
    if b.is_contiguous():
        return False
    if b.t().is_contiguous():
        return True
    raise ValueError(
        f"`{operation}`: `b` of shape {list(b.shape)} has strides {list(b.stride())}; it must be contiguous or the transpose "
        "of a contiguous weight"
    )


def check_shape(operation, name, tensor, shape):
    if tuple(tensor.shape) != tuple(shape):
        raise ValueError(f"`{operation}`: `{name}` has shape {list(tensor.shape)}, {list(shape)} is needed")


def check_rows(operation, tensor, rows, m, world):
    if tensor.shape[0] != rows:
        raise ValueError(f"`{operation}`: the input has {tensor.shape[0]} rows; rank {world.rank} of {world.size} holds {rows} of {m}")
