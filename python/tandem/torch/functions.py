"""The public functions. Plain tensors outside of a trace go straight to the operators; everything else goes through torch.library."""

import math

import torch

from . import world as worlds
from .arguments import check_contiguous, check_matrices, check_rows, check_same_dtype, check_shape, check_tensor, is_transposed
from .shapes import OPERATIONS, rows_of_rank


def call(name, world, inputs, m, out_dtype=None, out=None):
    """Checks the arguments, allocates the output and queues the operator."""
    operation = OPERATIONS[name]
    x = inputs[0]
    first = "a" if operation.multiplies else "x"
    check_tensor(name, first, x, world)
    check_contiguous(name, first, x)
    transposed, n, k = False, None, None
    if operation.multiplies:
        b = inputs[1]
        check_tensor(name, "b", b, world)
        check_same_dtype(name, x, b)
        check_matrices(name, x, b)
        transposed, n, k = is_transposed(name, b), b.shape[1], x.shape[1]
    elif x.dim() == 0:
        raise ValueError(f"`{name}`: `x` has no dimension")
    rows = operation.rows(x.shape[0], m, world.size)
    if operation.gathers:
        check_rows(name, x, rows_of_rank(rows, world.rank, world.size), rows, world)
    shape = operation.output_shape(x.shape, n, rows, world.rank, world.size)
    if out is None:
        out = torch.empty(shape, dtype=out_dtype or x.dtype, device=x.device)
    else:
        check_tensor(name, "out", out, world)
        check_contiguous(name, "out", out)
        check_shape(name, "out", out, shape)
    if not operation.multiplies:
        if out.dtype != x.dtype:
            raise TypeError(f"`{name}`: `out` is {out.dtype}, `x` is {x.dtype}")
        rows, n = (x.numel(), 1) if name == "all_reduce" else (rows, math.prod(x.shape[1:]))
    if rows * n:
        world.operators.run(name, rows, n, k, x.dtype, transposed, [t.data_ptr() for t in (*inputs, out)], out.dtype)
    return out


def _is_plain(*tensors):
    """Whether nobody needs to see the call: no trace, no gradient, no subclass, no dispatch mode."""
    if torch.compiler.is_compiling():
        return False
    if not all(isinstance(t, torch.Tensor) for t in tensors):
        return True  # what is no tensor gets our own error
    return (all(type(t) is torch.Tensor or type(t) is torch.nn.Parameter for t in tensors) and torch._C._len_torch_dispatch_stack() == 0
            and not (torch.is_grad_enabled() and any(t.requires_grad for t in tensors)))


def _matrix_call(name, a, b, m, out_dtype, out):
    tensors = (a, b) if out is None else (a, b, out)
    if _is_plain(*tensors):
        return call(name, worlds.of(a), (a, b), m, out_dtype, out)
    if out is None:
        return getattr(torch.ops.tandem, name)(a, b, m, out_dtype)
    getattr(torch.ops.tandem, name + "_out")(a, b, m, out)
    return out


def _collective_call(name, x, m, out):
    if _is_plain(*((x,) if out is None else (x, out))):
        return call(name, worlds.of(x), (x,), m, None, out)
    if out is None:
        return getattr(torch.ops.tandem, name)(x, m)
    getattr(torch.ops.tandem, name + "_out")(x, m, out)
    return out


def ag_gemm(a_shard, b, m=None, *, out_dtype=None, out=None):
    """gather(a_shard) @ b: [m, n] from this rank's rows [rows, k] and its b [k, n].

    `b` is contiguous or the transpose of a contiguous weight (`weight.t()`). Rows are dealt out in shards of cdiv(m, ranks); `m` must be
    told where the last shards are shorter. [collective], on the current stream.
    """
    return _matrix_call("ag_gemm", a_shard, b, m, out_dtype, out)


def gemm_rs(a, b, *, out_dtype=None, out=None):
    """This rank's rows of the sum over ranks of a @ b: [rows, n] from [m, k] and [k, n], k being the rank's share. [collective]"""
    return _matrix_call("gemm_rs", a, b, None, out_dtype, out)


def gemm_ar(a, b, *, out_dtype=None, out=None):
    """The sum over ranks of a @ b, whole on every rank: [m, n] from [m, k] and [k, n], k being the rank's share. [collective]

    For autograd the result is one tensor that all ranks hold, and so is its gradient.
    """
    return _matrix_call("gemm_ar", a, b, None, out_dtype, out)


def all_gather(x, m=None, *, out=None):
    """All ranks' rows in rank order: [m, ...] from [rows, ...]. [collective]"""
    return _collective_call("all_gather", x, m, out)


def reduce_scatter(x, *, out=None):
    """This rank's rows of the sum over ranks: [rows, ...] from [m, ...]. [collective]"""
    return _collective_call("reduce_scatter", x, None, out)


def all_reduce(x, *, out=None):
    """The sum over ranks. `out` may be `x`. [collective] Gradients as for gemm_ar."""
    return _collective_call("all_reduce", x, None, out)

