"""Plain kernels that write a matrix C (M x N), written as other libraries write theirs; D (M) has zeros before."""

from plain_kernels import collected, refusals

import tandem
import tandem.language as tl

ALL, plain = collected()
REFUSED, refused = refusals(plain)


@tandem.jit
def product_of(a_ptr, b_ptr, rows, columns, M, N, K, B: tl.constexpr):
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    return acc


@plain(lambda rows, columns: (rows * columns,))
def epilogue_in_parts(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The tile is stored in two halves of its columns, which a reshape and a split take apart."""
    row, column = tl.program_id(0) // tl.cdiv(N, B) * B, tl.program_id(0) % tl.cdiv(N, B) * B
    acc = product_of(a_ptr, b_ptr, row + tl.arange(0, B), column + tl.arange(0, B), M, N, K, B)
    left, right = tl.split(tl.permute(tl.reshape(acc, (B, 2, B // 2)), (0, 2, 1)))
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [B, B // 2])
    c.store([row, column], left)
    c.store([row, column + B // 2], right)


@plain(lambda rows, columns: (rows, columns))
def stored_turned(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The tile's transpose through transposed pointers."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product_of(a_ptr, b_ptr, rows, columns, M, N, K, B)
    tl.store(c_ptr + columns[:, None] + rows[None, :] * N, tl.trans(acc), mask=(columns[:, None] < N) & (rows[None, :] < M))


@plain(lambda rows, columns: (rows, columns, 3))
def parts_of_k_added(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Split-K: the third axis takes every third block of K and adds."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(tl.program_id(2), tl.cdiv(K, B), tl.num_programs(2)):
        inner = k * B + tl.arange(0, B)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.atomic_add(
        c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N), sem="relaxed", scope="gpu"
    )


@plain(lambda rows, columns: (min(4, rows * columns),))
def persistent_one_tile_late(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Programs store a tile when the next one is computed, and the last one behind the loop."""
    width = tl.cdiv(N, B)
    last = tl.program_id(0)
    held = product_of(a_ptr, b_ptr, last // width * B + tl.arange(0, B), last % width * B + tl.arange(0, B), M, N, K, B)
    for tile in range(tl.program_id(0) + tl.num_programs(0), tl.cdiv(M, B) * width, tl.num_programs(0)):
        acc = product_of(a_ptr, b_ptr, tile // width * B + tl.arange(0, B), tile % width * B + tl.arange(0, B), M, N, K, B)
        rows, columns = last // width * B + tl.arange(0, B), last % width * B + tl.arange(0, B)
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], held, mask=(rows[:, None] < M) & (columns[None, :] < N))
        held = acc
        last = tile
    rows, columns = last // width * B + tl.arange(0, B), last % width * B + tl.arange(0, B)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], held, mask=(rows[:, None] < M) & (columns[None, :] < N))


@plain(lambda rows, columns: (rows, columns))
def gated_twice_stored(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Gate and product of the same rows; the gate is stored first, then read back and multiplied, and row sums go to D."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    ok = (rows[:, None] < M) & (columns[None, :] < N)
    places = c_ptr + rows[:, None] * N + columns[None, :]
    tl.store(places, product_of(a_ptr, b_ptr, rows, columns, M, N, K, B), mask=ok)
    gate = tl.load(places, mask=ok, other=0.0)
    tl.store(places, gate * tl.where(gate > 0, 1.0, 0.25), mask=ok, cache_modifier=".cg")
    tl.atomic_add(d_ptr + rows, tl.sum(gate, 1), mask=rows < M)


@plain(lambda rows, columns: (rows, columns))
def convolved(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows of an image eight wide: products of shifted rows, written where they belong by quotient and remainder."""
    points, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    y, x = points // 8, points % 8
    acc = tl.zeros((B, B), tl.float32)
    for dx in tl.static_range(-1, 2):
        ok = (x + dx >= 0) & (x + dx < 8) & (points + dx < M)
        for k in range(0, K, B):
            inner = k + tl.arange(0, B)
            a = tl.load(a_ptr + (y * 8 + x + dx)[:, None] * K + inner[None, :], mask=ok[:, None] & (inner[None, :] < K), other=0.0)
            b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0)
            acc += tl.dot(a, b) * (dx + 2)
    tl.store(c_ptr + (y * 8 + x)[:, None] * N + columns[None, :], acc, mask=(points[:, None] < M) & (columns[None, :] < N))


@plain(lambda rows, columns: (rows * columns,))
def grouped_and_masked_late(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Grouped order, a residual read from A, a bias by row, and a clamp; 64-bit offsets."""
    width, height, pid = tl.cdiv(N, B), tl.cdiv(M, B), tl.program_id(0)
    first = pid // (4 * width) * 4
    size = min(height - first, 4)
    pid_m, pid_n = first + pid % (4 * width) % size, pid % (4 * width) // size
    rows, columns = (pid_m * B + tl.arange(0, B)).to(tl.int64), (pid_n * B + tl.arange(0, B)).to(tl.int64)
    acc = product_of(a_ptr, b_ptr, rows, columns, M, N, K, B)
    acc += tl.load(a_ptr + rows * K, mask=rows < M, other=0.0)[:, None]
    acc = tl.minimum(tl.maximum(acc, -20.0), 20.0)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, (rows < M)[:, None] & (columns < N)[None, :])


@plain(lambda rows, columns: (rows,))
def rows_and_their_norms(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A row block a program, all columns in a loop downwards; D has the sums of squares."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    square = tl.zeros((B,), tl.float32)
    column = tl.cdiv(N, B) * B - B
    while column >= 0:
        columns = column + tl.arange(0, B)
        acc = product_of(a_ptr, b_ptr, rows, columns, M, N, K, B)
        square += tl.sum(tl.where(columns[None, :] < N, acc * acc, 0.0), 1)
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))
        column -= B
    tl.store(d_ptr + rows, square, mask=rows < M)


@refused("not a box with sides affine in the program's numbers", lambda rows, columns: (rows,))
def scattered_by_a_table(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows go where a table says, as tokens of a mixture of experts do."""
    slots = tl.program_id(0) * B + tl.arange(0, B)
    row = slots + tl.load(b_ptr + slots % 4).to(tl.int32) // 8
    columns = tl.arange(0, B)
    tl.store(c_ptr + row[:, None] * N + columns[None, :], 1.0, mask=(slots[:, None] < M) & (columns[None, :] < N))  # REFUSED
