"""Sums of one or two slots a token, by tiles in registers: the rows of a turn, and those of the next one, are as many bytes of a thread as
few registers hold, and an item begins with no table to fill and no ring."""

import tandem
import tandem.language as tl
from ops.device.packed import packed
from ops.device.slots import sum_of_slots

ROWS = tl.constexpr(8)  # of a turn


@tandem.jit
def sum_few(
    rows_ptr,
    route_ptr,
    to_ptr,
    out_ptr,
    first,
    rows,
    left,
    columns,
    tokens_of_route,
    width,
    shard,
    pitch,
    n,
    own_rows,
    E: tl.constexpr,
    TOP_K: tl.constexpr,
    RANKS: tl.constexpr,
    COLUMNS: tl.constexpr,
    OWN: tl.constexpr,
    PACKED: tl.constexpr,
):
    """As `sum_item` of sums.py, with the same bits."""
    in_columns = tl.arange(0, COLUMNS)[None, :]
    for turn in tl.range(0, rows, ROWS, num_stages=2):
        row = turn + tl.arange(0, ROWS)[:, None]
        inside = (row < rows) & (in_columns < columns)
        total = sum_of_slots(rows_ptr, route_ptr, first + row, left + in_columns, inside, tokens_of_route, width, E, TOP_K)
        at = row.to(tl.int64) * width + in_columns
        if OWN:
            for slot in tl.static_range(RANKS - 1):
                total += tl.load(to_ptr + slot * shard + at, mask=inside, other=0.0).to(tl.float32)
            result = total.to(out_ptr.dtype.element_ty)
            if PACKED:
                result = packed(result, ROWS, COLUMNS)
            to = out_ptr + row.to(tl.int64) * pitch + left + in_columns
            tl.store(to, result, mask=inside & (left + in_columns < n) & (row < own_rows))
        else:
            tl.store(to_ptr + at, total.to(to_ptr.dtype.element_ty), mask=inside)
