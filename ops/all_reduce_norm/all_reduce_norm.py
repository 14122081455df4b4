"""All-reduce, the addition to a residual and RMSNorm in one kernel: in packets (ops/packets/packets.py), in one flight or in two.

A program has whole rows and touches no others, so programs never wait for each other. Its threads add what arrives to the residual; then
the program reads each of its rows back and divides it by its root mean square. In two flights each rank sums its share of each program's
rows.

The bits are those of all_reduce, of an addition in the tensors' type and of a norm in fp32: the sum over the ranks is rounded before it is
added, and the new residual before its squares are summed.
"""

import tandem
import tandem.language as tl
from ops.device.packets import end_call
from ops.packets.packets import marked_flight, one_flight, two_flights
from tandem.simt import __syncthreads

LARGEST = tl.constexpr(448.0)  # of e4m3
SCALED_ELEMENTS = tl.constexpr(128)  # of a row, that share a scale


@tandem.jit
def normed(x_ptr, weight_ptr, at, columns, factor):
    inside = at < columns
    x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
    return x * factor * tl.load(weight_ptr + at, mask=inside, other=0.0).to(tl.float32)


@tandem.jit
def norm_row(x_ptr, weight_ptr, out_ptr, scales_ptr, columns, eps, TILE: tl.constexpr, QUANTISED: tl.constexpr, ROW_SCALES: tl.constexpr):
    """out = x / sqrt(mean of x * x + eps) * weight; QUANTISED: with a scale for each 128 elements, or one for the row."""
    i = tl.arange(0, TILE)
    squares = tl.zeros((TILE,), tl.float32)
    for start in range(0, columns, TILE):
        x = tl.load(x_ptr + start + i, mask=start + i < columns, other=0.0).to(tl.float32)
        squares += x * x
    factor = tl.rsqrt(tl.sum(squares) / columns + eps)
    if ROW_SCALES:
        most = tl.zeros((TILE,), tl.float32)
        for start in range(0, columns, TILE):
            most = tl.maximum(most, tl.abs(normed(x_ptr, weight_ptr, start + i, columns, factor)))
        largest = tl.max(most)
        tl.store(scales_ptr, largest / LARGEST)
        inverse = tl.where(largest > 0, LARGEST / largest, 0.0)
        for start in range(0, columns, TILE):
            y = normed(x_ptr, weight_ptr, start + i, columns, factor) * inverse
            tl.store(out_ptr + start + i, y.to(out_ptr.dtype.element_ty), mask=start + i < columns)
    elif QUANTISED:
        groups = tl.arange(0, TILE // SCALED_ELEMENTS)
        at = groups[:, None] * SCALED_ELEMENTS + tl.arange(0, SCALED_ELEMENTS)[None, :]
        for start in range(0, columns, TILE):
            y = normed(x_ptr, weight_ptr, start + at, columns, factor)
            largest = tl.max(tl.abs(y), axis=1)
            group = start // SCALED_ELEMENTS + groups
            tl.store(scales_ptr + group, largest / LARGEST, mask=group * SCALED_ELEMENTS < columns)
            y *= tl.where(largest > 0, LARGEST / largest, 0.0)[:, None]
            tl.store(out_ptr + start + at, y.to(out_ptr.dtype.element_ty), mask=start + at < columns)
    else:
        for start in range(0, columns, TILE):
            y = normed(x_ptr, weight_ptr, start + i, columns, factor)
            tl.store(out_ptr + start + i, y.to(out_ptr.dtype.element_ty), mask=start + i < columns)


@tandem.jit
def norm_rows(
    x_ptr, weight_ptr, out_ptr, scales_ptr, begin, end, columns, eps, TILE: tl.constexpr, QUANTISED: tl.constexpr, ROW_SCALES: tl.constexpr
):
    scales = 1 if ROW_SCALES else tl.cdiv(columns, SCALED_ELEMENTS)
    for row in range(begin, end):
        first = row.to(tl.int64) * columns
        at_scale = scales_ptr + row.to(tl.int64) * scales
        norm_row(x_ptr + first, weight_ptr, out_ptr + first, at_scale, columns, eps, TILE, QUANTISED, ROW_SCALES)


@tandem.jit
def all_reduce_norm(
    x_ptr,
    residual_ptr,
    slots_ptr,
    epoch_ptr,
    m,
    elements_each,
    weight_ptr,
    out_ptr,
    scales_ptr,
    columns,
    eps,
    packets_each,
    source_stride,
    program_stride,
    ELEMENTS: tl.constexpr,
    ALIGNED: tl.constexpr,
    RANKS: tl.constexpr,
    POLLS: tl.constexpr,
    FLIGHTS: tl.constexpr,
    MARKED: tl.constexpr,
    TILE: tl.constexpr,
    QUANTISED: tl.constexpr,
    ROW_SCALES: tl.constexpr,
):
    """Program p has the rows of the elements p * elements_each on; packets_each: of them, with two flights of a rank's share of them."""
    begin = tl.program_id(0).to(tl.int64) * elements_each
    n = tl.minimum(m.to(tl.int64) * columns - begin, elements_each).to(tl.int32)
    x, residual = x_ptr + begin, residual_ptr + begin
    if MARKED:
        epoch = marked_flight(
            x, residual, slots_ptr, epoch_ptr, n, 0, packets_each, source_stride, program_stride, ELEMENTS, ALIGNED, RANKS, POLLS, True
        )
    elif FLIGHTS == 1:
        epoch = one_flight(
            x, residual, slots_ptr, epoch_ptr, n, 0, packets_each, source_stride, program_stride, ELEMENTS, ALIGNED, RANKS, POLLS, True
        )
    else:
        share = packets_each * ELEMENTS
        epoch = two_flights(
            x,
            residual,
            slots_ptr,
            epoch_ptr,
            n,
            share,
            0,
            packets_each,
            source_stride,
            program_stride,
            ELEMENTS,
            ALIGNED,
            RANKS,
            POLLS,
            True,
        )
    __syncthreads()
    row = (begin // columns).to(tl.int32)
    norm_rows(residual_ptr, weight_ptr, out_ptr, scales_ptr, row, row + n // columns, columns, eps, TILE, QUANTISED, ROW_SCALES)
    end_call(epoch_ptr, epoch)


@tandem.jit
def add_norm(
    sums_ptr,
    residual_ptr,
    weight_ptr,
    out_ptr,
    scales_ptr,
    m,
    columns,
    eps,
    TILE: tl.constexpr,
    QUANTISED: tl.constexpr,
    ROW_SCALES: tl.constexpr,
):
    """The same of rows whose sums over the ranks are there."""
    i = tl.arange(0, TILE)
    for row in range(tl.program_id(0), m, tl.num_programs(0)):
        first = row.to(tl.int64) * columns
        for start in range(0, columns, TILE):
            at, inside = first + start + i, start + i < columns
            total = tl.load(sums_ptr + at, mask=inside).to(tl.float32) + tl.load(residual_ptr + at, mask=inside).to(tl.float32)
            tl.store(residual_ptr + at, total.to(residual_ptr.dtype.element_ty), mask=inside)
        norm_rows(residual_ptr, weight_ptr, out_ptr, scales_ptr, row, row + 1, columns, eps, TILE, QUANTISED, ROW_SCALES)
