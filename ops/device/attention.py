"""Which keys a block of queries sees, and where its sequence stands: of the attention and its gradients."""

import tandem
import tandem.language as tl

LOG2E = tl.constexpr(1.4426950408889634)
NEVER = tl.constexpr(-1.0e30)  # below every product, and finite, so that differences are numbers


@tandem.jit
def capped(x, cap):
    """cap * tanh(x / cap), for x and cap in powers of two."""
    return cap - 2 * cap / (tl.math.exp2(x * (2 * LOG2E / cap)) + 1)


@tandem.jit
def seen(where, key, n, window, CAUSAL: tl.constexpr, WINDOW: tl.constexpr):
    """True where a query sees a key. `where`: the key on the query's diagonal."""
    out = key < n
    if CAUSAL:
        out = out & (key <= where)
    if WINDOW:
        out = out & (key > where - window)
        if not CAUSAL:
            out = out & (key < where + window)
    return out


@tandem.jit
def rows_of(cu_ptr, sequence, most):
    """The first row of a sequence and the number of its rows; what the array says beyond the tensor's rows, `most`, is not there."""
    first = tl.minimum(tl.maximum(tl.load(cu_ptr + sequence), 0), most)
    return first, tl.maximum(tl.minimum(tl.load(cu_ptr + sequence + 1), most) - first, 0)


@tandem.jit
def keys_of(start, offset, n, window, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr):
    """The keys that the queries from `start` see: from the first to the second some of them, to the third all, to the fourth some."""
    diagonal = start + offset
    begin, whole, part, end = 0, 0, n // BLOCK_N * BLOCK_N, n
    if CAUSAL:
        part = tl.minimum(part, tl.maximum(diagonal + 1, 0) // BLOCK_N * BLOCK_N)
        end = tl.minimum(end, tl.maximum(diagonal + BLOCK_M, 0))
    if WINDOW:
        begin = tl.maximum(diagonal - window + 1, 0) // BLOCK_N * BLOCK_N
        whole = tl.maximum(diagonal + BLOCK_M - window + BLOCK_N - 1, 0) // BLOCK_N * BLOCK_N
        if not CAUSAL:
            part = tl.minimum(part, tl.maximum(diagonal + window, 0) // BLOCK_N * BLOCK_N)
            end = tl.minimum(end, tl.maximum(diagonal + BLOCK_M - 1 + window, 0))
        whole = tl.minimum(tl.maximum(whole, begin), tl.cdiv(end, BLOCK_N) * BLOCK_N)
        part = tl.maximum(part, whole)
    return begin, whole, part, end


@tandem.jit
def queries_of(start, offset, m, window, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr, WINDOW: tl.constexpr):
    """The queries that see the keys from `start`: from the first to the second some of these keys, to the third all, to the fourth some."""
    diagonal = start - offset  # the query whose diagonal is at the first key
    begin, whole, part, end = 0, 0, m, m
    if CAUSAL:
        begin = tl.maximum(diagonal, 0) // BLOCK_M * BLOCK_M
        whole = tl.cdiv(tl.maximum(diagonal + BLOCK_N - 1, 0), BLOCK_M) * BLOCK_M
    if WINDOW:
        end = tl.minimum(m, tl.maximum(diagonal + BLOCK_N - 1 + window, 0))
        part = tl.maximum(diagonal + window, 0) // BLOCK_M * BLOCK_M
        if not CAUSAL:
            begin = tl.maximum(diagonal - window + 1, 0) // BLOCK_M * BLOCK_M
            whole = tl.cdiv(tl.maximum(diagonal + BLOCK_N - window, 0), BLOCK_M) * BLOCK_M
        part = tl.minimum(part, tl.cdiv(end, BLOCK_M) * BLOCK_M)
    whole = tl.minimum(tl.maximum(whole, begin), tl.cdiv(end, BLOCK_M) * BLOCK_M)
    if WINDOW:
        part = tl.maximum(part, whole)
    return begin, whole, part, end
