"""The second half of grouped GEMM + ReduceScatter: sums each token's slots, and sends the sums to the ranks that own the tokens.

The product's tiles come in parts of the columns, and `brought` counts those of each part, so the sums of one part travel while the next one
is multiplied. Programs do the items of a part in one order on all ranks: those for the peers, the nearest first, then the own ones, which
wait for the peers' sums. So nobody waits for an item that stands behind one that waits for it.

Signals hold the number of the call, epoch + 1, and are never reset; `begun` says which call a rank has begun: it has ended the one before,
and read its parts, so a program looks there before its first store. `brought` counts within a call: the last program puts it back to 0.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.calls import is_last
from ops.device.routes import BLOCKS, is_of_call
from ops.device.slots import sum_of_slots


@tandem.jit
def combine(
    slots_ptr,
    route_ptr,
    out_ptr,
    parts_ptr,
    brought_ptr,
    ready_ptr,
    begun_ptr,
    done_ptr,
    epoch_ptr,
    findings_ptr,
    m,
    n,
    shard_rows,
    part_columns,
    E: tl.constexpr,
    TOP_K: tl.constexpr,
    PROGRAMS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    TILE_M: tl.constexpr,
    TILE_N: tl.constexpr,
):
    """The product has tiles of TILE_M rows and TILE_N columns. `parts`: of each peer, [shard_rows, n]."""
    rank = dl.rank()
    ranks = dl.num_ranks()
    call = tl.load(epoch_ptr) + 1
    if (ranks > 1) & (tl.program_id(0) == 0):
        for distance in range(1, ranks + 1):
            dl.notify(begun_ptr + rank, (rank + distance) % ranks, signal=call, sig_op="set", comm_scope="intra_node")
    fits = is_of_call(route_ptr, findings_ptr, m, E, TOP_K, TILE_M)
    blocks = tl.where(fits, tl.load(route_ptr + BLOCKS), 0)
    bands = tl.cdiv(shard_rows, ROWS)
    across = tl.cdiv(part_columns, COLUMNS)
    of_shard = bands * across
    of_part = ranks * of_shard
    parts = tl.cdiv(n, part_columns)
    if ranks > 1:
        token = dl.wait(begun_ptr, ranks, "sys", "acquire", waitValue=call, compare="ge")
        parts_ptr = dl.consume_token(parts_ptr, token)
    for item in range(tl.program_id(0), parts * of_part, PROGRAMS):
        part = item // of_part
        nth = item % of_part // of_shard
        place = item % of_shard
        owner = (rank + 1 + nth) % ranks
        top = place // across * ROWS
        rows = tl.minimum(m - owner * shard_rows, shard_rows) - top
        width = tl.minimum(part_columns, n - part * part_columns)
        left = place % across * COLUMNS
        if (rows > 0) & (left < width):
            tiles = blocks * tl.cdiv(width, TILE_N)
            token = dl.wait(brought_ptr + part, 1, "gpu", "acquire", waitValue=tiles, compare="ge")
            in_rows = tl.arange(0, ROWS)[:, None]
            columns = left + tl.arange(0, COLUMNS)[None, :]
            inside = (in_rows < rows) & (columns < width)
            columns += part * part_columns
            is_summed = inside & fits
            tokens = owner * shard_rows + top + in_rows
            total = sum_of_slots(dl.consume_token(slots_ptr, token), route_ptr, tokens, columns, is_summed, m, n, E, TOP_K)
            at = (top + in_rows).to(tl.int64) * n + columns
            signal = ready_ptr + (part * of_shard + place) * (ranks - 1)
            shard = shard_rows.to(tl.int64) * n
            if owner != rank:
                slot = rank - tl.where(rank > owner, 1, 0)
                there = dl.symm_at(parts_ptr, owner) + slot * shard
                tl.store(there + at, total.to(parts_ptr.dtype.element_ty), mask=inside)
                dl.notify(signal + slot, owner, signal=call, sig_op="set", comm_scope="intra_node")
            else:
                token = dl.wait(signal, ranks - 1, "sys", "acquire", waitValue=call, compare="ge")
                arrived = dl.consume_token(parts_ptr, token)
                result = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
                for slot in range(rank):
                    result += tl.load(arrived + slot * shard + at, mask=inside, other=0.0).to(tl.float32)
                result += total
                for slot in range(rank, ranks - 1):
                    result += tl.load(arrived + slot * shard + at, mask=inside, other=0.0).to(tl.float32)
                tl.store(out_ptr + at, result.to(out_ptr.dtype.element_ty), mask=inside)

    if is_last(done_ptr, PROGRAMS):
        tl.store(done_ptr, 0)
        for part in range(parts):
            dl.notify(brought_ptr + part, rank, signal=0, sig_op="set", comm_scope="gpu")
        tl.store(epoch_ptr, call)
