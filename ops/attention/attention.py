"""Attention: for each query the mean of the values, weighted by the softmax of its products with the keys. A program has one block of
one head's queries and goes once along the keys."""

import tandem
import tandem.language as tl
from ops.device.attention import LOG2E, NEVER, capped, keys_of, seen, rows_of


@tandem.jit
def dealt(x, M: tl.constexpr, N: tl.constexpr):
    """x[M, N] with each 16 columns in the order in which the registers of a product's results are a left operand of fp8."""
    return x.reshape(M, N // 16, 2, 4, 2).permute(0, 1, 3, 2, 4).reshape(M, N)


@tandem.jit
def turn(x_ptr, out_ptr, rows, columns, stride, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DEALT: tl.constexpr):
    """out[columns, stride]: the transpose of x[rows, columns], with DEALT in the order of `dealt`."""
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    x = tl.load(x_ptr + row.to(tl.int64)[:, None] * columns + column[None, :], mask=inside)
    x = dealt(x.T, BLOCK_N, BLOCK_M) if DEALT else x.T
    tl.store(out_ptr + column.to(tl.int64)[:, None] * stride + row[None, :], x, mask=inside.T)


@tandem.jit
def _along(
    acc0,
    acc1,
    total,
    most,
    q0,
    q1,
    k_desc,
    k1_desc,
    v_desc,
    v1_desc,
    first,
    end,
    row,
    behind,
    k_column,
    v_column,
    where,
    n,
    window,
    scale,
    cap,
    lift,
    D0: tl.constexpr,
    D1: tl.constexpr,
    V0: tl.constexpr,
    V1: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
    WINDOW: tl.constexpr,
    CAP: tl.constexpr,
    MASK: tl.constexpr,
    FP8: tl.constexpr,
    DEALT: tl.constexpr,
):
    """The keys from `first` to `end`. `behind`: where values begin, seen from `row`. MASK: not all queries see all of them. `where`: the
    key on each query's diagonal; `lift`: weights are times two to its power."""
    columns = tl.arange(0, BLOCK_N)
    at = row + first
    for start in tl.range(first, end, BLOCK_N):
        start = tl.multiple_of(start, BLOCK_N)
        scores = tl.dot(q0, k_desc.load([at, k_column]).T)
        if D1:
            scores = tl.dot(q1, k1_desc.load([at, k_column + D0]).T, scores)
        if CAP or MASK:
            scores = scores * scale
            if CAP:
                scores = capped(scores, cap)
            if MASK:
                scores = tl.where(seen(where[:, None], (start + columns)[None, :], n, window, CAUSAL, WINDOW), scores, -float("inf"))
            new = tl.maximum(most, tl.max(scores, 1))
            scores -= (new - lift)[:, None]
        else:
            new = tl.maximum(most, tl.max(scores, 1) * scale)
            scores = scores * scale - (new - lift)[:, None]
        p = tl.math.exp2(scores)
        alpha = tl.math.exp2(most - new)
        share = tl.sum(p, 1)
        acc0 = acc0 * alpha[:, None]
        p = p.to(v_desc.dtype)
        if DEALT:
            p = dealt(p, p.shape[0], BLOCK_N)
        v = v_desc.load([v_column, at + behind]).T if FP8 else v_desc.load([at, v_column])
        acc0 = tl.dot(p, v, acc0)
        if V1:
            acc1 = acc1 * alpha[:, None]
            v1 = v1_desc.load([v_column + V0, at + behind]).T if FP8 else v1_desc.load([at, v_column + V0])
            acc1 = tl.dot(p, v1, acc1)
        total = total * alpha + share
        most = new
        at += BLOCK_N
    return acc0, acc1, total, most


@tandem.jit
def _put(out_ptr, x, row, start, rows, most, column, stride, BLOCK_M: tl.constexpr, V: tl.constexpr, VARLEN: tl.constexpr):
    """Stores a block of results; not behind the end of its sequence, where another one's may be."""
    x = x.to(out_ptr.dtype.element_ty)
    if VARLEN:
        at = start + tl.arange(0, BLOCK_M)
        pointers = out_ptr + (row + at)[:, None].to(tl.int64) * stride + column + tl.arange(0, V)[None, :]
        tl.store(pointers, x, mask=(at < rows)[:, None])
    else:
        tl.make_tensor_descriptor(out_ptr, [most, stride], [stride, 1], [BLOCK_M, V]).store([start, column], x)


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
):
    """out[m, HQ, V0 + V1] of q[m, HQ, D0 + D1], k[n, HKV, D0 + D1] and v[n, HKV, V0 + V1]; lse[HQ, m]: the logarithms of the sums.
    scale and cap: times log2(e). VARLEN: sequences by cu_q and cu_kv, else of seq_q and seq_kv rows each. SQUARE: as many of both, and
    multiples of the blocks. FP8: v[HKV * V, stride], with DEALT in the order of `dealt`; scales[3]: of q, k and v."""
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
        k_ptr += first_kv * (HKV * D)
        if not FP8:
            v_ptr += first_kv * (HKV * V)
        out_ptr += first_q * (HQ * V)
        row_q, row_kv, most_q, most_kv, rows_q, rows_kv = 0, 0, seq_q, seq_kv, seq_q, seq_kv
    q_desc = tl.make_tensor_descriptor(q_ptr, [most_q, HQ * D], [HQ * D, 1], [BLOCK_M, D0])
    k_desc = tl.make_tensor_descriptor(k_ptr, [most_kv, HKV * D], [HKV * D, 1], [BLOCK_N, D0])
    lift, behind = 0.0, 0  # of the transposed values, which all sequences share
    if FP8:
        lift, behind = 8.0, 0 if VARLEN else first_kv.to(tl.int32)
        scale *= tl.load(scales_ptr) * tl.load(scales_ptr + 1)
        v_desc = tl.make_tensor_descriptor(v_ptr, [HKV * V, n], [stride, 1], [V0, BLOCK_N])
    else:
        v_desc = tl.make_tensor_descriptor(v_ptr, [most_kv, HKV * V], [HKV * V, 1], [BLOCK_N, V0])
    k1_desc, v1_desc, q1, acc1 = k_desc, v_desc, 0, 0
    if D1:
        q1_desc = tl.make_tensor_descriptor(q_ptr, [most_q, HQ * D], [HQ * D, 1], [BLOCK_M, D1])
        k1_desc = tl.make_tensor_descriptor(k_ptr, [most_kv, HKV * D], [HKV * D, 1], [BLOCK_N, D1])
        q1 = q1_desc.load([row_q + start, head * D + D0])
    if V1:
        if FP8:
            v1_desc = tl.make_tensor_descriptor(v_ptr, [HKV * V, n], [stride, 1], [V1, BLOCK_N])
        else:
            v1_desc = tl.make_tensor_descriptor(v_ptr, [most_kv, HKV * V], [HKV * V, 1], [BLOCK_N, V1])
        acc1 = tl.zeros([BLOCK_M, V1], tl.float32)
    offset = 0 if TOP_LEFT or SQUARE else rows_kv - rows_q
    rows = start + tl.arange(0, BLOCK_M)
    where = rows + offset
    most = tl.full([BLOCK_M], NEVER, tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    acc0 = tl.zeros([BLOCK_M, V0], tl.float32)
    q0 = q_desc.load([row_q + start, head * D])
    if SQUARE:
        begin, whole, part, end = 0, 0, start if CAUSAL else seq_kv, start + BLOCK_M
    else:
        begin, whole, part, end = keys_of(start, offset, rows_kv, window, BLOCK_M, BLOCK_N, CAUSAL, WINDOW)
    if WINDOW:
        acc0, acc1, total, most = _along(
            acc0,
            acc1,
            total,
            most,
            q0,
            q1,
            k_desc,
            k1_desc,
            v_desc,
            v1_desc,
            begin,
            whole,
            row_kv,
            behind,
            kv_head * D,
            kv_head * V,
            where,
            rows_kv,
            window,
            scale,
            cap,
            lift,
            D0,
            D1,
            V0,
            V1,
            BLOCK_N,
            CAUSAL,
            WINDOW,
            CAP,
            True,
            FP8,
            DEALT,
        )
    acc0, acc1, total, most = _along(
        acc0,
        acc1,
        total,
        most,
        q0,
        q1,
        k_desc,
        k1_desc,
        v_desc,
        v1_desc,
        whole,
        part,
        row_kv,
        behind,
        kv_head * D,
        kv_head * V,
        where,
        rows_kv,
        window,
        scale,
        cap,
        lift,
        D0,
        D1,
        V0,
        V1,
        BLOCK_N,
        CAUSAL,
        WINDOW,
        CAP,
        False,
        FP8,
        DEALT,
    )
    if CAUSAL or not SQUARE:
        acc0, acc1, total, most = _along(
            acc0,
            acc1,
            total,
            most,
            q0,
            q1,
            k_desc,
            k1_desc,
            v_desc,
            v1_desc,
            part,
            end,
            row_kv,
            behind,
            kv_head * D,
            kv_head * V,
            where,
            rows_kv,
            window,
            scale,
            cap,
            lift,
            D0,
            D1,
            V0,
            V1,
            BLOCK_N,
            CAUSAL,
            WINDOW,
            CAP,
            True,
            FP8,
            DEALT,
        )
    if SINKS:
        sink = tl.load(sinks_ptr + head) * LOG2E
        new = tl.maximum(most, sink)
        alpha = tl.math.exp2(most - new)
        total = total * alpha + tl.math.exp2(sink - new + lift)
        acc0 = acc0 * alpha[:, None]
        if V1:
            acc1 = acc1 * alpha[:, None]
        most = new
    if LSE:
        lse = tl.where(total > 0, (most - lift + tl.math.log2(total)) / LOG2E, -float("inf"))
        tl.store(lse_ptr + head.to(tl.int64) * m + first_q + rows, lse, mask=rows < rows_q)
    total = tl.where(total > 0, total, 1)
    if FP8:
        total /= tl.load(scales_ptr + 2)
    _put(out_ptr, acc0 / total[:, None], row_q, start, rows_q, most_q, head * V, HQ * V, BLOCK_M, V0, VARLEN)
    if V1:
        _put(out_ptr, acc1 / total[:, None], row_q, start, rows_q, most_q, head * V + V0, HQ * V, BLOCK_M, V1, VARLEN)
