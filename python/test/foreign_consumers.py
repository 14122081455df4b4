"""Plain kernels that read a matrix A (M x K), as those of other projects do; each writes C (M x N) or D (M)."""

from plain_kernels import collected, refusals
from unseen_consumers import put, tile_of

import tandem.language as tl

ALL, plain = collected()
REFUSED, refused = refusals(plain)


@plain(lambda rows, columns: (rows, columns))
def weights_of_four_bits(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """B's numbers are taken for four bits each, with a zero and a scale for each column."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    scale = 1 + tl.abs(tl.load(b_ptr + columns, mask=columns < N, other=0))
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, tl.cdiv(K, B)):
        inner = k * B + tl.arange(0, B)
        bits = tile_of(b_ptr, inner, columns, K, N).to(tl.int32) & 15
        weight = ((bits ^ 8) - 8).to(tl.float32) * scale[None, :]
        acc = tl.dot(tile_of(a_ptr, rows, inner, M, K), weight, acc)
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda rows, columns: (rows * columns,))
def eight_bits_with_scales_of_blocks(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Operands of e4m3, each step's product times a scale of the rows' block and of the step."""
    row, column = tl.program_id(0) // tl.cdiv(N, B), tl.program_id(0) % tl.cdiv(N, B)
    rows, columns = row * B + tl.arange(0, B), column * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        a = tile_of(a_ptr, rows, inner, M, K)
        scale = tl.maximum(tl.max(tl.max(tl.abs(a), 1), 0), 1)
        product = tl.dot(a.to(tl.float8e4nv), tile_of(b_ptr, inner, columns, K, N).to(tl.float8e4nv))
        acc += product * scale * tl.load(b_ptr + k // B)
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda rows, columns: (columns, 2, rows))
def parts_of_k_along_the_second_axis(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    rows, columns = tl.program_id(2) * B + tl.arange(0, B), tl.program_id(0) * B + tl.arange(0, B)
    part = tl.cdiv(tl.cdiv(K, B), tl.num_programs(1)) * B
    first = tl.program_id(1) * part
    acc = tl.zeros((B, B), tl.float32)
    for k in range(first, tl.minimum(first + part, K), B):
        inner = k + tl.arange(0, B)
        acc += tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, columns, K, N))
    there = c_ptr + rows[:, None] * N + columns[None, :]
    tl.atomic_add(there, acc, mask=(rows < M)[:, None] & (columns < N)[None, :], sem="relaxed")


