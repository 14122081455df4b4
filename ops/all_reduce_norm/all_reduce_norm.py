"""All-reduce, the addition to a residual and RMSNorm in one kernel, in slots with marks (ops/packets/packets.py); or behind an all-reduce.

A program has whole rows and touches no others. Of few long rows it has a part of one, as a row crosses its multiprocessor eight times, in
and out, which takes longer than the flight; the programs of a row tell each other their sums in slots with marks, too. Each thread adds
what arrives for its elements to the residual, and scales them behind the sum of the squares over the row. Those of its first slot in a row
stay in registers between, and their weights are read while data flies; of longer rows it reads its other elements again. Of many rows a
program sends AHEAD before it takes the first, and then one behind each, so that the link is busy while rows are normed.

The bits are those of all_reduce, of an addition in the tensors' type and of a norm in fp32: the sum over the ranks is rounded before it is
added, and the new residual before its squares are summed.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.marks import send_to_peers, take, without_marks
from ops.device.packets import end_call, load_elements, store_elements
from ops.device.scales import LARGEST, SCALED_ELEMENTS, joined, joined_lanes, largest_of
from ops.packets.packets import fly, sum_of_slot
from tandem.simt import __syncthreads, num_warps, st, st_vector, tid


AHEAD = tl.constexpr(2)


@tandem.jit
def of_program(value, buffer, turn, MOST: tl.constexpr):
    """The same over all threads. `turn` is 0 and 1 in turns, so that one barrier is enough."""
    WARPS: tl.constexpr = num_warps()
    value = joined_lanes(value, 32, MOST)
    if tid(0) % 32 == 0:
        dl.smem_store(buffer, value, turn * WARPS + tid(0) // 32)
    __syncthreads()
    return joined_lanes(dl.smem_load(buffer, turn * WARPS + tid(0) % WARPS), WARPS, MOST)


@tandem.jit
def of_row(value, buffer, told_ptr, turn, PARTS: tl.constexpr, POLLS: tl.constexpr, MOST: tl.constexpr):
    """The same over the PARTS programs of a row, joined in their order. `told`: slots [programs, 2 turns, PARTS]."""
    value = of_program(value, buffer, turn, MOST)
    if PARTS > 1:
        values = dl.allocate_smem(tl.float32, [PARTS])
        part = tl.program_id(0) % PARTS
        other = tid(0)
        if other < PARTS:
            of_other = value
            if other != part:
                data = dl.make_vector([value.to(tl.int32, bitcast=True).to(tl.int64) & 0xFFFFFFFF, tl.cast(0, tl.int64)])
                program = tl.program_id(0) - part + other
                st_vector(told_ptr + 2 * ((program * 2 + turn) * PARTS + part), data, "gpu", "relaxed")
                slot_ptr = told_ptr + 2 * ((tl.program_id(0) * 2 + turn) * PARTS + other)
                of_other = take((slot_ptr,), POLLS)[0][0].to(tl.int32).to(tl.float32, bitcast=True)
            dl.smem_store(values, of_other, other)
        __syncthreads()
        value = dl.smem_load(values, 0)
        for i in tl.static_range(1, PARTS):
            value = joined(value, dl.smem_load(values, i), MOST)
    return value


@tandem.jit
def add_squares(total, values, ELEMENTS: tl.constexpr):
    for i in tl.static_range(ELEMENTS):
        total += values[i] * values[i]
    return total


@tandem.jit
def normed(i, kept, weight, residual_ptr, weight_ptr, columns, factor, ELEMENTS: tl.constexpr, ALIGNED: tl.constexpr):
    """Slot i of a row; `kept` and `weight` are what the thread's first slot has."""
    first = i * ELEMENTS
    if i >= num_warps() * 32:
        kept = load_elements(residual_ptr, first, columns, ELEMENTS, ALIGNED).to(tl.float32)
        weight = load_elements(weight_ptr, first, columns, ELEMENTS, ALIGNED)
    return kept * factor * weight.to(tl.float32)


