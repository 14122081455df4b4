"""Sends each token's row once to every rank that has one of its experts, with what it is to do there: one flight.

Rows land where their source and token say, so no rank counts before it sends and none waits for the counts of another: token t of rank s
is row s * most + t. The header packet says how many tokens the source has; a packet for each of a token's slots goes to every rank, and
says which of this rank's experts the slot is for, or none. Those who get none for a token await no row.

Of few tokens the last programs move no rows: they tell and gather what is said of all slots, and make the route, too, if there are not too
many, while the others wait for rows: one alone, or each of a range of tokens, and one writes the blocks. Of many (BESIDE) all programs do
everything: one half of their warps sends while the other receives.

DIRECT: rows go to where they belong on their ranks, in symmetric memory, and a signal behind those of each program; nobody takes them
from slots. OWNERS programs store this rank's own rows, and the others send: a multiprocessor that stores to its own memory between stores
to a peer's sends a seventh less. A rank sends when a signal has told that the call has begun there, so that what the last call brought is
no longer read.
COPIED: copy engines bring all rows to all ranks, and who reads them waits for them; all programs tell and gather what is said of slots.

By expert (PLACES) a row lands once for each of its slots, where the route says: the others wait for the route before they take rows from
their slots. Where the route is a launch of its own, rows land by token, and another launch (spread) brings them to their places.

Two sets of slots are enough: a rank overwrites in call e + 2 what a peer read, and marked again, in call e; to have ended call e + 1 it has
received that peer's header of call e + 1, which the peer sent after its call e had ended. With BESIDE all have the headers before they send
rows, so one set of these is enough.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.exchange import (
    anyone,
    is_given,
    load_row,
    places_of,
    quantised,
    send_share,
    share_stride,
    store_by_expert,
    store_share,
    take_share,
)
from ops.device.packets import data_of, end_call, is_of_call, receive_one
from ops.device.places import place_of_slot
from ops.device.routes import place_of
from ops.device.scales import SCALED_ELEMENTS
from ops.device.signals import tell_all
from ops.ep_dispatch.about import about_slot, counts_of_sources, gather_slots, is_told, tell_slots
from ops.route.route import deal, share_of
from tandem.simt import __syncthreads, laneid, ld, ld_vector, num_warps, tid


@tandem.jit
def load_item(
    x_ptr,
    x_scales_ptr,
    of_ids,
    item,
    end,
    columns,
    shares,
    TOP_K: tl.constexpr,
    ELEMENTS: tl.constexpr,
    PIECES: tl.constexpr,
    ALIGNED: tl.constexpr,
    QUANTISED: tl.constexpr,
    COPIES: tl.constexpr,
):
    """The places of a token's experts, each in a lane, and a share of its row, as the warp reads it; nothing behind the end."""
    token = item // shares
    place = -1
    if (laneid() < TOP_K) & (item < end):
        place = place_of_slot(token * TOP_K + laneid(), *of_ids, TOP_K, COPIES)
    until = tl.where(item < end, columns, 0)
    return place, load_row(x_ptr, x_scales_ptr, token, item % shares, until, columns, ELEMENTS, PIECES, ALIGNED, QUANTISED)


