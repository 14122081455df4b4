"""The queries' gradients as sums in memory that programs add to, in no order: a tile of queries has them as threads hold those of a
product, so that they are added from registers."""

import tandem
import tandem.language as tl
from ops.attention_backward.columns import ROWS
from tandem.simt import num_warps


@tandem.jit
def dealt(x):
    """x[M, N] as rows of 32, four from each of eight threads."""
    C: tl.constexpr = num_warps() * 16 // x.shape[0]
    x = x.reshape(x.shape[0] // 16, 2, 4, 2, C, x.shape[1] // (16 * C), 2, 4, 2)
    return x.permute(5, 6, 4, 0, 2, 3, 7, 1, 8).reshape(x.numel // 32, 32)


@tandem.jit
def in_order(x, M: tl.constexpr, N: tl.constexpr, WARPS: tl.constexpr):
    """What `dealt` took apart."""
    C: tl.constexpr = WARPS * 16 // M
    return x.reshape(N // (16 * C), 2, C, M // 16, 4, 2, 4, 2, 2).permute(3, 7, 4, 5, 2, 0, 1, 6, 8).reshape(M, N)


@tandem.jit
def narrow(sums_ptr, of_q_ptr, factor, seq_q, HQ: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, WARPS: tl.constexpr):
    """of_q = sums * factor. WARPS: of the kernel that has added."""
    block, head, sequence = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    R: tl.constexpr = BLOCK_M * D // 32
    first_row = (sequence * HQ + head) * (tl.cdiv(seq_q, ROWS) * ROWS) + block * BLOCK_M
    x = tl.load(sums_ptr + first_row * D + tl.arange(0, R)[:, None] * 32 + tl.arange(0, 32)[None, :])
    x = in_order(x, BLOCK_M, D, WARPS) * factor
    row = block * BLOCK_M + tl.arange(0, BLOCK_M)
    at = ((sequence * seq_q + row) * HQ + head)[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(of_q_ptr + at, x.to(of_q_ptr.dtype.element_ty), mask=(row < seq_q)[:, None])


@tandem.jit
def add(sums_ptr, part):
    """Adds a tile's part."""
    R: tl.constexpr = part.shape[0] * part.shape[1] // 32
    tl.atomic_add(sums_ptr + tl.arange(0, R)[:, None] * 32 + tl.arange(0, 32)[None, :], dealt(part), sem="relaxed")
