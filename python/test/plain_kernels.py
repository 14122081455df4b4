"""Plain kernels that read a matrix A (M x K), of many forms; each writes C (M x N, zeros before) or D (M). None knows of ranks."""

import tandem
import tandem.language as tl

ALL = []


def plain(grid):
    """The grid as a function of the numbers of row blocks and column blocks."""

    def add(function):
        kernel = tandem.jit(function)
        ALL.append((kernel, grid))
        return kernel

    return add


@plain(lambda rows, columns: (rows, columns))
def bias_and_activation(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0)
        acc += tl.dot(
            a, tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0)
        )
    acc += tl.load(b_ptr + columns, mask=columns < N, other=0)[None, :]
    acc = tl.where(acc >= 0, acc, 0.01 * acc)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@plain(lambda rows, columns: (columns, rows, 2))
def split_k(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    rows, columns = tl.program_id(1) * B + tl.arange(0, B), tl.program_id(0) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(tl.program_id(2) * B, K, 2 * B):
        inner = k + tl.arange(0, B)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0)
        acc += tl.dot(
            a, tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0)
        )
    tl.atomic_add(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@plain(lambda rows, columns: (rows * columns,))
def columns_first(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows change quickest with the program's number; B is read with its columns in rows."""
    blocks = tl.cdiv(M, B)
    rows = tl.program_id(0) % blocks * B + tl.arange(0, B)
    columns = tl.program_id(0) // blocks * B + tl.arange(0, B)
    a_ptrs = a_ptr + rows[:, None] * K + tl.arange(0, B)[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, tl.cdiv(K, B)):
        left = K - k * B
        a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (tl.arange(0, B)[None, :] < left), other=0)
        inner = k * B + tl.arange(0, B)
        b = tl.load(b_ptr + columns[:, None] + inner[None, :] * N, mask=(columns[:, None] < N) & (inner[None, :] < K), other=0)
        acc = tl.dot(a, tl.trans(b), acc)
        a_ptrs += B
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@plain(lambda rows, columns: (rows, columns))
def loaded_ahead(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The next tile of A is loaded while this one is multiplied."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    inner = tl.arange(0, B)
    a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        following = k + B + inner
        ahead = tl.load(a_ptr + rows[:, None] * K + following[None, :], mask=(rows[:, None] < M) & (following[None, :] < K), other=0)
        at = k + inner
        acc = tl.dot(a, tl.load(b_ptr + at[:, None] * N + columns[None, :], mask=(at[:, None] < K) & (columns[None, :] < N), other=0), acc)
        a = ahead
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@plain(lambda rows, columns: (rows,))
def two_outputs(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    sums = tl.zeros((B,), tl.float32)
    for column in range(0, N, B):
        columns = column + tl.arange(0, B)
        acc = tl.zeros((B, B), tl.float32)
        for k in range(0, K, B):
            inner = k + tl.arange(0, B)
            a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0)
            b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0)
            acc = tl.dot(a, b, acc)
        sums += tl.sum(acc, 1)
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))
    tl.store(d_ptr + rows, sums, mask=rows < M)


@plain(lambda rows, columns: (rows,))
def softmax_of_rows(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows wholly in registers, without a loop, one at a time."""
    for row in range(tl.program_id(0) * B, min(tl.program_id(0) * B + B, M)):
        columns = tl.arange(0, 64)
        x = tl.load(a_ptr + row * K + columns, mask=columns < K, other=-float("inf")).to(tl.float32)
        x = tl.exp(x - tl.max(x, 0))
        tl.store(d_ptr + row, tl.max(x / tl.sum(x, 0), 0))


@plain(lambda rows, columns: (rows,))
def norms(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Two loops over the same rows: a mean, then a variance."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    mean = tl.zeros((B,), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        mean += tl.sum(
            tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0).to(tl.float32), 1
        )
    mean /= K
    variance = tl.zeros((B,), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        inside = (rows[:, None] < M) & (inner[None, :] < K)
        x = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=inside, other=0).to(tl.float32)
        variance += tl.sum(tl.where(inside, (x - mean[:, None]) * (x - mean[:, None]), 0), 1)
    tl.store(d_ptr + rows, variance / K, mask=rows < M)


@plain(lambda rows, columns: (rows,))
def under_a_condition(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Every second block reads its rows; the others write zeros."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    sums = tl.zeros((B,), tl.float32)
    if tl.program_id(0) % 2 == 0:
        for k in range(0, K):
            sums += tl.load(a_ptr + rows * K + k, mask=rows < M, other=0)
    tl.store(d_ptr + rows, sums, mask=rows < M)


@plain(lambda rows, columns: (rows,))
def backwards(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows and columns from the last to the first."""
    rows = M - 1 - tl.program_id(0) * B - tl.arange(0, B)
    sums = tl.zeros((B,), tl.float32)
    for k in range(0, K):
        sums += tl.load(a_ptr + rows * K + (K - 1 - k), mask=rows >= 0, other=0).to(tl.float32) * k
    tl.store(d_ptr + rows, sums, mask=rows >= 0)


@plain(lambda rows, columns: (rows,))
def flat(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Elements in a row, as if A had one dimension; a program reads the last of the one before it, too."""
    total = 0.0
    for at in range(tl.program_id(0) * B * K, tl.program_id(0) * B * K + B * K, B):
        places = at + tl.arange(0, B)
        x = tl.load(a_ptr + places, mask=places < M * K, other=0).to(tl.float32)
        before = tl.load(a_ptr + places - 1, mask=(places >= 1) & (places < M * K), other=0).to(tl.float32)
        total += tl.sum(tl.abs(x - before), 0)
    tl.store(d_ptr + tl.program_id(0), total)


@plain(lambda rows, columns: (2,))
def tiles_in_turn(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A persistent kernel of descriptors whose loop over tiles and K is one."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [B, B])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [B, B])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [B, B])
    columns = tl.cdiv(N, B)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, B) * columns, tl.num_programs(0), flatten=True):
        acc = tl.zeros((B, B), tl.float32)
        for k in range(tl.cdiv(K, B)):
            acc = tl.dot(a.load([tile // columns * B, k * B]), b.load([k * B, tile % columns * B]), acc)
        c.store([tile // columns * B, tile % columns * B], acc)


@plain(lambda rows, columns: (columns, rows))
def reduced_over_rows(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Sums of columns: every program reads the rows of all ranks."""
    columns = tl.program_id(0) * B + tl.arange(0, B)
    sums = tl.zeros((B,), tl.float32)
    for row in range(0, M):
        sums += tl.load(a_ptr + row * K + columns, mask=columns < K, other=0)
    if tl.program_id(1) == 0:
        tl.store(c_ptr + columns, sums, mask=columns < N)
