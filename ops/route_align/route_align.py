"""Pads each expert's rows of a route to whole blocks: the slot of each padded row, and the expert of each block.

Programs take pieces of the padded rows. Which expert a piece is of follows from how many experts end at or before it.
"""

import tandem
import tandem.language as tl
from ops.device.routes import is_of_call, offsets_of, order_of


@tandem.jit
def route_align(
    route_ptr,
    rows_ptr,
    experts_ptr,
    slots_ptr,
    findings_ptr,
    m,
    E: tl.constexpr,
    PADDED: tl.constexpr,
    TOP_K: tl.constexpr,
    ALIGN: tl.constexpr,
    STEP: tl.constexpr,
    PIECES: tl.constexpr,
    PROGRAMS: tl.constexpr,
):
    """STEP: rows of a piece, which divide ALIGN. PIECES: that a program has at once."""
    fits = is_of_call(route_ptr, findings_ptr, m, E, TOP_K, 0, -1)
    slots = m * TOP_K
    offsets_ptr = offsets_of(route_ptr)
    column = tl.arange(0, PADDED)
    is_expert = (column < E) & fits
    first = tl.load(offsets_ptr + column, mask=is_expert, other=0)
    padded = tl.cdiv(tl.load(offsets_ptr + column + 1, mask=is_expert, other=0) - first, ALIGN) * ALIGN
    ends = tl.cumsum(padded, 0)
    rows = tl.sum(padded)
    if tl.program_id(0) == 0:
        tl.store(rows_ptr, rows)
    places = slots + E * ALIGN
    in_piece = tl.arange(0, STEP)[None, :]
    for at in range(tl.program_id(0) * PIECES, tl.cdiv(places, STEP), PROGRAMS * PIECES):
        place = (at + tl.arange(0, PIECES)) * STEP
        is_before = ends[None, :] <= place[:, None]
        expert = tl.sum(is_before.to(tl.int32), axis=1)
        start = tl.sum(tl.where(is_before, padded[None, :], 0), axis=1)
        is_row = place < rows
        row = tl.load(offsets_ptr + expert, mask=is_row, other=0) + place - start
        end = tl.load(offsets_ptr + expert + 1, mask=is_row, other=0)
        real = row[:, None] + in_piece
        slot = tl.load(order_of(route_ptr, E) + real, mask=real < end[:, None], other=slots)
        to = place[:, None] + in_piece
        tl.store(slots_ptr + to, slot, mask=to < places)
        tl.store(experts_ptr + place // ALIGN, expert, mask=is_row & (place % ALIGN == 0))
    BLOCKS: tl.constexpr = 1024
    for at in range(tl.program_id(0) * BLOCKS, slots + E, PROGRAMS * BLOCKS):
        block = at + tl.arange(0, BLOCKS)
        tl.store(experts_ptr + block, tl.full((BLOCKS,), -1, tl.int32), mask=(block >= rows // ALIGN) & (block < slots + E))
