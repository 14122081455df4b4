"""The gradients of attention. One kernel goes from each block of keys along the queries, another from each block of queries along the keys,
so every sum has one order. Weights come from the products and the logarithms of their sums once more."""

import tandem
import tandem.language as tl
from ops.device.attention import LOG2E, capped, keys_of, queries_of, rows_of, seen


@tandem.jit
def delta(out_ptr, grad_ptr, delta_ptr, m, HQ: tl.constexpr, V: tl.constexpr, BLOCK_V: tl.constexpr, BLOCK: tl.constexpr):
    """delta[HQ, m]: the products of a result's row with its gradient's."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.arange(0, BLOCK_V)
    inside = (row < m)[:, None] & (column < V)[None, :]
    at = (row.to(tl.int64) * HQ + tl.program_id(1))[:, None] * V + column[None, :]
    out = tl.load(out_ptr + at, mask=inside, other=0.0).to(tl.float32)
    grad = tl.load(grad_ptr + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(delta_ptr + tl.program_id(1).to(tl.int64) * m + row, tl.sum(out * grad, 1), mask=row < m)


@tandem.jit
def of_sinks(sinks_ptr, lse_ptr, delta_ptr, out_ptr, m, BLOCK: tl.constexpr):
    """out[HQ]: the gradients of the sinks."""
    head = tl.program_id(0)
    sink = tl.load(sinks_ptr + head)
    acc = tl.zeros([BLOCK], tl.float32)
    for start in range(0, m, BLOCK):
        row = start + tl.arange(0, BLOCK)
        at = head.to(tl.int64) * m + row
        lse = tl.load(lse_ptr + at, mask=row < m, other=float("inf"))
        acc -= tl.math.exp2((sink - lse) * LOG2E) * tl.load(delta_ptr + at, mask=row < m, other=0.0)
    tl.store(out_ptr + head, tl.sum(acc, 0))


@tandem.jit
def _slope(scores, cap, CAP: tl.constexpr):
    """The scores in powers of two, and what a change of theirs is times that of the products."""
    if CAP:
        scores = capped(scores, cap)
        return scores, 1 - (scores / cap) * (scores / cap)
    return scores, 1.0


@tandem.jit
def _along_queries(
    of_k0,
    of_k1,
    of_v0,
    of_v1,
    k0,
    k1,
    v0,
    v1,
    q_desc,
    q1_desc,
    grad_desc,
    grad1_desc,
    lse_ptr,
    delta_ptr,
    first,
    end,
    row,
    rows,
    q_column,
    grad_column,
    keys,
    offset,
    window,
    scale,
    cap,
    D0: tl.constexpr,
    D1: tl.constexpr,
    V0: tl.constexpr,
    V1: tl.constexpr,
    BLOCK_M: tl.constexpr,
    CAUSAL: tl.constexpr,
    WINDOW: tl.constexpr,
    CAP: tl.constexpr,
    OF_K: tl.constexpr,
    OF_V: tl.constexpr,
    MASK: tl.constexpr,
):
    """The queries from `first` to `end`. Tiles have a row for each key."""
    at = row + first
    for start in tl.range(first, end, BLOCK_M):
        start = tl.multiple_of(start, BLOCK_M)
        i = start + tl.arange(0, BLOCK_M)
        lse = tl.load(lse_ptr + i, mask=i < rows, other=float("inf"))
        q0 = q_desc.load([at, q_column])
        scores = tl.dot(k0, q0.T)
        if D1:
            q1 = q1_desc.load([at, q_column + D0])
            scores = tl.dot(k1, q1.T, scores)
        scores, slope = _slope(scores * scale, cap, CAP)
        p = tl.math.exp2(scores - (lse * LOG2E)[None, :])
        if MASK:
            p = tl.where(seen((i + offset)[None, :], keys[:, None], 1 << 30, window, CAUSAL, WINDOW), p, 0.0)
        grad0 = grad_desc.load([at, grad_column])
        if V1:
            grad1 = grad1_desc.load([at, grad_column + V0])
        if OF_V:
            of_v0 = tl.dot(p.to(grad0.dtype), grad0, of_v0)
            if V1:
                of_v1 = tl.dot(p.to(grad0.dtype), grad1, of_v1)
        if OF_K:
            of_p = tl.dot(v0, grad0.T)
            if V1:
                of_p = tl.dot(v1, grad1.T, of_p)
            sums = tl.load(delta_ptr + i, mask=i < rows, other=0.0)
            of_scores = (p * (of_p - sums[None, :]) * slope).to(q0.dtype)
            of_k0 = tl.dot(of_scores, q0, of_k0)
            if D1:
                of_k1 = tl.dot(of_scores, q1, of_k1)
        at += BLOCK_M
    return of_k0, of_k1, of_v0, of_v1


@tandem.jit
def _put(out_ptr, x, row, start, rows, column, stride, BLOCK: tl.constexpr, V: tl.constexpr):
    at = start + tl.arange(0, BLOCK)
    pointers = out_ptr + (row + at)[:, None].to(tl.int64) * stride + column + tl.arange(0, V)[None, :]
    tl.store(pointers, x.to(out_ptr.dtype.element_ty), mask=(at < rows)[:, None])


@tandem.jit
def of_keys(
    q_ptr,
    k_ptr,
    v_ptr,
    grad_ptr,
    lse_ptr,
    delta_ptr,
    cu_q_ptr,
    cu_kv_ptr,
    of_k_ptr,
    of_v_ptr,
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
    OF_K: tl.constexpr,
    OF_V: tl.constexpr,
):
    """The gradients of the keys, of the values, or of both: of a block of them, the sums over the heads of queries that share it. scale and
    cap: times log2(e). SQUARE: as in attention.py."""
    D: tl.constexpr = D0 + D1
    V: tl.constexpr = V0 + V1
    kv_head = tl.program_id(1)
    start = tl.program_id(0) * BLOCK_N
    if VARLEN:
        first_q, rows_q = rows_of(cu_q_ptr, tl.program_id(2), m)
        first_kv, rows_kv = rows_of(cu_kv_ptr, tl.program_id(2), n)
        row_q, row_kv, most_q, most_kv = first_q, first_kv, m, n
    else:
        sequence = tl.program_id(2).to(tl.int64)
        first_q, first_kv = sequence * seq_q, sequence * seq_kv
        q_ptr += first_q * (HQ * D)
        grad_ptr += first_q * (HQ * V)
        k_ptr += first_kv * (HKV * D)
        v_ptr += first_kv * (HKV * V)
        row_q, row_kv, most_q, most_kv, rows_q, rows_kv = 0, 0, seq_q, seq_kv, seq_q, seq_kv
    q_desc = tl.make_tensor_descriptor(q_ptr, [most_q, HQ * D], [HQ * D, 1], [BLOCK_M, D0])
    grad_desc = tl.make_tensor_descriptor(grad_ptr, [most_q, HQ * V], [HQ * V, 1], [BLOCK_M, V0])
    k_desc = tl.make_tensor_descriptor(k_ptr, [most_kv, HKV * D], [HKV * D, 1], [BLOCK_N, D0])
    k0 = k_desc.load([row_kv + start, kv_head * D])
    of_k0 = tl.zeros([BLOCK_N, D0], tl.float32) if OF_K else 0
    of_v0 = tl.zeros([BLOCK_N, V0], tl.float32) if OF_V else 0
    q1_desc, grad1_desc, k1, v0, v1, of_k1, of_v1 = q_desc, grad_desc, 0, 0, 0, 0, 0
    if OF_K:
        v_desc = tl.make_tensor_descriptor(v_ptr, [most_kv, HKV * V], [HKV * V, 1], [BLOCK_N, V0])
        v0 = v_desc.load([row_kv + start, kv_head * V])
    if D1:
        q1_desc = tl.make_tensor_descriptor(q_ptr, [most_q, HQ * D], [HQ * D, 1], [BLOCK_M, D1])
        k1_desc = tl.make_tensor_descriptor(k_ptr, [most_kv, HKV * D], [HKV * D, 1], [BLOCK_N, D1])
        k1 = k1_desc.load([row_kv + start, kv_head * D + D0])
        if OF_K:
            of_k1 = tl.zeros([BLOCK_N, D1], tl.float32)
    if V1:
        grad1_desc = tl.make_tensor_descriptor(grad_ptr, [most_q, HQ * V], [HQ * V, 1], [BLOCK_M, V1])
        if OF_K:
            v1_desc = tl.make_tensor_descriptor(v_ptr, [most_kv, HKV * V], [HKV * V, 1], [BLOCK_N, V1])
            v1 = v1_desc.load([row_kv + start, kv_head * V + V0])
        if OF_V:
            of_v1 = tl.zeros([BLOCK_N, V1], tl.float32)
    offset = 0 if TOP_LEFT or SQUARE else rows_kv - rows_q
    keys = start + tl.arange(0, BLOCK_N)
    begin, whole, part, end = queries_of(start, offset, rows_q, window, BLOCK_M, BLOCK_N, CAUSAL, WINDOW)
    for member in range(HQ // HKV):
        head = kv_head * (HQ // HKV) + member
        lse = lse_ptr + head.to(tl.int64) * m + first_q
        sums = delta_ptr + head.to(tl.int64) * m + first_q
        if CAUSAL or WINDOW:
            of_k0, of_k1, of_v0, of_v1 = _along_queries(
                of_k0,
                of_k1,
                of_v0,
                of_v1,
                k0,
                k1,
                v0,
                v1,
                q_desc,
                q1_desc,
                grad_desc,
                grad1_desc,
                lse,
                sums,
                begin,
                whole,
                row_q,
                rows_q,
                head * D,
                head * V,
                keys,
                offset,
                window,
                scale,
                cap,
                D0,
                D1,
                V0,
                V1,
                BLOCK_M,
                CAUSAL,
                WINDOW,
                CAP,
                OF_K,
                OF_V,
                True,
            )
        of_k0, of_k1, of_v0, of_v1 = _along_queries(
            of_k0,
            of_k1,
            of_v0,
            of_v1,
            k0,
            k1,
            v0,
            v1,
            q_desc,
            q1_desc,
            grad_desc,
            grad1_desc,
            lse,
            sums,
            whole,
            part,
            row_q,
            rows_q,
            head * D,
            head * V,
            keys,
            offset,
            window,
            scale,
            cap,
            D0,
            D1,
            V0,
            V1,
            BLOCK_M,
            CAUSAL,
            WINDOW,
            CAP,
            OF_K,
            OF_V,
            False,
        )
        if WINDOW:
            of_k0, of_k1, of_v0, of_v1 = _along_queries(
                of_k0,
                of_k1,
                of_v0,
                of_v1,
                k0,
                k1,
                v0,
                v1,
                q_desc,
                q1_desc,
                grad_desc,
                grad1_desc,
                lse,
                sums,
                part,
                end,
                row_q,
                rows_q,
                head * D,
                head * V,
                keys,
                offset,
                window,
                scale,
                cap,
                D0,
                D1,
                V0,
                V1,
                BLOCK_M,
                CAUSAL,
                WINDOW,
                CAP,
                OF_K,
                OF_V,
                True,
            )
    if OF_K:
        _put(of_k_ptr, of_k0 * (scale / LOG2E), first_kv, start, rows_kv, kv_head * D, HKV * D, BLOCK_N, D0)
        if D1:
            _put(of_k_ptr, of_k1 * (scale / LOG2E), first_kv, start, rows_kv, kv_head * D + D0, HKV * D, BLOCK_N, D1)
    if OF_V:
        _put(of_v_ptr, of_v0, first_kv, start, rows_kv, kv_head * V, HKV * V, BLOCK_N, V0)
        if V1:
            _put(of_v_ptr, of_v1, first_kv, start, rows_kv, kv_head * V + V0, HKV * V, BLOCK_N, V1)


@tandem.jit
def _along_keys(
    of_q0,
    of_q1,
    q0,
    q1,
    grad0,
    grad1,
    lse,
    sums,
    k_desc,
    k1_desc,
    v_desc,
    v1_desc,
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
    D0: tl.constexpr,
    D1: tl.constexpr,
    V0: tl.constexpr,
    V1: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
    WINDOW: tl.constexpr,
    CAP: tl.constexpr,
    MASK: tl.constexpr,
):
    columns = tl.arange(0, BLOCK_N)
    at = row + first
    for start in tl.range(first, end, BLOCK_N):
        start = tl.multiple_of(start, BLOCK_N)
        k0 = k_desc.load([at, k_column])
        scores = tl.dot(q0, k0.T)
        if D1:
            k1 = k1_desc.load([at, k_column + D0])
            scores = tl.dot(q1, k1.T, scores)
        of_p = tl.dot(grad0, v_desc.load([at, v_column]).T)
        if V1:
            of_p = tl.dot(grad1, v1_desc.load([at, v_column + V0]).T, of_p)
        scores, slope = _slope(scores * scale, cap, CAP)
        p = tl.math.exp2(scores - lse[:, None])
        if MASK:
            p = tl.where(seen(where[:, None], (start + columns)[None, :], n, window, CAUSAL, WINDOW), p, 0.0)
        of_scores = (p * (of_p - sums[:, None]) * slope).to(k0.dtype)
        of_q0 = tl.dot(of_scores, k0, of_q0)
        if D1:
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
):
    """The gradients of a block of queries."""
    D: tl.constexpr = D0 + D1
    V: tl.constexpr = V0 + V1
    head = tl.program_id(1)
    kv_head = head // (HQ // HKV)
    start = tl.program_id(0) * BLOCK_M
    if VARLEN:
        first_q, rows_q = rows_of(cu_q_ptr, tl.program_id(2), m)
        first_kv, rows_kv = rows_of(cu_kv_ptr, tl.program_id(2), n)
        row_q, row_kv, most_q, most_kv = first_q, first_kv, m, n
    else:
        sequence = tl.program_id(2).to(tl.int64)
        first_q, first_kv = sequence * seq_q, sequence * seq_kv
        q_ptr += first_q * (HQ * D)
        grad_ptr += first_q * (HQ * V)
        k_ptr += first_kv * (HKV * D)
        v_ptr += first_kv * (HKV * V)
        row_q, row_kv, most_q, most_kv, rows_q, rows_kv = 0, 0, seq_q, seq_kv, seq_q, seq_kv
    q_desc = tl.make_tensor_descriptor(q_ptr, [most_q, HQ * D], [HQ * D, 1], [BLOCK_M, D0])
    grad_desc = tl.make_tensor_descriptor(grad_ptr, [most_q, HQ * V], [HQ * V, 1], [BLOCK_M, V0])
    k_desc = tl.make_tensor_descriptor(k_ptr, [most_kv, HKV * D], [HKV * D, 1], [BLOCK_N, D0])
    v_desc = tl.make_tensor_descriptor(v_ptr, [most_kv, HKV * V], [HKV * V, 1], [BLOCK_N, V0])
    q0 = q_desc.load([row_q + start, head * D])
    grad0 = grad_desc.load([row_q + start, head * V])
    of_q0 = tl.zeros([BLOCK_M, D0], tl.float32)
    k1_desc, v1_desc, q1, grad1, of_q1 = k_desc, v_desc, 0, 0, 0
    if D1:
        q1_desc = tl.make_tensor_descriptor(q_ptr, [most_q, HQ * D], [HQ * D, 1], [BLOCK_M, D1])
        k1_desc = tl.make_tensor_descriptor(k_ptr, [most_kv, HKV * D], [HKV * D, 1], [BLOCK_N, D1])
        q1 = q1_desc.load([row_q + start, head * D + D0])
        of_q1 = tl.zeros([BLOCK_M, D1], tl.float32)
    if V1:
        grad1_desc = tl.make_tensor_descriptor(grad_ptr, [most_q, HQ * V], [HQ * V, 1], [BLOCK_M, V1])
        v1_desc = tl.make_tensor_descriptor(v_ptr, [most_kv, HKV * V], [HKV * V, 1], [BLOCK_N, V1])
        grad1 = grad1_desc.load([row_q + start, head * V + V0])
    offset = 0 if TOP_LEFT or SQUARE else rows_kv - rows_q
    rows = start + tl.arange(0, BLOCK_M)
    where = rows + offset
    at = head.to(tl.int64) * m + first_q + rows
    lse = tl.load(lse_ptr + at, mask=rows < rows_q, other=0.0) * LOG2E
    lse = tl.where(lse == -float("inf"), float("inf"), lse)  # a query that sees no key
    sums = tl.load(delta_ptr + at, mask=rows < rows_q, other=0.0)
    if SQUARE:
        begin, whole, part, end = 0, 0, start if CAUSAL else seq_kv, start + BLOCK_M
    else:
        begin, whole, part, end = keys_of(start, offset, rows_kv, window, BLOCK_M, BLOCK_N, CAUSAL, WINDOW)
    if WINDOW:
        of_q0, of_q1 = _along_keys(
            of_q0,
            of_q1,
            q0,
            q1,
            grad0,
            grad1,
            lse,
            sums,
            k_desc,
            k1_desc,
            v_desc,
            v1_desc,
            begin,
            whole,
            row_kv,
            kv_head * D,
            kv_head * V,
            where,
            rows_kv,
            window,
            scale,
            cap,
            D0,
            D1,
            V0,
            V1,
            BLOCK_N,
            CAUSAL,
            WINDOW,
            CAP,
            True,
        )
    of_q0, of_q1 = _along_keys(
        of_q0,
        of_q1,
        q0,
        q1,
        grad0,
        grad1,
        lse,
        sums,
        k_desc,
        k1_desc,
        v_desc,
        v1_desc,
        whole,
        part,
        row_kv,
        kv_head * D,
        kv_head * V,
        where,
        rows_kv,
        window,
        scale,
        cap,
        D0,
        D1,
        V0,
        V1,
        BLOCK_N,
        CAUSAL,
        WINDOW,
        CAP,
        False,
    )
    if CAUSAL or not SQUARE:
        of_q0, of_q1 = _along_keys(
            of_q0,
            of_q1,
            q0,
            q1,
            grad0,
            grad1,
            lse,
            sums,
            k_desc,
            k1_desc,
            v_desc,
            v1_desc,
            part,
            end,
            row_kv,
            kv_head * D,
            kv_head * V,
            where,
            rows_kv,
            window,
            scale,
            cap,
            D0,
            D1,
            V0,
            V1,
            BLOCK_N,
            CAUSAL,
            WINDOW,
            CAP,
            True,
        )
    _put(of_q_ptr, of_q0 * (scale / LOG2E), first_q, start, rows_q, head * D, HQ * D, BLOCK_M, D0)
    if D1:
        _put(of_q_ptr, of_q1 * (scale / LOG2E), first_q, start, rows_q, head * D + D0, HQ * D, BLOCK_M, D1)
