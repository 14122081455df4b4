"""The operators' gradients (ops/<name>/gradient.py) share these functions."""

import torch

ops = torch.ops.tandem


def save(ctx, inputs, output):
    """Saves the inputs of a product."""
    ctx.save_for_backward(*inputs[:2])
    ctx.rows = output.shape[0]


def operands(ctx, grad):
    """a, b, the gradient in their type, which of the two have gradients, and the others' gradients: none."""
    a, b = ctx.saved_tensors
    return a, b, grad.to(a.dtype).contiguous(), *ctx.needs_input_grad[:2], (None,) * (len(ctx.needs_input_grad) - 2)


def save_rows(ctx, inputs, output):
    """Saves the number of rows, for an operator with one tensor."""
    ctx.arguments, ctx.rows = len(inputs), inputs[0].shape[0]


def others(ctx):
    """Returns no gradients for the arguments behind the tensor."""
    return (None,) * (ctx.arguments - 1)
