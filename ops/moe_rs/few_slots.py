"""Sums of one or two slots a token, by tiles in registers: the rows of a turn, and those of the next one, are as many bytes of a thread as
few registers hold, and an item begins with no table to fill and no ring."""

import tandem
import tandem.language as tl
from ops.device.packed import packed
from ops.device.slots import sum_of_slots

ROWS = tl.constexpr(8)  # of a turn


@tandem.jit
def sum_few(slots, item, OWN: tl.constexpr):
    """As `sum_item` of sums.py, with the same bits."""
    in_columns = tl.arange(0, slots.columns)[None, :]
    columns = item.left + in_columns
    for turn in tl.range(0, item.rows, ROWS, num_stages=2):
        row = turn + tl.arange(0, ROWS)[:, None]
        inside = (row < item.rows) & (in_columns < item.columns)
        tokens = item.first + row
        total = sum_of_slots(
            item.results_ptr, slots.route_ptr, tokens, columns, inside, slots.tokens, slots.width, slots.experts, slots.top_k
        )
        at = row.to(tl.int64) * slots.width + in_columns
        if OWN:
            for slot in tl.static_range(slots.ranks - 1):
                total += tl.load(item.to_ptr + slot * slots.shard + at, mask=inside, other=0.0).to(tl.float32)
            result = total.to(item.out_ptr.dtype.element_ty)
            if slots.packed:
                result = packed(result, ROWS, slots.columns)
            to = item.out_ptr + row.to(tl.int64) * slots.pitch + columns
            tl.store(to, result, mask=inside & (columns < slots.n) & (row < item.own_rows))
        else:
            tl.store(item.to_ptr + at, total.to(item.to_ptr.dtype.element_ty), mask=inside)
