"""The queries' gradients as sums in memory that programs add to, in no order: a tile of queries has them as threads hold those of a
product, so that they are added from registers."""

import tandem
import tandem.language as tl
from ops.attention_backward.columns import first_column
from ops.device.attention import place_of
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
def narrow_part(sums_ptr, out_ptr, factor, row, rows, HQ: tl.constexpr, D: tl.constexpr, PART: tl.constexpr, WARPS: tl.constexpr):
    """out[rows, HQ, D] = sums * factor, PART elements of each of so many rows."""
    M: tl.constexpr = row.shape[0]
    R: tl.constexpr = M * PART // 32
    x = tl.load(sums_ptr + tl.arange(0, R)[:, None] * 32 + tl.arange(0, 32)[None, :])
    x = in_order(x, M, PART, WARPS) * factor
    at = row.to(tl.int64)[:, None] * (HQ * D) + tl.arange(0, PART)[None, :]
    tl.store(out_ptr + at, x.to(out_ptr.dtype.element_ty), mask=(row < rows)[:, None])


@tandem.jit
def narrow(
    sums_ptr,
    of_q_ptr,
    cu_q_ptr,
    factor,
    m,
    seq_q,
    column_rows,
    HQ: tl.constexpr,
    D0: tl.constexpr,
    D1: tl.constexpr,
    VARLEN: tl.constexpr,
    BLOCK_M: tl.constexpr,
    WARPS: tl.constexpr,
):
    """of_q = sums * factor. WARPS: of the kernel that has added."""
    block, head, sequence = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    D: tl.constexpr = D0 + D1
    place = place_of(cu_q_ptr, sequence, m, seq_q, VARLEN)
    row = block * BLOCK_M + tl.arange(0, BLOCK_M)
    sums_ptr += (head.to(tl.int64) * column_rows + first_column(place, sequence, seq_q, VARLEN) + block * BLOCK_M) * D
    of_q_ptr += (place[0].to(tl.int64) * HQ + head) * D
    if block * BLOCK_M < place[1]:
        narrow_part(sums_ptr, of_q_ptr, factor, row, place[1], HQ, D, D0, WARPS)
        if D1:
            narrow_part(sums_ptr + BLOCK_M * D0, of_q_ptr + D0, factor, row, place[1], HQ, D, D1, WARPS)


@tandem.jit
def add(sums_ptr, part):
    """Adds a tile's part."""
    R: tl.constexpr = part.shape[0] * part.shape[1] // 32
    tl.atomic_add(sums_ptr + tl.arange(0, R)[:, None] * 32 + tl.arange(0, 32)[None, :], dealt(part), sem="relaxed")
