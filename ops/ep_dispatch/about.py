"""What ranks tell each other of their tokens, ahead of rows: how many there are, and of each slot which of the peer's experts it is for."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.findings import is_first_of_call, tell
from ops.device.packets import data_of, is_of_call, make_packet, receive_one
from ops.device.places import DROPPED, NO_PLACE, copy_of, place_of_expert
from ops.device.routes import BAD_IDS, BAD_PLACE
from tandem.simt import __syncthreads, expect, laneid, ld, ld_vector, num_warps, st, st_vector, tid

AT_ONCE = tl.constexpr(2)  # slots of a thread whose words are under way together


@tandem.jit
def tell_slots(
    of_ids, weights_ptr, about_ptr, epoch, m, local_experts, first, step, TOP_K: tl.constexpr, RANKS: tl.constexpr, COPIES: tl.constexpr
):
    """By threads `first`, `first` + `step`, ... of which the first ones send the headers."""
    rank = dl.rank()
    if (first < RANKS) & (first != rank):
        st_vector(dl.symm_at(about_ptr, first), make_packet(dl.make_vector([m, 0]), epoch), "sys", "relaxed")
    ids_ptr, *table = of_ids
    for begin in range(first, m * TOP_K, AT_ONCE * step):
        experts, weights = (), ()
        for i in tl.static_range(AT_ONCE):  # under way together
            expert, weight = DROPPED, 0.0
            if begin + i * step < m * TOP_K:
                expert = ld(ids_ptr + begin + i * step, semantic="weak")
                weight = ld(weights_ptr + begin + i * step, semantic="weak")
            experts += (expert,)
            weights += (weight,)
        for i in tl.static_range(AT_ONCE):
            slot = begin + i * step
            if slot < m * TOP_K:
                place = place_of_expert(experts[i], slot, *table, TOP_K, COPIES)
                for turn in range(1, RANKS):
                    peer = (rank + turn) % RANKS
                    here = tl.where((place >= 0) & (place // local_experts == peer), place - peer * local_experts, -1)
                    about = dl.make_vector([here, weights[i].to(tl.int32, bitcast=True)])
                    st_vector(dl.symm_at(about_ptr, peer) + 2 * (1 + slot), make_packet(about, epoch), "sys", "relaxed")


@tandem.jit
def counts_of_sources(about_ptr, about_stride, epoch, m, RANKS: tl.constexpr, POLLS: tl.constexpr):
    """How many tokens each rank has, in shared memory."""
    counts = dl.allocate_smem(tl.int32, [RANKS])
    for source in range(tid(0), RANKS, num_warps() * 32):
        tokens = m
        if source != dl.rank():
            tokens = data_of(receive_one(about_ptr + source * about_stride, epoch, POLLS), tl.int32)[0]
        dl.smem_store(counts, tokens, source)
    __syncthreads()
    return counts


@tandem.jit
def is_told(header, packet, token, epoch):
    """Whether these are all there is to know: the source's header, and the packet of its token's slot if it has so many tokens."""
    return is_of_call(header, epoch) & ((token >= data_of(header, tl.int32)[0]) | is_of_call(packet, epoch))


@tandem.jit
def headers_and_slots(header_ptrs, slot_ptrs, tokens, needed, epoch, POLLS: tl.constexpr):
    """Of slots whose sources may not have been heard of: headers and packets, all polled at once, those that are `needed`. After POLLS
    tries in vain, waits that the host can end."""
    headers, packets = (), ()
    for i in tl.static_range(len(slot_ptrs)):
        headers += (dl.zeros_vector(2, tl.int64),)
        packets += (dl.zeros_vector(2, tl.int64),)
    polls = 0
    ready = False
    while not ready:
        ready = True
        fresh_headers, fresh_packets = (), ()
        for i in tl.static_range(len(slot_ptrs)):
            header = dl.zeros_vector(2, tl.int64)
            packet = dl.zeros_vector(2, tl.int64)
            if needed[i]:
                header = ld_vector(header_ptrs[i], 2, "sys", "relaxed")
                packet = ld_vector(slot_ptrs[i], 2, "sys", "relaxed")
            fresh_headers += (header,)
            fresh_packets += (packet,)
        headers, packets = fresh_headers, fresh_packets
        for i in tl.static_range(len(slot_ptrs)):
            ready = ready & (is_told(headers[i], packets[i], tokens[i], epoch) | (not needed[i]))
        if not ready and polls == POLLS:
            for i in tl.static_range(len(slot_ptrs)):
                if needed[i]:
                    header = receive_one(header_ptrs[i], epoch, POLLS)
                    if tokens[i] < data_of(header, tl.int32)[0]:
                        receive_one(slot_ptrs[i], epoch, POLLS)
        polls += 1
    return headers, packets


@tandem.jit
def tell_of_slot(
    findings_ptr, told_ptr, epoch, slot, place, ids_ptr, placement_ptr, places, placed, TOP_K: tl.constexpr, COPIES: tl.constexpr
):
    """Of one whose id is no expert's, or whose expert has no place there."""
    expert = ld(ids_ptr + slot, semantic="weak")
    if place == NO_PLACE:
        expect(False, "a place of `placement` is none")
    else:
        expect(False, "an id is no expert's")
    if is_first_of_call(told_ptr, epoch):
        if place == NO_PLACE:
            copy = copy_of(slot, TOP_K, COPIES)
            tell(findings_ptr, BAD_PLACE, ld(placement_ptr + expert * COPIES + copy, semantic="weak"), places - 1, expert, copy)
        else:
            tell(findings_ptr, BAD_IDS + 1, expert, (placed if COPIES else places) - 1, slot // TOP_K, slot % TOP_K)


@tandem.jit
def gather_slots(
    of_ids,
    weights_ptr,
    here_ids_ptr,
    here_weights_ptr,
    findings_ptr,
    told_ptr,
    about_ptr,
    about_stride,
    epoch,
    m,
    most,
    local_experts,
    first,
    end,
    step,
    TOP_K: tl.constexpr,
    RANKS: tl.constexpr,
    COPIES: tl.constexpr,
    POLLS: tl.constexpr,
):
    """Slots `first`, `first` + `step`, ... up to `end`, of which rank s has those from s * most * TOP_K on; this rank has m tokens."""
    rank = dl.rank()
    ids_ptr, *table = of_ids
    for begin in range(first, end, AT_ONCE * step):
        sources, tokens, experts, weights, header_ptrs, slot_ptrs, needed = (), (), (), (), (), (), ()
        for j in tl.static_range(AT_ONCE):  # under way together
            i = begin + j * step
            source = tl.minimum(i // (most * TOP_K), RANKS - 1)
            slot = i - source * most * TOP_K
            expert, weight = DROPPED, 0.0
            if (source == rank) & (slot < m * TOP_K) & (i < end):
                expert = ld(ids_ptr + slot, semantic="weak")
                weight = ld(weights_ptr + slot, semantic="weak")
            sources += (source,)
            tokens += (slot // TOP_K,)
            experts += (expert,)
            weights += (weight,)
            header_ptrs += (about_ptr + source * about_stride,)
            slot_ptrs += (about_ptr + source * about_stride + 2 * (1 + slot),)
            needed += ((source != rank) & (i < end),)
        headers, packets = headers_and_slots(header_ptrs, slot_ptrs, tokens, needed, epoch, POLLS)
        for j in tl.static_range(AT_ONCE):
            i = begin + j * step
            if i < end:
                source = sources[j]
                slot = i - source * most * TOP_K
                here = -1
                weight = weights[j]
                if tokens[j] < tl.where(source == rank, m, data_of(headers[j], tl.int32)[0]):
                    if source == rank:
                        place = place_of_expert(experts[j], slot, *table, TOP_K, COPIES)
                        here = tl.where(place < 0, place, tl.where(place // local_experts == rank, place - rank * local_experts, -1))
                        if here < DROPPED:  # it stays wrong, for the route to count
                            tell_of_slot(findings_ptr, told_ptr, epoch, slot, place, *of_ids, TOP_K, COPIES)
                    else:
                        about = data_of(packets[j], tl.int32)
                        here = about[0]
                        weight = about[1].to(tl.float32, bitcast=True)
                st(here_ids_ptr + i, here, semantic="weak")
                st(here_weights_ptr + i, weight, semantic="weak")


@tandem.jit
def about_slot(about_ptr, about_stride, source, token, TOP_K: tl.constexpr):
    """Where lane k's slot of a token is told of."""
    return about_ptr + source * about_stride + 2 * (1 + token * TOP_K + laneid())
