"""Sums of slots beside a product, where a thread has few registers: by warps whose rows bulk copies bring into shared memory
(ops/device/brought.py). The warps of a program take an item's tokens in turns."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.brought import AHEAD, add_rows, start_copies
from ops.device.routes import place_of, weights_of
from tandem.libdevice import popc
from tandem.simt import __ballot_sync, laneid, ld, ld_vector, num_warps, st, st_vector, tid


@tandem.jit
def lanes_with_slots(place):
    """A bit for each lane whose slot has a row."""
    return __ballot_sync(0xFFFFFFFF, place >= 0)


@tandem.jit
def slot_of_lane(word_ptr, token, is_there, none, TOP_K: tl.constexpr):
    """What the route says of the lane's slot of a token; else `none`."""
    word = none
    if (laneid() < TOP_K) & is_there:
        word = ld(word_ptr + token * TOP_K + laneid(), semantic="weak")
    return word


@tandem.jit
def bring(
    rows_ptr,
    place_ptr,
    rings,
    ahead,
    until,
    first,
    rows,
    with_slots,
    width,
    columns,
    TOP_K: tl.constexpr,
    COLUMNS: tl.constexpr,
    RING: tl.constexpr,
):
    """Starts the copies of the warp's next tokens, up to its `until`-th one, while the ring has room. `ahead`: the next token, behind the
    `first` one, how many came before it, where its rows go, how many are under way, and the places of its slots and of those of the token
    behind, which are loaded a token ahead."""
    row, nth, head, under_way, place, later = ahead
    lanes = lanes_with_slots(place)
    while (row < rows) & (nth < until) & (under_way + popc(lanes) <= RING):
        size = columns * (rows_ptr.dtype.element_ty.primitive_bitwidth // 8)
        start_copies(rings, nth, head, lanes, rows_ptr + place.to(tl.int64) * width, size, COLUMNS, RING)
        head = (head + popc(lanes)) % RING
        under_way += popc(lanes)
        row += num_warps()
        nth += 1
        place = later
        following = row + num_warps()
        later = slot_of_lane(place_ptr, first + following, following < with_slots, -1, TOP_K)
        lanes = lanes_with_slots(place)
    return row, nth, head, under_way, place, later


@tandem.jit
def column_of(at):
    """Of the element `at` of packed rows (ops/device/product.py)."""
    return at // 32 * 32 + at % 8 // 2 * 8 + at % 32 // 8 * 2 + at % 2


@tandem.jit
def store_result(out_ptr, left, at, values, n, ELEMENTS: tl.constexpr, PACKED: tl.constexpr):
    """A lane's elements of a row, which stand at `left` + `at` among the product's columns, of which the row has those up to n."""
    for j in tl.static_range(ELEMENTS):
        column = left + (column_of(at + j) if PACKED else at + j)
        if column < n:
            st(out_ptr + column, values[j], semantic="weak")


@tandem.jit
def sum_item(
    rows_ptr,
    route_ptr,
    to_ptr,
    out_ptr,
    rings,
    cursor,
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
    RING: tl.constexpr,
    OWN: tl.constexpr,
    PACKED: tl.constexpr,
):
    """The sums of `rows` tokens from `first` on in `columns` columns from `left` on. `to`: where a peer has the first one's, rows `width`
    apart; with OWN where this rank has what came from the others, each `shard` behind the one before, and `out`, whose rows stand `pitch`
    apart, gets the sums of all in its first `own_rows` rows, up to column n. `cursor`: how many tokens the warp has had, and where the next
    one's rows go in its ring."""
    ELEMENTS: tl.constexpr = 128 // rows_ptr.dtype.element_ty.primitive_bitwidth
    PIECES: tl.constexpr = max(COLUMNS // (32 * ELEMENTS), 1)
    rank = dl.rank()
    nth, head = cursor
    slots = tokens_of_route * TOP_K
    place_ptr = place_of(route_ptr, E, slots)
    by_ptr = weights_of(route_ptr, E, slots)
    with_slots = tl.where(tokens_of_route > 0, rows, 0)
    from_ptr = rows_ptr + left
    warp = tid(0) // 32
    next_place = slot_of_lane(place_ptr, first + warp, warp < with_slots, -1, TOP_K)
    next_weight = slot_of_lane(by_ptr, first + warp, warp < with_slots, 0.0, TOP_K)
    later = slot_of_lane(place_ptr, first + warp + num_warps(), warp + num_warps() < with_slots, -1, TOP_K)
    ahead = (warp, nth, head, 0, next_place, later)
    for row in range(warp, rows, num_warps()):
        of_item = (first, rows, with_slots, width, columns)
        ahead = bring(from_ptr, place_ptr, rings, ahead, nth + AHEAD, *of_item, TOP_K, COLUMNS, RING)
        lanes = lanes_with_slots(next_place)
        weight = next_weight
        following = row + num_warps()
        next_place = slot_of_lane(place_ptr, first + following, following < with_slots, -1, TOP_K)
        next_weight = slot_of_lane(by_ptr, first + following, following < with_slots, 0.0, TOP_K)
        sums = add_rows(rings, nth, head, lanes, weight, columns, ELEMENTS, COLUMNS, RING, True)
        head = (head + popc(lanes)) % RING
        ahead = (*ahead[:3], ahead[3] - popc(lanes), *ahead[4:])
        nth += 1
        for i in tl.static_range(PIECES):
            at = (i * 32 + laneid()) * ELEMENTS
            to = to_ptr + row.to(tl.int64) * width + at
            if at < columns:
                if OWN:
                    total = dl.zeros_vector(ELEMENTS, tl.float32)
                    for slot in tl.static_range(RANKS - 1):
                        if slot == rank:
                            total = total + sums[i]
                        total = total + ld_vector(to + slot * shard, ELEMENTS, "gpu", "weak").to(tl.float32)
                    if rank == RANKS - 1:
                        total = total + sums[i]
                    if row < own_rows:
                        store_result(out_ptr + row.to(tl.int64) * pitch, left, at, total.to(out_ptr.dtype.element_ty), n, ELEMENTS, PACKED)
                else:
                    st_vector(to, sums[i].to(to_ptr.dtype.element_ty), "gpu", "weak")
    return nth, head
