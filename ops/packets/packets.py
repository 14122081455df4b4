"""Sums over ranks of few elements, in packets whose data is their flag: all-reduce in one flight and in two, reduce-scatter.

A thread sends 16 bytes to a slot of each peer (ops/device/marks.py), then polls the slots that lie at the same place; of many slots it is
a few ahead with what it sends, so that the link is busy while slots are added. Sums run in rank order in fp32. In two flights each rank
sums a share of each program's slots and sends the sums to all, itself included.

Each program counts its own calls, and its slots are its own. Two sets of slots are used in turn: who has read a slot in call e puts the
marks back before that call ends; a rank that writes there in call e + 2 has ended call e + 1, so it has received what every rank sent in it
(in two flights: a sum to which every rank had sent a part), after its call e had ended.

The next kernel of the stream is let go when a program waits for no rank any more, not before: it would take multiprocessors from kernels
of other streams that ranks wait for.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.marks import send_to_peers, slots_of_others, take, without_marks
from ops.device.packets import end_call, load_elements, store_elements
from tandem.simt import __syncthreads, ld, num_warps, st_vector, tid


AHEAD = tl.constexpr(3)  # slots of a thread that are sent before it adds the first


@tandem.jit
def add_in_rank_order(own, parts, rank, ELEMENTS: tl.constexpr, RANKS: tl.constexpr):
    mine = own.to(tl.float32)
    total = dl.zeros_vector(ELEMENTS, tl.float32)
    for i in tl.static_range(RANKS - 1):
        part = parts[i].recast(own.dtype).to(tl.float32)
        for j in tl.static_range(ELEMENTS):
            before = total[j]
            if rank == i:
                before += mine[j]
            total[j] = before + part[j]
    if rank == RANKS - 1:
        total = total + mine
    return total.to(own.dtype)


@tandem.jit
def elements_of_slot(slot, columns, row_slots, ELEMENTS: tl.constexpr, ROWS: tl.constexpr):
    """Where the slot's elements begin, and where its row ends: each row of `columns` elements has slots of its own."""
    if ROWS:
        row = slot // row_slots
        return row * columns + (slot - row * row_slots) * ELEMENTS, (row + 1) * columns
    return slot * ELEMENTS, columns


@tandem.jit
def sum_of_slot(
    x_ptr,
    sums_ptr,
    slot,
    first,
    end,
    source_stride,
    ELEMENTS: tl.constexpr,
    ALIGNED: tl.constexpr,
    RANKS: tl.constexpr,
    POLLS: tl.constexpr,
    FLIGHTS: tl.constexpr,
):
    """The sum over the ranks of the slot's elements, rounded to their type, where `fly` said that it arrives."""
    rank = dl.rank()
    own = load_elements(x_ptr, first, end, ELEMENTS, ALIGNED)
    if FLIGHTS == 2:
        return take((sums_ptr + 2 * slot,), POLLS)[0].recast(own.dtype)
    parts = take(slots_of_others(sums_ptr + 2 * slot, rank, source_stride, RANKS), POLLS)
    return add_in_rank_order(own, parts, rank, ELEMENTS, RANKS)


