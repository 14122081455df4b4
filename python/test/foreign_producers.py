"""Plain kernels that write a matrix C (M x N), as those of other projects do; some also write D (M)."""

from plain_kernels import collected, refusals
from plain_producers import product
from unseen_consumers import put, tile_of

import tandem.language as tl

ALL, plain = collected()
REFUSED, refused = refusals(plain)


@plain(lambda rows, columns: (rows, columns))
def residual_and_bias(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """What is added lies in the operands; the result is rounded to bf16 on the way."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    acc += tl.load(b_ptr + columns, mask=columns < N, other=0)[None, :]
    acc += tl.load(a_ptr + rows * K, mask=rows < M, other=0)[:, None]
    put(c_ptr, rows, columns, M, N, acc.to(tl.bfloat16).to(tl.float32))


@plain(lambda rows, columns: (columns, rows))
def both_operands_turned(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The product of B's and A's transposes, stored turned again, in a grid whose columns come first."""
    rows, columns = tl.program_id(1) * B + tl.arange(0, B), tl.program_id(0) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        b = tl.load(b_ptr + inner[None, :] * N + columns[:, None], mask=(columns < N)[:, None] & (inner < K)[None, :], other=0)
        acc = tl.dot(b, tl.trans(tile_of(a_ptr, rows, inner, M, K)), acc)
    there = c_ptr + rows[None, :] * N + columns[:, None]
    tl.store(there, acc, mask=(rows < M)[None, :] & (columns < N)[:, None])


@plain(lambda rows, columns: (2,))
def persistent_with_a_number_for_stores(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """As the tutorial about persistent products: a second number of the tile says where it is stored, in halves."""
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[B, B // 2])
    start, programs = tl.program_id(axis=0), tl.num_programs(0)
    height, width = tl.cdiv(M, B), tl.cdiv(N, B)
    stored, in_group = start - programs, 2 * width
    for tile in tl.range(start, height * width, programs, flatten=True):
        group = tile // in_group
        size = min(height - group * 2, 2)
        rows, columns = (group * 2 + tile % size) * B + tl.arange(0, B), tile % in_group // size * B + tl.arange(0, B)
        acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
        stored += programs
        group = stored // in_group
        size = min(height - group * 2, 2)
        row, column = (group * 2 + stored % size) * B, stored % in_group // size * B
        left, right = tl.split(tl.permute(tl.reshape(acc, (B, 2, B // 2)), (0, 2, 1)))
        c.store([row, column], left)
        c.store([row, column + B // 2], right)


@plain(lambda rows, columns: (3,))
def persistent_as_a_while(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    tile, width = tl.program_id(0), tl.cdiv(N, B)
    while tile < tl.cdiv(M, B) * width:
        rows, columns = tile // width * B + tl.arange(0, B), tile % width * B + tl.arange(0, B)
        put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))
        tile += tl.num_programs(0)


@plain(lambda rows, columns: (rows, columns, 2))
def the_third_axis_adds(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(tl.program_id(2), tl.cdiv(K, B), tl.num_programs(2)):
        inner = k * B + tl.arange(0, B)
        acc = tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, columns, K, N), acc)
    there = c_ptr + rows[:, None] * N + columns[None, :]
    tl.atomic_add(there, acc, mask=(rows < M)[:, None] & (columns < N)[None, :], sem="relaxed")


@plain(lambda rows, columns: (rows,))
def norm_behind_the_product(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A row of tiles is a program's, which goes through its columns twice: sums of squares, then what they divide."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    squares = tl.zeros((B,), tl.float32)
    for column in range(0, N, B):
        acc = product(a_ptr, b_ptr, rows, column + tl.arange(0, B), M, N, K, B)
        squares += tl.sum(acc * acc, 1)
    most = tl.maximum(tl.floor(tl.sqrt(squares)), 1)
    for column in range(0, N, B):
        columns = column + tl.arange(0, B)
        acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
        put(c_ptr, rows, columns, M, N, tl.where(acc > most[:, None], most[:, None], acc))
    tl.store(d_ptr + rows, squares, mask=rows < M)


@plain(lambda rows, columns: (rows, columns))
def block_pointer_and_a_mask_of_rows(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Weights of four bits; the tile leaves by a block pointer, and only rows before the end are more than zero."""
    row, column = tl.program_id(0) * B, tl.program_id(1) * B
    rows, columns = row + tl.arange(0, B), column + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        bits = tile_of(b_ptr, inner, columns, K, N).to(tl.int32) & 15
        acc = tl.dot(tile_of(a_ptr, rows, inner, M, K), ((bits ^ 8) - 8).to(tl.float32), acc)
    c = tl.make_block_ptr(c_ptr, (M, N), (N, 1), (row, column), (B, B), (1, 0))
    tl.store(c, tl.where((rows < M - 1)[:, None], acc, 0.0), boundary_check=(0, 1))


@plain(lambda rows, columns: (columns, 1, rows))
def rows_on_the_third_axis(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Two outputs: the product, and of each tile the largest of its rows, which updates D."""
    rows, columns = tl.program_id(2) * B + tl.arange(0, B), tl.program_id(0) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    put(c_ptr, rows, columns, M, N, tl.maximum(acc, 0))
    tl.atomic_max(d_ptr + rows, tl.max(acc, 1), mask=rows < M)


@plain(lambda rows, columns: (rows * columns,))
def eight_bits_in_groups(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Operands of e4m3, groups of two rows of tiles, pointers moved by the loop, a scale behind it."""
    height, width = tl.cdiv(M, B), tl.cdiv(N, B)
    group = tl.program_id(0) // (2 * width)
    size = min(height - group * 2, 2)
    row, column = group * 2 + tl.program_id(0) % (2 * width) % size, tl.program_id(0) % (2 * width) // size
    rows, columns, inner = row * B + tl.arange(0, B), column * B + tl.arange(0, B), tl.arange(0, B)
    a_ptrs, b_ptrs = a_ptr + rows[:, None] * K + inner[None, :], b_ptr + inner[:, None] * N + columns[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, tl.cdiv(K, B)):
        a = tl.load(a_ptrs, mask=(rows < M)[:, None] & (inner < K - k * B)[None, :], other=0)
        b = tl.load(b_ptrs, mask=(inner < K - k * B)[:, None] & (columns < N)[None, :], other=0)
        acc = tl.dot(a.to(tl.float8e4nv), b.to(tl.float8e4nv), acc)
        a_ptrs += B
        b_ptrs += B * N
    put(c_ptr, rows, columns, M, N, acc * 2)


@refused("depends on what the kernel loads", lambda rows, columns: (rows, columns))
def rows_behind_an_offset(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Where a sequence begins is loaded, as of sequences that are packed into one matrix."""
    first = tl.minimum(tl.abs(tl.load(a_ptr)), 0).to(tl.int32)
    rows, columns = first + tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows < M)[:, None] & (columns < N)[None, :])  # REFUSED
