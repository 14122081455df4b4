"""Which keys a block of queries sees, where its sequence stands, and the blocks of its heads: of the attention and its gradients. A head
comes in a tile or two, PARTS, the elements of which are powers of two, the second's perhaps 0; behind those of the head are zeros, and
nothing is stored."""

import tandem
import tandem.language as tl

LOG2E = tl.constexpr(1.4426950408889634)
ALL_LANES = tl.constexpr(3)  # kAllLanes of ops/attention/forms.h
RUNS = tl.constexpr(4)  # kRuns there: each has an equal run of the keys of all blocks (ops/device/runs.py)
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
def place_of(cu_ptr, sequence, rows, each, VARLEN: tl.constexpr):
    """Of a sequence: its first row, the number of its rows, and as `blocks_of` has them where it begins, how many rows there are, which
    sequence this is, and of how many. VARLEN: sequences by cu, which are one there, else of `each` rows."""
    if VARLEN:
        first, count = rows_of(cu_ptr, sequence, rows)
        return first, count, first, rows, 0, 1
    return sequence.to(tl.int64) * each, each, 0, each, sequence.to(tl.int32), rows // each


@tandem.jit
def in_turn(turn):
    """This program's place among all when turns go there and back: who comes early in one is late in the next."""
    return tl.where(turn % 2 == 0, tl.program_id(0), tl.num_programs(0) - 1 - tl.program_id(0))


@tandem.jit
def turns_of(blocks, SHARED: tl.constexpr):
    """How many blocks this program has. SHARED: programs share all of them and take so many at once in turn; 0: each has one; ALL_LANES:
    one in turn, there and back."""
    if SHARED == 0:
        return 1
    if SHARED == ALL_LANES:
        whole = blocks // tl.num_programs(0)
        return whole + (in_turn(whole) < blocks - whole * tl.num_programs(0)).to(tl.int32)
    own = tl.cdiv(tl.cdiv(blocks, SHARED) - tl.program_id(0), tl.num_programs(0))
    behind = tl.program_id(0) + own * tl.num_programs(0) - tl.num_programs(0) + 1
    return own * SHARED - tl.maximum(behind * SHARED - blocks, 0)


@tandem.jit
def block_at(turn, blocks, HEADS: tl.constexpr, SHARED: tl.constexpr, lanes=0):
    """Which block of which head and sequence this is. Two at once come from both ends of a head's blocks: as much work as any other two
    where work grows along them. ALL_LANES: the last blocks of all `lanes`, heads of sequences, come first, so the least work last."""
    if SHARED == 0:
        return tl.program_id(0), tl.program_id(1), tl.program_id(2)
    if SHARED == ALL_LANES:
        at = turn * tl.num_programs(0) + in_turn(turn)
        tl.assume(at >= 0)
        lane, block = at % lanes, blocks - 1 - at // lanes
        tl.assume(block >= 0)
        return block, lane % HEADS, lane // HEADS
    at = (tl.program_id(0) + turn // SHARED * tl.num_programs(0)) * SHARED + turn % SHARED
    block = at % blocks
    if SHARED == 2:
        block = tl.where(block % 2 == 0, blocks - 1 - block // 2, block // 2)
        tl.assume(block >= 0)
    return block, at // blocks % HEADS, at // blocks // HEADS


@tandem.jit
def from_last(block, blocks):
    """The block that is as far from the last one: with causality longer ones begin first. Where loops' lengths are sums of products, the
    compiler does it."""
    block = blocks - 1 - block
    tl.assume(block >= 0)
    return block


@tandem.jit
def block_of(cu_ptr, at, sequences, rows, BLOCK: tl.constexpr):
    """Which block of which sequence by cu the one at this place is: a sequence has the places from its first row // BLOCK and its number
    on, as many as it has blocks, and the next one's begin behind these."""
    low, high = 0, sequences
    while high - low > 1:
        middle = (low + high) // 2
        is_before = rows_of(cu_ptr, middle, rows)[0] // BLOCK + middle <= at
        low, high = tl.where(is_before, middle, low), tl.where(is_before, high, middle)
    block = at - (rows_of(cu_ptr, low, rows)[0] // BLOCK + low)
    return tl.where(block < 0, rows // BLOCK + 1, block), low


@tandem.jit
def blocks_of(x_ptr, place, HEADS: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    """Descriptors of blocks of x[sequences, rows, HEADS, D], for both parts of a head, each with which sequence this is and the part's
    first element."""
    shape, strides = [place[5], HEADS, place[3], D], [place[3] * (HEADS * D), D, HEADS * D, 1]
    first = tl.make_tensor_descriptor(x_ptr, shape, strides, [1, 1, BLOCK, PARTS[0]])
    second = first
    if PARTS[1]:
        second = tl.make_tensor_descriptor(x_ptr, shape, strides, [1, 1, BLOCK, PARTS[1]])
    return (first, place[4], 0), (second, place[4], PARTS[0])


@tandem.jit
def load_part(blocks, row, head):
    """A block of one part of a head."""
    x = blocks[0].load([blocks[1], head, row, blocks[2]])
    return x.reshape(x.shape[2], x.shape[3])


@tandem.jit
def load_parts(blocks, row, head, PARTS: tl.constexpr):
    second = 0
    if PARTS[1]:
        second = load_part(blocks[1], row, head)
    return load_part(blocks[0], row, head), second


@tandem.jit
def zero_parts(ROWS: tl.constexpr, PARTS: tl.constexpr, WANTED: tl.constexpr):
    first, second = 0, 0
    if WANTED:
        first = tl.zeros([ROWS, PARTS[0]], tl.float32)
        if PARTS[1]:
            second = tl.zeros([ROWS, PARTS[1]], tl.float32)
    return first, second


@tandem.jit
def store_block(
    out_ptr, x, row, start, rows, of_all, head, first: tl.constexpr, HEADS: tl.constexpr, D: tl.constexpr, IN_PART: tl.constexpr
):
    """The elements of a head from `first` on, as far as there are: a block of results from `start` on in a sequence of so many rows, the
    first of which is `row` of out[*, HEADS, D]. IN_PART: behind the sequence may be another. Else `of_all`: which one it is, how many
    there are, and the rows of each."""
    values = x.to(out_ptr.dtype.element_ty)
    if IN_PART:
        at = start + tl.arange(0, x.shape[0])
        element = first + tl.arange(0, x.shape[1])
        pointers = out_ptr + (row + at)[:, None].to(tl.int64) * (HEADS * D) + head * D + element[None, :]
        inside = (at < rows)[:, None]
        if first + x.shape[1] > D:
            inside = inside & (element < D)[None, :]
        tl.store(pointers, values, mask=inside)
    else:
        sequence, sequences, each = of_all
        block: tl.constexpr = [1, 1, x.shape[0], x.shape[1]]
        strides = [each * (HEADS * D), D, HEADS * D, 1]
        blocks = tl.make_tensor_descriptor(out_ptr, [sequences, HEADS, each, D], strides, block)
        blocks.store([sequence, head, start, first], values.reshape(block))


@tandem.jit
def store_parts(
    out_ptr, x, factor, row, start, rows, of_all, head, HEADS: tl.constexpr, D: tl.constexpr, PARTS: tl.constexpr, IN_PART: tl.constexpr
):
    store_block(out_ptr, x[0] * factor, row, start, rows, of_all, head, 0, HEADS, D, IN_PART)
    if PARTS[1]:
        store_block(out_ptr, x[1] * factor, row, start, rows, of_all, head, PARTS[0], HEADS, D, IN_PART)


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
