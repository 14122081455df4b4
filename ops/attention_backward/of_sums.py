"""The products of results with their gradients, of which the gradients of attention are made, and those of the sinks."""

import tandem
import tandem.language as tl
from ops.device.attention import LOG2E


@tandem.jit
def delta(out_ptr, grad_ptr, delta_ptr, m, HQ: tl.constexpr, V: tl.constexpr, BLOCK_V: tl.constexpr, BLOCK: tl.constexpr):
    """delta[HQ, m]: the products of a result's row with its gradient's."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.arange(0, BLOCK_V)
    inside = (row < m)[:, None] & (column < V)[None, :]
    at = (row.to(tl.int64) * HQ + tl.program_id(1))[:, None] * V + column[None, :]
    out = tl.load(out_ptr + at, mask=inside, other=0.0).to(tl.float32)
    grad = tl.load(grad_ptr + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(delta_ptr + tl.program_id(1).to(tl.int64) * m + row, tl.sum(out * grad, 1), mask=row < m)


@tandem.jit
def of_sinks(sinks_ptr, lse_ptr, delta_ptr, out_ptr, m, BLOCK: tl.constexpr):
    """out[HQ]: the gradients of the sinks."""
    head = tl.program_id(0)
    sink = tl.load(sinks_ptr + head)
    acc = tl.zeros([BLOCK], tl.float32)
    for start in range(0, m, BLOCK):
        row = start + tl.arange(0, BLOCK)
        at = head.to(tl.int64) * m + row
        lse = tl.load(lse_ptr + at, mask=row < m, other=float("inf"))
        acc -= tl.math.exp2((sink - lse) * LOG2E) * tl.load(delta_ptr + at, mask=row < m, other=0.0)
    tl.store(out_ptr + head, tl.sum(acc, 0))
