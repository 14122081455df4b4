"""The gradients of keys and values: a block of them goes along the queries, so every sum has one order. Weights come from the products and
the logarithms of their sums once more. It may add its parts of the queries' gradients to memory, in no order (added.py)."""

import tandem
import tandem.language as tl
from ops.attention_backward.added import add_product, keep
from ops.attention_backward.columns import columns_of, factors, first_column
from ops.device.attention import LOG2E, block_of, blocks_of, load_part, load_parts, place_of, queries_of, seen
from ops.device.attention import slope_of, store_parts, zero_parts


@tandem.jit
def _of_weights(v, grad0, grad1, OV: tl.constexpr):
    out = tl.dot(v[0], grad0.T)
    if OV[1]:
        out = tl.dot(v[1], grad1.T, out)
    return out


@tandem.jit
def _along_queries(
    of_k,
    of_v,
    k,
    v,
    q_blocks,
    grad_blocks,
    column_blocks,
    lse_ptr,
    delta_ptr,
    sums_ptr,
    head,
    column_row,
    first,
    end,
    shift,
    row,
    rows,
    keys,
    n,
    offset,
    window,
    scale,
    cap,
    QK: tl.constexpr,
    OV: tl.constexpr,
    BLOCK_M: tl.constexpr,
    CAUSAL: tl.constexpr,
    WINDOW: tl.constexpr,
    CAP: tl.constexpr,
    OF_K: tl.constexpr,
    OF_V: tl.constexpr,
    COLUMNS: tl.constexpr,
    ADD: tl.constexpr,
    TURNED: tl.constexpr,
    MASK: tl.constexpr,
):
    """The queries from `first` to `end`, from `shift` behind the first on and then around. Tiles have a row for each key."""
    of_k0, of_k1 = of_k
    of_v0, of_v1 = of_v
    if COLUMNS:
        of_lse, of_delta = factors(k[0].shape[0], 0, k[0].dtype), factors(k[0].shape[0], 3, k[0].dtype)
    for step in tl.range(first, end, BLOCK_M):
        start = tl.multiple_of(tl.where(step + shift < end, step + shift, step + shift - end + first), BLOCK_M)
        at = row + start
        i = start + tl.arange(0, BLOCK_M)
        if COLUMNS:
            columns = column_blocks.load([column_row + start, 0])
        else:
            lse = tl.load(lse_ptr + i, mask=i < rows, other=float("inf"))
        q0 = load_part(q_blocks[0], at, head)
        scores = tl.dot(k[0], q0.T)
        if QK[1]:
            q1 = load_part(q_blocks[1], at, head)
            scores = tl.dot(k[1], q1.T, scores)
        grad0, grad1 = load_part(grad_blocks[0], at, head), 0
        if OV[1]:
            grad1 = load_part(grad_blocks[1], at, head)
        if COLUMNS:
            scores = tl.dot(of_lse, columns.T, scores)
            if OF_K:  # goes on while exponentials are made, for which registers are left here
                of_p = tl.dot(of_delta, columns.T, _of_weights(v, grad0, grad1, OV))
        scores, slope = slope_of(scores * scale, cap, CAP)
        p = tl.math.exp2(scores if COLUMNS else scores - (lse * LOG2E)[None, :])
        if MASK:
            p = tl.where(seen((i + offset)[None, :], keys[:, None], n, window, CAUSAL, WINDOW), p, 0.0)
        if OF_V:
            of_v0 = tl.dot(p.to(grad0.dtype), grad0, of_v0)
            if OV[1]:
                of_v1 = tl.dot(p.to(grad0.dtype), grad1, of_v1)
        if OF_K:
            if not COLUMNS:
                of_p = _of_weights(v, grad0, grad1, OV) - tl.load(delta_ptr + i, mask=i < rows, other=0.0)[None, :]
            of_scores = (p * of_p * slope).to(q0.dtype)
            if ADD:  # ahead of the last product: what is added goes to memory while that one multiplies
                sums = sums_ptr + (column_row + start).to(tl.int64) * (QK[0] + QK[1])
                add_product(sums, of_scores, k[0], TURNED)
                if QK[1]:
                    add_product(sums + BLOCK_M * QK[0], of_scores, k[1], TURNED)
            of_k0 = tl.dot(of_scores, q0, of_k0)
            if QK[1]:
                of_k1 = tl.dot(of_scores, q1, of_k1)
    return (of_k0, of_k1), (of_v0, of_v1)


@tandem.jit
def piece_of(piece, pieces, begin, whole, part, end, BLOCK_M: tl.constexpr):
    """What `queries_of` says, of one of the pieces of these queries."""
    each = tl.cdiv(tl.maximum(tl.cdiv(end - begin, BLOCK_M), 0), pieces) * BLOCK_M
    low = begin + piece * each
    high = low + each
    return low, tl.minimum(tl.maximum(whole, low), high), tl.minimum(tl.maximum(part, low), high), tl.minimum(end, high)


