"""The second half of grouped GEMM + ReduceScatter: sums each token's slots, and sends the sums to the ranks that own the tokens.

The product's tiles come in parts of the columns, and `brought` counts those of each part, so the sums of one part travel while the next
one is multiplied: a program here may start when all of the product's have, and with few registers it runs beside one of these. Where it
starts later, it sums later.

An item is so many tokens of one rank in so many columns. Programs take items in one order on all ranks: of each part those for the peers,
and among them the own ones, which wait for the peers' sums of the same tokens and come as many items later as there are programs. So the
link carries sums while memory is read for the own ones, which mostly wait for nobody. Who comes first takes the next one, so nobody waits
for an item that stands behind one that waits for it, however many programs run at once. The last part's items are shorter, as all programs
have only these then.

Signals hold the number of the call, epoch + 1, and are never reset; `begun` says which call a rank has begun: it has ended the one before,
and read its parts, so a program looks there before its first store. What counts within a call the last program puts back to 0.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.calls import is_last_of, take
from ops.device.packed import packed_width
from ops.device.routes import BLOCKS, is_of_call
from ops.moe_rs.few_slots import sum_few
from ops.moe_rs.items import Item, Slots
from ops.moe_rs.sums import make_ring, sum_item
from tandem.simt import num_warps


@tandem.jit
def owner_and_place(nth, of_rank, ahead, RANKS: tl.constexpr):
    """Of a part's n-th item: whose it is, as a distance from this rank, and which of that rank's `of_rank` items. The peers' items take
    turns, and behind `ahead` of each an own one follows the peers' next."""
    PEERS: tl.constexpr = RANKS - 1
    ahead = tl.minimum(ahead, of_rank) if PEERS else 0
    behind = nth - ahead * PEERS  # the first `ahead` items of each peer
    distance = 1 + nth % max(PEERS, 1)
    place = nth // max(PEERS, 1)
    if behind >= 0:
        distance = (1 + behind % RANKS) % RANKS
        place = behind // RANKS + tl.where(distance == 0, 0, ahead)
    if behind >= (of_rank - ahead) * RANKS:  # only own items are left
        distance = 0
        place = behind - (of_rank - ahead) * PEERS
    return distance, place


@tandem.jit
def sum_up(slots, item, ring, RING: tl.constexpr, TABLE: tl.constexpr, OWN: tl.constexpr):
    if RING:
        sum_item(slots, item, ring, RING, TABLE, OWN)
    else:
        sum_few(slots, item, OWN)


