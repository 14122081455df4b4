"""The way of a block of queries along keys: sums of weights and of values by weights, of attention and of attention over ranks."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.attention import LOG2E, NEVER, capped, load_part, seen, store_block, zero_parts


@tandem.jit
def dealt(x, M: tl.constexpr, N: tl.constexpr):
    """x[M, N] with each 16 columns in the order in which the registers of a product's results are a left operand of fp8."""
    return x.reshape(M, N // 16, 2, 4, 2).permute(0, 1, 3, 2, 4).reshape(M, N)


@tandem.jit
def no_sums(BLOCK_M: tl.constexpr, OV: tl.constexpr):
    """The sums of queries that have seen no key: of values, both parts, of weights, and the most of the scores."""
    return zero_parts(BLOCK_M, OV, True), tl.zeros([BLOCK_M], tl.float32), tl.full([BLOCK_M], NEVER, tl.float32)


@tandem.jit
def along_keys(
    sums,
    first,
    end,
    row,
    q,
    k_blocks,
    v_blocks,
    behind,
    kv_head,
    turned_row,
    where,
    n,
    window,
    scale,
    cap,
    lift,
    arrival,
    clear,
    QK: tl.constexpr,
    OV: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
    WINDOW: tl.constexpr,
    CAP: tl.constexpr,
    FP8: tl.constexpr,
    DEALT: tl.constexpr,
    MASK: tl.constexpr,
    ARRIVES: tl.constexpr,
):
    """The keys from `first` to `end`. FP8: the transposed values of this head begin at `turned_row`, in a row `behind` where keys do, seen
    from `row`. MASK: not all queries see all of them, except those from the first of `clear` to its second; one loop goes along all, so
    that products of neighbours overlap there too. `where`: the key on each query's diagonal; `lift`: weights are times two to its power.
    ARRIVES: keys come in bands; `arrival`: the number of those that are there, the row among theirs at which keys begin, the number of all
    rows, the rows of a band, how many rows are there for sure, and how many bands come before."""
    acc, total, most = sums
    acc0, acc1 = acc
    columns = tl.arange(0, BLOCK_N)
    at = row + first
    there = arrival[4] if ARRIVES else 0
    for start in tl.range(first, end, BLOCK_N):
        start = tl.multiple_of(start, BLOCK_N)
        if ARRIVES:
            need = tl.minimum(arrival[1] + start + BLOCK_N, arrival[2])
            if need > there:
                band = (need - 1) // arrival[3]
                token = dl.wait(arrival[0], 1, "sys", "acquire", waitValue=arrival[5] + band + 1, compare="ge")
                at = dl.consume_token(at, token)
                there = (band + 1) * arrival[3]
        scores = tl.dot(q[0], load_part(k_blocks[0], at, kv_head).T)
        if QK[1]:
            scores = tl.dot(q[1], load_part(k_blocks[1], at, kv_head).T, scores)
        if CAP:
            scores = capped(scores * scale, cap)
        if MASK:
            if (start < clear[0]) | (start >= clear[1]):
                scores = tl.where(seen(where[:, None], (start + columns)[None, :], n, window, CAUSAL, WINDOW), scores, -float("inf"))
        if CAP:
            new = tl.maximum(most, tl.max(scores, 1))
            scores -= (new - lift)[:, None]
        else:
            new = tl.maximum(most, tl.max(scores, 1) * scale)
            scores = scores * scale - (new - lift)[:, None]
        p = tl.math.exp2(scores)
        alpha = tl.math.exp2(most - new)
        share = tl.sum(p, 1)
        acc0 = acc0 * alpha[:, None]
        p = p.to(v_blocks[0][0].dtype)
        if DEALT:
            p = dealt(p, p.shape[0], BLOCK_N)
        v = v_blocks[0][0].load([turned_row, at + behind]).T if FP8 else load_part(v_blocks[0], at, kv_head)
        acc0 = tl.dot(p, v, acc0)
        if OV[1]:
            acc1 = acc1 * alpha[:, None]
            v1 = v_blocks[1][0].load([turned_row + OV[0], at + behind]).T if FP8 else load_part(v_blocks[1], at, kv_head)
            acc1 = tl.dot(p, v1, acc1)
        total = total * alpha + share
        most = new
        at += BLOCK_N
    return (acc0, acc1), total, most


@tandem.jit
def with_sink(sums, sink, lift, OV: tl.constexpr):
    """The sums with a score that has no value."""
    acc, total, most = sums
    acc0, acc1 = acc
    new = tl.maximum(most, sink)
    alpha = tl.math.exp2(most - new)
    total = total * alpha + tl.math.exp2(sink - new + lift)
    acc0 = acc0 * alpha[:, None]
    if OV[1]:
        acc1 = acc1 * alpha[:, None]
    return (acc0, acc1), total, new


@tandem.jit
def lse_of(sums, lift):
    """Natural logarithms of the sums of weights."""
    return tl.where(sums[1] > 0, (sums[2] - lift + tl.math.log2(sums[1])) / LOG2E, -float("inf"))


@tandem.jit
def store_means(
    out_ptr, sums, row, start, rows, of_all, head, HEADS: tl.constexpr, V: tl.constexpr, OV: tl.constexpr, IN_PART: tl.constexpr
):
    """The means of values; 0 without weights. The rest as in store_block."""
    total = tl.where(sums[1] > 0, sums[1], 1)
    store_block(out_ptr, sums[0][0] / total[:, None], row, start, rows, of_all, head, 0, HEADS, V, IN_PART)
    if OV[1]:
        store_block(out_ptr, sums[0][1] / total[:, None], row, start, rows, of_all, head, OV[0], HEADS, V, IN_PART)
