"""The gradient of AllToAll sends the rows back. Rows dealt alike by all ranks go back by what each rank got of each."""

from tandem.ops.table import counts_of
from tandem.torch.gradient import ops, others, save_rows
from tandem.torch.world import of


def save(ctx, inputs, output):
    save_rows(ctx, inputs, output)
    ctx.counts = inputs[1] if len(inputs) > 1 else None


def backward(ctx, grad):
    ranks = of(grad).size
    flat = [n for row in counts_of(ctx.rows, ranks) for n in row] if ctx.counts is None else ctx.counts
    back = [flat[to * ranks + by] for by in range(ranks) for to in range(ranks)]
    return ops.all_to_all(grad.contiguous(), back), *others(ctx)
