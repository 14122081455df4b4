"""The gradients of GEMM + ReduceScatter: of `a` alone by AllGather + GEMM; both products need the gathered gradient."""

from tandem.torch.gradient import ops, operands, save  # noqa: F401


def backward(ctx, grad):
    a, b, grad, wants_a, wants_b, others = operands(ctx, grad)
    if not wants_b:
        return ops.ag_gemm(grad, b.t(), a.shape[0]), None, *others
    whole = ops.all_gather(grad, a.shape[0])  # both products need it, so it is gathered once
    return whole @ b.t() if wants_a else None, a.t() @ whole, *others