@tandem.jit
def take_and_norm(
    row,
    rows,
    turn,
    x_ptr,
    residual_ptr,
    sums_ptr,
    weight_ptr,
    out_ptr,
    scales_ptr,
    told_ptr,
    buffer,
    weight,
    begin,
    first_column,
    row_columns,
    columns,
    eps,
    source_stride,
    ELEMENTS: tl.constexpr,
    ALIGNED: tl.constexpr,
    RANKS: tl.constexpr,
    POLLS: tl.constexpr,
    FLIGHTS: tl.constexpr,
    PARTS: tl.constexpr,
    QUANTISED: tl.constexpr,
    ROW_SCALES: tl.constexpr,
):
    """Sends a later one of the program's `rows`, which begin at `begin`, takes this one and norms it. Gives the next turn of sums."""
    threads = num_warps() * 32
    slots = tl.cdiv(columns, ELEMENTS)
    if FLIGHTS == 1:
        later = row + AHEAD
        if later < rows:
            mine_ptr = sums_ptr + dl.rank().to(tl.int64) * source_stride + 2 * later * slots
            for i in range(tid(0), slots, threads):
                values = load_elements(x_ptr, later * columns + i * ELEMENTS, (later + 1) * columns, ELEMENTS, ALIGNED)
                send_to_peers(mine_ptr + 2 * i, without_marks(values), dl.rank(), RANKS)
    first_of_row = row * columns
    squares = 0.0
    kept = dl.zeros_vector(ELEMENTS, tl.float32)
    for i in range(tid(0), slots, threads):
        first = first_of_row + i * ELEMENTS
        end = first_of_row + columns
        before = load_elements(residual_ptr, first, end, ELEMENTS, ALIGNED)
        if FLIGHTS:
            total = sum_of_slot(x_ptr, sums_ptr, row * slots + i, first, end, source_stride, ELEMENTS, ALIGNED, RANKS, POLLS, FLIGHTS)
        else:
            total = load_elements(x_ptr, first, end, ELEMENTS, ALIGNED)
        after = (before.to(tl.float32) + total.to(tl.float32)).to(before.dtype)
        store_elements(residual_ptr, first, end, after, ELEMENTS, ALIGNED)
        squares = add_squares(squares, after.to(tl.float32), ELEMENTS)
        if i < threads:
            kept = after.to(tl.float32)
    if row == rows - 1:  # what is left waits for no rank
        tl.extra.cuda.gdc_launch_dependents()
    factor = tl.rsqrt(of_row(squares, buffer, told_ptr, turn, PARTS, POLLS, False) / row_columns + eps)
    turn = 1 - turn
    row_ptr = residual_ptr + first_of_row
    scale = 1.0
    if ROW_SCALES:
        largest = 0.0
        for i in range(tid(0), slots, threads):
            largest = largest_of(normed(i, kept, weight, row_ptr, weight_ptr, columns, factor, ELEMENTS, ALIGNED), largest, ELEMENTS)
        largest = of_row(largest, buffer, told_ptr, turn, PARTS, POLLS, True)
        turn = 1 - turn
        scale = tl.where(largest > 0, LARGEST / largest, 0.0)
        if (tid(0) == 0) & (first_column == 0):
            st(scales_ptr + begin + row, largest / LARGEST, semantic="weak")
    for start in range(0, slots, threads):  # whole warps, as lanes share scales; those behind the row's end have zeros
        i = start + tid(0)
        y = normed(i, kept, weight, row_ptr, weight_ptr, columns, factor, ELEMENTS, ALIGNED)
        if QUANTISED and not ROW_SCALES:
            largest = joined_lanes(largest_of(y, 0.0, ELEMENTS), SCALED_ELEMENTS // ELEMENTS, True)
            scale = tl.where(largest > 0, LARGEST / largest, 0.0)
            if (i * ELEMENTS % SCALED_ELEMENTS == 0) & (i < slots):
                group = (first_column + i * ELEMENTS) // SCALED_ELEMENTS
                at = (begin + row).to(tl.int64) * tl.cdiv(row_columns, SCALED_ELEMENTS) + group
                st(scales_ptr + at, largest / LARGEST, semantic="weak")
        if i < slots:
            store_elements(out_ptr + first_of_row, i * ELEMENTS, columns, (y * scale).to(out_ptr.dtype.element_ty), ELEMENTS, ALIGNED)
    return turn


@tandem.jit
def all_reduce_norm(
    x_ptr,
    residual_ptr,
    slots_ptr,
    epoch_ptr,
    m,
    rows_each,
    weight_ptr,
    out_ptr,
    scales_ptr,
    told_ptr,
    row_columns,
    part_columns,
    eps,
    packets_each,
    source_stride,
    program_stride,
    ELEMENTS: tl.constexpr,
    ALIGNED: tl.constexpr,
    RANKS: tl.constexpr,
    POLLS: tl.constexpr,
    FLIGHTS: tl.constexpr,
    PARTS: tl.constexpr,
    QUANTISED: tl.constexpr,
    ROW_SCALES: tl.constexpr,
    ONE_ROW: tl.constexpr = False,
):
    """Program p has rows p * rows_each on, each in slots of its own; with PARTS `part_columns` of row p // PARTS, a multiple of those that
    share a scale. FLIGHTS is 0 where x is the sum already. ONE_ROW: each program has one row, or a part of one."""
    tl.extra.cuda.gdc_wait()
    begin = tl.program_id(0) // PARTS * rows_each
    rows = tl.minimum(m - begin, rows_each)
    first_column = tl.program_id(0) % PARTS * part_columns
    columns = tl.minimum(row_columns - first_column, part_columns)
    slots = tl.cdiv(columns, ELEMENTS)
    at = begin.to(tl.int64) * row_columns + first_column
    weight_ptr += first_column
    x_ptr += at
    residual_ptr += at
    out_ptr += at
    sums_ptr = slots_ptr
    if FLIGHTS:
        strides = (source_stride, program_stride)
        first_rows = tl.minimum(rows, AHEAD) if FLIGHTS == 1 else rows
        epoch, sums_ptr = fly(
            x_ptr, slots_ptr, epoch_ptr, first_rows * slots, columns, slots, *strides, ELEMENTS, ALIGNED, RANKS, POLLS, FLIGHTS, True
        )
    weight = load_elements(weight_ptr, tid(0) * ELEMENTS, columns, ELEMENTS, ALIGNED)
    buffer = dl.allocate_smem(tl.float32, [2 * num_warps()])
    turn = 0
    tensors = (x_ptr, residual_ptr, sums_ptr, weight_ptr, out_ptr, scales_ptr, told_ptr, buffer, weight)
    sizes = (begin, first_column, row_columns, columns, eps, source_stride)
    form: tl.constexpr = (ELEMENTS, ALIGNED, RANKS, POLLS, FLIGHTS, PARTS, QUANTISED, ROW_SCALES)
    if ONE_ROW:
        take_and_norm(0, 1, turn, *tensors, *sizes, *form)
    else:
        for row in range(rows):
            turn = take_and_norm(row, rows, turn, *tensors, *sizes, *form)
    if FLIGHTS:
        end_call(epoch_ptr, epoch)
