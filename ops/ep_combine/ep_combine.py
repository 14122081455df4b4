"""Sums the results of each token's slots on one rank in fp32, by the route's weights, and sends the sum to the token's rank: one flight.

The token's rank knows from its ids which ranks send, and adds what they sent in rank order. Two sets of slots are enough, as in
ops/ep_dispatch/ep_dispatch.py: each call sends a header packet to every rank, and waits for one from each.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.exchange import anyone, receive_share
from ops.device.packets import data_of, end_call, load_elements, make_packet, receive_one, store_elements
from ops.device.routes import place_of, weights_of
from tandem.simt import __shfl_sync_i32, laneid, ld, num_warps, st_vector, tid


@tandem.jit
def sum_here(
    h_ptr, place, weight, first, columns, TOP_K: tl.constexpr, ELEMENTS: tl.constexpr, PIECES: tl.constexpr, ALIGNED: tl.constexpr
):
    """This lane's elements of the sum over a token's slots here; lane k has the row of slot k, or -1, and its weight."""
    totals = ()
    for i in tl.static_range(PIECES):
        totals += (dl.zeros_vector(ELEMENTS, tl.float32),)
    for k in tl.static_range(TOP_K):
        at = __shfl_sync_i32(0xFFFFFFFF, place, k)
        by = __shfl_sync_i32(0xFFFFFFFF, weight.to(tl.int32, bitcast=True), k).to(tl.float32, bitcast=True)
        if at >= 0:
            fresh = ()
            for i in tl.static_range(PIECES):
                values = load_elements(h_ptr + at.to(tl.int64) * columns, (first + 32 * i) * ELEMENTS, columns, ELEMENTS, ALIGNED)
                fresh += (totals[i] + values.to(tl.float32) * by,)
            totals = fresh
    return totals


@tandem.jit
def combine(
    h_ptr,
    route_ptr,
    ids_ptr,
    out_ptr,
    slots_ptr,
    epoch_ptr,
    m,
    most,
    columns,
    experts,
    local_experts,
    row_packets,
    source_stride,
    TOP_K: tl.constexpr,
    RANKS: tl.constexpr,
    ELEMENTS: tl.constexpr,
    PIECES: tl.constexpr,
    ALIGNED: tl.constexpr,
    POLLS: tl.constexpr,
    SEND: tl.constexpr,
    RECEIVE: tl.constexpr,
):
    """h: rows in the order of the route that the dispatch made, of which this rank has `local_experts` experts."""
    rank = dl.rank()
    pid = tl.program_id(0)
    lane = laneid()
    warps = num_warps() * tl.num_programs(0)
    begin = pid * num_warps() + tid(0) // 32
    shares = tl.cdiv(row_packets, 32 * PIECES)
    slots = RANKS * most * TOP_K
    place_ptr = place_of(route_ptr, local_experts, slots)
    by_ptr = weights_of(route_ptr, local_experts, slots)
    epoch = ld(epoch_ptr + pid, semantic="weak") + 1
    set_ptr = slots_ptr + (epoch % 2) * source_stride * RANKS
    mine_ptr = set_ptr + rank.to(tl.int64) * source_stride
    if SEND:
        if (pid == 0) & (tid(0) < RANKS):
            if tid(0) != rank:
                st_vector(dl.symm_at(mine_ptr, tid(0)), make_packet(dl.make_vector([m, 0]), epoch), "sys", "relaxed")
        for item in range(begin, (RANKS - 1) * most * shares, warps):
            row = (item // shares + (rank + 1) * most) % (RANKS * most)
            owner = row // most
            place = -1
            weight = 0.0
            if lane < TOP_K:
                place = ld(place_ptr + row * TOP_K + lane, semantic="weak")
                weight = ld(by_ptr + row * TOP_K + lane, semantic="weak")
            if anyone(place >= 0):
                first = item % shares * (32 * PIECES) + lane
                totals = sum_here(h_ptr, place, weight, first, columns, TOP_K, ELEMENTS, PIECES, ALIGNED)
                row_ptr = dl.symm_at(mine_ptr, owner) + 2 * (1 + (row % most).to(tl.int64) * row_packets)
                for i in tl.static_range(PIECES):
                    at = first + 32 * i
                    if at < row_packets:
                        st_vector(row_ptr + 2 * at, make_packet(totals[i].to(out_ptr.dtype.element_ty), epoch), "sys", "relaxed")
    if RECEIVE:
        if pid == 0:
            for source in range(tid(0), RANKS, num_warps() * 32):
                if source != rank:
                    receive_one(set_ptr + source.to(tl.int64) * source_stride, epoch, POLLS)
        for item in range(begin, m * shares, warps):
            token = item // shares
            first = item % shares * (32 * PIECES) + lane
            expert = -1
            if lane < TOP_K:
                expert = ld(ids_ptr + token * TOP_K + lane, semantic="weak")
            owner = tl.where((expert >= 0) & (expert < experts), expert // local_experts, -1)
            totals = ()
            for i in tl.static_range(PIECES):
                totals += (dl.zeros_vector(ELEMENTS, tl.float32),)
            for source in range(RANKS):
                if anyone(owner == source):
                    fresh = ()
                    if source == rank:
                        place = -1
                        weight = 0.0
                        if lane < TOP_K:
                            place = ld(place_ptr + (rank * most + token) * TOP_K + lane, semantic="weak")
                            weight = ld(by_ptr + (rank * most + token) * TOP_K + lane, semantic="weak")
                        mine = sum_here(h_ptr, place, weight, first, columns, TOP_K, ELEMENTS, PIECES, ALIGNED)
                        for i in tl.static_range(PIECES):
                            fresh += (totals[i] + mine[i],)
                    else:
                        row_ptr = set_ptr + source.to(tl.int64) * source_stride + 2 * (1 + token.to(tl.int64) * row_packets)
                        packets = receive_share(row_ptr, first, row_packets, epoch, PIECES, POLLS)
                        for i in tl.static_range(PIECES):
                            fresh += (totals[i] + data_of(packets[i], out_ptr.dtype.element_ty).to(tl.float32),)
                    totals = fresh
            for i in tl.static_range(PIECES):
                to_ptr = out_ptr + token.to(tl.int64) * columns
                store_elements(to_ptr, (first + 32 * i) * ELEMENTS, columns, totals[i].to(out_ptr.dtype.element_ty), ELEMENTS, ALIGNED)
        end_call(epoch_ptr, epoch)
