"""Plain kernels that read a matrix A (M x K), of forms beyond those of `plain_kernels`; each writes C (M x N) or D (M), zeros before."""

from plain_kernels import collected, refusals

import tandem
import tandem.language as tl

ALL, plain = collected()
REFUSED, refused = refusals(plain)


@tandem.jit
def tile_of(ptr, rows, columns, height, width):
    inside = (rows[:, None] < height) & (columns[None, :] < width)
    return tl.load(ptr + rows[:, None] * width + columns[None, :], mask=inside, other=0)


@tandem.jit
def put(ptr, rows, columns, height, width, value):
    tl.store(ptr + rows[:, None] * width + columns[None, :], value, mask=(rows[:, None] < height) & (columns[None, :] < width))


@plain(lambda rows, columns: (rows, columns))
def gated(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Two products of the same rows, one with the columns behind, as the gate of the other."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    up, gate = tl.zeros((B, B), tl.float32), tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        a = tile_of(a_ptr, rows, k + tl.arange(0, B), M, K)
        up = tl.dot(a, tile_of(b_ptr, k + tl.arange(0, B), columns, K, N), up)
        gate = tl.dot(a, tile_of(b_ptr, k + tl.arange(0, B), columns + B, K, N), gate)
    put(c_ptr, rows, columns, M, N, up * gate * tl.sigmoid(gate))


@plain(lambda rows, columns: (columns, rows))
def residual_by_descriptor(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The product and, in the end, the rows themselves, read again."""
    row, column = tl.program_id(1) * B, tl.program_id(0) * B
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [B, B])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [B, B])
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        acc = tl.dot(a.load([row, k]), b.load([k, column]), acc)
    put(c_ptr, row + tl.arange(0, B), column + tl.arange(0, B), M, N, acc + 3 * a.load([row, column]))


@plain(lambda rows, columns: (rows, columns))
def halves_of_k(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Two accumulators over the halves of K, which are added in the end."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    first, second = tl.zeros((B, B), tl.float32), tl.zeros((B, B), tl.float32)
    half = tl.cdiv(tl.cdiv(K, 2), B) * B
    for k in range(0, half, B):
        inner = k + tl.arange(0, B)
        first = tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, columns, K, N), first)
        inner += half
        second = tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, columns, K, N), second)
    put(c_ptr, rows, columns, M, N, first + second)


@plain(lambda rows, columns: (columns, rows))
def below_the_diagonal(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A mask that no box is: only elements at and below the diagonal count, and the loop ends there."""
    rows, columns = tl.program_id(1) * B + tl.arange(0, B), tl.program_id(0) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, min(K, tl.program_id(1) * B + B), B):
        inner = k + tl.arange(0, B)
        inside = (rows[:, None] < M) & (inner[None, :] < K) & (inner[None, :] <= rows[:, None])
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=inside, other=0)
        acc += tl.dot(a, tile_of(b_ptr, inner, columns, K, N))
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda rows, columns: (rows, columns))
def transposed_descriptor(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The product of the transposed tiles, turned back at the store."""
    row, column = tl.program_id(0) * B, tl.program_id(1) * B
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [B, B])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [B, B])
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        acc = tl.dot(b.load([k, column]).T, a.load([row, k]).T, acc)
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [B, B])
    c.store([row, column], acc.T)


@plain(lambda rows, columns: (rows * columns,))
def swizzled(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Programs by tl.swizzle2d."""
    height, width = tl.cdiv(M, B), tl.cdiv(N, B)
    i, j = tl.swizzle2d(tl.program_id(0) // width, tl.program_id(0) % width, height, width, 2)
    rows, columns = i * B + tl.arange(0, B), j * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        acc = tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, columns, K, N), acc)
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda rows, columns: (rows,))
def scaled_by_the_largest(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A pass over the rows for their largest elements, then the product of the rows divided by them."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    largest = tl.full((B,), 1e-6, tl.float32)
    for k in range(0, K, B):
        largest = tl.maximum(largest, tl.max(tl.abs(tile_of(a_ptr, rows, k + tl.arange(0, B), M, K)), 1))
    for column in range(0, N, B):
        acc = tl.zeros((B, B), tl.float32)
        for k in range(0, K, B):
            inner = k + tl.arange(0, B)
            a = tile_of(a_ptr, rows, inner, M, K) / largest[:, None]
            acc = tl.dot(a, tile_of(b_ptr, inner, column + tl.arange(0, B), K, N), acc)
        put(c_ptr, rows, column + tl.arange(0, B), M, N, acc)
    tl.store(d_ptr + rows, largest, mask=rows < M)


@plain(lambda rows, columns: (rows,))
def kept_rows(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A's tile is loaded once, all of K wide, and stays for all column blocks."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    a = tile_of(a_ptr, rows, tl.arange(0, 64), M, K)
    for column in range(0, N, B):
        columns = column + tl.arange(0, B)
        put(c_ptr, rows, columns, M, N, tl.dot(a, tile_of(b_ptr, tl.arange(0, 64), columns, K, N)))


@plain(lambda rows, columns: (rows, columns))
def with_itself(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Both operands are rows of A: products of rows with the first N."""
    rows, others = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        acc = tl.dot(tile_of(a_ptr, rows, inner, M, K), tl.trans(tile_of(a_ptr, others, inner, M, K)), acc)
    put(c_ptr, rows, others, M, N, acc)


@plain(lambda rows, columns: (rows,))
def every_second_row(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Even rows from the begin, odd ones from the end."""
    rows = 2 * (tl.program_id(0) * B + tl.arange(0, B))
    even = tl.sum(tile_of(a_ptr, rows, tl.arange(0, 64), M, K), 1)
    tl.store(d_ptr + rows, even, mask=rows < M)
    odd = M - 1 - rows
    inside = (odd >= 0)[:, None] & (tl.arange(0, 64) < K)[None, :]
    x = tl.load(a_ptr + odd[:, None] * K + tl.arange(0, 64)[None, :], mask=inside, other=0)
    tl.store(c_ptr + odd * N, tl.sum(x, 1), mask=odd >= 0)


@plain(lambda rows, columns: (rows,))
def neighbours(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A convolution along the rows: those before and behind are other ranks' at the edges."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, 64)
    total = tl.zeros((B, 64), tl.float32)
    for shift in tl.static_range(-2, 3):
        near = rows + shift
        inside = ((near >= 0) & (near < M))[:, None] & (columns < K)[None, :]
        total += (3 + shift) * tl.load(a_ptr + near[:, None] * K + columns[None, :], mask=inside, other=0)
    tl.store(d_ptr + rows, tl.max(total, 1), mask=rows < M)


@plain(lambda rows, columns: (3,))
def rows_dealt_singly(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Each program takes every third row."""
    for row in range(tl.program_id(0), M, tl.num_programs(0)):
        x = tl.load(a_ptr + row * K + tl.arange(0, 64), mask=tl.arange(0, 64) < K, other=-1e9)
        tl.store(d_ptr + row, tl.argmax(x, 0).to(tl.float32))


@plain(lambda rows, columns: (4,))
def dealt_in_runs(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Each program takes a run of tiles, and what is left over goes to none twice."""
    tiles = tl.cdiv(M, B)
    each = tl.cdiv(tiles, tl.num_programs(0))
    for tile in range(tl.program_id(0) * each, min(tl.program_id(0) * each + each, tiles)):
        rows = tile * B + tl.arange(0, B)
        tl.store(d_ptr + rows, tl.sum(tile_of(a_ptr, rows, tl.arange(0, 64), M, K), 1), mask=rows < M)


@plain(lambda rows, columns: (rows + rows % 2, columns))
def exchanged_in_pairs(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A program's row block is its number with the last bit turned."""
    rows, columns = (tl.program_id(0) ^ 1) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        acc = tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, columns, K, N), acc)
    put(c_ptr, rows, columns, M, N, acc)


@refused("not a box with sides affine", lambda rows, columns: (rows,))
def rows_of_a_table(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    place = tl.load(b_ptr + tl.arange(0, B)).to(tl.int32) % M
    x = tl.load(a_ptr + place * K)  # REFUSED
    tl.store(d_ptr + rows, x, mask=rows < M)


@refused("only loads may use memory that arrives", lambda rows, columns: (rows,))
def in_place(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(a_ptr + rows * K, mask=rows < M, other=0)
    tl.store(a_ptr + rows * K, 2 * x, mask=rows < M)  # REFUSED
    tl.store(d_ptr + rows, x, mask=rows < M)
