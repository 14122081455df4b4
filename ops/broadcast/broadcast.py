"""Broadcast of small tensors in packets with flags: one flight.

Every program sends at least one packet to every rank in every call, and waits for one from each: that is what makes two sets of slots
enough. A rank overwrites in its program's call e + 2 what a peer read in call e; to have ended call e + 1 it has received that peer's
packet of call e + 1, which the peer sent after its call e had ended.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.packets import data_of, end_call, load_elements, make_packet, receive_one, send_to_peers, store_elements
from tandem.simt import ld, num_warps, tid


@tandem.jit
def broadcast(
    x_ptr,
    out_ptr,
    slots_ptr,
    epoch_ptr,
    n,
    root,
    packets_each,
    source_stride,
    program_stride,
    ELEMENTS: tl.constexpr,
    ALIGNED: tl.constexpr,
    RANKS: tl.constexpr,
    POLLS: tl.constexpr,
):
    """Program p takes packets p * packets_each on. Slots: two sets, of each rank, of each program; strides in 8 bytes."""
    rank = dl.rank()
    pid = tl.program_id(0)
    threads = num_warps() * 32
    epoch = ld(epoch_ptr + pid, semantic="weak") + 1
    set_ptr = slots_ptr + (epoch % 2) * source_stride * RANKS + pid.to(tl.int64) * program_stride
    mine_ptr = set_ptr + rank.to(tl.int64) * source_stride
    for i in range(tid(0), packets_each, threads):
        at = (pid * packets_each + i) * ELEMENTS
        if (rank == root) & ((at < n) | (i == 0)):
            values = load_elements(x_ptr, at, n, ELEMENTS, ALIGNED)
            send_to_peers(mine_ptr + 2 * i, make_packet(values, epoch), rank, RANKS)
            store_elements(out_ptr, at, n, values, ELEMENTS, ALIGNED)
    if (rank != root) & (tid(0) == 0):
        send_to_peers(mine_ptr, make_packet(dl.zeros_vector(ELEMENTS, x_ptr.dtype.element_ty), epoch), rank, RANKS)
    if rank != root:
        for i in range(tid(0), packets_each, threads):
            at = (pid * packets_each + i) * ELEMENTS
            if (at < n) | (i == 0):
                packet = receive_one(set_ptr + root.to(tl.int64) * source_stride + 2 * i, epoch, POLLS)
                store_elements(out_ptr, at, n, data_of(packet, out_ptr.dtype.element_ty), ELEMENTS, ALIGNED)
    for source in range(tid(0), RANKS, threads):
        if (source != rank) & (source != root):
            receive_one(set_ptr + source.to(tl.int64) * source_stride, epoch, POLLS)
    end_call(epoch_ptr, epoch)
