"""How an item's result is put together of the parts that programs have left, and over ranks of the results of all (flash_decode.py)."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.packets import data_of, make_packet, receive, store_elements
from tandem.simt import __syncthreads, ld, ld_vector, num_warps, st_vector, tid

LOG2E = tl.constexpr(1.4426950408889634)


@tandem.jit
def within(rows, d, MOST: tl.constexpr, DIM: tl.constexpr):
    """The mask of the elements `d` of these rows, all of them below MOST, that are below DIM."""
    if DIM < MOST:
        return rows[:, None] & (d < DIM)[None, :]
    return rows[:, None]


@tandem.jit
def key_order(d, D: tl.constexpr):
    """The elements of a head in the order that `keys_in_order` gives keys."""
    STEPS: tl.constexpr = min(4, D // 16)
    step, half, thread, one = d // 16 % STEPS, d // 8 % 2, d // 2 % 4, d % 2
    return d // (16 * STEPS) * (16 * STEPS) + thread * (4 * STEPS) + step * 4 + half * 2 + one


@tandem.jit
def keys_in_order(x):
    """x[keys, elements] of 8 bits in an order of elements in which a thread's operands of up to four steps of a product stand together."""
    D: tl.constexpr = x.shape[1]
    STEPS: tl.constexpr = min(4, D // 16)
    return x.reshape(x.shape[0], D // (16 * STEPS), 4, STEPS, 2, 2).permute(0, 1, 3, 4, 2, 5).reshape(x.shape[0], D)


@tandem.jit
def values_in_order(x):
    """x[keys, elements] of 8 bits with elements in an order in which a thread's columns of up to 16 operands stand together: in those of
    one all warps have columns."""
    D: tl.constexpr = x.shape[1]
    TOGETHER: tl.constexpr = max(1, min(16, D // (8 * num_warps())))
    return x.reshape(x.shape[0], D // TOGETHER, TOGETHER).permute(0, 2, 1).reshape(x.shape[0], D)


@tandem.jit
def elements_in_order(acc):
    """Sums of what `values_in_order` has made, with the elements of a head in their own order."""
    D: tl.constexpr = acc.shape[1]
    TOGETHER: tl.constexpr = max(1, min(16, D // (8 * num_warps())))
    return acc.reshape(acc.shape[0], TOGETHER, D // TOGETHER).permute(0, 2, 1).reshape(acc.shape[0], D)


@tandem.jit
def load_heads(heads, rows, real, FIRST: tl.constexpr, D: tl.constexpr, DIM: tl.constexpr, ORDERED: tl.constexpr):
    """D elements from the FIRST on of the heads at `rows`, zeros behind the last one; ORDERED: in the order of `keys_in_order`."""
    d = tl.arange(0, D)
    d = FIRST + (key_order(d, D) if ORDERED else d)
    return tl.load((heads + d)[None, :] + rows[:, None], mask=within(real, d, FIRST + D, DIM), other=0.0)


@tandem.jit
def load_keys(heads, rows, real, FIRST: tl.constexpr, D: tl.constexpr, DIM: tl.constexpr, ORDERED: tl.constexpr, MATH: tl.constexpr):
    x = load_heads(heads, rows, real, FIRST, D, DIM, False)
    return (keys_in_order(x) if ORDERED else x).to(MATH)


@tandem.jit
def load_values(heads, rows, real, FIRST: tl.constexpr, D: tl.constexpr, DIM: tl.constexpr, ORDERED: tl.constexpr, MATH: tl.constexpr):
    x = load_heads(heads, rows, real, FIRST, D, DIM, False)
    return (values_in_order(x) if ORDERED else x).to(MATH)


@tandem.jit
def send_result(result_ptr, slots_ptr, first_row, rows, at_seq, kv_head, epoch, rank_stride, ROWS, Q_LEN, HEADS, GROUP, D, RANKS):
    """Sends the rows that stand at `result`, [ROWS, D + 2], to all ranks, this one too."""
    PACKETS: tl.constexpr = D // 2 + 1
    mine_ptr = slots_ptr + dl.rank().to(tl.int64) * rank_stride
    for i in range(tid(0), rows * PACKETS, num_warps() * 32):
        row = first_row + i // PACKETS
        at_row = at_seq + row // GROUP * HEADS + kv_head * GROUP + row % GROUP
        packet = make_packet(ld_vector(result_ptr + 2 * i, 2, "gpu", "weak"), epoch)
        slot = mine_ptr + 2 * (at_row * PACKETS + i % PACKETS)
        for step in tl.static_range(RANKS):
            st_vector(dl.symm_at(slot, (dl.rank() + step) % RANKS), packet, "sys", "relaxed")


@tandem.jit
def combine_ranks(
    sinks_ptr,
    out_ptr,
    slots_ptr,
    m,
    epoch,
    rank_stride,
    Q_LEN: tl.constexpr,
    HEADS: tl.constexpr,
    D: tl.constexpr,
    PROGRAMS: tl.constexpr,
    SINKS: tl.constexpr,
    RANKS: tl.constexpr,
    POLLS: tl.constexpr,
):
    """out, from the packets of all ranks: two elements a thread at once."""
    PACKETS: tl.constexpr = D // 2 + 1
    threads = num_warps() * 32
    for i in range(tl.program_id(0) * threads + tid(0), m * (Q_LEN * HEADS * D // 2), PROGRAMS * threads):
        row = i // (D // 2)
        at_row = slots_ptr + 2 * (row.to(tl.int64) * PACKETS)
        weights = receive(at_row + D, dl.rank(), rank_stride, epoch, RANKS, POLLS, True)
        parts = receive(at_row + 2 * (i % (D // 2)), dl.rank(), rank_stride, epoch, RANKS, POLLS, True)
        highest = -float("inf")
        if SINKS:
            highest = ld(sinks_ptr + row % HEADS, semantic="weak") * LOG2E
        sink = highest
        for r in tl.static_range(RANKS):
            highest = tl.maximum(highest, data_of(weights[r], tl.float32)[0])
        base = tl.where(highest == -float("inf"), 0.0, highest)
        total = tl.exp2(sink - base)
        first = 0.0
        second = 0.0
        for r in tl.static_range(RANKS):
            weight = tl.exp2(data_of(weights[r], tl.float32)[0] - base)
            part = data_of(parts[r], tl.float32)
            total += weight
            first += weight * part[0]
            second += weight * part[1]
        by = 1 / tl.where(total > 0, total, 1.0)
        values = dl.make_vector([(first * by).to(out_ptr.dtype.element_ty), (second * by).to(out_ptr.dtype.element_ty)])
        store_elements(out_ptr, 2 * i, 2 * i + 2, values, 2, True)


@tandem.jit
def store_rows(rows_ptr, acc, by, real, DIM: tl.constexpr):
    """The rows of `acc`, of one part or two, times `by`."""
    D0: tl.constexpr = acc[0].shape[1]
    d = tl.arange(0, D0)
    tl.store(rows_ptr + d[None, :], (acc[0] * by[:, None]).to(rows_ptr.dtype.element_ty), mask=within(real, d, D0, DIM))
    if acc[1] is not None:
        D1: tl.constexpr = acc[1].shape[1]
        d = D0 + tl.arange(0, D1)
        tl.store(rows_ptr + d[None, :], (acc[1] * by[:, None]).to(rows_ptr.dtype.element_ty), mask=within(real, d, D0 + D1, DIM))


@tandem.jit
def dealt(x, BACK: tl.constexpr):
    """x[M, N] of 16 bits with its columns in the order in which a thread has those of a product: up to 16 bytes of a row stand together.
    BACK: from that order."""
    TILES: tl.constexpr = min(4, x.shape[1] // 8)
    x = x.reshape(x.shape[0], x.shape[1] // (8 * TILES), 4 if BACK else TILES, TILES if BACK else 4, 2)
    return x.permute(0, 1, 3, 2, 4).reshape(x.shape[0], x.numel // x.shape[0])


@tandem.jit
def keep_rows(rows_ptr, acc, by, real):
    """The rows of `acc`, of one part or two, times `by`, for `some_parts`."""
    first_ptr = rows_ptr + tl.arange(0, acc[0].shape[1])[None, :]
    tl.store(first_ptr, dealt((acc[0] * by[:, None]).to(rows_ptr.dtype.element_ty), False), mask=real[:, None])
    if acc[1] is not None:
        second_ptr = rows_ptr + acc[0].shape[1] + tl.arange(0, acc[1].shape[1])[None, :]
        tl.store(second_ptr, dealt((acc[1] * by[:, None]).to(rows_ptr.dtype.element_ty), False), mask=real[:, None])


@tandem.jit
def finish(
    acc,
    greatest,
    sums,
    first_row,
    sinks_ptr,
    out_ptr,
    result_ptr,
    slots_ptr,
    at_seq,
    kv_head,
    epoch,
    rank_stride,
    Q_LEN: tl.constexpr,
    HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    DIM: tl.constexpr,
    SINKS: tl.constexpr,
    RANKS: tl.constexpr,
):
    """Gives an item's rows from first_row on away: to `out`, or over ranks to these. `acc`: their
    elements in two tiles, or all of them and None."""
    ROWS: tl.constexpr = acc[0].shape[0]
    in_tile = tl.arange(0, ROWS)
    row = first_row + in_tile
    real = row < Q_LEN * GROUP
    head = kv_head * GROUP + row % GROUP
    shrink = 1.0
    if RANKS == 1 and SINKS:
        sink = tl.load(sinks_ptr + head, mask=real, other=0.0) * LOG2E
        highest = tl.maximum(greatest, sink)
        shrink = tl.exp2(greatest - highest)
        sums = sums * shrink + tl.exp2(sink - highest)
    by = shrink / tl.where(sums > 0, sums, 1.0)
    if RANKS == 1:
        at_row = at_seq + row // GROUP * HEADS + head
        store_rows(out_ptr + at_row[:, None] * DIM, acc, by, real, DIM)
    else:
        logs = tl.where(sums > 0, greatest + tl.log2(tl.where(sums > 0, sums, 1.0)), -float("inf"))
        __syncthreads()
        store_rows(result_ptr + in_tile[:, None] * (DIM + 2), acc, by, real, DIM)
        tl.store(result_ptr + in_tile * (DIM + 2) + DIM, logs, mask=real)
        tl.store(result_ptr + in_tile * (DIM + 2) + DIM + 1, logs, mask=real)
        __syncthreads()
        rows = tl.minimum(ROWS, Q_LEN * GROUP - first_row)
        send_result(result_ptr, slots_ptr, first_row, rows, at_seq, kv_head, epoch, rank_stride, ROWS, Q_LEN, HEADS, GROUP, DIM, RANKS)


@tandem.jit
def some_parts(
    words_ptr,
    stats_ptr,
    first_pid,
    first,
    count,
    rows,
    real,
    AT_ONCE: tl.constexpr,
    ROWS: tl.constexpr,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """The greatest, the sums and D of WIDTH results, in words of two, of these rows of AT_ONCE of an item's parts."""
    nth = first + tl.arange(0, AT_ONCE)
    part = (first_pid + nth) * 2 + (nth == 0).to(tl.int32)
    here = (nth < count)[:, None] & real[None, :]
    stats_ptrs = stats_ptr + part[:, None] * (2 * ROWS) + rows[None, :]
    of_parts = tl.load(stats_ptrs, mask=here, other=-float("inf"))
    sums_of_parts = tl.load(stats_ptrs + ROWS, mask=here, other=0.0)
    at = (part.to(tl.int64)[:, None] * ROWS + rows[None, :]) * (WIDTH // 2)
    some = tl.load(words_ptr + at[:, :, None] + tl.arange(0, D // 2)[None, None, :], mask=here[:, :, None], other=0)
    return of_parts, sums_of_parts, some


@tandem.jit
def numbers_of(words, IS_FIRST: tl.constexpr, DTYPE: tl.constexpr):
    """The first or the second of the two numbers of 16 bits that each word holds."""
    if DTYPE == tl.bfloat16:
        return (words << 16 if IS_FIRST else words & -65536).to(tl.float32, bitcast=True)
    return (words if IS_FIRST else words >> 16).to(tl.int16).to(DTYPE, bitcast=True).to(tl.float32)


@tandem.jit
def weigh_parts(
    parts_ptr,
    stats_ptr,
    first_pid,
    count,
    first_row,
    real,
    ROWS: tl.constexpr,
    FEW_ROWS: tl.constexpr,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Puts D of WIDTH elements of FEW_ROWS rows of the `count` parts of an item together, as many parts at once as registers take beside
    the next ones. These are words until they are added: to take them apart would wait for them."""
    DTYPE: tl.constexpr = parts_ptr.dtype.element_ty
    AT_ONCE: tl.constexpr = max(1, min(64, num_warps() * 2048 // (FEW_ROWS * D)))
    words_ptr = parts_ptr.to(tl.pointer_type(tl.int32), bitcast=True)
    rows = first_row + tl.arange(0, FEW_ROWS)
    greatest = tl.full((FEW_ROWS,), -float("inf"), tl.float32)
    sums = tl.zeros((FEW_ROWS,), tl.float32)
    firsts = tl.zeros((FEW_ROWS, D // 2), tl.float32)
    seconds = tl.zeros((FEW_ROWS, D // 2), tl.float32)
    of_parts, sums_of_parts, some = some_parts(words_ptr, stats_ptr, first_pid, 0, count, rows, real, AT_ONCE, ROWS, D, WIDTH)
    for p in range(AT_ONCE, count + AT_ONCE, AT_ONCE):
        next_of_parts, next_sums, next_some = some_parts(words_ptr, stats_ptr, first_pid, p, count, rows, real, AT_ONCE, ROWS, D, WIDTH)
        highest = tl.maximum(greatest, tl.max(of_parts, 0))
        base = tl.where(highest == -float("inf"), 0.0, highest)
        weights = tl.exp2(of_parts - base[None, :])
        shrink = tl.exp2(greatest - base)
        weights *= sums_of_parts
        sums = sums * shrink + tl.sum(weights, 0)
        firsts = firsts * shrink[:, None] + tl.sum(weights[:, :, None] * numbers_of(some, True, DTYPE), 0)
        seconds = seconds * shrink[:, None] + tl.sum(weights[:, :, None] * numbers_of(some, False, DTYPE), 0)
        greatest = highest
        of_parts, sums_of_parts, some = next_of_parts, next_sums, next_some
    return dealt(tl.join(firsts, seconds).reshape(FEW_ROWS, D), True), greatest, sums


@tandem.jit
def put_together(
    parts_ptr,
    stats_ptr,
    first_pid,
    count,
    nth,
    seq,
    first,
    step,
    sinks_ptr,
    out_ptr,
    result_ptr,
    slots_ptr,
    epoch,
    rank_stride,
    Q_LEN: tl.constexpr,
    HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    DIM: tl.constexpr,
    D0: tl.constexpr,
    D1: tl.constexpr,
    ROWS: tl.constexpr,
    FEW_ROWS: tl.constexpr,
    SLICE: tl.constexpr,
    SINKS: tl.constexpr,
    RANKS: tl.constexpr,
):
    """Every step-th piece, from the `first` on, of the nth item of a sequence, which has `count` parts: a few rows, of these SLICE elements
    where a head comes in one tile."""
    TILES: tl.constexpr = (Q_LEN * GROUP + ROWS - 1) // ROWS
    SLICES: tl.constexpr = D0 // SLICE
    first_row = nth % TILES * ROWS
    pieces = tl.cdiv(tl.minimum(ROWS, Q_LEN * GROUP - first_row), FEW_ROWS) * SLICES
    for piece in range(first, pieces, step):
        some = piece // SLICES * FEW_ROWS
        column = piece % SLICES * SLICE
        real = first_row + some + tl.arange(0, FEW_ROWS) < Q_LEN * GROUP
        of_rows = (stats_ptr, first_pid, count, some, real)
        acc, greatest, sums = weigh_parts(parts_ptr + column, *of_rows, ROWS, FEW_ROWS, SLICE, D0 + D1)
        second = None
        if D1:
            second, _, _ = weigh_parts(parts_ptr + D0, *of_rows, ROWS, FEW_ROWS, D1, D0 + D1)
        finish(
            (acc, second),
            greatest,
            sums,
            first_row + some,
            sinks_ptr,
            out_ptr + column,
            result_ptr,
            slots_ptr,
            seq.to(tl.int64) * (Q_LEN * HEADS),
            nth // TILES,
            epoch,
            rank_stride,
            Q_LEN,
            HEADS,
            GROUP,
            DIM,
            SINKS,
            RANKS,
        )
