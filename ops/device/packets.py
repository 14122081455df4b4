"""Packets that carry their own flag: 16 bytes, twice 32 bits of data and the number of the call, its lower 32 bits.

Both halves are strong accesses of 8 bytes, so whoever sees the number sees the data beside it: no fence, no barrier, no signal. Numbers
begin again after 2**32 calls, so they are compared for being equal alone: what is in a slot before its packet is of a call or two before.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from tandem.simt import __syncthreads, ld, ld_vector, st, st_vector, tid


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
def is_half_of_call(packet, HALF: tl.constexpr, epoch):
    return (packet[HALF] >> 32).to(tl.int32) == epoch.to(tl.int32)


@tandem.jit
def is_of_call(packet, epoch):
    return is_half_of_call(packet, 0, epoch) & is_half_of_call(packet, 1, epoch)


@tandem.jit
def wait_for_half(slot_ptr, packet, HALF: tl.constexpr, epoch):
    """A wait that the host can end, unless the half of the packet is the call's."""
    if not is_half_of_call(packet, HALF, epoch):
        shmem.signal_wait_until(slot_ptr + HALF, shmem.NVSHMEM_CMP_NE, packet[HALF])


@tandem.jit
def data_of(packet, dtype: tl.constexpr):
    words = packet.recast(tl.int32)
    return dl.make_vector([words[0], words[2]]).recast(dtype)


@tandem.jit
def receive_one(slot_ptr, epoch, POLLS: tl.constexpr):
    packet = dl.zeros_vector(2, tl.int64)
    polls = 0
    ready = False
    while not ready:
        packet = ld_vector(slot_ptr, 2, "sys", "relaxed")
        ready = is_of_call(packet, epoch) | (polls > POLLS)
        if polls == POLLS:
            for half in tl.static_range(2):
                wait_for_half(slot_ptr, packet, half, epoch)
        polls += 1
    return packet


@tandem.jit
def receive(slot_ptr, rank, source_stride, epoch, RANKS: tl.constexpr, POLLS: tl.constexpr, OWN: tl.constexpr = False):
    """The packets of the other ranks, with OWN of all ranks, in rank order, all polled at once. After POLLS tries in vain, waits that the
    host can end."""
    COUNT: tl.constexpr = RANKS if OWN else RANKS - 1
    packets = ()
    for i in tl.static_range(COUNT):
        packets += (dl.zeros_vector(2, tl.int64),)
    polls = 0
    ready = False
    while not ready:
        ready = polls > POLLS
        fresh = ()
        all_here = True
        for i in tl.static_range(COUNT):
            source = i if OWN else i + (rank <= i).to(tl.int32)
            packet = ld_vector(slot_ptr + source * source_stride, 2, "sys", "relaxed")
            all_here = all_here & is_of_call(packet, epoch)
            fresh += (packet,)
        packets = fresh
        ready = ready | all_here
        if polls == POLLS:
            for i in tl.static_range(COUNT):
                source = i if OWN else i + (rank <= i).to(tl.int32)
                for half in tl.static_range(2):
                    wait_for_half(slot_ptr + source * source_stride, packets[i], half, epoch)
        polls += 1
    return packets


@tandem.jit
def make_packet(values, epoch):
    data = values.recast(tl.int32)
    number = epoch.to(tl.int32)
    return dl.make_vector([data[0], number, data[1], number]).recast(tl.int64)


@tandem.jit
def send_to_peers(slot_ptr, packet, rank, RANKS: tl.constexpr):
    for step in tl.static_range(1, RANKS):
        st_vector(dl.symm_at(slot_ptr, (rank + step) % RANKS), packet, "sys", "relaxed")


@tandem.jit
def end_call(epoch_ptr, epoch):
    __syncthreads()
    if tid(0) == 0:
        st(epoch_ptr + tl.program_id(0), epoch, semantic="weak")
