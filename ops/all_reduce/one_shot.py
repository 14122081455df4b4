"""All-reduce in one flight: every rank sends all its data to every peer, in words that carry their own flag.

A packet is 16 bytes: twice 32 bits of data and the 32-bit number of the call. Both halves are strong accesses of 8 bytes,
so whoever sees the number sees the data beside it: no fence, no barrier, no signal. A thread sends its packets, then
polls those of the peers that lie at the same place, adds in rank order in fp32 and writes.

Each program counts its own calls, and its slots are its own. Two sets of slots are used in turn. A rank overwrites in its
program's call e + 2 what a peer read in call e: to have ended call e + 1 the rank has received that peer's packets of
call e + 1, and the peer sent those after its call e had ended. Old packets carry smaller numbers, so nothing is cleared.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from tandem.simt import __syncthreads, ld, ld_vector, num_warps, st, st_vector, tid


@tandem.jit
def load_elements(x_ptr, first, n, ELEMENTS: tl.constexpr, ALIGNED: tl.constexpr):
    values = dl.zeros_vector(ELEMENTS, x_ptr.dtype.element_ty)
    if ALIGNED and first + ELEMENTS <= n:
        values = ld_vector(x_ptr + first, ELEMENTS, "gpu", "weak")
    else:
        for i in tl.static_range(ELEMENTS):
            if first + i < n:
                values[i] = ld(x_ptr + first + i, semantic="weak")
    return values


@tandem.jit
def store_elements(out_ptr, first, n, values, ELEMENTS: tl.constexpr, ALIGNED: tl.constexpr):
    if ALIGNED and first + ELEMENTS <= n:
        st_vector(out_ptr + first, values, "gpu", "weak")
    else:
        for i in tl.static_range(ELEMENTS):
            if first + i < n:
                st(out_ptr + first + i, values[i], semantic="weak")


@tandem.jit
def is_of_call(packet, epoch):
    return ((packet[0] >> 32) == epoch) & ((packet[1] >> 32) == epoch)


@tandem.jit
def receive(slot_ptr, rank, source_stride, epoch, RANKS: tl.constexpr, POLLS: tl.constexpr):
    """The packets of the other ranks, in rank order. After POLLS tries in vain, waits that the host can end."""
    packets = ()
    for i in tl.static_range(RANKS - 1):
        packets += (dl.zeros_vector(2, tl.int64), )
    polls = 0
    ready = False
    while not ready:
        ready = polls > POLLS
        fresh = ()
        all_here = True
        for i in tl.static_range(RANKS - 1):
            source = i + (rank <= i).to(tl.int32)
            packet = ld_vector(slot_ptr + source * source_stride, 2, "sys", "relaxed")
            all_here = all_here & is_of_call(packet, epoch)
            fresh += (packet, )
        packets = fresh
        ready = ready | all_here
        if polls == POLLS:
            for i in tl.static_range(RANKS - 1):
                source = i + (rank <= i).to(tl.int32)
                dl.wait(slot_ptr + source * source_stride, 2, "sys", "relaxed", waitValue=epoch << 32, compare="ge")
        polls += 1
    return packets


@tandem.jit
def add_in_rank_order(own, packets, rank, ELEMENTS: tl.constexpr, RANKS: tl.constexpr):
    mine = own.to(tl.float32)
    total = dl.zeros_vector(ELEMENTS, tl.float32)
    for i in tl.static_range(RANKS - 1):
        words = packets[i].recast(tl.int32)
        part = dl.make_vector([words[0], words[2]]).recast(own.dtype).to(tl.float32)
        for j in tl.static_range(ELEMENTS):
            before = total[j]
            if rank == i:
                before += mine[j]
            total[j] = before + part[j]
    if rank == RANKS - 1:
        total = total + mine
    return total


@tandem.jit
def one_shot(x_ptr, out_ptr, slots_ptr, epoch_ptr, n, packets_each, slot_packets, slot_programs, ELEMENTS: tl.constexpr,
             ALIGNED: tl.constexpr, RANKS: tl.constexpr, POLLS: tl.constexpr):
    """Program p takes packets p * packets_each on. Slots: [2, RANKS, slot_programs, slot_packets] packets."""
    rank = dl.rank()
    pid = tl.program_id(0)
    epoch = ld(epoch_ptr + pid, semantic="weak") + 1
    source_stride = slot_programs.to(tl.int64) * slot_packets * 2
    set_ptr = slots_ptr + (epoch % 2) * RANKS * source_stride + pid.to(tl.int64) * slot_packets * 2
    mine_ptr = set_ptr + rank * source_stride
    for i in range(tid(0), packets_each, num_warps() * 32):
        first = (pid * packets_each + i) * ELEMENTS
        if first < n:
            data = load_elements(x_ptr, first, n, ELEMENTS, ALIGNED).recast(tl.int32)
            number = epoch.to(tl.int32)
            packet = dl.make_vector([data[0], number, data[1], number]).recast(tl.int64)
            for step in tl.static_range(1, RANKS):
                st_vector(dl.symm_at(mine_ptr, (rank + step) % RANKS) + 2 * i, packet, "sys", "relaxed")
    for i in range(tid(0), packets_each, num_warps() * 32):
        first = (pid * packets_each + i) * ELEMENTS
        if first < n:
            own = load_elements(x_ptr, first, n, ELEMENTS, ALIGNED)
            packets = receive(set_ptr + 2 * i, rank, source_stride, epoch, RANKS, POLLS)
            total = add_in_rank_order(own, packets, rank, ELEMENTS, RANKS)
            store_elements(out_ptr, first, n, total.to(out_ptr.dtype.element_ty), ELEMENTS, ALIGNED)
    __syncthreads()
    if tid(0) == 0:
        st(epoch_ptr + pid, epoch, semantic="weak")
