"""The operations under torch.ops.tandem: schemas, kernels, shapes for tracing, gradients."""

import torch

from . import world as worlds
from .functions import call
from .shapes import OPERATIONS

_library = torch.library.Library("tandem", "DEF")
_TAGS = (torch.Tag.needs_fixed_stride_order,)


def _define(operation):
    name = operation.name
    inputs = "Tensor a, Tensor b, SymInt? m=None" if operation.multiplies else "Tensor x, SymInt? m=None"
    dtype = ", ScalarType? out_dtype=None" if operation.multiplies else ""
    _library.define(f"{name}({inputs}{dtype}) -> Tensor", tags=_TAGS)
    _library.define(f"{name}_out({inputs.replace('? m=None', '? m')}, Tensor(a!) out) -> ()", tags=_TAGS)
    count = 2 if operation.multiplies else 1

    def kernel(*args):
        inputs, (m, *dtype) = args[:count], args[count:] or (None,)
        return call(name, worlds.of(inputs[0]), inputs, m, *dtype)

    def kernel_out(*args):
        inputs, (m, out) = args[:count], args[count:]
        call(name, worlds.of(inputs[0]), inputs, m, out=out)

    def fake(*args):
        x, (m, *dtype) = args[0], args[count:] or (None,)
        world = worlds.of(x)
        n = args[1].shape[1] if operation.multiplies else None
        return x.new_empty(operation.output_shape(x.shape, n, m, world.rank, world.size), dtype=(dtype[0] if dtype else None) or x.dtype)

    _library.impl(name, kernel, "CompositeExplicitAutograd")
    _library.impl(f"{name}_out", kernel_out, "CompositeExplicitAutograd")
    torch.library.register_fake(f"tandem::{name}", fake, lib=_library)
    torch.library.register_fake(f"tandem::{name}_out", lambda *args: None, lib=_library)


for _operation in OPERATIONS.values():
    _define(_operation)

_tandem = torch.ops.tandem


def _save(ctx, inputs, output):
    a, b, m, _ = (*inputs, None, None)[:4]
    ctx.save_for_backward(a, b)
    ctx.m, ctx.rows = m, output.shape[0]


def _operands(ctx, grad):
    a, b = ctx.saved_tensors
    return a, b, grad.to(a.dtype).contiguous(), *ctx.needs_input_grad[:2]


def _gradients(grad_a, grad_b, ctx):
    return (grad_a, grad_b) + (None,) * (len(ctx.needs_input_grad) - 2)


def _ag_gemm_backward(ctx, grad):
    a, b, grad, wants_a, wants_b = _operands(ctx, grad)
    grad_a = _tandem.gemm_rs(grad, b.t()) if wants_a else None
    grad_b = _tandem.all_gather(a, ctx.rows).t() @ grad if wants_b else None
    return _gradients(grad_a, grad_b, ctx)


def _gemm_rs_backward(ctx, grad):
    a, b, grad, wants_a, wants_b = _operands(ctx, grad)
    if not wants_b:
        return _gradients(_tandem.ag_gemm(grad, b.t(), a.shape[0]), None, ctx)
    whole = _tandem.all_gather(grad, a.shape[0])  # both products need it, so it is gathered once
    return _gradients(whole @ b.t() if wants_a else None, a.t() @ whole, ctx)


def _gemm_ar_backward(ctx, grad):
    a, b, grad, wants_a, wants_b = _operands(ctx, grad)
    return _gradients(grad @ b.t() if wants_a else None, a.t() @ grad if wants_b else None, ctx)


def _save_rows(ctx, inputs, output):
    ctx.arguments, ctx.rows = len(inputs), inputs[0].shape[0]


def _with_no_more(gradient, ctx):
    return (gradient,) + (None,) * (ctx.arguments - 1)


for _name, _backward in (("ag_gemm", _ag_gemm_backward), ("gemm_rs", _gemm_rs_backward), ("gemm_ar", _gemm_ar_backward)):
    torch.library.register_autograd(f"tandem::{_name}", _backward, setup_context=_save, lib=_library)
for _name, _gradient in (("all_gather", lambda ctx, grad: _tandem.reduce_scatter(grad.contiguous())),
                         ("reduce_scatter", lambda ctx, grad: _tandem.all_gather(grad.contiguous(), ctx.rows)),
                         ("all_reduce", lambda ctx, grad: grad.clone())):
    torch.library.register_autograd(f"tandem::{_name}", lambda ctx, grad, gradient=_gradient: _with_no_more(gradient(ctx, grad), ctx),
                                    setup_context=_save_rows, lib=_library)
