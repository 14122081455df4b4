"""The gradients of AllGather + GEMM: of `a` by GEMM + ReduceScatter, of `b` from the gathered `a`."""

from tandem.torch.gradient import ops, operands, save  # noqa: F401


def backward(ctx, grad):
    a, b, grad, wants_a, wants_b, others = operands(ctx, grad)
    grad_a = ops.gemm_rs(grad, b.t()) if wants_a else None
    grad_b = ops.all_gather(a, ctx.rows).t() @ grad if wants_b else None
    return grad_a, grad_b, *others
