"""Plain kernels that read a matrix A (M x K), in orders and by addresses that no other file has; each writes C (M x N) or D (M)."""

from plain_kernels import collected, refusals
from unseen_consumers import put, tile_of

import tandem
import tandem.language as tl

ALL, plain = collected()
REFUSED, refused = refusals(plain)


@plain(lambda rows, columns: (3,))
def persistent_by_swizzle(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Three programs deal out tiles in swizzled groups of two row blocks, the last tile first."""
    height, width = tl.cdiv(M, B), tl.cdiv(N, B)
    for nth in range(tl.program_id(0), height * width, tl.num_programs(0)):
        tile = height * width - 1 - nth
        i, j = tl.swizzle2d(tile // width, tile % width, height, width, 2)
        rows, columns = i * B + tl.arange(0, B), j * B + tl.arange(0, B)
        acc = tl.zeros((B, B), tl.float32)
        for k in range(0, K, B):
            inner = k + tl.arange(0, B)
            acc = tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, columns, K, N), acc)
        put(c_ptr, rows, columns, M, N, acc)


@plain(lambda rows, columns: (5,))
def steps_dealt_evenly(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """All steps of all tiles in one row, of which five programs have equal parts: a tile that two of them share is added up."""
    width, steps = tl.cdiv(N, B), tl.cdiv(K, B)
    total = tl.cdiv(M, B) * width * steps
    first = tl.program_id(0) * total // tl.num_programs(0)
    last = (tl.program_id(0) + 1) * total // tl.num_programs(0)
    for step in range(first, last):
        tile = step // steps
        rows, columns = tile // width * B + tl.arange(0, B), tile % width * B + tl.arange(0, B)
        inner = step % steps * B + tl.arange(0, B)
        part = tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, columns, K, N))
        there = c_ptr + rows[:, None] * N + columns[None, :]
        tl.atomic_add(there, part, mask=(rows < M)[:, None] & (columns < N)[None, :])


@plain(lambda rows, columns: (rows, columns))
def neighbours_of_rows(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A convolution along rows: the rows before and behind each, which may be another rank's, are added with weights."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for shift in tl.static_range(-1, 2):
        there = rows + shift
        for k in range(0, K, B):
            inner = k + tl.arange(0, B)
            inside = ((there >= 0) & (there < M))[:, None] & (inner < K)[None, :]
            a = tl.load(a_ptr + there[:, None] * K + inner[None, :], mask=inside, other=0)
            acc = tl.dot(a * (2 - shift * shift), tile_of(b_ptr, inner, columns, K, N), acc)
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda rows, columns: (rows,))
def attention_of_columns(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows of A, their first B columns, look at all rows before them and at their own, as causal attention does."""
    rows, inner = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, B)
    q = tile_of(a_ptr, rows, inner, M, K)
    largest = tl.full((B,), -1e9, tl.float32)
    total = tl.zeros((B,), tl.float32)
    acc = tl.zeros((B, B), tl.float32)
    for start in range(0, tl.minimum((tl.program_id(0) + 1) * B, M), B):
        there = start + tl.arange(0, B)
        keys = tile_of(a_ptr, there, inner, M, K)
        scores = tl.where(rows[:, None] >= there[None, :], tl.dot(q, tl.trans(keys)), -1e9)
        most = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp(scores - most[:, None])
        kept = tl.exp(largest - most)
        acc = tl.dot(weights, keys, acc * kept[:, None])
        total = total * kept + tl.sum(weights, 1)
        largest = most
    tl.store(d_ptr + rows, total, mask=rows < M)
    put(c_ptr, rows, inner, M, N, acc / total[:, None])


@refused("is not a box", lambda rows, columns: (columns, rows))
def bytes_of_elements(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Addresses are made of bytes, and elements of these; with a bias and the larger of two branches."""
    rows, columns = tl.program_id(1) * B + tl.arange(0, B), tl.program_id(0) * B + tl.arange(0, B)
    bytes = a_ptr.to(tl.pointer_type(tl.uint8))
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        there = (bytes + (rows[:, None] * K + inner[None, :]) * 4).to(tl.pointer_type(tl.float32))
        a = tl.load(there, mask=(rows < M)[:, None] & (inner < K)[None, :], other=0)  # REFUSED
        acc = tl.dot(a, tile_of(b_ptr, inner, columns, K, N), acc)
    bias = tl.load(b_ptr + columns, mask=columns < N, other=0)
    put(c_ptr, rows, columns, M, N, tl.maximum(acc + bias[None, :], 0.1 * acc))


@plain(lambda rows, columns: (4,))
def block_pointers_of_each_tile(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Persistent, in groups of two row blocks; a block pointer for each tile of A's transpose, which advances along K."""
    height, width = tl.cdiv(M, B), tl.cdiv(N, B)
    for tile in range(tl.program_id(0), height * width, tl.num_programs(0)):
        first = tile // (2 * width) * 2
        of_group = tl.minimum(height - first, 2)
        row = (first + tile % (2 * width) % of_group) * B
        columns = tile % (2 * width) // of_group * B + tl.arange(0, B)
        a = tl.make_block_ptr(a_ptr, (K, M), (1, K), (0, row), (B, B), (0, 1))
        acc = tl.zeros((B, B), tl.float32)
        for k in range(0, K, B):
            left = tl.load(a, boundary_check=(0, 1), padding_option="zero")
            acc = tl.dot(tl.trans(left), tile_of(b_ptr, k + tl.arange(0, B), columns, K, N), acc)
            a = tl.advance(a, (B, 0))
        put(c_ptr, row + tl.arange(0, B), columns, M, N, acc)


@tandem.jit
def pair_of(ptr, rows, columns, height, width):
    return tile_of(ptr, rows * 2, columns, height, width), tile_of(ptr, rows * 2 + 1, columns, height, width)


@plain(lambda rows, columns: (rows, columns))
def pairs_of_rows(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Each second row is the gate of the one before it; both come out."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    up, gate = tl.zeros((B, B), tl.float32), tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        first, second = pair_of(a_ptr, rows, inner, M, K)
        b = tile_of(b_ptr, inner, columns, K, N)
        up, gate = tl.dot(first, b, up), tl.dot(second, b, gate)
    put(c_ptr, rows * 2, columns, M, N, up * tl.sigmoid(gate))
    put(c_ptr, rows * 2 + 1, columns, M, N, gate)
