"""The gradient of ReduceScatter is AllGather."""

from tandem.torch.gradient import ops, others, save_rows as save  # noqa: F401


def backward(ctx, grad):
    return ops.all_gather(grad.contiguous(), ctx.rows), *others(ctx)
