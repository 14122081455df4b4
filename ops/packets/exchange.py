"""All-gather, all-to-all and broadcast of few elements of any type, in packets whose data is their flag: one flight.

No value is left for a mark, so a warp sends one slot more with its 32: two masks of the lanes whose first or second half looks like the
mark, in whose place zeros travel. A warp sends that slot to every rank in every call, even where it has nothing for it, and waits for one
from each: that is what makes two sets of slots enough (ops/packets/packets.py). These slots stand behind a program's others, which so fill
whole sectors of memory.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.marks import MARK, arrived, put_marks
from ops.device.packets import end_call, load_elements, store_elements
from ops.packets.anywhere import load_anywhere, store_anywhere
from tandem.simt import __ballot_sync, __syncwarp, ld, num_warps, st, st_vector, tid

AHEAD = tl.constexpr(3)  # packets of a thread that are sent before it takes the first
WORD = tl.constexpr(1 << 62)


@tandem.jit
def write_places(places_ptr, first, ranks, a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3):
    """What `exchange` is told of four peers from `first` on. Words are odd numbers of 64 bits, so that one kernel is compiled for all
    values: twice what they say, and 1, behind `WORD`."""
    words = (a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3)
    for i in tl.static_range(16):
        if (tid(0) == 0) & (first + i // 4 < ranks):
            st(places_ptr + i % 4 * ranks + first + i // 4, (words[i] - WORD) >> 1, semantic="weak")


@tandem.jit
def of_shard(n, shard, rank):
    return tl.maximum(tl.minimum(shard, n - rank * shard), 0).to(tl.int64)


@tandem.jit
def outgoing(peer, n, shard, own, root, places_ptr, RANKS: tl.constexpr, KIND: tl.constexpr):
    """Where in x begins what a peer gets, and how many elements it is."""
    if KIND == "gather":
        return tl.cast(0, tl.int64), of_shard(n, shard, dl.rank())
    if KIND == "equal":
        return peer.to(tl.int64) * shard, of_shard(n, shard, peer)
    if KIND == "broadcast":
        return tl.cast(0, tl.int64), tl.where(dl.rank() == root, n, 0).to(tl.int64)
    return ld(places_ptr + peer, semantic="weak"), ld(places_ptr + RANKS + peer, semantic="weak")


@tandem.jit
def incoming(source, n, shard, own, root, places_ptr, RANKS: tl.constexpr, KIND: tl.constexpr):
    """Where in out begins what a rank sends, and how many elements it is."""
    if KIND == "gather":
        return source.to(tl.int64) * shard, of_shard(n, shard, source)
    if KIND == "equal":
        return source.to(tl.int64) * own, tl.cast(own, tl.int64)
    if KIND == "broadcast":
        return tl.cast(0, tl.int64), tl.where(source == root, n, 0).to(tl.int64)
    return ld(places_ptr + 2 * RANKS + source, semantic="weak"), ld(places_ptr + 3 * RANKS + source, semantic="weak")


@tandem.constexpr_function
def is_alike(kind):
    """Whether a rank sends the same to all."""
    return kind in ("gather", "broadcast")


@tandem.jit
def load_packet(x_ptr, at, begin, end, ELEMENTS: tl.constexpr, ALIGNED: tl.constexpr):
    if ALIGNED:
        return load_elements(x_ptr, at, end, ELEMENTS, True)
    return load_anywhere(x_ptr, at, begin, end, ELEMENTS)


@tandem.jit
def store_packet(out_ptr, at, end, values, ELEMENTS: tl.constexpr, ALIGNED: tl.constexpr):
    """By a whole warp."""
    if ALIGNED:
        store_elements(out_ptr, at, end, values, ELEMENTS, True)
    else:
        store_anywhere(out_ptr, at, end, values, ELEMENTS)


@tandem.jit
def packets_at(x_ptr, at, begin, end, given, ELEMENTS: tl.constexpr, ALIGNED: tl.constexpr, RANKS: tl.constexpr, KIND: tl.constexpr):
    """What the next rank gets of the packet that begins at element `at`, and what the ones behind it get; once, where all get the same."""
    values = ()
    for step in tl.static_range(1 if is_alike(KIND) else RANKS - 1):
        first, count = outgoing((dl.rank() + 1 + step) % RANKS, *given, RANKS, KIND)
        values += (load_packet(x_ptr + first, at, begin, tl.minimum(count, end), ELEMENTS, ALIGNED).recast(tl.int64),)
    return values


@tandem.jit
def send(slot_ptr, masks_ptr, halves, is_inside, lane):
    masks = dl.zeros_vector(2, tl.int64)
    for half in tl.static_range(2):
        is_mark = is_inside & (halves[half] == MARK)
        masks[half] = __ballot_sync(-1, is_mark).to(tl.int64) & 0xFFFFFFFF
        if is_mark:
            halves[half] = 0
    if is_inside:
        st_vector(slot_ptr, halves, "sys", "relaxed")
    if lane == 0:
        st_vector(masks_ptr, masks, "sys", "relaxed")


@tandem.jit
def send_all(
    values,
    x_ptr,
    out_ptr,
    mine_ptr,
    i,
    packets_each,
    at,
    begin,
    end,
    ahead,
    given,
    ELEMENTS: tl.constexpr,
    ALIGNED: tl.constexpr,
    RANKS: tl.constexpr,
    KIND: tl.constexpr,
):
    """Sends each peer its packet i, brings the own one to its place, and gives the packets `ahead` elements on, which are under way
    meanwhile."""
    rank = dl.rank()
    for step in tl.static_range(RANKS - 1):
        peer = (rank + 1 + step) % RANKS
        _, count = outgoing(peer, *given, RANKS, KIND)
        to_ptr = dl.symm_at(mine_ptr, peer)
        send(to_ptr + 2 * i, to_ptr + 2 * (packets_each + i // 32), values[step % len(values)], at < count, tid(0) % 32)
    following = packets_at(x_ptr, at + ahead, begin, end, given, ELEMENTS, ALIGNED, RANKS, KIND)
    first, count = outgoing(rank, *given, RANKS, KIND)
    there, _ = incoming(rank, *given, RANKS, KIND)
    if is_alike(KIND):
        own = values[0].recast(x_ptr.dtype.element_ty)
    else:
        own = load_packet(x_ptr + first, at, begin, tl.minimum(count, end), ELEMENTS, ALIGNED)
    if (out_ptr + there).to(tl.int64) != (x_ptr + first).to(tl.int64):  # else it is in place
        store_packet(out_ptr + there, at, count, own, ELEMENTS, ALIGNED)
    return following


@tandem.jit
def exchange(
    x_ptr,
    out_ptr,
    slots_ptr,
    epoch_ptr,
    n,
    shard,
    own,
    root,
    places_ptr,
    first_packet,
    packets_each,
    source_stride,
    program_stride,
    ELEMENTS: tl.constexpr,
    ALIGNED: tl.constexpr,
    RANKS: tl.constexpr,
    POLLS: tl.constexpr,
    KIND: tl.constexpr,
):
    """KIND "gather": of n elements rank r gives those from r * shard on. "equal": of n elements those for rank r begin at r * shard, and
    every rank sends `own` to this one. "places": `places`, [4, RANKS], has the first element and the count for each rank, then from each.
    "broadcast": the root sends n. Program p takes packets first_packet + p * packets_each on of every pair; all are multiples of 32."""
    tl.extra.cuda.gdc_wait()
    rank = dl.rank()
    pid = tl.program_id(0)
    threads = num_warps() * 32
    lane = tid(0) % 32
    given = (n, shard, own, root, places_ptr)
    begin = first_packet + (pid * packets_each).to(tl.int64)
    end = (begin + packets_each) * ELEMENTS  # where the next program's elements begin, which it may have written over
    i = tid(0)
    of_program = begin * ELEMENTS
    # Under way while the epoch is read.
    values = packets_at(x_ptr, (begin + i) * ELEMENTS, of_program, end, given, ELEMENTS, ALIGNED, RANKS, KIND)
    epoch = ld(epoch_ptr + pid, semantic="weak") + 1
    set_ptr = slots_ptr + (epoch % 2) * source_stride * RANKS + pid.to(tl.int64) * program_stride
    mine_ptr = set_ptr + rank.to(tl.int64) * source_stride
    pointers = (x_ptr, out_ptr, mine_ptr)
    sizes = (of_program, end, threads * ELEMENTS, given)
    while i < tl.minimum(packets_each, AHEAD * threads):
        values = send_all(values, *pointers, i, packets_each, (begin + i) * ELEMENTS, *sizes, ELEMENTS, ALIGNED, RANKS, KIND)
        i += threads
    for i in range(tid(0), packets_each, threads):
        later = i + AHEAD * threads
        if later < packets_each:
            values = send_all(values, *pointers, later, packets_each, (begin + later) * ELEMENTS, *sizes, ELEMENTS, ALIGNED, RANKS, KIND)
        at = (begin + i) * ELEMENTS
        slots = ()
        for step in tl.static_range(1, RANKS):
            source = (rank + step) % RANKS
            _, count = incoming(source, *given, RANKS, KIND)
            from_ptr = set_ptr + source.to(tl.int64) * source_stride
            last = packets_each + i // 32
            slots += (from_ptr + 2 * last, from_ptr + 2 * tl.where(at < count, i, last))
        packets = arrived(slots, POLLS)
        __syncwarp()  # all lanes have the masks
        for step in tl.static_range(1, RANKS):
            first, count = incoming((rank + step) % RANKS, *given, RANKS, KIND)
            masks, halves = packets[2 * step - 2], packets[2 * step - 1]
            if lane == 0:
                put_marks(slots[2 * step - 2])
            if at < count:
                put_marks(slots[2 * step - 1])
                for half in tl.static_range(2):
                    if (masks[half] >> lane) & 1 != 0:
                        halves[half] = MARK
            store_packet(out_ptr + first, at, count, halves.recast(x_ptr.dtype.element_ty), ELEMENTS, ALIGNED)
    tl.extra.cuda.gdc_launch_dependents()
    end_call(epoch_ptr, epoch)
