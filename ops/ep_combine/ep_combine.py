"""Sums the results of each token's slots on one rank in fp32, by the route's weights, and sends the sum to the token's rank: one flight.
With SUMMED the sums are made already.

The token's rank knows from its ids which ranks send, and adds what they sent in rank order. Two sets of slots are enough, as in
ops/ep_dispatch/ep_dispatch.py: each call sends a header packet to every rank, and waits for one from each.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.brought import AHEAD, add_rows, make_rings
from ops.device.exchange import PIECE, anyone, load_slot, send_share, slots_of_share, store_slot
from ops.device.marks import MARK, are_data, arrived, put_marks
from ops.device.packets import data_of, end_call, make_packet, receive_one
from ops.device.places import place_of_slot
from ops.device.routes import is_of_call, place_of, weights_of
from ops.ep_combine.brought import begin_to_bring, behind_item, bring, lanes_that_bring
from tandem.libdevice import ffs
from tandem.simt import __ballot_sync, __shfl_sync_i32, __syncthreads, laneid, ld, ld_vector, num_warps, st_vector, tid

AT_ONCE = tl.constexpr(4)  # rows that are read at once


@tandem.jit
def returned(nth, rank, RANKS: tl.constexpr):
    """The rank and the number of the n-th token that goes back."""
    OTHERS: tl.constexpr = max(RANKS - 1, 1)
    return (rank + 1 + nth % OTHERS) % RANKS, nth // OTHERS


@tandem.jit
def place_here(place_ptr, by_ptr, row, is_there, is_route, TOP_K: tl.constexpr):
    """Of lane k's slot of a token: its row among the results here, or -1, and its weight. Of what is no route of the call: -1, looked at
    behind the loads, so that they wait for nothing."""
    place = -1
    weight = 0.0
    if (laneid() < TOP_K) & is_there:
        place = ld(place_ptr + row * TOP_K + laneid(), semantic="weak")
        weight = ld(by_ptr + row * TOP_K + laneid(), semantic="weak")
    return tl.where(is_route, place, -1), weight


@tandem.jit
def sum_here(
    h_ptr,
    of_token,
    place,
    weight,
    first,
    columns,
    ELEMENTS: tl.constexpr,
    PIECES: tl.constexpr,
    ALIGNED: tl.constexpr,
    SUMMED: tl.constexpr,
):
    """This lane's elements of the sum over a token's slots here, in their order; zeros if there is none. SUMMED: it is a row of h."""
    totals = ()
    if SUMMED:
        end = tl.where(anyone(place >= 0), columns, 0)
        for i in tl.static_range(PIECES):
            totals += (
                load_slot(h_ptr + of_token.to(tl.int64) * columns, (first + 32 * i) * ELEMENTS, end, ELEMENTS, ALIGNED).to(tl.float32),
            )
        return totals
    for i in tl.static_range(PIECES):
        totals += (dl.zeros_vector(ELEMENTS, tl.float32),)
    left = __ballot_sync(0xFFFFFFFF, place >= 0)
    while left != 0:
        rows = ()
        factors = ()
        for k in tl.static_range(AT_ONCE):  # all under way before the first is added
            lane = (ffs(left) - 1) & 31
            at = __shfl_sync_i32(0xFFFFFFFF, place, lane)
            by = __shfl_sync_i32(0xFFFFFFFF, weight.to(tl.int32, bitcast=True), lane).to(tl.float32, bitcast=True)
            factors += (tl.where(left != 0, by, 0.0),)
            row = ()
            for i in tl.static_range(PIECES):
                end = tl.where(left != 0, columns, 0)
                row += (load_slot(h_ptr + at.to(tl.int64) * columns, (first + 32 * i) * ELEMENTS, end, ELEMENTS, ALIGNED),)
            rows += (row,)
            left = left & (left - 1)
        fresh = ()
        for i in tl.static_range(PIECES):
            total = totals[i]
            for k in tl.static_range(AT_ONCE):
                total = total + rows[k][i].to(tl.float32) * factors[k]
            fresh += (total,)
        totals = fresh
    return totals


@tandem.jit
def look_at_sums(share_ptr, PIECES: tl.constexpr, LOOKS: tl.constexpr, is_share):
    """What of a share of a source's sums is there already; without LOOKS nothing, nor if there is no such share."""
    slots = slots_of_share(share_ptr, PIECES, False)
    parts = ()
    for i in tl.static_range(PIECES):
        part = dl.fill_vector(2, tl.int64, MARK)
        if LOOKS:
            if is_share:
                part = ld_vector(slots[i], 2, "sys", "relaxed")
        parts += (part,)
    return parts