@tandem.jit
def fly(
    x_ptr,
    slots_ptr,
    epoch_ptr,
    slots,
    columns,
    row_slots,
    source_stride,
    program_stride,
    ELEMENTS: tl.constexpr,
    ALIGNED: tl.constexpr,
    RANKS: tl.constexpr,
    POLLS: tl.constexpr,
    FLIGHTS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Sends this program's first `slots` of x. With two flights a rank has slots rank * share on, of which it sends the sums. Slots: two
    sets, of each rank, of each program, and as many for sums behind each set; strides in 8 bytes. Gives the call's number, and where sums
    arrive."""
    rank = dl.rank()
    pid = tl.program_id(0)
    threads = num_warps() * 32
    i = tid(0)
    first, end = elements_of_slot(i, columns, row_slots, ELEMENTS, ROWS)
    if FLIGHTS == 1:
        values = load_elements(x_ptr, first, tl.where(i < slots, end, 0), ELEMENTS, ALIGNED)  # under way while the epoch is read
    epoch = ld(epoch_ptr + pid, semantic="weak") + 1
    set_ptr = slots_ptr + (epoch % 2) * FLIGHTS * source_stride * RANKS
    parts_ptr = set_ptr + pid.to(tl.int64) * program_stride
    mine_ptr = parts_ptr + rank.to(tl.int64) * source_stride
    if FLIGHTS == 1:
        while i < slots:
            send_to_peers(mine_ptr + 2 * i, without_marks(values), rank, RANKS)
            i += threads
            first, end = elements_of_slot(i, columns, row_slots, ELEMENTS, ROWS)
            values = load_elements(x_ptr, first, tl.where(i < slots, end, 0), ELEMENTS, ALIGNED)
        return epoch, parts_ptr
    sums_ptr = set_ptr + source_stride * RANKS + pid.to(tl.int64) * program_stride * RANKS
    share = tl.cdiv(slots, RANKS)
    for i in range(tid(0), share, threads):
        for step in tl.static_range(1, RANKS):
            owner = (rank + step) % RANKS
            slot = owner * share + i
            if slot < slots:
                first, end = elements_of_slot(slot, columns, row_slots, ELEMENTS, ROWS)
                values = load_elements(x_ptr, first, end, ELEMENTS, ALIGNED)
                st_vector(dl.symm_at(mine_ptr + 2 * i, owner), without_marks(values), "sys", "relaxed")
    for i in range(tid(0), share, threads):
        slot = rank * share + i
        if slot < slots:
            first, end = elements_of_slot(slot, columns, row_slots, ELEMENTS, ROWS)
            total = sum_of_slot(x_ptr, parts_ptr, i, first, end, source_stride, ELEMENTS, ALIGNED, RANKS, POLLS, 1)
            for step in tl.static_range(RANKS):
                st_vector(dl.symm_at(sums_ptr + 2 * slot, (rank + step) % RANKS), without_marks(total), "sys", "relaxed")
    __syncthreads()  # x has been read, and may be where the sums go
    return epoch, sums_ptr


@tandem.jit
def all_reduce(
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
    FLIGHTS: tl.constexpr,
):
    """Program p takes slots p * packets_each on."""
    tl.extra.cuda.gdc_wait()
    begin = tl.program_id(0) * packets_each * ELEMENTS
    n = tl.minimum(n - begin, packets_each * ELEMENTS)
    slots = tl.cdiv(n, ELEMENTS)
    x_ptr += begin
    threads = num_warps() * 32
    ahead = slots
    if FLIGHTS == 1:
        ahead = tl.minimum(slots, AHEAD * threads)
    epoch, sums_ptr = fly(
        x_ptr, slots_ptr, epoch_ptr, ahead, n, slots, source_stride, program_stride, ELEMENTS, ALIGNED, RANKS, POLLS, FLIGHTS, False
    )
    for slot in range(tid(0), slots, threads):
        if FLIGHTS == 1:
            following = slot + AHEAD * threads
            if following < slots:
                values = load_elements(x_ptr, following * ELEMENTS, n, ELEMENTS, ALIGNED)
                mine_ptr = sums_ptr + dl.rank().to(tl.int64) * source_stride
                send_to_peers(mine_ptr + 2 * following, without_marks(values), dl.rank(), RANKS)
        first = slot * ELEMENTS
        total = sum_of_slot(x_ptr, sums_ptr, slot, first, n, source_stride, ELEMENTS, ALIGNED, RANKS, POLLS, FLIGHTS)
        store_elements(out_ptr + begin, first, n, total, ELEMENTS, ALIGNED)
    tl.extra.cuda.gdc_launch_dependents()
    end_call(epoch_ptr, epoch)


@tandem.jit
def part_of(x_ptr, n, shard, owner, at, ELEMENTS: tl.constexpr, ALIGNED: tl.constexpr):
    """A rank's elements from `at` on in its shard of x, zeros behind its end."""
    count = tl.maximum(tl.minimum(shard, n - owner * shard), 0).to(tl.int64)
    return load_elements(x_ptr + owner.to(tl.int64) * shard, at, count, ELEMENTS, ALIGNED)


@tandem.jit
def send_parts(values, slot_ptr, x_ptr, n, shard, following, ELEMENTS: tl.constexpr, ALIGNED: tl.constexpr, RANKS: tl.constexpr):
    """Sends each peer its values, and gives those from `following` on in its shard, which are under way meanwhile."""
    loaded = ()
    for step in tl.static_range(1, RANKS):
        peer = (dl.rank() + step) % RANKS
        st_vector(dl.symm_at(slot_ptr, peer), without_marks(values[step - 1]), "sys", "relaxed")
        loaded += (part_of(x_ptr, n, shard, peer, following, ELEMENTS, ALIGNED),)
    return loaded


@tandem.jit
def reduce_scatter(
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
    FLIGHTS: tl.constexpr,
):
    """Of n elements rank r has those from r * shard on. Program p takes packets p * packets_each on of every rank's shard. A rank with
    fewer elements, or none, is sent as many packets as others: so it waits for all ranks in each call, which makes two sets of
    slots enough."""
    tl.extra.cuda.gdc_wait()
    rank = dl.rank()
    pid = tl.program_id(0)
    threads = num_warps() * 32
    begin = (pid * packets_each).to(tl.int64)
    i = tid(0)
    values = ()
    for step in tl.static_range(1, RANKS):  # under way while the epoch is read
        values += (part_of(x_ptr, n, shard, (rank + step) % RANKS, (begin + i) * ELEMENTS, ELEMENTS, ALIGNED),)
    epoch = ld(epoch_ptr + pid, semantic="weak") + 1
    parts_ptr = slots_ptr + (epoch % 2) * source_stride * RANKS + pid.to(tl.int64) * program_stride
    mine_ptr = parts_ptr + rank.to(tl.int64) * source_stride
    while i < tl.minimum(packets_each, AHEAD * threads):
        values = send_parts(values, mine_ptr + 2 * i, x_ptr, n, shard, (begin + i + threads) * ELEMENTS, ELEMENTS, ALIGNED, RANKS)
        i += threads
    count = tl.maximum(tl.minimum(shard, n - rank * shard), 0).to(tl.int64)
    for i in range(tid(0), packets_each, threads):
        ahead = i + AHEAD * threads
        if ahead < packets_each:
            values = send_parts(
                values, mine_ptr + 2 * ahead, x_ptr, n, shard, (begin + ahead + threads) * ELEMENTS, ELEMENTS, ALIGNED, RANKS
            )
        at = (begin + i) * ELEMENTS
        own = part_of(x_ptr, n, shard, rank, at, ELEMENTS, ALIGNED)
        parts = take(slots_of_others(parts_ptr + 2 * i, rank, source_stride, RANKS), POLLS)
        store_elements(out_ptr, at, count, add_in_rank_order(own, parts, rank, ELEMENTS, RANKS), ELEMENTS, ALIGNED)
    tl.extra.cuda.gdc_launch_dependents()
    end_call(epoch_ptr, epoch)
