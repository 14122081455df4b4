"""The queries' gradients as sums in memory that programs add to, in no order: a tile of queries has them as threads hold those of a
product, so that they are added from registers."""

import tandem
import tandem.language as tl
from ops.attention_backward.columns import COLUMNS, first_column
from ops.device.attention import block_of, place_of
from tandem.simt import num_warps


@tandem.jit
def dealt(x):
    """x[M, N] as rows of 32, four from each of eight threads."""
    C: tl.constexpr = max(1, num_warps() * 16 // x.shape[0])
    x = x.reshape(x.shape[0] // 16, 2, 4, 2, C, x.shape[1] // (8 * C), 4, 2)
    return x.permute(5, 4, 0, 2, 3, 6, 1, 7).reshape(x.numel // 32, 32)


@tandem.jit
def in_order(x, M: tl.constexpr, N: tl.constexpr, WARPS: tl.constexpr):
    """What `dealt` took apart."""
    C: tl.constexpr = max(1, WARPS * 16 // M)
    return x.reshape(N // (8 * C), C, M // 16, 4, 2, 4, 2, 2).permute(2, 6, 3, 4, 1, 0, 5, 7).reshape(M, N)


@tandem.jit
def keep(parts_ptr, x, PARTS: tl.constexpr):
    """Stores both parts of a tile, for `joined`."""
    for part in tl.static_range(2):
        if PARTS[part]:
            R: tl.constexpr = x[part].shape[0] * PARTS[part] // 32
            tl.store(parts_ptr + tl.arange(0, R)[:, None] * 32 + tl.arange(0, 32)[None, :], dealt(x[part]))
            parts_ptr += R * 32


@tandem.jit
def narrow_part(
    sums_ptr,
    out_ptr,
    factor,
    row,
    rows,
    first: tl.constexpr,
    HQ: tl.constexpr,
    D: tl.constexpr,
    PART: tl.constexpr,
    TURNED: tl.constexpr,
    WARPS: tl.constexpr,
):
    """out[rows, HQ, D] = sums * factor, PART elements from `first` on of each of so many rows, as far as there are."""
    M: tl.constexpr = row.shape[0]
    R: tl.constexpr = M * PART // 32
    x = tl.load(sums_ptr + tl.arange(0, R)[:, None] * 32 + tl.arange(0, 32)[None, :])
    x = (in_order(x, PART, M, WARPS).T if TURNED else in_order(x, M, PART, WARPS)) * factor
    element = first + tl.arange(0, PART)
    at = row.to(tl.int64)[:, None] * (HQ * D) + element[None, :]
    inside = (row < rows)[:, None]
    if first + PART > D:
        inside = inside & (element < D)[None, :]
    tl.store(out_ptr + at, x.to(out_ptr.dtype.element_ty), mask=inside)


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
    D: tl.constexpr,
    D0: tl.constexpr,
    D1: tl.constexpr,
    VARLEN: tl.constexpr,
    TURNED: tl.constexpr,
    BLOCK_M: tl.constexpr,
    WARPS: tl.constexpr,
):
    """of_q = sums * factor. TURNED: as `add_product` has it; WARPS: of the kernel that has added."""
    block, head, sequence = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    place = place_of(cu_q_ptr, sequence, m, seq_q, VARLEN)
    row = block * BLOCK_M + tl.arange(0, BLOCK_M)
    sums_ptr += (head.to(tl.int64) * column_rows + first_column(place, sequence, seq_q, VARLEN) + block * BLOCK_M) * (D0 + D1)
    of_q_ptr += (place[0].to(tl.int64) * HQ + head) * D
    if block * BLOCK_M < place[1]:
        narrow_part(sums_ptr, of_q_ptr, factor, row, place[1], 0, HQ, D, D0, TURNED, WARPS)
        if D1:
            narrow_part(sums_ptr + BLOCK_M * D0, of_q_ptr, factor, row, place[1], D0, HQ, D, D1, TURNED, WARPS)


@tandem.jit
def add_product(sums_ptr, of_scores, k, TURNED: tl.constexpr):
    """Adds the products of so many queries' scores with keys. TURNED: with a row for each element of a head, where queries are fewer than
    the rows of a product."""
    part = tl.dot(k.T, of_scores) if TURNED else tl.dot(of_scores.T, k)
    R: tl.constexpr = part.shape[0] * part.shape[1] // 32
    tl.atomic_add(sums_ptr + tl.arange(0, R)[:, None] * 32 + tl.arange(0, 32)[None, :], dealt(part), sem="relaxed")


@tandem.jit
def store_columns(rows_ptr, x, column, inside, D: tl.constexpr, KEPT: tl.constexpr):
    """Columns from this one on of KEPT of a head with D elements."""
    element = column + tl.arange(0, COLUMNS)[None, :]
    if KEPT > D:
        inside = inside & (element < D)
    tl.store(rows_ptr + element, x.to(rows_ptr.dtype.element_ty), mask=inside)


@tandem.jit
def joined(
    parts_ptr,
    of_k_ptr,
    of_v_ptr,
    cu_kv_ptr,
    factor,
    n,
    seq_kv,
    together,
    HKV: tl.constexpr,
    D: tl.constexpr,
    V: tl.constexpr,
    KEPT_D: tl.constexpr,
    KEPT_V: tl.constexpr,
    PARTS: tl.constexpr,
    VARLEN: tl.constexpr,
    BLOCK_N: tl.constexpr,
    WARPS: tl.constexpr,
):
    """The sums of the parts that programs have kept of a block of keys, 16 of their KEPT_D + KEPT_V columns a program:
    of_k = sums * factor, of_v = sums.
    `together`: as the grid of these programs has it; WARPS: theirs."""
    block, column, line = tl.program_id(0), tl.program_id(1) * COLUMNS, tl.program_id(2)
    blocks, head, sequence = tl.num_programs(0), line % HKV, line // HKV
    R: tl.constexpr = BLOCK_N * COLUMNS // 32
    at = tl.arange(0, R)[:, None] * 32 + tl.arange(0, 32)[None, :]
    x = tl.zeros([R, 32], tl.float32)
    for part in tl.static_range(PARTS):
        own = line * PARTS + part
        place = (own // together * blocks + block) * together + own % together
        x += tl.load(parts_ptr + place.to(tl.int64) * (BLOCK_N * (KEPT_D + KEPT_V)) + column * BLOCK_N + at)
    if VARLEN:
        block, sequence = block_of(cu_kv_ptr, block, seq_kv, n, BLOCK_N)
    rows = place_of(cu_kv_ptr, sequence, n, seq_kv, VARLEN)
    row = block * BLOCK_N + tl.arange(0, BLOCK_N)
    x = in_order(x, BLOCK_N, COLUMNS, WARPS)
    places, inside = ((rows[0] + row.to(tl.int64)) * HKV + head)[:, None], (row < rows[1])[:, None]
    if column < KEPT_D:
        store_columns(of_k_ptr + places * D, x * factor, column, inside, D, KEPT_D)
    else:
        store_columns(of_v_ptr + places * V, x, column - KEPT_D, inside, V, KEPT_V)
