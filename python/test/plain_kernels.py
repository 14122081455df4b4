"""Plain kernels that read a matrix A (M x K), of many forms; each writes C (M x N, zeros before) or D (M). None knows of ranks."""

import tandem
import tandem.language as tl


def collected():
    """A list, and a decorator that adds a kernel and its grid to it: a function of the numbers of row blocks and column blocks."""
    kernels = []

    def plain(grid):
        def add(function):
            kernel = tandem.jit(function)
            kernels.append((kernel, grid))
            return kernel

        return add

    return kernels, plain


def refusals(plain):
    """A dictionary, and a decorator that adds a kernel to `plain`'s and what the error says to the dictionary, by the kernel's name."""
    found = {}

    def refused(words, grid):
        def add(function):
            found[function.__name__] = words
            return plain(grid)(function)

        return add

    return found, refused


ALL, plain = collected()


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


@plain(lambda rows, columns: (3,))
def dealt_by_constant(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Tiles dealt out to 3 programs, a scalar at a time."""
    for tile in range(tl.program_id(0), tl.cdiv(M, B), 3):
        for row in range(tile * B, min(tile * B + B, M)):
            total = 0.0
            for k in range(0, K):
                total += tl.load(a_ptr + row * K + k) * (k + 1)
            tl.store(d_ptr + row, total)


@plain(lambda rows, columns: (2,))
def dealt_by_another_number(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Two programs do a part of the tiles only: those that they would do alone."""
    for tile in range(tl.program_id(0), tl.cdiv(M, B), 4):
        rows = tile * B + tl.arange(0, B)
        tl.store(d_ptr + rows, tl.load(a_ptr + rows * K, mask=rows < M, other=0), mask=rows < M)


@plain(lambda rows, columns: (2,))
def carried_from_tile_to_tile(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The place of the results is counted beside the loop."""
    to = tl.program_id(0) * B
    for tile in range(tl.program_id(0), tl.cdiv(M, B), tl.num_programs(0)):
        rows = tile * B + tl.arange(0, B)
        tl.store(d_ptr + to + tl.arange(0, B), tl.load(a_ptr + rows * K, mask=rows < M, other=0), mask=to + tl.arange(0, B) < M)
        to += tl.num_programs(0) * B


@plain(lambda rows, columns: (columns, rows))
def block_pointer_of_columns(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A block pointer upon A with rows and columns exchanged, and an early end."""
    if tl.program_id(1) * B >= M:
        return
    a = tl.make_block_ptr(a_ptr, (K, M), (1, K), (0, tl.program_id(1) * B), (B, B), (0, 1))
    b = tl.make_block_ptr(b_ptr, (K, N), (N, 1), (0, tl.program_id(0) * B), (B, B), (1, 0))
    acc = tl.zeros((B, B), tl.float32)
    for _ in range(0, K, B):
        acc += tl.dot(tl.trans(tl.load(a, boundary_check=(0, 1))), tl.load(b, boundary_check=(0, 1)))
        a = a.advance((B, 0))
        b = b.advance((B, 0))
    rows, columns = tl.program_id(1) * B + tl.arange(0, B), tl.program_id(0) * B + tl.arange(0, B)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@tandem.jit
def _rows_at(ptr, first, K, at, M, B: tl.constexpr):
    rows, inner = first + tl.arange(0, B), at + tl.arange(0, B)
    return tl.load(ptr + rows.to(tl.int64)[:, None] * K + inner[None, :], mask=(rows < M)[:, None] & (inner < K)[None, :], other=0.0)


@plain(lambda rows, columns: (rows, columns))
def by_functions(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Loads in a function of its own, places of 64 bits, a loop that is unrolled."""
    acc = tl.zeros((B, B), tl.float32)
    for part in tl.static_range(2):
        for k in range(part * B, K, 2 * B):
            inner, columns = k + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
            b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0)
            acc = tl.dot(_rows_at(a_ptr, tl.program_id(0) * B, K, k, M, B), b, acc)
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@plain(lambda rows, columns: (rows,))
def base_moved_on(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The pointer itself is moved to the program's rows, and a second reader looks two rows further."""
    a_ptr += tl.program_id(0) * B * K
    left = M - tl.program_id(0) * B
    rows = tl.arange(0, B)
    sums = tl.zeros((B,), tl.float32)
    for k in range(0, K):
        sums += tl.load(a_ptr + rows * K + k, mask=rows < left, other=0)
        sums -= 2 * tl.load(a_ptr + 2 * K + rows * K + k, mask=rows + 2 < left, other=0)
    tl.store(d_ptr + tl.program_id(0) * B + rows, sums, mask=rows < left)


@plain(lambda rows, columns: (2,))
def sums_of_programs(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Each program keeps a sum of its own tiles in memory, in their order."""
    mine = d_ptr + tl.program_id(0)
    for tile in range(tl.program_id(0), tl.cdiv(M, B), tl.num_programs(0)):
        rows = tile * B + tl.arange(0, B)
        x = tl.load(a_ptr + rows * K, mask=rows < M, other=0)
        tl.store(mine, tl.load(mine) * 1.5 + tl.sum(x, 0))
        tl.debug_barrier()


@plain(lambda rows, columns: (2,))
def two_passes(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A program reads in its second loop what it has stored in its first."""
    for tile in range(tl.program_id(0), tl.cdiv(M, B), tl.num_programs(0)):
        rows = tile * B + tl.arange(0, B)
        tl.store(d_ptr + rows, tl.load(a_ptr + rows * K, mask=rows < M, other=0), mask=rows < M)
    tl.debug_barrier()
    for tile in range(tl.program_id(0), tl.cdiv(M, B), tl.num_programs(0)):
        rows = tile * B + tl.arange(0, B)
        tl.store(d_ptr + rows, 2 * tl.load(d_ptr + rows, mask=rows < M, other=0), mask=rows < M)


@plain(lambda rows, columns: (rows,))
def counted_down(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A loop from the end to the beginning, and places that wrap around by a size that the loop changes."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    sums = tl.zeros((B,), tl.float32)
    for k in range(K - 1, -1, -1):
        sums += tl.load(a_ptr + rows * K + k, mask=rows < M, other=0) * k
    for size in range(8, 12):
        sums += tl.load(a_ptr + rows % size)
    tl.store(d_ptr + rows, sums, mask=rows < M)
