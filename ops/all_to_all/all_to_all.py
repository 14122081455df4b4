"""All-to-all of few rows in packets with flags: one flight.

Every program sends at least one packet to every rank in every call, even where it has nothing for it, and waits for one from each: that
is what makes two sets of slots enough (see ops/broadcast/broadcast.py).
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.packets import data_of, end_call, load_elements, make_packet, receive_one, store_elements
from tandem.simt import ld, num_warps, st_vector, tid


@tandem.jit
def outgoing(places_ptr, peer, n, shard, RANKS: tl.constexpr, EQUAL: tl.constexpr):
    """Where in x the rows for a peer begin, and how many elements they have."""
    if EQUAL:
        first = peer.to(tl.int64) * shard
        return first, tl.maximum(tl.minimum(shard, n - first), 0).to(tl.int64)
    return ld(places_ptr + peer, semantic="weak"), ld(places_ptr + RANKS + peer, semantic="weak")


@tandem.jit
def incoming(places_ptr, source, own, RANKS: tl.constexpr, EQUAL: tl.constexpr):
    """Where in out the rows of a rank begin, and how many elements they have."""
    if EQUAL:
        return source.to(tl.int64) * own, tl.cast(own, tl.int64)
    return ld(places_ptr + 2 * RANKS + source, semantic="weak"), ld(places_ptr + 3 * RANKS + source, semantic="weak")


@tandem.jit
def all_to_all(
    x_ptr,
    out_ptr,
    slots_ptr,
    epoch_ptr,
    n,
    shard,
    own,
    places_ptr,
    packets_each,
    source_stride,
    program_stride,
    ELEMENTS: tl.constexpr,
    ALIGNED: tl.constexpr,
    RANKS: tl.constexpr,
    POLLS: tl.constexpr,
    EQUAL: tl.constexpr,
):
    """EQUAL: of n elements those for rank r begin at r * shard, and every rank sends `own` to this one. Else `places`, [4, RANKS]: first
    element and count for each rank, first element and count from each. Program p takes packets p * packets_each on of every pair."""
    rank = dl.rank()
    pid = tl.program_id(0)
    epoch = ld(epoch_ptr + pid, semantic="weak") + 1
    set_ptr = slots_ptr + (epoch % 2) * source_stride * RANKS + pid.to(tl.int64) * program_stride
    mine_ptr = set_ptr + rank.to(tl.int64) * source_stride
    for i in range(tid(0), packets_each, num_warps() * 32):
        at = (pid * packets_each + i) * ELEMENTS
        for step in tl.static_range(1, RANKS):
            peer = (rank + step) % RANKS
            first, count = outgoing(places_ptr, peer, n, shard, RANKS, EQUAL)
            if (at < count) | (i == 0):
                values = load_elements(x_ptr + first, at, count, ELEMENTS, ALIGNED)
                st_vector(dl.symm_at(mine_ptr, peer) + 2 * i, make_packet(values, epoch), "sys", "relaxed")
        first, count = outgoing(places_ptr, rank, n, shard, RANKS, EQUAL)
        if at < count:
            there, _ = incoming(places_ptr, rank, own, RANKS, EQUAL)
            store_elements(out_ptr + there, at, count, load_elements(x_ptr + first, at, count, ELEMENTS, ALIGNED), ELEMENTS, ALIGNED)
    for i in range(tid(0), packets_each, num_warps() * 32):
        at = (pid * packets_each + i) * ELEMENTS
        for step in tl.static_range(1, RANKS):
            source = (rank + step) % RANKS
            first, count = incoming(places_ptr, source, own, RANKS, EQUAL)
            if (at < count) | (i == 0):
                packet = receive_one(set_ptr + source.to(tl.int64) * source_stride + 2 * i, epoch, POLLS)
                store_elements(out_ptr + first, at, count, data_of(packet, out_ptr.dtype.element_ty), ELEMENTS, ALIGNED)
    end_call(epoch_ptr, epoch)
