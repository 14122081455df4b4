"""Results of a token's slots that come into shared memory ahead of their sum (ops/device/brought.py). An item is a share of one."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.brought import start_copies
from tandem.libdevice import popc
from tandem.simt import __ballot_sync, laneid, ld


@tandem.jit
def row_of(item, shares, most, RANKS: tl.constexpr, RETURNS: tl.constexpr):
    """The row of an item's token among those that came here: of the peers' in turns, if it RETURNS, else of this rank's own."""
    rank = dl.rank()
    nth = item // shares
    row = rank * most + nth
    if RETURNS:
        OTHERS: tl.constexpr = max(RANKS - 1, 1)
        row = (rank + 1 + nth % OTHERS) % RANKS * most + nth // OTHERS
    return row


@tandem.jit
def slot_here(place_ptr, row, is_there, is_route, TOP_K: tl.constexpr):
    """The place of the lane's slot of a token among the results here, or -1."""
    place = -1
    if (laneid() < TOP_K) & is_there:
        place = ld(place_ptr + row * TOP_K + laneid(), semantic="weak")
    return tl.where(is_route, place, -1)


@tandem.jit
def lanes_that_bring(place, SUMMED: tl.constexpr):
    """A bit for each lane with a row: for each with a place, or for the first one alone, if there is a row for a token."""
    lanes = __ballot_sync(0xFFFFFFFF, place >= 0)
    if SUMMED:
        lanes = tl.where(lanes != 0, 1, 0)
    return lanes


@tandem.jit
def bring(
    h_ptr,
    place_ptr,
    rings,
    ahead,
    until,
    end,
    step,
    is_route,
    most,
    columns,
    shares,
    TOP_K: tl.constexpr,
    RANKS: tl.constexpr,
    ELEMENTS: tl.constexpr,
    PIECES: tl.constexpr,
    RING: tl.constexpr,
    SUMMED: tl.constexpr,
    RETURNS: tl.constexpr,
):
    """Starts the copies of the warp's next items, up to its `until`-th one, while the ring has room. `ahead`: the next item, how many came
    before it, where its rows go, how many are under way, and the places of its token's slots and of those of the item behind, which are
    loaded an item ahead."""
    ROW: tl.constexpr = PIECES * 32 * ELEMENTS
    item, nth, head, under_way, place, later = ahead
    lanes = lanes_that_bring(place, SUMMED)
    while (item < end) & (nth < until) & (under_way + popc(lanes) <= RING):
        first = item % shares * ROW
        row = place
        if SUMMED:
            row = row_of(item, shares, most, RANKS, RETURNS)
        row_ptr = h_ptr + row.to(tl.int64) * columns + first
        start_copies(rings, nth, head, lanes, row_ptr, tl.minimum(columns - first, ROW) * (16 // ELEMENTS), ROW, RING)
        head = (head + popc(lanes)) % RING
        under_way += popc(lanes)
        item += step
        nth += 1
        place = later
        later = slot_here(place_ptr, row_of(item + step, shares, most, RANKS, RETURNS), item + step < end, is_route, TOP_K)
        lanes = lanes_that_bring(place, SUMMED)
    return item, nth, head, under_way, place, later


@tandem.jit
def begin_to_bring(
    place_ptr, nth, head, place, begin, end, step, is_route, most, shares, TOP_K: tl.constexpr, RANKS: tl.constexpr, RETURNS: tl.constexpr
):
    """What `bring` gets at first: `place` is of the slots of the item `begin`."""
    later = slot_here(place_ptr, row_of(begin + step, shares, most, RANKS, RETURNS), begin + step < end, is_route, TOP_K)
    return begin, nth, head, 0, place, later


@tandem.jit
def behind_item(head, ahead, lanes, RING: tl.constexpr):
    """The ring when the item at `head` has been summed: where the next one's rows are, and `ahead` with room for as many more."""
    item, nth, to, under_way, *places = ahead
    return (head + popc(lanes)) % RING, (item, nth, to, under_way - popc(lanes), *places)
