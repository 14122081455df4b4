"""The gradients of GEMM + AllReduce, whose result is one tensor that all ranks hold."""

from tandem.torch.gradient import operands, save  # noqa: F401


def backward(ctx, grad):
    a, b, grad, wants_a, wants_b, others = operands(ctx, grad)
    return grad @ b.t() if wants_a else None, a.t() @ grad if wants_b else None, *others
