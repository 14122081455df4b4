"""Plain kernels that write a matrix C (M x N), of forms beyond those of `plain_producers`; some also write D (M)."""

from plain_kernels import collected, refusals
from plain_producers import product
from unseen_consumers import put, tile_of

import tandem.language as tl

ALL, plain = collected()
REFUSED, refused = refusals(plain)


@plain(lambda rows, columns: (2,))
def persistent_groups(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A persistent kernel of descriptors, tiles in groups of two row blocks."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [B, B])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [B, B])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [B, B])
    height, width = tl.cdiv(M, B), tl.cdiv(N, B)
    for tile in tl.range(tl.program_id(0), height * width, tl.num_programs(0), flatten=True):
        first = tile // (2 * width) * 2
        group = min(height - first, 2)
        row, column = (first + tile % (2 * width) % group) * B, tile % (2 * width) // group * B
        acc = tl.zeros((B, B), tl.float32)
        for k in range(tl.cdiv(K, B)):
            acc = tl.dot(a.load([row, k * B]), b.load([k * B, column]), acc)
        c.store([row, column], acc)


@plain(lambda rows, columns: (rows, columns))
def activated(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A bias for each row, GELU by its sigmoid, and a clamp."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    acc += tl.load(a_ptr + rows * K, mask=rows < M, other=0)[:, None]
    put(c_ptr, rows, columns, M, N, tl.clamp(acc * tl.sigmoid(1.702 * acc), -4.0, 4.0))


@plain(lambda rows, columns: (rows,))
def softmax(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Whole rows in one tile, and their largest elements in the second output."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, 64)
    acc = tl.dot(tile_of(a_ptr, rows, tl.arange(0, 64), M, K), tile_of(b_ptr, tl.arange(0, 64), columns, K, N))
    acc = tl.where(columns[None, :] < N, acc, -float("inf"))
    largest = tl.max(acc, 1)
    e = tl.exp(acc - largest[:, None])
    put(c_ptr, rows, columns, M, N, e / tl.sum(e, 1)[:, None])
    tl.store(d_ptr + rows, largest, mask=rows < M)


@plain(lambda rows, columns: (rows,))
def running_sums(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A scan along the columns, carried from block to block."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    carried = tl.zeros((B,), tl.float32)
    for column in range(0, N, B):
        columns = column + tl.arange(0, B)
        x = tl.load(a_ptr + rows[:, None] * K + columns[None, :] % K, mask=(rows < M)[:, None] & (columns < N)[None, :], other=0)
        put(c_ptr, rows, columns, M, N, tl.cumsum(x, 1) + carried[:, None])
        carried += tl.sum(x, 1)


@plain(lambda rows, columns: (columns, rows))
def lower_triangle(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Blocks above the diagonal are not computed, and elements above it not stored."""
    first, column = tl.program_id(1) * B, tl.program_id(0) * B
    if column > first + B - 1:
        return
    rows, columns = first + tl.arange(0, B), column + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    inside = (rows[:, None] < M) & (columns[None, :] < N) & (columns[None, :] <= rows[:, None])
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=inside)


@plain(lambda rows, columns: (3,))
def rows_dealt_singly(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    for row in range(tl.program_id(0), M, tl.num_programs(0)):
        columns = tl.arange(0, 64)
        tl.store(c_ptr + row * N + columns, tl.load(a_ptr + row * K) + columns.to(tl.float32), mask=columns < N)


@plain(lambda rows, columns: (3,))
def runs_of_elements(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """C as if it had one dimension: blocks that cross rows, and the borders of shares."""
    each = tl.cdiv(tl.cdiv(M * N, B), tl.num_programs(0))
    for block in range(tl.program_id(0) * each, tl.program_id(0) * each + each):
        places = block * B + tl.arange(0, B)
        inside = places < M * N
        x = tl.load(a_ptr + places // N * K, mask=inside, other=0)
        tl.store(c_ptr + places, x * (places % N).to(tl.float32), mask=inside)


@plain(lambda rows, columns: (rows, columns, 2))
def halves_of_a_tile(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The grid's third axis takes the upper or the lower half of the rows of a tile; block pointers."""
    row, column = tl.program_id(0) * B + tl.program_id(2) * (B // 2), tl.program_id(1) * B
    a = tl.make_block_ptr(a_ptr, (M, K), (K, 1), (row, 0), (B // 2, B), (1, 0))
    b = tl.make_block_ptr(b_ptr, (K, N), (N, 1), (0, column), (B, B), (1, 0))
    acc = tl.zeros((B // 2, B), tl.float32)
    for _ in range(0, K, B):
        acc += tl.sum(tl.load(a, boundary_check=(0, 1))[:, :, None] * tl.load(b, boundary_check=(0, 1))[None, :, :], 1)
        a, b = a.advance((0, B)), b.advance((B, 0))
    c = tl.make_block_ptr(c_ptr, (M, N), (N, 1), (row, column), (B // 2, B), (1, 0))
    tl.store(c, acc, boundary_check=(0, 1))


@plain(lambda rows, columns: (rows * columns,))
def numbers_turned(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Programs go from the last tile to the first, columns before rows."""
    tile = tl.num_programs(0) - 1 - tl.program_id(0)
    height = tl.cdiv(M, B)
    rows, columns = tile % height * B + tl.arange(0, B), tile // height * B + tl.arange(0, B)
    put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))


@plain(lambda rows, columns: (rows,))
def two_tiles_apart(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A program writes a block of rows at the begin and one at the end, half of the blocks each."""
    blocks = tl.cdiv(M, B)
    for nth in tl.static_range(2):
        block = tl.program_id(0) if nth == 0 else blocks - 1 - tl.program_id(0)
        if (nth == 0 and block < tl.cdiv(blocks, 2)) or (nth == 1 and block >= tl.cdiv(blocks, 2)):
            rows, columns = block * B + tl.arange(0, B), tl.arange(0, 64)
            x = tile_of(a_ptr, rows, tl.arange(0, 64), M, K)
            put(c_ptr, rows, columns, M, N, tl.sum(x, 1)[:, None] + columns[None, :] * (nth + 1))


@plain(lambda rows, columns: (rows, columns))
def products_of_parts(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """K goes by in an unrolled loop of two, and the sum of squares of the rows goes elsewhere, by atomics."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, 2 * B):
        for part in tl.static_range(2):
            inner = k + part * B + tl.arange(0, B)
            acc = tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, columns, K, N), acc)
    put(c_ptr, rows, columns, M, N, acc)
    if tl.program_id(1) == 0:
        tl.atomic_add(d_ptr + rows, tl.sum(acc, 1), mask=rows < M)


@plain(lambda rows, columns: (rows, columns, 2))
def split_k(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(tl.program_id(2) * B, K, 2 * B):
        inner = k + tl.arange(0, B)
        acc = tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, columns, K, N), acc)
    tl.atomic_add(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@refused("depends on what the kernel loads", lambda rows, columns: (rows,))
def rows_of_a_table(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    row = tl.load(b_ptr).to(tl.int32) % M
    tl.store(c_ptr + row * N + tl.arange(0, B), tl.load(a_ptr), mask=tl.arange(0, B) < N)  # REFUSED


@refused("depends on what the kernel loads", lambda rows, columns: (rows,))
def until_it_is_small(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    x, row = tl.load(a_ptr + tl.program_id(0)), tl.program_id(0)
    while x > 1:
        tl.store(c_ptr + row * N + tl.arange(0, B), x, mask=tl.arange(0, B) < N)  # REFUSED
        x = x / 2
