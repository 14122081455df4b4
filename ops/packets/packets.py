"""Small collectives in packets that carry their own flag: all-reduce in one flight and in two, all-gather.

A thread sends its packets (ops/device/packets.py), then polls for those of the peers that lie at the same place. Sums run in
rank order in fp32.

Each program counts its own calls, and its slots are its own. Old packets carry smaller numbers, so nothing is cleared. Where
every rank sends to every rank once (one flight), two sets of slots are used in turn: a rank overwrites in its program's call
e + 2 what a peer read in call e; to have ended call e + 1 it has received that peer's packets of call e + 1, which the peer
sent after its call e had ended. With two flights one set is enough: to have ended call e a rank has received every owner's
sums, which the owner sent after it had read the rank's parts; and an owner sends sums of call e + 1 after it has received the
rank's parts of call e + 1, which the rank sent after it had read the sums of call e.

Slots that hold data alone (ops/device/marks.py) are used as those of one flight: a rank that has read a slot puts the marks back before its
call ends, thus before it sends what a peer's next call but one waits for.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.packets import data_of, end_call, load_elements, make_packet, receive, receive_one, send_to_peers, store_elements
from ops.device.marks import take, without_marks
from tandem.simt import ld, num_warps, st_vector, tid


@tandem.jit
def add_in_rank_order(own, packets, rank, ELEMENTS: tl.constexpr, RANKS: tl.constexpr, MARKED: tl.constexpr = False):
    mine = own.to(tl.float32)
    total = dl.zeros_vector(ELEMENTS, tl.float32)
    for i in tl.static_range(RANKS - 1):
        part = (packets[i].recast(own.dtype) if MARKED else data_of(packets[i], own.dtype)).to(tl.float32)
        for j in tl.static_range(ELEMENTS):
            before = total[j]
            if rank == i:
                before += mine[j]
            total[j] = before + part[j]
    if rank == RANKS - 1:
        total = total + mine
    return total


@tandem.jit
def keep_sum(out_ptr, first, end, total, ELEMENTS: tl.constexpr, ALIGNED: tl.constexpr, ADDS: tl.constexpr):
    """ADDS: the sum, rounded, is added to what is there, as a tensor to a tensor."""
    total = total.to(out_ptr.dtype.element_ty)
    if ADDS:
        before = load_elements(out_ptr, first, end, ELEMENTS, ALIGNED)
        total = (before.to(tl.float32) + total.to(tl.float32)).to(out_ptr.dtype.element_ty)
    store_elements(out_ptr, first, end, total, ELEMENTS, ALIGNED)


@tandem.jit
def one_flight(
    x_ptr,
    out_ptr,
    slots_ptr,
    epoch_ptr,
    n,
    begin,
    packets_each,
    source_stride,
    program_stride,
    ELEMENTS: tl.constexpr,
    ALIGNED: tl.constexpr,
    RANKS: tl.constexpr,
    POLLS: tl.constexpr,
    ADDS: tl.constexpr,
):
    """This program's packets are `begin` and those behind it. Slots: two sets, of each rank, of each program; strides in 8 bytes. Gives the
    number of the call."""
    rank = dl.rank()
    pid = tl.program_id(0)
    threads = num_warps() * 32
    i = tid(0)
    first = (begin + i) * ELEMENTS
    end = tl.minimum((begin + packets_each) * ELEMENTS, n)
    values = load_elements(x_ptr, first, end, ELEMENTS, ALIGNED)  # under way while the epoch is read
    epoch = ld(epoch_ptr + pid, semantic="weak") + 1
    set_ptr = slots_ptr + (epoch % 2) * source_stride * RANKS + pid.to(tl.int64) * program_stride
    mine_ptr = set_ptr + rank.to(tl.int64) * source_stride
    while first < end:
        send_to_peers(mine_ptr + 2 * i, make_packet(values, epoch), rank, RANKS)
        i += threads
        first += threads * ELEMENTS
        values = load_elements(x_ptr, first, end, ELEMENTS, ALIGNED)
    for i in range(tid(0), packets_each, threads):
        first = (begin + i) * ELEMENTS
        if first < end:
            own = load_elements(x_ptr, first, end, ELEMENTS, ALIGNED)
            packets = receive(set_ptr + 2 * i, rank, source_stride, epoch, RANKS, POLLS)
            keep_sum(out_ptr, first, end, add_in_rank_order(own, packets, rank, ELEMENTS, RANKS), ELEMENTS, ALIGNED, ADDS)
    return epoch


@tandem.jit
def one_shot(
    x_ptr,
    out_ptr,
    slots_ptr,
    epoch_ptr,
    n,
    packets_each,
    source_stride,
    program_stride,
    ELEMENTS: tl.constexpr,
    ALIGNED: tl.constexpr,
    RANKS: tl.constexpr,
    POLLS: tl.constexpr,
):
    """Program p takes packets p * packets_each on."""
    begin = tl.program_id(0) * packets_each
    strides = (source_stride, program_stride)
    epoch = one_flight(x_ptr, out_ptr, slots_ptr, epoch_ptr, n, begin, packets_each, *strides, ELEMENTS, ALIGNED, RANKS, POLLS, False)
    end_call(epoch_ptr, epoch)


@tandem.jit
def marked_flight(
    x_ptr,
    out_ptr,
    slots_ptr,
    epoch_ptr,
    n,
    begin,
    packets_each,
    source_stride,
    program_stride,
    ELEMENTS: tl.constexpr,
    ALIGNED: tl.constexpr,
    RANKS: tl.constexpr,
    POLLS: tl.constexpr,
    ADDS: tl.constexpr,
):
    """one_flight in slots that hold data alone, ELEMENTS in 16 bytes."""
    rank = dl.rank()
    pid = tl.program_id(0)
    threads = num_warps() * 32
    end = tl.minimum((begin + packets_each) * ELEMENTS, n)
    epoch = ld(epoch_ptr + pid, semantic="weak") + 1
    set_ptr = slots_ptr + (epoch % 2) * source_stride * RANKS + pid.to(tl.int64) * program_stride
    for i in range(tid(0), packets_each, threads):
        first = (begin + i) * ELEMENTS
        if first < end:
            values = load_elements(x_ptr, first, end, ELEMENTS, ALIGNED)
            send_to_peers(set_ptr + rank.to(tl.int64) * source_stride + 2 * i, without_marks(values), rank, RANKS)
    for i in range(tid(0), packets_each, threads):
        first = (begin + i) * ELEMENTS
        if first < end:
            own = load_elements(x_ptr, first, end, ELEMENTS, ALIGNED)
            parts = take(set_ptr + 2 * i, rank, source_stride, RANKS, POLLS)
            keep_sum(out_ptr, first, end, add_in_rank_order(own, parts, rank, ELEMENTS, RANKS, True), ELEMENTS, ALIGNED, ADDS)
    return epoch


@tandem.jit
def one_shot_marked(
    x_ptr,
    out_ptr,
    slots_ptr,
    epoch_ptr,
    n,
    packets_each,
    source_stride,
    program_stride,
    ELEMENTS: tl.constexpr,
    ALIGNED: tl.constexpr,
    RANKS: tl.constexpr,
    POLLS: tl.constexpr,
):
    """Program p takes slots p * packets_each on."""
    begin = tl.program_id(0) * packets_each
    strides = (source_stride, program_stride)
    epoch = marked_flight(x_ptr, out_ptr, slots_ptr, epoch_ptr, n, begin, packets_each, *strides, ELEMENTS, ALIGNED, RANKS, POLLS, False)
    end_call(epoch_ptr, epoch)


@tandem.jit
def two_flights(
    x_ptr,
    out_ptr,
    slots_ptr,
    epoch_ptr,
    n,
    shard,
    begin,
    packets_each,
    source_stride,
    program_stride,
    ELEMENTS: tl.constexpr,
    ALIGNED: tl.constexpr,
    RANKS: tl.constexpr,
    POLLS: tl.constexpr,
    ADDS: tl.constexpr,
):
    """Rank r owns the elements r * shard on, of whose packets `begin` and those behind it are this program's. Slots: a set for parts, one
    for sums; else as in one_flight."""
    rank = dl.rank()
    pid = tl.program_id(0)
    epoch = ld(epoch_ptr + pid, semantic="weak") + 1
    parts_ptr = slots_ptr + pid.to(tl.int64) * program_stride
    sums_ptr = parts_ptr + source_stride * RANKS
    for i in range(tid(0), packets_each, num_warps() * 32):
        at = (begin + i) * ELEMENTS
        slot = parts_ptr + rank.to(tl.int64) * source_stride + 2 * i
        for step in tl.static_range(1, RANKS):
            owner = (rank + step) % RANKS
            first = owner * shard + at
            if (at < shard) & (first < n):
                values = load_elements(x_ptr, first, n, ELEMENTS, ALIGNED)
                st_vector(dl.symm_at(slot, owner), make_packet(values, epoch), "sys", "relaxed")
    for i in range(tid(0), packets_each, num_warps() * 32):
        at = (begin + i) * ELEMENTS
        first = rank * shard + at
        if (at < shard) & (first < n):
            own = load_elements(x_ptr, first, n, ELEMENTS, ALIGNED)
            packets = receive(parts_ptr + 2 * i, rank, source_stride, epoch, RANKS, POLLS)
            total = add_in_rank_order(own, packets, rank, ELEMENTS, RANKS).to(out_ptr.dtype.element_ty)
            send_to_peers(sums_ptr + rank.to(tl.int64) * source_stride + 2 * i, make_packet(total, epoch), rank, RANKS)
            keep_sum(out_ptr, first, n, total, ELEMENTS, ALIGNED, ADDS)
    for i in range(tid(0), packets_each, num_warps() * 32):
        at = (begin + i) * ELEMENTS
        for step in tl.static_range(1, RANKS):
            owner = (rank + step) % RANKS
            first = owner * shard + at
            if (at < shard) & (first < n):
                packet = receive_one(sums_ptr + owner.to(tl.int64) * source_stride + 2 * i, epoch, POLLS)
                keep_sum(out_ptr, first, n, data_of(packet, out_ptr.dtype.element_ty), ELEMENTS, ALIGNED, ADDS)
    return epoch


@tandem.jit
def two_shot_packets(
    x_ptr,
    out_ptr,
    slots_ptr,
    epoch_ptr,
    n,
    shard,
    packets_each,
    source_stride,
    program_stride,
    ELEMENTS: tl.constexpr,
    ALIGNED: tl.constexpr,
    RANKS: tl.constexpr,
    POLLS: tl.constexpr,
):
    """Program p takes packets p * packets_each on of each shard."""
    begin = tl.program_id(0) * packets_each
    strides = (source_stride, program_stride)
    epoch = two_flights(
        x_ptr, out_ptr, slots_ptr, epoch_ptr, n, shard, begin, packets_each, *strides, ELEMENTS, ALIGNED, RANKS, POLLS, False
    )
    end_call(epoch_ptr, epoch)


@tandem.jit
def gather_packets(
    x_ptr,
    out_ptr,
    slots_ptr,
    epoch_ptr,
    n,
    shard,
    packets_each,
    source_stride,
    program_stride,
    ELEMENTS: tl.constexpr,
    ALIGNED: tl.constexpr,
    RANKS: tl.constexpr,
    POLLS: tl.constexpr,
):
    """All-gather: of n elements rank r gives those from r * shard on. Two sets of slots, as in one_shot."""
    rank = dl.rank()
    pid = tl.program_id(0)
    epoch = ld(epoch_ptr + pid, semantic="weak") + 1
    set_ptr = slots_ptr + (epoch % 2) * source_stride * RANKS + pid.to(tl.int64) * program_stride
    mine_ptr = set_ptr + rank.to(tl.int64) * source_stride
    mine = tl.minimum(shard, n - rank * shard)
    for i in range(tid(0), packets_each, num_warps() * 32):
        at = (pid * packets_each + i) * ELEMENTS
        if at < shard:  # even where a rank has nothing: a packet from everybody is what makes two sets enough
            values = load_elements(x_ptr, at, mine, ELEMENTS, ALIGNED)
            send_to_peers(mine_ptr + 2 * i, make_packet(values, epoch), rank, RANKS)
            store_elements(out_ptr + rank.to(tl.int64) * shard, at, mine, values, ELEMENTS, ALIGNED)
    for i in range(tid(0), packets_each, num_warps() * 32):
        at = (pid * packets_each + i) * ELEMENTS
        if at < shard:
            packets = receive(set_ptr + 2 * i, rank, source_stride, epoch, RANKS, POLLS)
            for k in tl.static_range(RANKS - 1):
                source = k + (rank <= k).to(tl.int64)
                values = data_of(packets[k], out_ptr.dtype.element_ty)
                store_elements(out_ptr + source * shard, at, tl.minimum(shard, n - source * shard), values, ELEMENTS, ALIGNED)
    end_call(epoch_ptr, epoch)
