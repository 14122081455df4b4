"""Data that is its own flag: a slot of 16 bytes holds marks, all bits set, until data arrives; whoever reads the data puts the marks back.

Both halves are strong accesses of 8 bytes, each of which arrives whole: a half that is not the mark is data. So the link carries no flags.
Data that equals the mark, NaNs in every element of a half, is sent as other NaNs.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from tandem.simt import ld_vector, st_vector

MARK = tl.constexpr(-1)
MARK_OF_SIGNALS = tl.constexpr(0xFFFFFFFFFFFFFFFF)  # the same
OTHER_NANS = tl.constexpr(0x7FFF7FFF7FFF7FFF)  # of 16 bits each, or of 32


@tandem.jit
def without_marks(values):
    halves = values.recast(tl.int64)
    for half in tl.static_range(2):
        if halves[half] == MARK:
            halves[half] = OTHER_NANS
    return halves


@tandem.jit
def slots_of_others(slot_ptr, rank, source_stride, RANKS: tl.constexpr):
    """In rank order."""
    slots = ()
    for i in tl.static_range(RANKS - 1):
        slots += (slot_ptr + (i + (rank <= i).to(tl.int32)) * source_stride,)
    return slots


@tandem.jit
def send_to_peers(slot_ptr, data, rank, RANKS: tl.constexpr):
    for step in tl.static_range(1, RANKS):
        st_vector(dl.symm_at(slot_ptr, (rank + step) % RANKS), data, "sys", "relaxed")


@tandem.jit
def put_marks(slot_ptr):
    st_vector(slot_ptr, dl.fill_vector(2, tl.int64, MARK), "sys", "relaxed")


@tandem.jit
def is_data(part):
    return (part[0] != MARK) & (part[1] != MARK)


@tandem.jit
def are_data(parts):
    all_here = True
    for i in tl.static_range(len(parts)):
        all_here = all_here & is_data(parts[i])
    return all_here


@tandem.jit
def arrived(slots, POLLS: tl.constexpr, WAITS: tl.constexpr = True):
    """The data of the slots, polled all at once; without the marks put back. After POLLS tries in vain, waits that the host can end, or
    without WAITS gives what is there."""
    parts = ()
    for i in tl.static_range(len(slots)):
        parts += (dl.zeros_vector(2, tl.int64),)
    polls = 0
    ready = False
    while not ready:
        ready = polls > POLLS
        fresh = ()
        for i in tl.static_range(len(slots)):
            part = ld_vector(slots[i], 2, "sys", "relaxed")
            fresh += (part,)
        parts = fresh
        ready = ready | are_data(parts)
        if WAITS and polls == POLLS:
            for i in tl.static_range(len(slots)):
                for half in tl.static_range(2):
                    shmem.signal_wait_until(slots[i] + half, shmem.NVSHMEM_CMP_NE, MARK_OF_SIGNALS)
        polls += 1
    return parts


@tandem.jit
def take(slots, POLLS: tl.constexpr):
    parts = arrived(slots, POLLS)
    for i in tl.static_range(len(slots)):
        put_marks(slots[i])
    return parts
