"""The gradients of queries: a block of them goes along the keys, so every sum has one order."""

import tandem
import tandem.language as tl
from ops.device.attention import LOG2E, block_at, block_of, blocks_of, from_last, keys_of, load_part, load_parts, place_of, seen
from ops.device.attention import slope_of, store_parts, turns_of, zero_parts


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
    kv_head,
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
        k0 = load_part(k_blocks[0], at, kv_head)
        scores = tl.dot(q[0], k0.T)
        if QK[1]:
            k1 = load_part(k_blocks[1], at, kv_head)
            scores = tl.dot(q[1], k1.T, scores)
        of_p = tl.dot(grad[0], load_part(v_blocks[0], at, kv_head).T)
        if OV[1]:
            of_p = tl.dot(grad[1], load_part(v_blocks[1], at, kv_head).T, of_p)
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
    SHARED: tl.constexpr,
):
    """The gradients of blocks of queries. SHARED: see turns_of."""
    QK: tl.constexpr = (D0, D1)
    OV: tl.constexpr = (V0, V1)
    sequences = 0 if VARLEN else m // seq_q
    blocks = tl.cdiv(seq_q, BLOCK_M)
    for turn in range(turns_of(blocks * HQ * sequences, SHARED)):
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
        q = load_parts(blocks_of(q_ptr, at_q, HQ, D, BLOCK_M, QK), at_q[2] + start, head, QK)
        grad = load_parts(blocks_of(grad_ptr, at_q, HQ, V, BLOCK_M, OV), at_q[2] + start, head, OV)
        k_blocks = blocks_of(k_ptr, at_kv, HKV, D, BLOCK_N, QK)
        v_blocks = blocks_of(v_ptr, at_kv, HKV, V, BLOCK_N, OV)
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
        more = (at_kv[2], kv_head, rows + offset, rows_kv, window, scale, cap)
        shape: tl.constexpr = (QK, OV, BLOCK_N, CAUSAL, WINDOW, CAP)
        of_q = zero_parts(BLOCK_M, QK, True)
        if WINDOW:
            of_q = _along_keys(of_q, *read, begin, whole, *more, *shape, True)
        of_q = _along_keys(of_q, *read, whole, part, *more, *shape, False)
        if CAUSAL or not SQUARE:
            of_q = _along_keys(of_q, *read, part, end, *more, *shape, True)
        stored = (at_q[0], start, rows_q, (sequence, sequences, seq_q))
        store_parts(of_q_ptr, of_q, scale / LOG2E, *stored, head, HQ, D, QK, VARLEN or SHARED == 0)