@tandem.jit
def take_sums(parts, share_ptr, header_ptr, epoch, PIECES: tl.constexpr, POLLS: tl.constexpr):
    """A share of a source's sums, of which `parts` have been seen; zeros where its header says that it has no route and sends none."""
    slots = slots_of_share(share_ptr, PIECES, False)
    if not are_data(parts):
        parts = arrived(slots, POLLS, False)
    sends = True
    if not are_data(parts):
        sends = data_of(receive_one(header_ptr, epoch, POLLS), tl.int32)[1] != 0
        if sends:
            parts = arrived(slots, POLLS)
    values = ()
    for i in tl.static_range(PIECES):
        value = dl.zeros_vector(2, tl.int64)
        if sends:
            value = parts[i]
            put_marks(slots[i])
        values += (value,)
    return values


@tandem.jit
def await_headers(about_ptr, epoch, RANKS: tl.constexpr, POLLS: tl.constexpr):
    for source in range(tid(0), RANKS, num_warps() * 32):
        if source != dl.rank():
            receive_one(about_ptr + 2 * source, epoch, POLLS)


@tandem.jit
def combine(
    h_ptr,
    route_ptr,
    ids_ptr,
    placement_ptr,
    out_ptr,
    findings_ptr,
    about_ptr,
    slots_ptr,
    epoch_ptr,
    m,
    most,
    columns,
    places,
    placed,
    local_experts,
    shares,
    TOP_K: tl.constexpr,
    COPIES: tl.constexpr,
    RANKS: tl.constexpr,
    ELEMENTS: tl.constexpr,
    PIECES: tl.constexpr,
    ALIGNED: tl.constexpr,
    POLLS: tl.constexpr,
    SEND: tl.constexpr,
    RECEIVE: tl.constexpr,
    BESIDE: tl.constexpr,
    PLACES: tl.constexpr = 0,
    SUMMED: tl.constexpr = False,
    RING: tl.constexpr = 0,
):
    """h: rows at the places of the route that the dispatch made, of which this rank has `local_experts` experts; with SUMMED a row for each
    token that comes, as dispatched rows stand. BESIDE: one half of the warps sends while the other receives. RING: rows that a warp has
    room for in shared memory, where aligned ones come ahead of their sums (brought.py); 0: they come into registers."""
    ROWS: tl.constexpr = RING if ALIGNED else 0
    WIDTH: tl.constexpr = PIECES * 32 * ELEMENTS  # of a share
    rank = dl.rank()
    pid = tl.program_id(0)
    lane = laneid()
    warp = tid(0) // 32
    WARPS: tl.constexpr = num_warps() // 2 if BESIDE else num_warps()
    begin = pid * WARPS + (warp // 2 if BESIDE else warp)
    step = WARPS * tl.num_programs(0)
    sends = True
    receives = True
    if BESIDE:
        sends = warp % 2 == 0
        receives = not sends
    slots = RANKS * most * TOP_K
    place_ptr = place_of(route_ptr, local_experts, slots)
    by_ptr = weights_of(route_ptr, local_experts, slots)
    is_route = is_of_call(route_ptr, findings_ptr, RANKS * most, local_experts, TOP_K, 0, PLACES)
    epoch = ld(epoch_ptr + pid, semantic="weak") + 1
    source_stride = (most * shares).to(tl.int64) * (PIECES * PIECE)
    about_ptr += (epoch % 2) * (2 * RANKS)
    if not BESIDE:
        slots_ptr += (epoch % 2) * RANKS * source_stride
    if SEND:
        if (pid == 0) & (tid(0) < RANKS):
            if tid(0) != rank:
                st_vector(
                    dl.symm_at(about_ptr + 2 * rank, tid(0)),
                    make_packet(dl.make_vector([m, is_route.to(tl.int32)]), epoch),
                    "sys",
                    "relaxed",
                )
    if BESIDE:
        await_headers(about_ptr, epoch, RANKS, POLLS)
        __syncthreads()
    rings = ()
    if ROWS:
        rings = make_rings(h_ptr.dtype.element_ty, WIDTH, ROWS, num_warps())
    nth = 0  # of the warp's items
    head = 0  # of its ring, in rows
    if SEND:
        end = (RANKS - 1) * most * shares if sends else 0
        owner, token = returned(begin // shares, rank, RANKS)
        next_place, next_weight = place_here(place_ptr, by_ptr, owner * most + token, begin < end, is_route, TOP_K)
        ahead = ()
        if ROWS:
            ahead = begin_to_bring(place_ptr, nth, head, next_place, begin, end, step, is_route, most, shares, TOP_K, RANKS, True)
        for item in range(begin, end, step):
            place = next_place
            weight = next_weight
            if ROWS:
                of_items = (nth + AHEAD, end, step, is_route, most, columns, shares)
                ahead = bring(h_ptr, place_ptr, rings, ahead, *of_items, TOP_K, RANKS, ELEMENTS, PIECES, ROWS, SUMMED, True)
            owner, token = returned((item + step) // shares, rank, RANKS)
            next_place, next_weight = place_here(place_ptr, by_ptr, owner * most + token, item + step < end, is_route, TOP_K)
            owner, token = returned(item // shares, rank, RANKS)
            if anyone(place >= 0):
                first = item % shares * (32 * PIECES) + lane
                if ROWS:
                    lanes = lanes_that_bring(place, SUMMED)
                    totals = add_rows(rings, nth, head, lanes, weight, columns - item % shares * WIDTH, ELEMENTS, WIDTH, ROWS, not SUMMED)
                else:
                    totals = sum_here(h_ptr, owner * most + token, place, weight, first, columns, ELEMENTS, PIECES, ALIGNED, SUMMED)
                sums = ()
                for i in tl.static_range(PIECES):
                    sums += (totals[i].to(out_ptr.dtype.element_ty).recast(tl.int64),)
                share = (token * shares + item % shares).to(tl.int64)
                send_share(dl.symm_at(slots_ptr + rank * source_stride, owner) + share * (PIECES * PIECE), sums, PIECES, False)
            if ROWS:
                head, ahead = behind_item(head, ahead, lanes_that_bring(place, SUMMED), ROWS)
                nth += 1
    if RECEIVE:
        if not BESIDE and pid == 0:
            await_headers(about_ptr, epoch, RANKS, POLLS)
        stop = m * shares if receives else 0
        following = begin // shares
        next_place, next_weight = place_here(place_ptr, by_ptr, rank * most + following, begin < stop, is_route, TOP_K)
        next_at = -1
        if (lane < TOP_K) & (begin < stop):
            next_at = place_of_slot(following * TOP_K + lane, ids_ptr, placement_ptr, places, placed, TOP_K, COPIES)
        ahead = ()
        following_seen = ()
        if ROWS:
            ahead = begin_to_bring(place_ptr, nth, head, next_place, begin, stop, step, is_route, most, shares, TOP_K, RANKS, False)
            of_item = slots_ptr + begin.to(tl.int64) * (PIECES * PIECE) + (rank + 1) % RANKS * source_stride
            following_seen = look_at_sums(of_item, PIECES, RANKS == 2, begin < stop)
        for item in range(begin, stop, step):
            if ROWS:
                of_items = (nth + AHEAD, stop, step, is_route, most, columns, shares)
                ahead = bring(h_ptr, place_ptr, rings, ahead, *of_items, TOP_K, RANKS, ELEMENTS, PIECES, ROWS, SUMMED, False)
            token = item // shares
            first = item % shares * (32 * PIECES) + lane
            place = next_place
            weight = next_weight
            owner = tl.where(next_at >= 0, next_at // local_experts, -1)
            # What the next share needs to know is under way while this one's rows are, and so is what a lone peer has sent.
            following = (item + step) // shares
            next_place, next_weight = place_here(place_ptr, by_ptr, rank * most + following, item + step < stop, is_route, TOP_K)
            next_at = -1
            if (lane < TOP_K) & (item + step < stop):
                next_at = place_of_slot(following * TOP_K + lane, ids_ptr, placement_ptr, places, placed, TOP_K, COPIES)
            of_item = slots_ptr + item.to(tl.int64) * (PIECES * PIECE)
            seen = following_seen
            if ROWS:  # of the next share, as its rows are under way, too
                later_item = of_item + (step * (PIECES * PIECE)).to(tl.int64) + (rank + 1) % RANKS * source_stride
                following_seen = look_at_sums(later_item, PIECES, RANKS == 2, item + step < stop)
            else:
                seen = look_at_sums(of_item + (rank + 1) % RANKS * source_stride, PIECES, RANKS == 2, True)
            if ROWS:
                lanes = lanes_that_bring(place, SUMMED)
                mine = add_rows(rings, nth, head, lanes, weight, columns - item % shares * WIDTH, ELEMENTS, WIDTH, ROWS, not SUMMED)
                head, ahead = behind_item(head, ahead, lanes, ROWS)
                nth += 1
            else:
                mine = sum_here(h_ptr, rank * most + token, place, weight, first, columns, ELEMENTS, PIECES, ALIGNED, SUMMED)
            totals = ()
            for i in tl.static_range(PIECES):
                totals += (dl.zeros_vector(ELEMENTS, tl.float32),)
            for source in range(RANKS):
                if source == rank:
                    fresh = ()
                    for i in tl.static_range(PIECES):
                        fresh += (totals[i] + mine[i],)
                    totals = fresh
                elif anyone(owner == source):
                    values = take_sums(seen, of_item + source * source_stride, about_ptr + 2 * source, epoch, PIECES, POLLS)
                    fresh = ()
                    for i in tl.static_range(PIECES):
                        fresh += (totals[i] + values[i].recast(out_ptr.dtype.element_ty).to(tl.float32),)
                    totals = fresh
            to_ptr = out_ptr + token.to(tl.int64) * columns
            for i in tl.static_range(PIECES):
                store_slot(to_ptr, (first + 32 * i) * ELEMENTS, columns, totals[i].to(out_ptr.dtype.element_ty), ELEMENTS, ALIGNED)
        end_call(epoch_ptr, epoch)
