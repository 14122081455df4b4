"""The second half of grouped GEMM + ReduceScatter: sums each token's slots, and sends the sums to the ranks that own the tokens.

An item is so many tokens of one rank in so many columns. Programs take items in one order on all ranks, those for the peers, the nearest
first, then the own ones, which wait for the peers' sums. Who comes first takes the next one, so nobody waits for an item that stands behind
one that waits for it, however many programs run at once. A turn of an item's loop takes a few rows, while the next turns' are copied.

Signals hold the number of the call, epoch + 1, and are never reset; `begun` says which call a rank has begun: it has ended the one before,
and read its parts, so a program looks there before its first store. What counts within a call the last program puts back to 0.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.calls import is_last_of, take
from ops.device.product import packed, packed_width
from ops.device.routes import is_of_call
from ops.device.slots import sum_of_slots


@tandem.jit
def combine(
    rows_ptr,
    route_ptr,
    out_ptr,
    parts_ptr,
    ready_ptr,
    begun_ptr,
    taken_ptr,
    done_ptr,
    epoch_ptr,
    findings_ptr,
    m,
    n,
    pitch,
    shard_rows,
    item_rows,
    E: tl.constexpr,
    TOP_K: tl.constexpr,
    RANKS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    TILE_M: tl.constexpr,
    TILE_N: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Of n columns; out's rows stand `pitch` apart. The product has tiles of TILE_M rows and TILE_N columns. `parts`: of each peer,
    [shard_rows, width], in the product's order of columns. Items have `item_rows` rows."""
    rank = dl.rank()
    call = tl.load(epoch_ptr) + 1
    fits = is_of_call(route_ptr, findings_ptr, m, E, TOP_K, TILE_M)
    tokens_of_route = tl.where(fits, m, 0)
    width = packed_width(n)
    across = tl.cdiv(width, COLUMNS)
    of_rank = tl.cdiv(shard_rows, item_rows) * across
    items = RANKS * of_rank
    shard = shard_rows.to(tl.int64) * width
    item = take(taken_ptr)
    if RANKS > 1:
        if item == 0:
            for distance in range(1, RANKS + 1):
                dl.notify(begun_ptr + rank, (rank + distance) % RANKS, signal=call, sig_op="set", comm_scope="intra_node")
        token = dl.wait(begun_ptr, RANKS, "sys", "acquire", waitValue=call, compare="ge")
        parts_ptr = dl.consume_token(parts_ptr, token)
    in_rows = tl.arange(0, ROWS)[:, None]
    in_columns = tl.arange(0, COLUMNS)[None, :]
    while item < items:
        owner = (rank + 1 + item // of_rank) % RANKS
        place = item % of_rank
        top = place // across * item_rows
        rows = tl.minimum(tl.minimum(m - owner * shard_rows, shard_rows) - top, item_rows)
        if rows > 0:
            columns = place % across * COLUMNS + in_columns
            signal = ready_ptr + place * (RANKS - 1)
            first = owner * shard_rows + top
            if owner != rank:
                slot = rank - tl.where(rank > owner, 1, 0)
                to = dl.symm_at(parts_ptr, owner) + slot * shard
                for row in tl.range(0, rows, ROWS, num_stages=STAGES):
                    inside = (row + in_rows < rows) & (columns < width)
                    tokens = first + row + in_rows
                    total = sum_of_slots(rows_ptr, route_ptr, tokens, columns, inside, tokens_of_route, width, E, TOP_K)
                    at = (top + row + in_rows).to(tl.int64) * width + columns
                    tl.store(to + at, total.to(parts_ptr.dtype.element_ty), mask=inside)
                dl.notify(signal + slot, owner, signal=call, sig_op="set", comm_scope="intra_node")
            else:
                token = dl.wait(signal, RANKS - 1, "sys", "acquire", waitValue=call, compare="ge")
                arrived = dl.consume_token(parts_ptr, token)
                for row in tl.range(0, rows, ROWS, num_stages=STAGES):
                    inside = (row + in_rows < rows) & (columns < width)
                    tokens = first + row + in_rows
                    own = sum_of_slots(rows_ptr, route_ptr, tokens, columns, inside, tokens_of_route, width, E, TOP_K)
                    at = (top + row + in_rows).to(tl.int64) * width + columns
                    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
                    for slot in tl.static_range(RANKS - 1):
                        total = tl.where(slot == rank, total + own, total)
                        total += tl.load(arrived + slot * shard + at, mask=inside, other=0.0).to(tl.float32)
                    total = tl.where(rank == RANKS - 1, total + own, total)
                    result = total.to(out_ptr.dtype.element_ty)
                    if TILE_N >= 32:
                        result = packed(result, ROWS, COLUMNS)
                    to_out = out_ptr + (top + row + in_rows).to(tl.int64) * pitch + columns
                    tl.store(to_out, result, mask=inside & (columns < n))
        item = take(taken_ptr)

    if is_last_of(done_ptr, tl.num_programs(0)):
        tl.store(done_ptr, 0)
        tl.store(taken_ptr, 0)
        tl.store(epoch_ptr, call)
