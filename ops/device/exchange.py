"""Rows that travel between the ranks of an expert-parallel layer, in slots with marks (ops/device/marks.py).

A row has PIECES times `shares` pieces of 32 slots, its last ones padded. A warp takes a share, PIECES pieces, all in flight at once.
QUANTISED: rows travel in fp8, 512 elements in a piece; behind a share's pieces it has a slot with the four scales of each.
What is said about rows goes in packets that carry their flag (ops/device/packets.py), as several warps read it. Two sets of both, in each
those of every source rank, one behind the other.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.marks import take, without_marks
from ops.device.packets import load_elements, store_elements
from ops.device.scales import LARGEST, SCALED_ELEMENTS, joined_lanes, largest_of
from tandem.libdevice import ffs
from tandem.simt import __ballot_sync, __shfl_sync_i32, laneid, ld, ld_vector, st_vector

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
def load_share(row_ptr, share, columns, ELEMENTS: tl.constexpr, PIECES: tl.constexpr, ALIGNED: tl.constexpr):
    values = ()
    for i in tl.static_range(PIECES):
        first = (share * PIECES + i) * 32 + laneid()
        values += (load_slot(row_ptr, first * ELEMENTS, columns, ELEMENTS, ALIGNED).recast(tl.int64),)
    return values


@tandem.jit
def load_wide(row_ptr, share, columns, PIECES: tl.constexpr, ALIGNED: tl.constexpr):
    """What becomes a share in fp8: of each slot 16 elements, in parts of 16 bytes."""
    WORDS: tl.constexpr = row_ptr.dtype.element_ty.primitive_bitwidth // 8
    EACH: tl.constexpr = 16 // WORDS
    parts = ()
    for i in tl.static_range(PIECES):
        first = ((share * PIECES + i) * 32 + laneid()) * 16
        for j in tl.static_range(WORDS):
            parts += (load_slot(row_ptr, first + j * EACH, columns, EACH, ALIGNED),)
    return parts


@tandem.jit
def quantised(parts, to: tl.constexpr, PIECES: tl.constexpr):
    """The slots of a share in fp8, and behind them in lane i the scales of piece i."""
    WORDS: tl.constexpr = len(parts) // PIECES
    EACH: tl.constexpr = 16 // WORDS
    values = ()
    scales = dl.zeros_vector(4, tl.int32)
    for i in tl.static_range(PIECES):
        largest = 0.0
        for j in tl.static_range(WORDS):
            largest = largest_of(parts[i * WORDS + j].to(tl.float32), largest, EACH)
        largest = joined_lanes(largest, SCALED_ELEMENTS // 16, True)
        factor = tl.where(largest > 0, tl.div_rn(LARGEST, largest), 0.0)
        slot = dl.zeros_vector(4, tl.int32)
        for j in tl.static_range(WORDS):
            words = (parts[i * WORDS + j].to(tl.float32) * factor).to(to).recast(tl.int32)
            for k in tl.static_range(EACH // 4):
                slot[j * (EACH // 4) + k] = words[k]
        values += (slot.recast(tl.int64),)
        scale = tl.div_rn(largest, LARGEST).to(tl.int32, bitcast=True)
        for j in tl.static_range(4):
            of_group = __shfl_sync_i32(-1, scale, 8 * j)
            scales[j] = tl.where(laneid() == i, of_group, scales[j])
    return (*values, scales.recast(tl.int64))


@tandem.jit
def load_scales(scales_ptr, share, columns, PIECES: tl.constexpr):
    """Of a row that is in fp8 already: what `quantised` has behind the slots."""
    scales = dl.zeros_vector(4, tl.float32)
    if laneid() < PIECES:
        scales = load_elements(scales_ptr, (share * PIECES + laneid()) * 4, tl.cdiv(columns, SCALED_ELEMENTS), 4, False)
    return scales.recast(tl.int64)


@tandem.jit
def share_stride(PIECES: tl.constexpr, QUANTISED: tl.constexpr):
    return PIECES * (PIECE + 2 * QUANTISED)


@tandem.jit
def slots_of_share(slots_ptr, PIECES: tl.constexpr, QUANTISED: tl.constexpr):
    """Of this lane. Lanes without scales have their first slot twice."""
    slots = ()
    for i in tl.static_range(PIECES):
        slots += (slots_ptr + i * PIECE + 2 * laneid(),)
    if QUANTISED:
        slots += (slots_ptr + tl.where(laneid() < PIECES, PIECES * PIECE, 0) + 2 * laneid(),)
    return slots


@tandem.jit
def send_share(slots_ptr, values, PIECES: tl.constexpr, QUANTISED: tl.constexpr):
    """`slots`: of the share, on the rank that receives."""
    slots = slots_of_share(slots_ptr, PIECES, QUANTISED)
    for i in tl.static_range(PIECES):
        st_vector(slots[i], without_marks(values[i]), "sys", "relaxed")
    if QUANTISED:
        if laneid() < PIECES:
            st_vector(slots[PIECES], without_marks(values[PIECES]), "sys", "relaxed")


@tandem.jit
def take_share(slots_ptr, PIECES: tl.constexpr, QUANTISED: tl.constexpr, POLLS: tl.constexpr):
    return take(slots_of_share(slots_ptr, PIECES, QUANTISED), POLLS)


@tandem.jit
def store_share(
    row_ptr,
    scales_ptr,
    share,
    columns,
    values,
    ELEMENTS: tl.constexpr,
    PIECES: tl.constexpr,
    ALIGNED: tl.constexpr,
    QUANTISED: tl.constexpr,
):
    """`scales`: of the row."""
    for i in tl.static_range(PIECES):
        first = (share * PIECES + i) * 32 + laneid()
        store_slot(row_ptr, first * ELEMENTS, columns, values[i].recast(row_ptr.dtype.element_ty), ELEMENTS, ALIGNED)
    if QUANTISED:
        if laneid() < PIECES:
            first = (share * PIECES + laneid()) * 4
            store_elements(scales_ptr, first, tl.cdiv(columns, SCALED_ELEMENTS), values[PIECES].recast(tl.float32), 4, False)


@tandem.jit
def store_by_expert(
    rows_ptr,
    scales_ptr,
    place,
    share,
    columns,
    values,
    ELEMENTS: tl.constexpr,
    PIECES: tl.constexpr,
    ALIGNED: tl.constexpr,
    QUANTISED: tl.constexpr,
):
    """Once for each lane with a place, which is that of the row of one of the token's slots."""
    left = __ballot_sync(0xFFFFFFFF, place >= 0)
    while left != 0:
        row = __shfl_sync_i32(0xFFFFFFFF, place, (ffs(left) - 1) & 31).to(tl.int64)
        of_row = (rows_ptr + row * columns, scales_ptr + row * tl.cdiv(columns, SCALED_ELEMENTS))
        store_share(*of_row, share, columns, values, ELEMENTS, PIECES, ALIGNED, QUANTISED)
        left = left & (left - 1)