@tandem.jit
def send_rows(
    x_ptr,
    x_scales_ptr,
    of_ids,
    rows_ptr,
    scales_ptr,
    mine_ptr,
    m,
    most,
    columns,
    local_experts,
    shares,
    first,
    step,
    sends,
    stores,
    TOP_K: tl.constexpr,
    RANKS: tl.constexpr,
    ELEMENTS: tl.constexpr,
    PIECES: tl.constexpr,
    ALIGNED: tl.constexpr,
    QUANTISED: tl.constexpr,
    COPIES: tl.constexpr,
    DIRECT: tl.constexpr,
):
    """By warps `first`, `first` + `step`, ... Rows for the peers, if it `sends`, and those for this rank, which land at once, if it
    `stores`."""
    rank = dl.rank()
    end = m * shares
    sizes = (end, columns, shares)
    for item in range(first, end, step):
        place, values = load_item(x_ptr, x_scales_ptr, of_ids, item, *sizes, TOP_K, ELEMENTS, PIECES, ALIGNED, QUANTISED, COPIES)
        if QUANTISED and not is_given(x_ptr, QUANTISED):
            values = quantised(values, rows_ptr.dtype.element_ty, PIECES)
        token = item // shares
        share = item % shares
        owner = tl.where(place >= 0, place // local_experts, -1)
        row = (rank * most + token).to(tl.int64)
        of_row = (rows_ptr + row * columns, scales_ptr + row * tl.cdiv(columns, SCALED_ELEMENTS))
        for turn in range(1, RANKS):
            peer = (rank + turn) % RANKS
            if sends & anyone(owner == peer):
                if DIRECT:
                    of_peer = (dl.symm_at(of_row[0], peer), dl.symm_at(of_row[1], peer) if QUANTISED else of_row[1])
                    store_share(*of_peer, share, columns, values, ELEMENTS, PIECES, ALIGNED, QUANTISED)
                else:
                    send_share(dl.symm_at(mine_ptr, peer) + item.to(tl.int64) * share_stride(PIECES, QUANTISED), values, PIECES, QUANTISED)
        if stores & anyone(owner == rank):
            store_share(*of_row, share, columns, values, ELEMENTS, PIECES, ALIGNED, QUANTISED)


@tandem.jit
def came(nth, RANKS: tl.constexpr):
    """The source and the number of the n-th token that comes."""
    OTHERS: tl.constexpr = max(RANKS - 1, 1)
    return (dl.rank() + 1 + nth % OTHERS) % RANKS, nth // OTHERS


@tandem.jit
def told_of_token(header_ptr, slot_ptr, token, epoch, TOP_K: tl.constexpr, POLLS: tl.constexpr):
    """The number of this rank's expert for the lane's slot of a token, or -1, of a source that may not have been heard of: its header is
    polled together with the packets."""
    expects = laneid() < TOP_K
    here = -1
    polls = 0
    ready = False
    while not ready:
        header = ld_vector(header_ptr, 2, "sys", "relaxed")
        packet = dl.zeros_vector(2, tl.int64)
        if expects:
            packet = ld_vector(slot_ptr, 2, "sys", "relaxed")
        ready = not anyone(expects & (not is_told(header, packet, token, epoch)))
        if not ready and polls == POLLS:
            header = receive_one(header_ptr, epoch, POLLS)
            if expects & (token < data_of(header, tl.int32)[0]):
                receive_one(slot_ptr, epoch, POLLS)
        here = tl.where(expects & (token < data_of(header, tl.int32)[0]), data_of(packet, tl.int32)[0], -1)
        polls += 1
    return here


@tandem.jit
def receive_rows(
    rows_ptr,
    scales_ptr,
    about_ptr,
    about_stride,
    slots_ptr,
    source_stride,
    counts,
    epoch,
    most,
    columns,
    shares,
    place_ptr,
    first,
    step,
    TOP_K: tl.constexpr,
    RANKS: tl.constexpr,
    ELEMENTS: tl.constexpr,
    PIECES: tl.constexpr,
    ALIGNED: tl.constexpr,
    QUANTISED: tl.constexpr,
    POLLS: tl.constexpr,
    PLACES: tl.constexpr,
    BESIDE: tl.constexpr,
):
    """In the order in which they are sent. `place`: of the route, with PLACES. With BESIDE a warp has many."""
    lane = laneid()
    end = (RANKS - 1) * most * shares
    following = dl.zeros_vector(2, tl.int64)
    source, token = came(first // shares, RANKS)
    if BESIDE:
        if (lane < TOP_K) & (first < end):
            following = ld_vector(about_slot(about_ptr, about_stride, source, token, TOP_K), 2, "sys", "relaxed")
    for item in range(first, end, step):
        packet = following
        source, token = came((item + step) // shares, RANKS)
        if BESIDE:
            if (lane < TOP_K) & (item + step < end):  # under way while this item is taken
                following = ld_vector(about_slot(about_ptr, about_stride, source, token, TOP_K), 2, "sys", "relaxed")
        source, token = came(item // shares, RANKS)
        row = source * most + token
        share = item % shares
        share_ptr = slots_ptr + source * source_stride + (token * shares + share).to(tl.int64) * share_stride(PIECES, QUANTISED)
        here = -1
        if BESIDE:
            if (lane < TOP_K) & (token < dl.smem_load(counts, source)):
                if not is_of_call(packet, epoch):
                    packet = receive_one(about_slot(about_ptr, about_stride, source, token, TOP_K), epoch, POLLS)
                here = data_of(packet, tl.int32)[0]
        else:
            slot_ptr = about_slot(about_ptr, about_stride, source, token, TOP_K)
            header_ptr = about_ptr + source * about_stride
            here = told_of_token(header_ptr, slot_ptr, token, epoch, TOP_K, POLLS)
        if anyone(here >= 0):
            values = take_share(share_ptr, PIECES, QUANTISED, POLLS)
            if PLACES:
                place = places_of(place_ptr, row, TOP_K)
                store_by_expert(rows_ptr, scales_ptr, place, share, columns, values, ELEMENTS, PIECES, ALIGNED, QUANTISED)
            else:
                of_row = (rows_ptr + row.to(tl.int64) * columns, scales_ptr + row.to(tl.int64) * tl.cdiv(columns, SCALED_ELEMENTS))
                store_share(*of_row, share, columns, values, ELEMENTS, PIECES, ALIGNED, QUANTISED)


@tandem.jit
def place_own_rows(
    x_ptr,
    x_scales_ptr,
    rows_ptr,
    scales_ptr,
    place_ptr,
    m,
    most,
    columns,
    shares,
    first,
    step,
    TOP_K: tl.constexpr,
    ELEMENTS: tl.constexpr,
    PIECES: tl.constexpr,
    ALIGNED: tl.constexpr,
    QUANTISED: tl.constexpr,
):
    for item in range(first, m * shares, step):
        place = places_of(place_ptr, dl.rank() * most + item // shares, TOP_K)
        if anyone(place >= 0):
            values = load_row(x_ptr, x_scales_ptr, item // shares, item % shares, columns, columns, ELEMENTS, PIECES, ALIGNED, QUANTISED)
            if QUANTISED and not is_given(x_ptr, QUANTISED):
                values = quantised(values, rows_ptr.dtype.element_ty, PIECES)
            store_by_expert(rows_ptr, scales_ptr, place, item % shares, columns, values, ELEMENTS, PIECES, ALIGNED, QUANTISED)


@tandem.jit
def dispatch(
    x_ptr,
    x_scales_ptr,
    ids_ptr,
    placement_ptr,
    weights_ptr,
    rows_ptr,
    scales_ptr,
    here_ids_ptr,
    here_weights_ptr,
    route_ptr,
    spans_ptr,
    routed_ptr,
    findings_ptr,
    told_ptr,
    counts_ptr,
    begun_ptr,
    arrived_ptr,
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
    QUANTISED: tl.constexpr,
    POLLS: tl.constexpr,
    SEND: tl.constexpr,
    RECEIVE: tl.constexpr,
    BESIDE: tl.constexpr,
    TELLERS: tl.constexpr,
    ROUTES: tl.constexpr,
    E: tl.constexpr,
    PADDED: tl.constexpr,
    BITS: tl.constexpr,
    ROWS_AT_ONCE: tl.constexpr,
    BLOCK: tl.constexpr,
    GROUP: tl.constexpr,
    PLACES: tl.constexpr = 0,
    DIRECT: tl.constexpr = False,
    COPIED: tl.constexpr = False,
    OWNERS: tl.constexpr = 0,
):
    """This rank has m of up to `most` tokens, whose experts have places (ops/device/places.py). `here_ids`, `here_weights`, [RANKS * most,
    TOP_K]: this rank's experts of the tokens that come here, -1 where none; ROUTES: also their route, by the TELLERS, for which the
    constants behind are, and `counts` of several; PLACES above 0, as there: rows land by expert, and `routed` counts who has made the
    route. QUANTISED: rows travel in fp8, with scales, which x has too if it is in fp8. SEND and RECEIVE: one call or two. `findings`,
    `told`: for what the host is told of ids that are no expert's; behind it several TELLERS meet. DIRECT: signals, `begun` of each rank and
    `arrived` of each program and rank; the last OWNERS programs store own rows, and all others send, or with 0 all do both."""
    PARTS: tl.constexpr = (TELLERS - 1) // RANKS if ROUTES else 0  # of each rank's tokens, where several make the route
    rank = dl.rank()
    pid = tl.program_id(0)
    warp = tid(0) // 32
    epoch = ld(epoch_ptr + pid, semantic="weak") + 1
    of_ids = (ids_ptr, placement_ptr, places, placed)
    gathered = RANKS * most * TOP_K
    about_stride = 2 * (1 + most * TOP_K)
    source_stride = (most * shares).to(tl.int64) * share_stride(PIECES, QUANTISED)
    about_ptr += (epoch % 2) * RANKS * about_stride
    sends_out, stores_own = True, PLACES == 0
    if COPIED:
        telling = (pid * num_warps() * 32 + tid(0), tl.num_programs(0) * num_warps() * 32)
        moving = telling
        gathering = telling
        tells, gathers, sends = True, True, False
    elif DIRECT:
        telling = (pid * num_warps() * 32 + tid(0), tl.num_programs(0) * num_warps() * 32)
        GATHERERS: tl.constexpr = max(num_warps() // 8, 1) if SEND else num_warps()  # warps that gather while the others send
        SENDERS: tl.constexpr = num_warps() - GATHERERS
        moving = (pid * SENDERS + warp - GATHERERS, tl.num_programs(0) * SENDERS)
        if OWNERS:
            others = tl.num_programs(0) - OWNERS
            sends_out = pid < others
            stores_own = pid >= others
            moving = (tl.where(sends_out, pid, pid - others) * SENDERS + warp - GATHERERS, tl.where(sends_out, others, OWNERS) * SENDERS)
        gathering = ((pid * GATHERERS + warp) * 32 + laneid(), tl.num_programs(0) * GATHERERS * 32)
        tells, gathers, sends = True, warp < GATHERERS, warp >= GATHERERS
    elif BESIDE:
        telling = (pid * num_warps() * 32 + tid(0), tl.num_programs(0) * num_warps() * 32)
        moving = (pid * (num_warps() // 2) + warp // 2, tl.num_programs(0) * (num_warps() // 2))
        gathering = (moving[0] * 32 + laneid(), moving[1] * 32)
        tells, gathers, sends = True, warp % 2 == 1, warp % 2 == 0
    else:
        slots_ptr += (epoch % 2) * RANKS * source_stride
        movers = tl.num_programs(0) - TELLERS
        telling = ((pid - movers) * num_warps() * 32 + tid(0), TELLERS * num_warps() * 32)
        moving = (pid * num_warps() + warp, movers * num_warps())
        gathering = telling
        tells = pid >= movers
        if PARTS:  # each of a range of tokens, the last one of none
            tokens = share_of(pid - movers, rank, RANKS * most, most, tl.cdiv(most, PARTS), PARTS, RANKS)
            gathered = tl.where(pid + 1 < tl.num_programs(0), tokens[1] * TOP_K, 0)
            gathering = (tokens[0] * TOP_K + tid(0), num_warps() * 32)
        gathers, sends = tells, not tells
    if SEND:
        if tells:
            of_rank = about_ptr + rank * about_stride
            tell_slots(of_ids, weights_ptr, of_rank, epoch, m, local_experts, *telling, TOP_K, RANKS, COPIES)
        if DIRECT and not COPIED:
            if pid == 0:
                tell_all(begun_ptr + rank, epoch, RANKS)
            token = dl.wait(begun_ptr, RANKS, "sys", "acquire", waitValue=epoch, compare="ge")
            rows_ptr = dl.consume_token(rows_ptr, token)
            scales_ptr = dl.consume_token(scales_ptr, token)
    counts = ()
    if BESIDE:
        counts = counts_of_sources(about_ptr, about_stride, epoch, m, RANKS, POLLS)
    if SEND:
        if sends and not COPIED:
            send_rows(
                x_ptr,
                x_scales_ptr,
                of_ids,
                rows_ptr,
                scales_ptr,
                slots_ptr + rank * source_stride,
                m,
                most,
                columns,
                local_experts,
                shares,
                *moving,
                sends_out,
                stores_own,
                TOP_K,
                RANKS,
                ELEMENTS,
                PIECES,
                ALIGNED,
                QUANTISED,
                COPIES,
                DIRECT,
            )
        if DIRECT and not RECEIVE:
            tell_all(arrived_ptr + pid * RANKS + rank, epoch, RANKS)
    if RECEIVE:
        abouts = (about_ptr, about_stride)
        here = (here_ids_ptr, here_weights_ptr)
        telling_host = (findings_ptr, told_ptr)
        if gathers:
            of_here = (local_experts, gathering[0], gathered, gathering[1], TOP_K, RANKS, COPIES, POLLS)
            gather_slots(of_ids, weights_ptr, *here, *telling_host, *abouts, epoch, m, most, *of_here)
            if ROUTES:
                __syncthreads()
                deal(
                    pid - movers if PARTS else 0,
                    TELLERS,
                    here_weights_ptr,
                    here_weights_ptr,
                    *here,
                    route_ptr,
                    spans_ptr,
                    counts_ptr,
                    here_ids_ptr,
                    here_ids_ptr,
                    RANKS * most,
                    most,
                    tl.cdiv(most, max(PARTS, 1)),
                    max(PARTS, 1),
                    (told_ptr + 1, epoch * TELLERS),
                    E,
                    PADDED,
                    BITS,
                    TOP_K,
                    RANKS,
                    num_warps(),
                    PARTS > 0,
                    ROWS_AT_ONCE,
                    32,
                    False,
                    False,
                    False,
                    1,
                    1,
                    False,
                    BLOCK,
                    GROUP,
                    1.0,
                    0,
                    PLACES,
                )
                if PLACES:
                    dl.notify(routed_ptr, rank, signal=1, sig_op="add", comm_scope="gpu")
        if DIRECT and not COPIED:
            if SEND:
                tell_all(arrived_ptr + pid * RANKS + rank, epoch, RANKS)
            dl.wait(arrived_ptr + pid * RANKS, RANKS, "sys", "acquire", waitValue=epoch, compare="ge")
        elif not COPIED and BESIDE == gathers:
            place_ptr = route_ptr
            if PLACES:
                token = dl.wait(routed_ptr, 1, "gpu", "acquire", waitValue=epoch * TELLERS, compare="ge")
                place_ptr = dl.consume_token(place_of(route_ptr, E, RANKS * most * TOP_K), token)
            receive_rows(
                rows_ptr,
                scales_ptr,
                *abouts,
                slots_ptr,
                source_stride,
                counts,
                epoch,
                most,
                columns,
                shares,
                place_ptr,
                *moving,
                TOP_K,
                RANKS,
                ELEMENTS,
                PIECES,
                ALIGNED,
                QUANTISED,
                POLLS,
                PLACES,
                BESIDE,
            )
            if PLACES:
                place_own_rows(
                    x_ptr,
                    x_scales_ptr,
                    rows_ptr,
                    scales_ptr,
                    place_ptr,
                    m,
                    most,
                    columns,
                    shares,
                    *moving,
                    TOP_K,
                    ELEMENTS,
                    PIECES,
                    ALIGNED,
                    QUANTISED,
                )
        end_call(epoch_ptr, epoch)
