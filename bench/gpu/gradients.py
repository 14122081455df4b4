"""The gradients of attention in one kernel of five products: a block of keys goes along the queries and keeps the sums of its own
gradients; parts of the queries' gradients are added to memory, in one order. Timed by time_gradients.py."""

import tandem
import tandem.dist as dl
import tandem.language as tl

LOG2E = tl.constexpr(1.4426950408889634)


@tandem.jit
def _along_queries(
    of_k,
    of_v,
    k,
    v,
    q_blocks,
    grad_blocks,
    sum_blocks,
    lse_ptr,
    delta_ptr,
    turn_ptr,
    sequence,
    column,
    first,
    end,
    length,
    block,
    last,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
    ORDERED: tl.constexpr,
    MASK: tl.constexpr,
):
    """The queries from `first` to `end`. Tiles have a row for each key. turn_ptr: how many have added to each block of queries."""
    keys = block * BLOCK_N + tl.arange(0, BLOCK_N)
    for start in tl.range(first, end, BLOCK_M):
        start = tl.multiple_of(start, BLOCK_M)
        i = start + tl.arange(0, BLOCK_M)
        lse = tl.load(lse_ptr + i, mask=i < length, other=float("inf"))
        delta = tl.load(delta_ptr + i, mask=i < length, other=0.0)
        q = q_blocks.load([start, column])
        grad = grad_blocks.load([start, column])
        scores = tl.dot(k, q.T, tl.zeros([BLOCK_N, BLOCK_M], tl.float32) - (lse * (LOG2E / scale))[None, :])
        of_p = tl.dot(v, grad.T, tl.zeros([BLOCK_N, BLOCK_M], tl.float32) - delta[None, :])
        p = tl.math.exp2(scores * scale)
        if MASK:
            seen = keys[:, None] < length
            if CAUSAL:
                seen = seen & (keys[:, None] <= i[None, :])
            p = tl.where(seen, p, 0.0)
        of_v = tl.dot(p.to(grad.dtype), grad, of_v)
        of_scores = (p * of_p).to(q.dtype)
        part = tl.dot(of_scores.T, k).reshape(1, BLOCK_M, q.shape[1])
        of_k = tl.dot(of_scores, q, of_k)
        turn = last - block
        if CAUSAL:
            turn = tl.minimum((start + BLOCK_M - 1) // BLOCK_N, last) - block
        place = turn_ptr + start // BLOCK_M
        row = tl.maximum(start, 0)
        is_first: tl.constexpr = CAUSAL and MASK
        if ORDERED and not is_first:
            row = dl.consume_token(row, dl.wait(place, 1, "gpu", "acquire", waitValue=turn, compare="ge"))
        if not ORDERED or (CAUSAL and not is_first):
            sum_blocks.atomic_add([sequence, row, column], part)
        elif is_first or turn == 0:
            sum_blocks.store([sequence, row, column], part)
        else:
            sum_blocks.atomic_add([sequence, row, column], part)
        if ORDERED:
            tl.atomic_xchg(place, tl.where(block == 0, 0, turn + 1), sem="release", scope="gpu")
    return of_k, of_v


@tandem.jit
def gradients(
    q_ptr,
    k_ptr,
    v_ptr,
    grad_ptr,
    lse_ptr,
    delta_ptr,
    sums_ptr,
    turns_ptr,
    of_k_ptr,
    of_v_ptr,
    scale,
    length,
    sequences,
    HQ: tl.constexpr,
    HKV: tl.constexpr,
    D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
    WHOLE: tl.constexpr,
    LANES: tl.constexpr,
    ORDERED: tl.constexpr,
):
    """sums[sequences * length, HQ * D], fp32: the gradients of the queries, but for the factor; of_k and of_v: those of the keys and
    values. scale: times log2(e). WHOLE: the length is a multiple of both blocks. turns: one for each block of queries, zeros before and
    behind. Without ORDERED all parts are added to what sums holds, in any order.

    A program waits for those of its head's later keys. Their numbers are lower, and programs start in the order of their numbers: of those
    that run, the one with the lowest number waits for nobody. LANES heads come by turns, so that programs of one head, which follow each
    other at every block of queries, start as far apart as that takes."""
    blocks = tl.cdiv(length, BLOCK_N)
    pid = tl.program_id(0)
    group, within = pid // (LANES * blocks), pid % (LANES * blocks)
    lanes = tl.minimum(LANES, HKV * sequences - group * LANES)
    block = blocks - 1 - within // lanes
    lane = group * LANES + within % lanes
    kv_head, sequence = lane % HKV, lane // HKV
    start = block * BLOCK_N
    row = sequence.to(tl.int64) * length
    q_blocks = tl.make_tensor_descriptor(q_ptr + row * (HQ * D), [length, HQ * D], [HQ * D, 1], [BLOCK_M, D])
    grad_blocks = tl.make_tensor_descriptor(grad_ptr + row * (HQ * D), [length, HQ * D], [HQ * D, 1], [BLOCK_M, D])
    k_blocks = tl.make_tensor_descriptor(k_ptr + row * (HKV * D), [length, HKV * D], [HKV * D, 1], [BLOCK_N, D])
    v_blocks = tl.make_tensor_descriptor(v_ptr + row * (HKV * D), [length, HKV * D], [HKV * D, 1], [BLOCK_N, D])
    shape: tl.constexpr = [1, BLOCK_M, D]
    sum_blocks = tl.make_tensor_descriptor(sums_ptr, [sequences, length, HQ * D], [length * HQ * D, HQ * D, 1], shape)
    k, v = k_blocks.load([start, kv_head * D]), v_blocks.load([start, kv_head * D])
    of_k, of_v = tl.zeros([BLOCK_N, D], tl.float32), tl.zeros([BLOCK_N, D], tl.float32)
    whole = tl.minimum(start + BLOCK_N, tl.cdiv(length, BLOCK_M) * BLOCK_M)  # from here on queries see all of the block
    for member in range(HQ // HKV):
        head = kv_head * (HQ // HKV) + member
        at = head.to(tl.int64) * sequences * length + row
        turns = turns_ptr + (head * sequences + sequence) * tl.cdiv(length, BLOCK_M)
        read = (k, v, q_blocks, grad_blocks, sum_blocks, lse_ptr + at, delta_ptr + at, turns, sequence, head * D)
        more = (length, block, blocks - 1, scale)
        options: tl.constexpr = (BLOCK_M, BLOCK_N, CAUSAL, ORDERED)
        if CAUSAL:
            of_k, of_v = _along_queries(of_k, of_v, *read, start, whole, *more, *options, True)
            of_k, of_v = _along_queries(of_k, of_v, *read, whole, length, *more, *options, False)
        elif WHOLE:
            of_k, of_v = _along_queries(of_k, of_v, *read, 0, length, *more, *options, False)
        else:
            of_k, of_v = _along_queries(of_k, of_v, *read, 0, length, *more, *options, True)
    n = start + tl.arange(0, BLOCK_N)
    at = (row + n)[:, None] * (HKV * D) + kv_head * D + tl.arange(0, D)[None, :]
    tl.store(of_k_ptr + at, (of_k * (scale / LOG2E)).to(k.dtype), mask=(n < length)[:, None])
    tl.store(of_v_ptr + at, of_v.to(k.dtype), mask=(n < length)[:, None])


@tandem.jit
def narrow(sums_ptr, of_q_ptr, factor, count, BLOCK: tl.constexpr):
    """of_q = sums * factor."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(sums_ptr + at, mask=at < count)
    tl.store(of_q_ptr + at, (x * factor).to(of_q_ptr.dtype.element_ty), mask=at < count)