@tandem.jit
def places_of(place_ptr, row, TOP_K: tl.constexpr):
    """Of lane k's slot of a token that is here, by the route."""
    place = -1
    if laneid() < TOP_K:
        place = ld(place_ptr + row * TOP_K + laneid(), semantic="weak")
    return place


@tandem.jit
def is_given(x_ptr, QUANTISED: tl.constexpr):
    """Whether rows that travel in fp8 are so already."""
    return QUANTISED and x_ptr.dtype.element_ty.primitive_bitwidth == 8


@tandem.jit
def load_row(
    x_ptr,
    x_scales_ptr,
    token,
    share,
    until,
    columns,
    ELEMENTS: tl.constexpr,
    PIECES: tl.constexpr,
    ALIGNED: tl.constexpr,
    QUANTISED: tl.constexpr,
):
    """A share of a token's row up to column `until`, as the warp reads it: before it is quantised, if it is to be."""
    from_ptr = x_ptr + token.to(tl.int64) * columns
    if QUANTISED and not is_given(x_ptr, QUANTISED):
        return load_wide(from_ptr, share, until, PIECES, ALIGNED)
    values = load_share(from_ptr, share, until, ELEMENTS, PIECES, ALIGNED)
    if QUANTISED:
        scales = load_scales(x_scales_ptr + token.to(tl.int64) * tl.cdiv(columns, SCALED_ELEMENTS), share, until, PIECES)
        return (*values, scales)
    return values