@tandem.jit
def of_keys(
    q_ptr,
    k_ptr,
    v_ptr,
    grad_ptr,
    lse_ptr,
    delta_ptr,
    columns_ptr,
    sums_ptr,
    parts_ptr,
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
    column_rows,
    window,
    parts,
    pieces,
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
    OF_K: tl.constexpr,
    OF_V: tl.constexpr,
    COLUMNS: tl.constexpr,
    ADD: tl.constexpr,
    TURNED: tl.constexpr,
    SPLIT: tl.constexpr,
):
    """The gradients of the keys, of the values, or of both: of a block of them, the sums over the heads of queries that share it. scale and
    cap: times log2(e). SQUARE: as in attention.py; COLUMNS: lse and delta come as columns, so many rows of each head; ADD: parts of the
    queries' gradients are added to sums, TURNED as `add_product` says. SPLIT: a block has so many `parts`, each of a program: of some
    of the heads, or of one of `pieces` of a head's queries; added.py's `joined` sums them."""
    QK: tl.constexpr = (D0, D1)
    OV: tl.constexpr = (V0, V1)
    EDGE: tl.constexpr = ADD and not SQUARE
    # The blocks of num_programs(0) heads begin together, the first ones first.
    block, line = tl.program_id(1), tl.program_id(2) * tl.num_programs(0) + tl.program_id(0)
    piece, first, members = 0, 0, HQ // HKV
    if SPLIT:
        part, line = line % parts, line // parts
        members = members * pieces // parts
        piece, first = part % pieces, part // pieces * members
    kv_head, sequence = line % HKV, line // HKV
    if VARLEN:
        block, sequence = block_of(cu_kv_ptr, block, seq_kv, n, BLOCK_N)
    start = block * BLOCK_N
    at_q = place_of(cu_q_ptr, sequence, m, seq_q, VARLEN)
    at_kv = place_of(cu_kv_ptr, sequence, n, seq_kv, VARLEN)
    rows_q, rows_kv = at_q[1], at_kv[1]
    q_blocks = blocks_of(q_ptr, at_q, HQ, D, BLOCK_M, QK)
    grad_blocks = blocks_of(grad_ptr, at_q, HQ, V, BLOCK_M, OV)
    k = load_parts(blocks_of(k_ptr, at_kv, HKV, D, BLOCK_N, QK), at_kv[2] + start, kv_head, QK)
    v = (0, 0)
    if OF_K:
        v = load_parts(blocks_of(v_ptr, at_kv, HKV, V, BLOCK_N, OV), at_kv[2] + start, kv_head, OV)
    of_k = zero_parts(BLOCK_N, QK, OF_K)
    of_v = zero_parts(BLOCK_N, OV, OF_V)
    offset = 0 if TOP_LEFT or SQUARE else rows_kv - rows_q
    keys = start + tl.arange(0, BLOCK_N)
    rows = tl.where(start < rows_kv, rows_q, 0)
    begin, whole, part, end = queries_of(start, offset, rows, window, BLOCK_M, BLOCK_N, CAUSAL, WINDOW)
    if EDGE:  # keys behind the last one have products of 0, which no logarithm bounds
        whole = tl.where(start + BLOCK_N > rows_kv, part, whole)
    if SPLIT:
        begin, whole, part, end = piece_of(piece, pieces, begin, whole, part, end, BLOCK_M)
    shift, column_blocks, first_row = 0, 0, 0
    if COLUMNS:
        column_blocks = columns_of(columns_ptr, column_rows, HQ, BLOCK_M)
        first_row = first_column(at_q, sequence, seq_q, VARLEN)
    if ADD and not CAUSAL and not WINDOW:  # blocks of a head are at queries of their own, and go around
        part = whole + tl.cdiv(part - whole, BLOCK_M) * BLOCK_M
        shift = start % tl.maximum(part - whole, BLOCK_M) // BLOCK_M * BLOCK_M
    shape: tl.constexpr = (QK, OV, BLOCK_M, CAUSAL, WINDOW, CAP, OF_K, OF_V, COLUMNS, ADD, TURNED)
    more = (at_q[2], rows_q, keys, rows_kv if EDGE else 1 << 30, offset, window, scale, cap)
    first += kv_head * (HQ // HKV)
    for member in range(members):
        head = first + member
        lse = lse_ptr + head.to(tl.int64) * m + at_q[0]
        sums = delta_ptr + head.to(tl.int64) * m + at_q[0]
        at_columns = head * column_rows + first_row
        read = (k, v, q_blocks, grad_blocks, column_blocks, lse, sums, sums_ptr, head, at_columns)
        if CAUSAL or WINDOW or EDGE:
            of_k, of_v = _along_queries(of_k, of_v, *read, begin, whole, 0, *more, *shape, True)
        of_k, of_v = _along_queries(of_k, of_v, *read, whole, part, shift, *more, *shape, False)
        if WINDOW:
            of_k, of_v = _along_queries(of_k, of_v, *read, part, end, 0, *more, *shape, True)
    stored = (at_kv[0], start, rows_kv, 0)
    if SPLIT:
        OF_VALUES: tl.constexpr = BLOCK_N * (V0 + V1 if OF_V else 0)
        KEPT: tl.constexpr = BLOCK_N * (D0 + D1 if OF_K else 0) + OF_VALUES
        at = (tl.program_id(2) * tl.num_programs(1) + tl.program_id(1)) * tl.num_programs(0) + tl.program_id(0)
        own_ptr = parts_ptr + at.to(tl.int64) * KEPT
        if OF_K:
            keep(own_ptr, of_k, QK)
        if OF_V:
            keep(own_ptr + (KEPT - OF_VALUES), of_v, OV)
    elif OF_K:
        store_parts(of_k_ptr, of_k, scale / LOG2E, *stored, kv_head, HKV, D, QK, True)
    if OF_V and not SPLIT:
        store_parts(of_v_ptr, of_v, 1.0, *stored, kv_head, HKV, V, OV, True)
