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
    counts,
    epoch,
    most,
    local_experts,
    first,
    step,
    TOP_K: tl.constexpr,
    RANKS: tl.constexpr,
    COPIES: tl.constexpr,
    POLLS: tl.constexpr,
):
    rank = dl.rank()
    ids_ptr, *table = of_ids
    all_slots = RANKS * most * TOP_K
    for begin in range(first, all_slots, AT_ONCE * step):
        sources, experts, weights, packets = (), (), (), ()
        for j in tl.static_range(AT_ONCE):  # under way together
            i = begin + j * step
            source = tl.minimum(i // (most * TOP_K), RANKS - 1)
            slot = i - source * most * TOP_K
            expert, weight, packet = DROPPED, 0.0, dl.zeros_vector(2, tl.int64)
            if slot < dl.smem_load(counts, source) * TOP_K:
                if source == rank:
                    expert = ld(ids_ptr + slot, semantic="weak")
                    weight = ld(weights_ptr + slot, semantic="weak")
                else:
                    packet = ld_vector(about_ptr + source * about_stride + 2 * (1 + slot), 2, "sys", "relaxed")
            sources += (source,)
            experts += (expert,)
            weights += (weight,)
            packets += (packet,)
        for j in tl.static_range(AT_ONCE):
            i = begin + j * step
            if i < all_slots:
                source = sources[j]
                slot = i - source * most * TOP_K
                here = -1
                weight = weights[j]
                if slot < dl.smem_load(counts, source) * TOP_K:
                    if source == rank:
                        place = place_of_expert(experts[j], slot, *table, TOP_K, COPIES)
                        here = tl.where(place < 0, place, tl.where(place // local_experts == rank, place - rank * local_experts, -1))
                        if here < DROPPED:  # it stays wrong, for the route to count
                            tell_of_slot(findings_ptr, told_ptr, epoch, slot, place, *of_ids, TOP_K, COPIES)
                    else:
                        packet = packets[j]
                        if not is_of_call(packet, epoch):
                            packet = receive_one(about_ptr + source * about_stride + 2 * (1 + slot), epoch, POLLS)
                        about = data_of(packet, tl.int32)
                        here = about[0]
                        weight = about[1].to(tl.float32, bitcast=True)
                st(here_ids_ptr + i, here, semantic="weak")
                st(here_weights_ptr + i, weight, semantic="weak")


@tandem.jit
def about_slot(about_ptr, about_stride, source, token, TOP_K: tl.constexpr):
    """Where lane k's slot of a token is told of."""
    return about_ptr + source * about_stride + 2 * (1 + token * TOP_K + laneid())
