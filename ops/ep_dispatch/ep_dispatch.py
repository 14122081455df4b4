"""Sends each token's row once to every rank that has one of its experts, with what it is to do there: one flight.

Rows land where their source and token say, so no rank counts before it sends and none waits for the counts of another: token t of rank s
is row s * most + t. The header packet says how many tokens the source has; a packet for each of a token's slots goes to every rank, and
says which of this rank's experts the slot is for, or none. Those who get none for a token await no row.

Two sets of slots are enough: a rank overwrites in call e + 2 what a peer read in call e; to have ended call e + 1 it has received that
peer's header of call e + 1, which the peer sent after its call e had ended.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.exchange import anyone, receive_share
from ops.device.packets import data_of, end_call, load_elements, make_packet, receive_one, store_elements
from tandem.simt import __syncthreads, laneid, ld, num_warps, st, st_vector, tid


@tandem.jit
def send(
    x_ptr,
    ids_ptr,
    weights_ptr,
    rows_ptr,
    own_ids_ptr,
    own_weights_ptr,
    mine_ptr,
    epoch,
    m,
    most,
    columns,
    experts,
    local_experts,
    row_packets,
    TOP_K: tl.constexpr,
    RANKS: tl.constexpr,
    ELEMENTS: tl.constexpr,
    PIECES: tl.constexpr,
    ALIGNED: tl.constexpr,
):
    rank = dl.rank()
    pid = tl.program_id(0)
    lane = laneid()
    if (pid == 0) & (tid(0) < RANKS):
        if tid(0) != rank:
            st_vector(dl.symm_at(mine_ptr, tid(0)), make_packet(dl.make_vector([m, 0]), epoch), "sys", "relaxed")
    shares = tl.cdiv(row_packets, 32 * PIECES)
    warps = num_warps() * tl.num_programs(0)
    for item in range(pid * num_warps() + tid(0) // 32, m * shares, warps):
        token = item // shares
        expert = -1
        weight = 0.0
        if lane < TOP_K:
            expert = ld(ids_ptr + token * TOP_K + lane, semantic="weak")
            weight = ld(weights_ptr + token * TOP_K + lane, semantic="weak")
        is_expert = (expert >= 0) & (expert < experts)
        owner = tl.where(is_expert, expert // local_experts, -1)
        if item % shares == 0:
            for step in range(RANKS):
                peer = (rank + step) % RANKS
                here = tl.where(owner == peer, expert - peer * local_experts, -1)
                if lane < TOP_K:
                    if peer == rank:
                        # What is no expert's stays wrong, for the route to count.
                        here = tl.where(is_expert | (expert == -1), here, -2)
                        st(own_ids_ptr + (rank * most + token) * TOP_K + lane, here, semantic="weak")
                        st(own_weights_ptr + (rank * most + token) * TOP_K + lane, weight, semantic="weak")
                    else:
                        about = dl.make_vector([here, weight.to(tl.int32, bitcast=True)])
                        there = dl.symm_at(mine_ptr, peer) + 2 * (1 + token * TOP_K + lane)
                        st_vector(there, make_packet(about, epoch), "sys", "relaxed")
        first = item % shares * (32 * PIECES) + lane
        from_ptr = x_ptr + token.to(tl.int64) * columns
        values = ()
        for i in tl.static_range(PIECES):
            values += (load_elements(from_ptr, (first + 32 * i) * ELEMENTS, columns, ELEMENTS, ALIGNED),)
        row_ptr = mine_ptr + 2 * (1 + most * TOP_K + token.to(tl.int64) * row_packets)
        for step in range(1, RANKS):
            peer = (rank + step) % RANKS
            if anyone(owner == peer):
                for i in tl.static_range(PIECES):
                    at = first + 32 * i
                    if at < row_packets:
                        st_vector(dl.symm_at(row_ptr, peer) + 2 * at, make_packet(values[i], epoch), "sys", "relaxed")
        if anyone(owner == rank):
            to_ptr = rows_ptr + (rank * most + token).to(tl.int64) * columns
            for i in tl.static_range(PIECES):
                store_elements(to_ptr, (first + 32 * i) * ELEMENTS, columns, values[i], ELEMENTS, ALIGNED)


@tandem.jit
def dispatch(
    x_ptr,
    ids_ptr,
    weights_ptr,
    rows_ptr,
    here_ids_ptr,
    here_weights_ptr,
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
    """This rank has m of up to `most` tokens. `here_ids`, `here_weights`, [RANKS * most, TOP_K]: this rank's experts of the tokens that
    come here, -1 where none. SEND and RECEIVE: one call or two. Strides in 8 bytes."""
    rank = dl.rank()
    pid = tl.program_id(0)
    lane = laneid()
    epoch = ld(epoch_ptr + pid, semantic="weak") + 1
    set_ptr = slots_ptr + (epoch % 2) * source_stride * RANKS
    if SEND:
        mine_ptr = set_ptr + rank.to(tl.int64) * source_stride
        send(
            x_ptr,
            ids_ptr,
            weights_ptr,
            rows_ptr,
            here_ids_ptr,
            here_weights_ptr,
            mine_ptr,
            epoch,
            m,
            most,
            columns,
            experts,
            local_experts,
            row_packets,
            TOP_K,
            RANKS,
            ELEMENTS,
            PIECES,
            ALIGNED,
        )
    if RECEIVE:
        counts = dl.allocate_smem(tl.int32, [RANKS])
        for source in range(tid(0), RANKS, num_warps() * 32):
            tokens = m
            if source != rank:
                header = receive_one(set_ptr + source.to(tl.int64) * source_stride, epoch, POLLS)
                tokens = data_of(header, tl.int32)[0]
            dl.smem_store(counts, tokens, source)
        __syncthreads()
        shares = tl.cdiv(row_packets, 32 * PIECES)
        warps = num_warps() * tl.num_programs(0)
        for item in range(pid * num_warps() + tid(0) // 32, RANKS * most * shares, warps):
            row = item // shares
            source = row // most
            token = row % most
            of_source = set_ptr + source.to(tl.int64) * source_stride
            is_there = token < dl.smem_load(counts, source)
            expert = -1
            if lane < TOP_K:
                weight = 0.0
                if is_there & (source != rank):
                    about = data_of(receive_one(of_source + 2 * (1 + token * TOP_K + lane), epoch, POLLS), tl.int32)
                    expert = about[0]
                    weight = about[1].to(tl.float32, bitcast=True)
                if (item % shares == 0) & ((source != rank) | (is_there == 0)):
                    st(here_ids_ptr + row * TOP_K + lane, expert, semantic="weak")
                    st(here_weights_ptr + row * TOP_K + lane, weight, semantic="weak")
            if anyone(expert >= 0):
                first = item % shares * (32 * PIECES) + lane
                row_ptr = of_source + 2 * (1 + most * TOP_K + token.to(tl.int64) * row_packets)
                packets = receive_share(row_ptr, first, row_packets, epoch, PIECES, POLLS)
                to_ptr = rows_ptr + row.to(tl.int64) * columns
                for i in tl.static_range(PIECES):
                    values = data_of(packets[i], rows_ptr.dtype.element_ty)
                    store_elements(to_ptr, (first + 32 * i) * ELEMENTS, columns, values, ELEMENTS, ALIGNED)
        end_call(epoch_ptr, epoch)
