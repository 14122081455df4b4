"""Rows that travel between the ranks of an expert-parallel layer, in slots with marks (ops/device/marks.py).

A row has PIECES times `shares` pieces of 32 slots, its last ones padded. A warp takes a share, PIECES pieces, all in flight at once.
What is said about rows goes in packets that carry their flag (ops/device/packets.py), as several warps read it. Two sets of both, in each
those of every source rank, one behind the other.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.marks import take, without_marks
from ops.device.packets import load_elements, store_elements
from tandem.simt import __ballot_sync, laneid, ld_vector, st_vector

PIECE = tl.constexpr(2 * 32)  # in 8 bytes


@tandem.jit
def anyone(condition):
    """True in all lanes of the warp if it is in one."""
    return __ballot_sync(0xFFFFFFFF, condition) != 0


@tandem.jit
def load_slot(row_ptr, first, columns, ELEMENTS: tl.constexpr, ALIGNED: tl.constexpr):
    """With ALIGNED a slot has all its elements or none."""
    if ALIGNED:
        values = dl.zeros_vector(ELEMENTS, row_ptr.dtype.element_ty)
        if first < columns:
            values = ld_vector(row_ptr + first, ELEMENTS, "gpu", "weak")
        return values
    return load_elements(row_ptr, first, columns, ELEMENTS, False)


@tandem.jit
def store_slot(row_ptr, first, columns, values, ELEMENTS: tl.constexpr, ALIGNED: tl.constexpr):
    if ALIGNED:
        if first < columns:
            st_vector(row_ptr + first, values, "gpu", "weak")
    else:
        store_elements(row_ptr, first, columns, values, ELEMENTS, False)


@tandem.jit
def send_share(slots_ptr, values, PIECES: tl.constexpr):
    """`slots`: of the share, on the rank that receives."""
    for i in tl.static_range(PIECES):
        st_vector(slots_ptr + i * PIECE + 2 * laneid(), without_marks(values[i]), "sys", "relaxed")


@tandem.jit
def take_share(slots_ptr, dtype: tl.constexpr, PIECES: tl.constexpr, POLLS: tl.constexpr):
    slots = ()
    for i in tl.static_range(PIECES):
        slots += (slots_ptr + i * PIECE + 2 * laneid(),)
    parts = take(slots, POLLS)
    values = ()
    for i in tl.static_range(PIECES):
        values += (parts[i].recast(dtype),)
    return values