@plain(lambda rows, columns: (rows, columns))
def norm_ahead_of_the_product(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Root mean squares of rows, of a first pass through them, divide what the second one multiplies."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    squares = tl.zeros((B,), tl.float32)
    for k in range(0, K, B):
        a = tile_of(a_ptr, rows, k + tl.arange(0, B), M, K)
        squares += tl.sum(a * a, 1)
    norm = tl.rsqrt(squares / K + 1e-6)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        acc = tl.dot(tile_of(a_ptr, rows, inner, M, K) * norm[:, None], tile_of(b_ptr, inner, columns, K, N), acc)
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda rows, columns: (2,))
def persistent_with_a_number_for_stores(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """As the tutorial about persistent products: descriptors made in the kernel, and a second number of the tile for its store."""
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[B, B])
    b = tl.make_tensor_descriptor(b_ptr, shape=[K, N], strides=[N, 1], block_shape=[B, B])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[B, B // 2])
    start, programs = tl.program_id(axis=0), tl.num_programs(0)
    height, width = tl.cdiv(M, B), tl.cdiv(N, B)
    stored, in_group = start - programs, 2 * width
    for tile in tl.range(start, height * width, programs, flatten=True):
        group = tile // in_group
        size = min(height - group * 2, 2)
        row, column = (group * 2 + tile % size) * B, tile % in_group // size * B
        acc = tl.zeros((B, B), tl.float32)
        for k in range(tl.cdiv(K, B)):
            acc = tl.dot(a.load([row, k * B]), b.load([k * B, column]), acc)
        stored += programs
        group = stored // in_group
        size = min(height - group * 2, 2)
        row, column = (group * 2 + stored % size) * B, stored % in_group // size * B
        left, right = tl.split(tl.permute(tl.reshape(acc, (B, 2, B // 2)), (0, 2, 1)))
        c.store([row, column], left)
        c.store([row, column + B // 2], right)


@plain(lambda rows, columns: (2 * rows,))
def layer_norm_of_pointers_moved(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """As the tutorial: pointers of a program are its row's, and all columns go by in three passes; rows are dealt out by a loop."""
    for row in range(tl.program_id(0), M, tl.num_programs(0)):
        x_ptr = a_ptr + row * K
        sums = tl.zeros([B], dtype=tl.float32)
        for start in range(0, K, B):
            columns = start + tl.arange(0, B)
            sums += tl.load(x_ptr + columns, mask=columns < K, other=0.0)
        mean = tl.sum(sums, axis=0) / K
        squares = tl.zeros([B], dtype=tl.float32)
        for start in range(0, K, B):
            columns = start + tl.arange(0, B)
            x = tl.where(columns < K, tl.load(x_ptr + columns, mask=columns < K, other=0.0) - mean, 0.0)
            squares += x * x
        tl.store(d_ptr + row, tl.sum(squares, axis=0) / K)


@plain(lambda rows, columns: (rows, columns))
def dropped_by_numbers_of_a_seed(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        kept = tl.rand(7, rows[:, None] * K + inner[None, :]) > 0.25
        acc = tl.dot(tl.where(kept, tile_of(a_ptr, rows, inner, M, K), 0.0), tile_of(b_ptr, inner, columns, K, N), acc)
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda rows, columns: (rows * columns,))
def numbers_from_the_last_on(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The last program has the first tile; a loop over K counts down, by block pointers that it moves back."""
    tile = tl.num_programs(0) - 1 - tl.program_id(0)
    row, column = tile // tl.cdiv(N, B) * B, tile % tl.cdiv(N, B) * B
    steps = tl.cdiv(K, B)
    a = tl.make_block_ptr(a_ptr, (M, K), (K, 1), (row, (steps - 1) * B), (B, B), (1, 0))
    b = tl.make_block_ptr(b_ptr, (K, N), (N, 1), ((steps - 1) * B, column), (B, B), (1, 0))
    acc = tl.zeros((B, B), tl.float32)
    while steps > 0:
        left = tl.load(a, boundary_check=(0, 1), padding_option="zero")
        acc = tl.dot(left, tl.load(b, boundary_check=(0, 1), padding_option="zero"), acc)
        a, b, steps = tl.advance(a, (0, -B)), tl.advance(b, (-B, 0)), steps - 1
    put(c_ptr, row + tl.arange(0, B), column + tl.arange(0, B), M, N, acc)


@plain(lambda rows, columns: (rows, columns))
def blocks_left_out(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Programs above the diagonal return at once, those on it mask, the others have a loop without masks."""
    i, j = tl.program_id(0), tl.program_id(1)
    if j > i:
        return
    rows, columns = i * B + tl.arange(0, B), j * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        acc = tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, columns, K, N), acc)
    if i == j:
        acc = tl.where(rows[:, None] >= columns[None, :], acc, 0.0)
    put(c_ptr, rows, columns, M, N, acc)


@refused("is not a box", lambda rows, columns: (rows, columns))
def experts_of_sorted_rows(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A mixture of experts' first product: another matrix says which rows a block has."""
    places, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    rows = (tl.abs(tl.load(b_ptr + places, mask=places < N, other=0)).to(tl.int32) + places) % M
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(inner < K)[None, :], other=0.0)  # REFUSED
        acc = tl.dot(a, tile_of(b_ptr, inner, columns, K, N), acc)
    put(c_ptr, places, columns, M, N, acc)