@tandem.jit
def combine(
    rows_ptr,
    route_ptr,
    out_ptr,
    parts_ptr,
    brought_ptr,
    ready_ptr,
    begun_ptr,
    taken_ptr,
    done_ptr,
    epoch_ptr,
    findings_ptr,
    m,
    own_rows,
    n,
    pitch,
    shard_rows,
    part_columns,
    item_rows,
    last_item_rows,
    E: tl.constexpr,
    TOP_K: tl.constexpr,
    RANKS: tl.constexpr,
    COLUMNS: tl.constexpr,
    TILE_M: tl.constexpr,
    TILE_N: tl.constexpr,
    RING: tl.constexpr,
    TABLE: tl.constexpr,
):
    """Of n columns; out has `own_rows` rows, which stand `pitch` apart. The product has tiles of TILE_M rows and TILE_N columns, and parts
    of `part_columns`, a multiple of COLUMNS. `parts`: of each peer, [shard_rows, width], in the product's order of columns. Items have
    `item_rows` rows, those of the last part `last_item_rows`, which are not more. A warp has room for RING rows that come ahead of their
    sums, and for TABLE addresses (sums.py); without a RING rows come into registers (few_slots.py)."""
    rank = dl.rank()
    call = tl.load(epoch_ptr) + 1
    fits = is_of_call(route_ptr, findings_ptr, m, E, TOP_K, TILE_M)
    tokens_of_route = tl.where(fits, m, 0)
    blocks = tl.where(fits, tl.load(route_ptr + BLOCKS), 0)
    width = packed_width(n)
    parts = tl.cdiv(n, part_columns)
    across = tl.cdiv(part_columns, COLUMNS)
    of_shard = tl.cdiv(shard_rows, item_rows) * across
    before_last = (parts - 1) * RANKS * of_shard
    items = before_last + RANKS * tl.cdiv(shard_rows, last_item_rows) * across
    shard = shard_rows.to(tl.int64) * width
    slots = Slots(route_ptr, tokens_of_route, width, shard, pitch, n, E, TOP_K, RANKS, COLUMNS, TILE_N >= 32)
    item = take(taken_ptr)
    if RANKS > 1:
        if item == 0:
            for distance in range(1, RANKS + 1):
                dl.notify(begun_ptr + rank, (rank + distance) % RANKS, signal=call, sig_op="set", comm_scope="intra_node")
        token = dl.wait(begun_ptr, RANKS, "sys", "acquire", waitValue=call, compare="ge")
        parts_ptr = dl.consume_token(parts_ptr, token)
    whole = 0  # parts, as far as this program knows
    there = 0
    ring = make_ring(rows_ptr.dtype.element_ty, COLUMNS, RING, TABLE, num_warps()) if RING else ()
    while item < items:
        is_last_part = item >= before_last
        part = tl.where(is_last_part, parts - 1, item // (RANKS * of_shard))
        height = tl.where(is_last_part, last_item_rows, item_rows)
        of_rank = tl.where(is_last_part, tl.cdiv(shard_rows, last_item_rows) * across, of_shard)
        of_part = item - part * RANKS * of_shard
        distance, place = owner_and_place(of_part, of_rank, tl.cdiv(tl.num_programs(0), max(RANKS - 1, 1)), RANKS)
        owner = (rank + distance) % RANKS
        top = place // across * height
        rows = tl.minimum(tl.minimum(m - owner * shard_rows, shard_rows) - top, height)
        left = part * part_columns + place % across * COLUMNS
        end = tl.minimum((part + 1) * part_columns, width)
        if (rows > 0) & (left < end):
            if part >= whole:
                whole = part + 1
                tiles = blocks * tl.cdiv(tl.minimum(part_columns, n - part * part_columns), TILE_N)
                there = dl.wait(brought_ptr + part, 1, "gpu", "acquire", waitValue=tiles, compare="ge")
            results_ptr = dl.consume_token(rows_ptr, there)
            signal = ready_ptr + (left // COLUMNS * tl.cdiv(shard_rows, height) + place // across) * (RANKS - 1)
            tokens = (owner * shard_rows + top, rows, left, tl.minimum(end - left, COLUMNS), own_rows - top)
            if owner != rank:
                slot = rank - tl.where(rank > owner, 1, 0)
                to = dl.symm_at(parts_ptr, owner) + slot * shard
                sum_up(slots, Item(results_ptr, to + top.to(tl.int64) * width + left, out_ptr, *tokens), ring, RING, TABLE, False)
                dl.notify(signal + slot, owner, signal=call, sig_op="set", comm_scope="intra_node")
            else:
                token = dl.wait(signal, RANKS - 1, "sys", "acquire", waitValue=call, compare="ge")
                arrived = dl.consume_token(parts_ptr, token) + top.to(tl.int64) * width + left
                sum_up(slots, Item(results_ptr, arrived, out_ptr + top.to(tl.int64) * pitch, *tokens), ring, RING, TABLE, True)
        item = take(taken_ptr)

    if is_last_of(done_ptr, tl.num_programs(0)):
        tl.store(done_ptr, 0)
        tl.store(taken_ptr, 0)
        for part in range(parts):
            dl.notify(brought_ptr + part, rank, signal=0, sig_op="set", comm_scope="gpu")
        tl.store(epoch_ptr, call)
    tl.extra.cuda.gdc_wait()
