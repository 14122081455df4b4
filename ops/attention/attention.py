"""Attention: for each query the mean of the values, weighted by the softmax of its products with the keys. A block of one head's queries
goes once along the keys."""

import tandem
import tandem.language as tl
from ops.device.attention import LOG2E, RUNS, block_at, block_of, blocks_of, from_last, keys_of, load_parts, place_of, rows_of, turns_of
from ops.device.runs import keep_part, keys_of_run, part_at, run_of, with_parts
from ops.device.attention_forward import along_keys, dealt, lse_of, no_sums, store_means, with_sink


GROUP = tl.constexpr(16)  # keys, with a multiple of which transposed values of a sequence begin


@tandem.jit
def first_value(first, sequence, each, VARLEN: tl.constexpr):
    """Where the transposed values of a sequence begin, whose first key this is of all."""
    if VARLEN:
        return (first // GROUP + sequence) * GROUP
    return sequence * (tl.cdiv(each, GROUP) * GROUP)


@tandem.jit
def turn(
    x_ptr,
    out_ptr,
    cu_ptr,
    rows,
    columns,
    stride,
    each,
    sequences,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    VARLEN: tl.constexpr,
    DEALT: tl.constexpr,
):
    """out[columns, stride]: the transpose of x[rows, columns], with DEALT in the order of `dealt`. Sequences begin where `first_value`
    says; zeros are between them, and behind the last one, as far as a block goes. The kernel that reads them may come meanwhile."""
    tl.extra.cuda.gdc_launch_dependents()
    if VARLEN:
        block, sequence = block_of(cu_ptr, tl.program_id(0), sequences, rows, BLOCK_M)
        first, count = rows_of(cu_ptr, sequence, rows)
    else:
        blocks = tl.cdiv(each, BLOCK_M)
        block, sequence = tl.program_id(0) % blocks, tl.program_id(0) // blocks
        first, count = sequence * each, each
    start = first_value(first, sequence, each, VARLEN)
    is_last = sequence + 1 == sequences
    room = tl.where(is_last, stride, first_value(first + count, sequence + 1, each, VARLEN)) - start
    if block * BLOCK_M < tl.where(is_last, tl.maximum(count, 1), room):
        row = block * BLOCK_M + tl.arange(0, BLOCK_M)
        column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
        inside = (row < count)[:, None] & (column < columns)[None, :]
        x = tl.load(x_ptr + (first + row).to(tl.int64)[:, None] * columns + column[None, :], mask=inside, other=0.0)
        x = dealt(x.T, BLOCK_N, BLOCK_M) if DEALT else x.T
        places = out_ptr + column.to(tl.int64)[:, None] * stride + (start + row)[None, :]
        tl.store(places, x, mask=(column < columns)[:, None] & (row < room)[None, :])


@tandem.jit
def values_of(v_ptr, n, stride, rows, BLOCK_N: tl.constexpr, OV: tl.constexpr):
    """Descriptors of blocks of transposed values, for both parts of a head, as `blocks_of` has them."""
    first = tl.make_tensor_descriptor(v_ptr, [rows, n], [stride, 1], [OV[0], BLOCK_N])
    second = first
    if OV[1]:
        second = tl.make_tensor_descriptor(v_ptr, [rows, n], [stride, 1], [OV[1], BLOCK_N])
    return (first, 0, 0), (second, 0, 0)


@tandem.jit
def end_block(
    sums,
    sinks_ptr,
    scales_ptr,
    lse_ptr,
    out_ptr,
    head,
    m,
    row,
    start,
    rows,
    of_all,
    lift,
    HQ: tl.constexpr,
    V: tl.constexpr,
    OV: tl.constexpr,
    VARLEN: tl.constexpr,
    SINKS: tl.constexpr,
    LSE: tl.constexpr,
    FP8: tl.constexpr,
):
    """Stores the results of a block of queries, from `start` on of a sequence that has so many `rows`, the first of which is `row`."""
    if SINKS:
        sums = with_sink(sums, tl.load(sinks_ptr + head) * LOG2E, lift, OV)
    if LSE:
        at = start + tl.arange(0, sums[1].shape[0])
        tl.store(lse_ptr + head.to(tl.int64) * m + row + at, lse_of(sums, lift), mask=at < rows)
    if FP8:
        sums = (sums[0], sums[1] / tl.load(scales_ptr + 2), sums[2])
    store_means(out_ptr, sums, row, start, rows, of_all, head, HQ, V, OV, VARLEN)


@tandem.jit
def attention(
    q_ptr,
    k_ptr,
    v_ptr,
    cu_q_ptr,
    cu_kv_ptr,
    sinks_ptr,
    scales_ptr,
    lse_ptr,
    out_ptr,
    parts_ptr,
    stats_ptr,
    counts_ptr,
    scale,
    cap,
    m,
    n,
    seq_q,
    seq_kv,
    window,
    stride,
    HQ: tl.constexpr,
    HKV: tl.constexpr,
    D: tl.constexpr,
    V: tl.constexpr,
    D0: tl.constexpr,
    D1: tl.constexpr,
    V0: tl.constexpr,
    V1: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    VARLEN: tl.constexpr,
    CAUSAL: tl.constexpr,
    TOP_LEFT: tl.constexpr,
    WINDOW: tl.constexpr,
    CAP: tl.constexpr,
    SQUARE: tl.constexpr,
    SINKS: tl.constexpr,
    LSE: tl.constexpr,
    FP8: tl.constexpr,
    DEALT: tl.constexpr,
    SHARED: tl.constexpr,
):
    """out[m, HQ, V] of q[m, HQ, D], k[n, HKV, D] and v[n, HKV, V]; lse[HQ, m]: the logarithms of the sums. D0 and D1, V0 and V1: elements
    of the tiles that a head comes in. scale and cap: times log2(e). VARLEN: sequences by cu_q and cu_kv, else of seq_q and seq_kv rows
    each. SQUARE: as many of both, and multiples of the blocks. FP8: v[HKV * V, stride], with DEALT in the order of `dealt`; scales[3]: of
    q, k and v. SHARED: see turns_of."""
    QK: tl.constexpr = (D0, D1)
    OV: tl.constexpr = (V0, V1)
    if FP8:
        tl.extra.cuda.gdc_wait()
        scale *= tl.load(scales_ptr) * tl.load(scales_ptr + 1)
    sequences = 0 if VARLEN else m // seq_q
    blocks = tl.cdiv(seq_q, BLOCK_M)
    if SHARED == RUNS:
        diagonal = 0 if TOP_LEFT or SQUARE else seq_kv - seq_q
        run = run_of(blocks, HQ * sequences, seq_kv, diagonal, BLOCK_M, BLOCK_N, CAUSAL)
        turns = run[3]
    else:
        turns = turns_of(blocks * HQ * sequences, SHARED)
    for turn in range(turns):
        if SHARED == RUNS:
            at, begins, is_whole = part_at(turn, run, blocks, HQ * sequences, seq_kv, diagonal, BLOCK_M, CAUSAL)
            lane, block = at // blocks, at % blocks
            head, sequence = lane % HQ, lane // HQ
        else:
            block, head, sequence = block_at(turn, blocks, HQ, SHARED, HQ * sequences)
        if VARLEN:  # where work grows along a sequence, its last blocks begin first
            at = tl.num_programs(0) - 1 - block if CAUSAL else block
            block, sequence = block_of(cu_q_ptr, at, seq_q, m, BLOCK_M)
        elif CAUSAL and SHARED == 0 and not SQUARE:
            block = from_last(block, blocks)
        kv_head = head // (HQ // HKV)
        start = block * BLOCK_M
        at_q = place_of(cu_q_ptr, sequence, m, seq_q, VARLEN)
        at_kv = place_of(cu_kv_ptr, sequence, n, seq_kv, VARLEN)
        rows_q, rows_kv = at_q[1], at_kv[1]
        k_blocks = blocks_of(k_ptr, at_kv, HKV, D, BLOCK_N, QK)
        lift, behind = 0.0, 0  # of the transposed values, which all sequences share
        if FP8:
            lift = 8.0
            if DEALT:
                behind = first_value(at_kv[0].to(tl.int32), sequence, seq_kv, VARLEN) - at_kv[2]
            else:
                behind = 0 if VARLEN else at_kv[0].to(tl.int32)
            v_blocks = values_of(v_ptr, stride if DEALT else n, stride, HKV * V, BLOCK_N, OV)
        else:
            v_blocks = blocks_of(v_ptr, at_kv, HKV, V, BLOCK_N, OV)
        offset = 0 if TOP_LEFT or SQUARE else rows_kv - rows_q
        rows = start + tl.arange(0, BLOCK_M)
        sums = no_sums(BLOCK_M, OV)
        q = load_parts(blocks_of(q_ptr, at_q, HQ, D, BLOCK_M, QK), at_q[2] + start, head, QK)
        if SQUARE:
            begin, whole, part, end = 0, 0, start if CAUSAL else seq_kv, start + BLOCK_M if CAUSAL else seq_kv
        else:
            some = tl.where(start < rows_q, rows_kv, 0)  # none for a block behind a shorter sequence
            begin, whole, part, end = keys_of(start, offset, some, window, BLOCK_M, BLOCK_N, CAUSAL, WINDOW)
        if SHARED == RUNS:
            begin, end, is_part, rest = keys_of_run(run, begins, end, is_whole, BLOCK_N)
        of_keys = (q, k_blocks, v_blocks, behind, kv_head, kv_head * V)
        of_block = (at_kv[2], *of_keys, rows + offset, rows_kv, window, scale, cap, lift, None, (whole, part))
        shape: tl.constexpr = (QK, OV, BLOCK_N, CAUSAL, WINDOW, CAP, FP8, DEALT)
        sums = along_keys(sums, begin, end, *of_block, *shape, CAUSAL or not SQUARE, False)
        of_all = (sequence, sequences, seq_q)
        place: tl.constexpr = (HQ, V, OV, VARLEN)
        ends = (sinks_ptr, scales_ptr, lse_ptr, out_ptr, head, m, at_q[0], start, rows_q, of_all, lift)
        if SHARED == RUNS:
            if is_part:
                keep_part(parts_ptr, stats_ptr, counts_ptr, sums, BLOCK_M, OV)
            else:
                end_block(with_parts(parts_ptr, stats_ptr, counts_ptr, sums, rest, BLOCK_M, OV), *ends, *place, SINKS, LSE, FP8)
        else:
            end_block(sums, *ends, *place, SINKS, LSE, FP8)
