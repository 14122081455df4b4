"""Which keys a block of queries sees, where its sequence stands, and the blocks of its heads: of the attention and its gradients. A head's
elements are two powers of two, of which the second may be 0: tiles come in pairs."""

import tandem
import tandem.language as tl

LOG2E = tl.constexpr(1.4426950408889634)
NEVER = tl.constexpr(-1.0e30)  # below every product, and finite, so that differences are numbers


@tandem.jit
def capped(x, cap):
    """cap * tanh(x / cap), for x and cap in powers of two."""
    return cap - 2 * cap / (tl.math.exp2(x * (2 * LOG2E / cap)) + 1)


@tandem.jit
def slope_of(scores, cap, CAP: tl.constexpr):
    """The scores in powers of two, and what a change of theirs is times that of the products."""
    if CAP:
        scores = capped(scores, cap)
        return scores, 1 - (scores / cap) * (scores / cap)
    return scores, 1.0


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
def place_of(cu_ptr, rows, each, VARLEN: tl.constexpr):
    """Of the program's sequence: its first row, the number of its rows, and where it begins and how many rows there are as `blocks_of` has
    them. VARLEN: sequences by cu, else of `each` rows."""
    if VARLEN:
        first, count = rows_of(cu_ptr, tl.program_id(2), rows)
        return first, count, first, rows
    return tl.program_id(2).to(tl.int64) * each, each, 0, each


@tandem.jit
def blocks_of(x_ptr, place, stride, BLOCK: tl.constexpr, PARTS: tl.constexpr, VARLEN: tl.constexpr):
    """Descriptors of blocks of x[rows, stride], for both parts of a head."""
    if not VARLEN:
        x_ptr += place[0] * stride
    first = tl.make_tensor_descriptor(x_ptr, [place[3], stride], [stride, 1], [BLOCK, PARTS[0]])
    second = first
    if PARTS[1]:
        second = tl.make_tensor_descriptor(x_ptr, [place[3], stride], [stride, 1], [BLOCK, PARTS[1]])
    return first, second


@tandem.jit
def load_parts(blocks, row, column, PARTS: tl.constexpr):
    second = 0
    if PARTS[1]:
        second = blocks[1].load([row, column + PARTS[0]])
    return blocks[0].load([row, column]), second


@tandem.jit
def zero_parts(ROWS: tl.constexpr, PARTS: tl.constexpr, WANTED: tl.constexpr):
    first, second = 0, 0
    if WANTED:
        first = tl.zeros([ROWS, PARTS[0]], tl.float32)
        if PARTS[1]:
            second = tl.zeros([ROWS, PARTS[1]], tl.float32)
    return first, second


@tandem.jit
def store_rows(out_ptr, x, row, start, rows, column, stride):
    """A block of results as rows row + start of out[*, stride], not behind the end of its sequence, where another one's may be."""
    at = start + tl.arange(0, x.shape[0])
    pointers = out_ptr + (row + at)[:, None].to(tl.int64) * stride + column + tl.arange(0, x.shape[1])[None, :]
    tl.store(pointers, x.to(out_ptr.dtype.element_ty), mask=(at < rows)[:, None])


@tandem.jit
def store_parts(out_ptr, x, factor, row, start, rows, column, stride, PARTS: tl.constexpr):
    store_rows(out_ptr, x[0] * factor, row, start, rows, column, stride)
    if PARTS[1]:
        store_rows(out_ptr, x[1] * factor, row, start, rows, column + PARTS[0], stride)


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
