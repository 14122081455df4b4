"""Plain kernels that write a matrix C (M x N) of products or rows, of many forms. None knows of ranks."""

from plain_kernels import collected

import tandem
import tandem.language as tl

ALL, plain = collected()


@tandem.jit
def product(a_ptr, b_ptr, rows, columns, M, N, K, B: tl.constexpr):
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0)
        acc = tl.dot(a, b, acc)
    return acc


@plain(lambda rows, columns: (rows, columns))
def bias_and_activation(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B) + tl.load(b_ptr + columns, mask=columns < N, other=0)[None, :]
    acc = tl.where(acc >= 0, acc, 0.01 * acc)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@plain(lambda rows, columns: (rows * columns,))
def grouped(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Programs in groups of rows, as tutorials have them."""
    in_group = 2 * tl.cdiv(N, B)
    first = tl.program_id(0) // in_group * 2
    height = min(tl.cdiv(M, B) - first, 2)
    rows = (first + tl.program_id(0) % in_group % height) * B + tl.arange(0, B)
    columns = tl.program_id(0) % in_group // height * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    tl.store(c_ptr + N * rows[:, None] + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@plain(lambda rows, columns: (columns, rows))
def transposed(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The tile lies with its columns in rows; rows are the second axis."""
    rows, columns = tl.program_id(1) * B + tl.arange(0, B), tl.program_id(0) * B + tl.arange(0, B)
    acc = tl.trans(product(a_ptr, b_ptr, rows, columns, M, N, K, B))
    tl.store(c_ptr + columns[:, None] + rows[None, :] * N, acc, mask=(columns[:, None] < N) & (rows[None, :] < M))


@plain(lambda rows, columns: (rows, columns))
def block_pointers(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    a = tl.make_block_ptr(a_ptr, (M, K), (K, 1), (tl.program_id(0) * B, 0), (B, B), (1, 0))
    b = tl.make_block_ptr(b_ptr, (K, N), (N, 1), (0, tl.program_id(1) * B), (B, B), (1, 0))
    acc = tl.zeros((B, B), tl.float32)
    for _ in range(0, K, B):
        acc = tl.dot(tl.load(a, boundary_check=(0, 1)), tl.load(b, boundary_check=(0, 1)), acc)
        a = tl.advance(a, (0, B))
        b = tl.advance(b, (B, 0))
    c = tl.make_block_ptr(c_ptr, (M, N), (N, 1), (tl.program_id(0) * B, tl.program_id(1) * B), (B, B), (1, 0))
    tl.store(c, acc, boundary_check=(0, 1))


@plain(lambda rows, columns: (rows * columns,))
def described(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [B, B])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [B, B])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [B, B])
    row, column = tl.program_id(0) // tl.cdiv(N, B) * B, tl.program_id(0) % tl.cdiv(N, B) * B
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        acc = tl.dot(a.load([row, k]), b.load([k, column]), acc)
    c.store([row, column], acc)


@plain(lambda rows, columns: (3,))
def persistent(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    for tile in range(tl.program_id(0), tl.cdiv(M, B) * tl.cdiv(N, B), tl.num_programs(0)):
        rows, columns = tile // tl.cdiv(N, B) * B + tl.arange(0, B), tile % tl.cdiv(N, B) * B + tl.arange(0, B)
        acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@plain(lambda rows, columns: (2,))
def tiles_in_turn(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The loops over tiles and K are one, and each tile is stored in two halves."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [B, B])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [B, B])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [B, B // 2])
    columns = tl.cdiv(N, B)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, B) * columns, tl.num_programs(0), flatten=True):
        acc = tl.zeros((B, B), tl.float32)
        for k in range(tl.cdiv(K, B)):
            acc = tl.dot(a.load([tile // columns * B, k * B]), b.load([k * B, tile % columns * B]), acc)
        left, right = acc.reshape(B, 2, B // 2).permute(0, 2, 1).split()
        c.store([tile // columns * B, tile % columns * B], left)
        c.store([tile // columns * B, tile % columns * B + B // 2], right)


@plain(lambda rows, columns: (rows,))
def two_outputs(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A program stores all columns of its rows, and counts itself elsewhere with an atomic."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    sums = tl.zeros((B,), tl.float32)
    for column in range(0, N, B):
        columns = column + tl.arange(0, B)
        acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
        sums += tl.sum(acc, 1)
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))
    tl.atomic_add(d_ptr + rows, sums, mask=rows < M)


@plain(lambda rows, columns: (rows,))
def backwards(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows from the last to the first, a column at a time."""
    rows = M - 1 - tl.program_id(0) * B - tl.arange(0, B)
    for column in range(N - 1, -1, -1):
        x = tl.load(a_ptr + rows * K + column % K, mask=rows >= 0, other=0)
        tl.store(c_ptr + rows * N + column, x * 2, mask=rows >= 0)


@plain(lambda rows, columns: (rows, columns))
def under_a_condition(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Every second column block is a product, the others are zeros; beyond the end a program stops."""
    if tl.program_id(0) * B >= M:
        return
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    places, inside = c_ptr + rows[:, None] * N + columns[None, :], (rows[:, None] < M) & (columns[None, :] < N)
    if tl.program_id(1) % 2 == 0:
        tl.store(places, product(a_ptr, b_ptr, rows, columns, M, N, K, B), mask=inside)
    else:
        tl.store(places, tl.zeros((B, B), tl.float32), mask=inside)


@plain(lambda rows, columns: (rows,))
def scalars(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """One element at a time, of rows that are written twice."""
    for row in range(tl.program_id(0) * B, min(tl.program_id(0) * B + B, M)):
        tl.store(c_ptr + row * N + tl.arange(0, B), 0.0, mask=tl.arange(0, B) < N)
        tl.debug_barrier()
        for column in range(0, N):
            tl.store(c_ptr + row * N + column, tl.load(a_ptr + row * K + column % K))


@plain(lambda rows, columns: (rows, columns))
def masked_by_what_is_loaded(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Which of its elements a program stores depends on the data; where they are does not."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    places, inside = c_ptr + rows[:, None] * N + columns[None, :], (rows[:, None] < M) & (columns[None, :] < N)
    last = tl.load(b_ptr).to(tl.int32) + 2
    tl.store(places, acc, mask=inside)
    tl.debug_barrier()
    tl.store(places, acc + 1, mask=inside & (acc > 0))
    tl.debug_barrier()
    tl.store(places, acc - 1, mask=inside & (columns[None, :] < last))


@plain(lambda rows, columns: (rows, columns))
def base_moved_on(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The pointer itself is moved to the program's tile, by 64 bits, and its maximum goes elsewhere."""
    first, column = tl.program_id(0) * B, tl.program_id(1) * B
    acc = product(a_ptr, b_ptr, first + tl.arange(0, B), column + tl.arange(0, B), M, N, K, B)
    c_ptr += first.to(tl.int64) * N + column
    rows, columns = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    tl.store(c_ptr + rows * N + columns, acc, mask=(rows < M - first) & (columns < N - column))
    tl.atomic_max(d_ptr + first + tl.arange(0, B), tl.max(tl.abs(acc), 1), mask=first + tl.arange(0, B) < M)
