"""The gradient of AllGather is ReduceScatter."""

from tandem.torch.gradient import ops, others, save_rows as save  # noqa: F401


def backward(ctx, grad):
    return ops.reduce_scatter(grad.contiguous()), *others(ctx)
