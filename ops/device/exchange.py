"""Rows that travel between the ranks of an expert-parallel layer, in packets that carry their flag (ops/device/packets.py).

A warp takes a share of a row, PIECES times 32 packets, all in flight at once. A rank's slots: two sets, in each of every source rank a
header packet, the packets about each token, and those of each token's row.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from ops.device.packets import is_of_call
from tandem.simt import __ballot_sync, ld_vector


@tandem.jit
def anyone(condition):
    """True in all lanes of the warp if it is in one."""
    return __ballot_sync(0xFFFFFFFF, condition) != 0


@tandem.jit
def receive_share(slots_ptr, first, count, epoch, PIECES: tl.constexpr, POLLS: tl.constexpr):
    """This lane's packets of a share: those at `first`, `first` + 32 and so on, as far as they are below `count`, all polled at once."""
    packets = ()
    for i in tl.static_range(PIECES):
        packets += (dl.zeros_vector(2, tl.int64),)
    polls = 0
    ready = False
    while not ready:
        ready = polls > POLLS
        fresh = ()
        all_here = True
        for i in tl.static_range(PIECES):
            at = first + 32 * i
            packet = ld_vector(slots_ptr + 2 * tl.minimum(at, count - 1), 2, "sys", "relaxed")
            all_here = all_here & (is_of_call(packet, epoch) | (at >= count))
            fresh += (packet,)
        packets = fresh
        ready = ready | all_here
        if polls == POLLS:
            for i in tl.static_range(PIECES):
                if first + 32 * i < count:
                    for half in tl.static_range(2):
                        shmem.signal_wait_until(slots_ptr + 2 * (first + 32 * i) + half, shmem.NVSHMEM_CMP_GE, epoch << 32)
        polls += 1
    return packets
