"""The gradients of queries: a block of them goes along the keys, so every sum has one order."""

import tandem
import tandem.language as tl
from ops.device.attention import LOG2E, block_at, block_of, blocks_of, keys_of, load_parts, place_of, seen, slope_of
from ops.device.attention import store_parts, turns_of, zero_parts


@tandem.jit
def _along_keys(
    of_q,
    q,
    grad,
    lse,
    sums,
    k_blocks,
    v_blocks,
    first,
    end,
    row,
    k_column,
    v_column,
    where,
    n,
    window,
    scale,
    cap,
    QK: tl.constexpr,
    OV: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
    WINDOW: tl.constexpr,
    CAP: tl.constexpr,
    MASK: tl.constexpr,
):
    of_q0, of_q1 = of_q
    columns = tl.arange(0, BLOCK_N)
    at = row + first
    for start in tl.range(first, end, BLOCK_N):
        start = tl.multiple_of(start, BLOCK_N)
        k0 = k_blocks[0].load([at, k_column])
        scores = tl.dot(q[0], k0.T)
        if QK[1]:
            k1 = k_blocks[1].load([at, k_column + QK[0]])
            scores = tl.dot(q[1], k1.T, scores)
        of_p = tl.dot(grad[0], v_blocks[0].load([at, v_column]).T)
        if OV[1]:
            of_p = tl.dot(grad[1], v_blocks[1].load([at, v_column + OV[0]]).T, of_p)
        scores, slope = slope_of(scores * scale, cap, CAP)
        p = tl.math.exp2(scores - lse[:, None])
        if MASK:
            p = tl.where(seen(where[:, None], (start + columns)[None, :], n, window, CAUSAL, WINDOW), p, 0.0)
        of_scores = (p * (of_p - sums[:, None]) * slope).to(k0.dtype)
        of_q0 = tl.dot(of_scores, k0, of_q0)
        if QK[1]:
            of_q1 = tl.dot(of_scores, k1, of_q1)
        at += BLOCK_N
    return of_q0, of_q1


@tandem.jit
def of_queries(
    q_ptr,
    k_ptr,
    v_ptr,
    grad_ptr,
    lse_ptr,
    delta_ptr,
    cu_q_ptr,
    cu_kv_ptr,
    of_q_ptr,
    scale,
    cap,
    m,
    n,
    seq_q,
    seq_kv,
    window,
    HQ: tl.constexpr,
    HKV: tl.constexpr,
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
    SHARED: tl.constexpr,
):
    """The gradients of blocks of queries. SHARED: see turns_of."""
    D: tl.constexpr = D0 + D1
    V: tl.constexpr = V0 + V1
    QK: tl.constexpr = (D0, D1)
    OV: tl.constexpr = (V0, V1)
    sequences = 0 if VARLEN else m // seq_q
    blocks = tl.cdiv(seq_q, BLOCK_M)
    for turn in range(turns_of(blocks * HQ * sequences, SHARED)):
        block, head, sequence = block_at(turn, blocks, HQ, SHARED, HQ * sequences)
        if VARLEN:  # where work grows along a sequence, its last blocks begin first
            at = tl.num_programs(0) - 1 - block if CAUSAL else block
            block, sequence = block_of(cu_q_ptr, at, seq_q, m, BLOCK_M)
        kv_head = head // (HQ // HKV)
        start = block * BLOCK_M
        at_q = place_of(cu_q_ptr, sequence, m, seq_q, VARLEN)
        at_kv = place_of(cu_kv_ptr, sequence, n, seq_kv, VARLEN)
        rows_q, rows_kv = at_q[1], at_kv[1]
        q = load_parts(blocks_of(q_ptr, at_q, HQ * D, BLOCK_M, QK, VARLEN), at_q[2] + start, head * D, QK)
        grad = load_parts(blocks_of(grad_ptr, at_q, HQ * V, BLOCK_M, OV, VARLEN), at_q[2] + start, head * V, OV)
        k_blocks = blocks_of(k_ptr, at_kv, HKV * D, BLOCK_N, QK, VARLEN)
        v_blocks = blocks_of(v_ptr, at_kv, HKV * V, BLOCK_N, OV, VARLEN)
        offset = 0 if TOP_LEFT or SQUARE else rows_kv - rows_q
        rows = start + tl.arange(0, BLOCK_M)
        at = head.to(tl.int64) * m + at_q[0] + rows
        lse = tl.load(lse_ptr + at, mask=rows < rows_q, other=0.0) * LOG2E
        lse = tl.where(lse == -float("inf"), float("inf"), lse)  # a query that sees no key
        sums = tl.load(delta_ptr + at, mask=rows < rows_q, other=0.0)
        if SQUARE:
            begin, whole, part, end = 0, 0, start if CAUSAL else seq_kv, start + BLOCK_M
        else:
            some = tl.where(start < rows_q, rows_kv, 0)  # none for a block behind a shorter sequence
            begin, whole, part, end = keys_of(start, offset, some, window, BLOCK_M, BLOCK_N, CAUSAL, WINDOW)
        read = (q, grad, lse, sums, k_blocks, v_blocks)
        more = (at_kv[2], kv_head * D, kv_head * V, rows + offset, rows_kv, window, scale, cap)
        shape: tl.constexpr = (QK, OV, BLOCK_N, CAUSAL, WINDOW, CAP)
        of_q = zero_parts(BLOCK_M, QK, True)
        if WINDOW:
            of_q = _along_keys(of_q, *read, begin, whole, *more, *shape, True)
        of_q = _along_keys(of_q, *read, whole, part, *more, *shape, False)
        if CAUSAL or not SQUARE:
            of_q = _along_keys(of_q, *read, part, end, *more, *shape, True)
        stored = (at_q[0], start, rows_q, (sequence, sequences, seq_q))
        store_parts(of_q_ptr, of_q, scale / LOG2E, *stored, head * D, HQ * D, QK, VARLEN or SHARED == 0)
