"""Copies gathered rows into the route's order, each as soon as its shard is there, so that the product behind reads blocks of rows.

A block's rows are needed once for each tile of columns; where these are many, a copy costs less than reading each row where it is.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.tilelink as link
from ops.device.gathering import arrived, is_of_shard
from ops.device.routes import BLOCK_WORDS, BLOCKS, blocks_of, is_of_call, order_of

SCALED_ELEMENTS = tl.constexpr(128)


@tandem.jit
def copy_rows(from_ptrs, to_ptrs, columns, left, is_row, COLUMNS: tl.constexpr):
    """COLUMNS of these rows' columns from `left` on."""
    column = left + tl.arange(0, COLUMNS)[None, :]
    inside = is_row[:, None] & (column < columns)
    tl.store(to_ptrs[:, None] + column, tl.load(from_ptrs[:, None] + column, mask=inside), mask=inside)


@tandem.jit
def order_rows(
    x_ptr,
    scales_ptr,
    rows_ptr,
    row_scales_ptr,
    route_ptr,
    ready_ptr,
    findings_ptr,
    m,
    k,
    shard_rows,
    apart,
    apart_scales,
    PROGRAMS: tl.constexpr,
    E: tl.constexpr,
    TOP_K: tl.constexpr,
    BLOCK_M: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    SCALED: tl.constexpr,
    AWAITED: tl.constexpr,
):
    """rows[i] = x[the token of the route's row i]. AWAITED, SCALED, `apart`: as in grouped_gemm."""
    rank = dl.rank()
    ranks = dl.num_ranks()
    fits = is_of_call(route_ptr, findings_ptr, m, E, TOP_K, BLOCK_M)
    blocks = tl.where(fits, tl.load(route_ptr + BLOCKS), 0)
    across = tl.cdiv(k, COLUMNS)
    down: tl.constexpr = BLOCK_M // ROWS
    for item in range(tl.program_id(0), blocks * (down * across), PROGRAMS):
        words = blocks_of(route_ptr, E, m * TOP_K) + item // (down * across) * BLOCK_WORDS
        row = tl.load(words + 1) + item // across % down * ROWS + tl.arange(0, ROWS)
        is_row = row < tl.load(words + 6)
        token = tl.load(order_of(route_ptr, E) + row, mask=is_row, other=0) // TOP_K
        source = x_ptr
        at = token.to(tl.int64) * k
        if AWAITED:
            source = arrived(x_ptr, ready_ptr, rank, ranks, 0, tl.load(words + 3))
            at += tl.where(is_of_shard(token, rank, shard_rows), apart, 0)
        copy_rows(source + at, rows_ptr + row.to(tl.int64) * k, k, item % across * COLUMNS, is_row, COLUMNS)
        if SCALED:
            if item % across == 0:
                steps = tl.cdiv(k, SCALED_ELEMENTS)
                scales = scales_ptr
                at_scale = token.to(tl.int64) * steps
                if AWAITED:
                    scales = arrived(scales_ptr, ready_ptr, rank, ranks, 0, tl.load(words + 3))
                    at_scale += tl.where(is_of_shard(token, rank, shard_rows), apart_scales, 0)
                to_scales = row_scales_ptr + row.to(tl.int64) * steps
                for step in range(0, steps, 32):
                    copy_rows(scales + at_scale, to_scales, steps, step, is_row, 32)
    if AWAITED:
        channel = link.StreamChannel(ready_ptr, 1, 1)
        if link.call_ends(channel, PROGRAMS):
            link.end_call(channel, 1)
