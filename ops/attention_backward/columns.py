"""What the products of a row of queries are less, the logarithm of its sum and the product of its result with its gradient, as columns of
its own: three each, as a 16-bit number has too few digits. One more step of the products takes them away, where numbers that
threads load would have to come before the products end."""

import tandem
import tandem.language as tl
from ops.device.attention import place_of

COLUMNS = tl.constexpr(16)  # as many as one step of a product takes
ROWS = tl.constexpr(128)  # a head's rows of a sequence are filled up to a multiple of it
FAR = tl.constexpr(6.0e7)  # above every product, and still a number as three 16-bit ones


@tandem.jit
def first_column(place, sequence, seq_q, VARLEN: tl.constexpr):
    """The row at which a sequence's columns begin among those of a head. `place`: as place_of has it."""
    before = place[0] // ROWS + sequence if VARLEN else sequence * tl.cdiv(seq_q, ROWS)
    return before * ROWS


@tandem.jit
def factors(keys: tl.constexpr, first: tl.constexpr, dtype: tl.constexpr):
    """What three columns from `first` on count, for each key: 1024 of the first, and of what is left smaller and smaller pieces."""
    column = tl.arange(0, COLUMNS)[None, :] + tl.zeros([keys, COLUMNS], tl.int32) - first
    return tl.where(column == 0, -1024.0, tl.where(column == 1, -1.0, tl.where(column == 2, -(2.0**-11), 0.0))).to(dtype)


@tandem.jit
def columns(
    out_ptr,
    grad_ptr,
    lse_ptr,
    delta_ptr,
    columns_ptr,
    sums_ptr,
    cu_q_ptr,
    by,
    m,
    seq_q,
    column_rows,
    HQ: tl.constexpr,
    V: tl.constexpr,
    BLOCK_V: tl.constexpr,
    VARLEN: tl.constexpr,
    SUMS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """delta[HQ, m], and the columns, so many rows of each head: those of the logarithms times `by`, and those of delta. Rows behind a
    sequence have logarithms that make their weights 0. SUMS: so many of each row become 0."""
    block, head, sequence = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    place = place_of(cu_q_ptr, sequence, m, seq_q, VARLEN)
    if block * BLOCK >= tl.cdiv(place[1], ROWS) * ROWS:
        return
    row = block * BLOCK + tl.arange(0, BLOCK)
    inside = row < place[1]
    at = place[0] + row.to(tl.int64)
    v = tl.arange(0, BLOCK_V)[None, :]
    elements = (at * HQ + head)[:, None] * V + v
    out = tl.load(out_ptr + elements, mask=inside[:, None] & (v < V), other=0.0).to(tl.float32)
    grad = tl.load(grad_ptr + elements, mask=inside[:, None] & (v < V), other=0.0).to(tl.float32)
    delta = tl.sum(out * grad, 1)
    at += head.to(tl.int64) * m
    tl.store(delta_ptr + at, delta, mask=inside)
    lse = tl.load(lse_ptr + at, mask=inside, other=0.0) * by
    lse = tl.where(lse == -float("inf"), 0.0, lse)  # a query that sees no key
    lse = tl.where(inside, lse, FAR)
    first_row = head.to(tl.int64) * column_rows + first_column(place, sequence, seq_q, VARLEN) + block * BLOCK
    if SUMS:
        for i in tl.static_range(SUMS // COLUMNS):
            some = first_row * SUMS + i * (BLOCK * COLUMNS) + tl.arange(0, BLOCK * COLUMNS)
            tl.store(sums_ptr + some, tl.zeros([BLOCK * COLUMNS], tl.float32))
    column = tl.arange(0, COLUMNS)[None, :]
    x = tl.where(column < 3, lse[:, None], tl.where(column < 6, delta[:, None], 0.0))
    first = (x / 1024).to(columns_ptr.dtype.element_ty)
    rest = x - first.to(tl.float32) * 1024
    second = rest.to(first.dtype)
    third = ((rest - second.to(tl.float32)) * 2.0**11).to(first.dtype)
    pieces = tl.where(column % 3 == 0, first, tl.where(column % 3 == 1, second, third))
    tl.store(columns_ptr + (first_row + tl.arange(0, BLOCK))[:, None] * COLUMNS + column, pieces)


@tandem.jit
def columns_of(columns_ptr, column_rows, HQ: tl.constexpr, BLOCK: tl.constexpr):
    """The descriptor of the columns of so many rows."""
    return tl.make_tensor_descriptor(columns_ptr, [HQ * column_rows, COLUMNS], [COLUMNS, 1], [BLOCK, COLUMNS])
