"""Plain kernels as authors write them: strides that are assumed, scales, epilogues, batches, dealt tiles. Each reads A (M x K), B (K x N)
and writes C (M x N); some also write D (M). Every one is overlapped at both ends, or refused there with a reason at a line."""

import tandem
import tandem.language as tl

ALL = []


def plain(grid, refused=(), a="float32", b="float32", c="float32", more=lambda m, n, k: {}, multiple=1):
    """Adds a kernel: its grid, a function of M, N and K in blocks of 16; the types of its matrices; its further arguments; the number of
    which M is a multiple; and for the ends at which it is refused, words of the error at the line behind `# REFUSED consumer` or
    `producer`."""

    def add(function):
        kernel = function if hasattr(function, "run") else tandem.jit(function)
        kernel.case = dict(grid=grid, refused=dict(refused), a=a, b=b, c=c, more=more, multiple=multiple)
        ALL.append(kernel)
        return kernel

    return add


def strides(m, n, k):
    return dict(stride_am=k, stride_ak=1, stride_bk=n, stride_bn=1, stride_cm=n, stride_cn=1)


tiles = lambda m, n: -(-m // 16) * -(-n // 16)


@tandem.jit
def leaky(x):
    return tl.where(x >= 0, x, 0.01 * x)


@tandem.jit
def silu(x):
    return x * tl.sigmoid(x)


@tandem.jit
def grouped_place(tile, M, N, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    height, width = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = tile // (GROUP * width) * GROUP
    size = min(height - first, GROUP)
    return first + tile % (GROUP * width) % size, tile % (GROUP * width) // size


@tandem.jit
def masked(ptr, rows, columns, height, width):
    return tl.load(ptr + rows[:, None] * width + columns[None, :], mask=(rows[:, None] < height) & (columns[None, :] < width), other=0)


@tandem.jit
def put(ptr, rows, columns, height, width, value):
    tl.store(ptr + rows[:, None] * width + columns[None, :], value, mask=(rows[:, None] < height) & (columns[None, :] < width))


@tandem.jit
def product(a_ptr, b_ptr, rows, columns, M, N, K, B: tl.constexpr):
    acc = tl.zeros((rows.shape[0], columns.shape[0]), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        acc = tl.dot(masked(a_ptr, rows, inner, M, K).to(tl.float32), masked(b_ptr, inner, columns, K, N).to(tl.float32), acc)
    return acc


@plain(lambda m, n, k: (tiles(m, n),), more=lambda m, n, k: strides(m, n, k) | dict(GROUP=2, ACTIVATION="leaky"))
def assumed_strides(
    a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    B: tl.constexpr, GROUP: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    """The tutorial's product: grouped order, rows that wrap around, assumptions, an activation by name."""
    pid_m, pid_n = grouped_place(tl.program_id(axis=0), M, N, B, B, GROUP)
    tl.assume(pid_m >= 0)
    tl.assume(pid_n >= 0)
    tl.assume(stride_am > 0)
    tl.assume(stride_ak > 0)
    tl.assume(stride_bk > 0)
    tl.assume(stride_cm > 0)
    offs_am = (pid_m * B + tl.arange(0, B)) % M
    offs_bn = (pid_n * B + tl.arange(0, B)) % N
    offs_k = tl.arange(0, B)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)
    acc = tl.zeros((B, B), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, B)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * B, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * B, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += B * stride_ak
        b_ptrs += B * stride_bk
    if ACTIVATION == "leaky":
        acc = leaky(acc)
    offs_cm = pid_m * B + tl.arange(0, B)
    offs_cn = pid_n * B + tl.arange(0, B)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    tl.store(c_ptrs, acc, mask=(offs_cm[:, None] < M) & (offs_cn[None, :] < N))


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)), a="int8", b="int8", more=lambda m, n, k: dict(scale=0.25))
def int8_scaled(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, scale, B: tl.constexpr):
    """Integers, whose sums have a scale and one of their column, which is loaded."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.int32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        acc = tl.dot(masked(a_ptr, rows, inner, M, K), masked(b_ptr, inner, columns, K, N), acc)
    of_column = tl.load(b_ptr + columns, mask=columns < N, other=0).to(tl.float32)
    put(c_ptr, rows, columns, M, N, acc.to(tl.float32) * scale * of_column[None, :])


@plain(lambda m, n, k: (-(-n // 16), -(-m // 16)), a="e4m3", b="e4m3")
def e4m3_by_blocks(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Eight bits, and a scale for each block of K that a program multiplies into its sum."""
    rows, columns = tl.program_id(1) * B + tl.arange(0, B), tl.program_id(0) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, tl.cdiv(K, B)):
        inner = k * B + tl.arange(0, B)
        a = masked(a_ptr, rows, inner, M, K).to(tl.float16)
        b = masked(b_ptr, inner, columns, K, N).to(tl.float16)
        acc += tl.dot(a, b) * (1 + k % 3)
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda m, n, k: (-(-m // 16),))
def residual_and_norm(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The product, a residual of loaded rows, and the norm of whole rows in the epilogue."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, 64)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    acc += masked(a_ptr, rows, columns, M, K)
    acc = tl.where(columns[None, :] < N, acc, 0)
    square = tl.sum(acc * acc, 1) / N
    put(c_ptr, rows, columns, M, N, acc * tl.rsqrt(square + 1e-5)[:, None])
    tl.store(d_ptr + rows, square, mask=rows < M)


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)))
def columns_by_a_table(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Columns of B in an order that is loaded, as after a permutation."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    place = (tl.load(b_ptr + columns, mask=columns < N, other=0).to(tl.int32) + columns + 2) % N
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        b = tl.load(b_ptr + inner[:, None] * N + place[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0)
        acc = tl.dot(masked(a_ptr, rows, inner, M, K), b, acc)
    put(c_ptr, rows, columns, M, N, acc)


@plain(
    lambda m, n, k: (2, -(-m // 2 // 16), -(-n // 16)), more=lambda m, n, k: dict(stride_ab=m // 2 * k, stride_cb=m // 2 * n), multiple=2
)
def strided_batch(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, stride_ab, stride_cb, B: tl.constexpr):
    """Two products in one launch, by strides of the batch and pointers that are moved on."""
    batch = tl.program_id(0)
    a_ptr += batch * stride_ab
    c_ptr += batch * stride_cb
    rows, columns = tl.program_id(1) * B + tl.arange(0, B), tl.program_id(2) * B + tl.arange(0, B)
    put(c_ptr, rows, columns, M // 2, N, product(a_ptr, b_ptr, rows, columns, M // 2, N, K, B))


@plain(lambda m, n, k: (3,))
def dealt_by_while(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A persistent kernel whose tiles go by in a `while`."""
    tile = tl.program_id(0)
    while tile < tl.cdiv(M, B) * tl.cdiv(N, B):
        i, j = grouped_place(tile, M, N, B, B, 2)
        rows, columns = i * B + tl.arange(0, B), j * B + tl.arange(0, B)
        put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))
        tile += tl.num_programs(0)


@plain(lambda m, n, k: (2,))
def halves_of_the_epilogue(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A persistent kernel of descriptors that stores each tile in two halves, and has a counter of its own for its epilogue's tile."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [B, B])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [B, B])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [B, B // 2])
    stored = tl.program_id(0) - tl.num_programs(0)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, B) * tl.cdiv(N, B), tl.num_programs(0), flatten=True):
        i, j = grouped_place(tile, M, N, B, B, 2)
        acc = tl.zeros((B, B), tl.float32)
        for k in range(tl.cdiv(K, B)):
            acc = tl.dot(a.load([i * B, k * B]), b.load([k * B, j * B]), acc)
        stored += tl.num_programs(0)
        i, j = grouped_place(stored, M, N, B, B, 2)
        left, right = tl.split(tl.permute(tl.reshape(acc, (B, 2, B // 2)), (0, 2, 1)))
        c.store([i * B, j * B], left)
        c.store([i * B, j * B + B // 2], right)


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16), 3))
def split_k_by_atomics(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(tl.program_id(2) * B, K, tl.num_programs(2) * B):
        inner = k + tl.arange(0, B)
        acc = tl.dot(masked(a_ptr, rows, inner, M, K), masked(b_ptr, inner, columns, K, N), acc)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=inside, sem="relaxed")


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)), more=lambda m, n, k: dict(EVEN_K=k % 16 == 0))
def even_or_not(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr, EVEN_K: tl.constexpr):
    """Masks by a constant, hints, rows of 64 bits that are clamped, and a program that leaves early."""
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    if pid_m * B >= M or pid_n * B >= N:
        return
    rows = tl.max_contiguous(tl.multiple_of(pid_m.to(tl.int64) * B + tl.arange(0, B), B), B)
    columns = pid_n.to(tl.int64) * B + tl.arange(0, B)
    read, across = tl.minimum(rows, M - 1), tl.minimum(columns, N - 1)
    a_ptrs = a_ptr + read[:, None] * K + tl.arange(0, B)[None, :]
    b_ptrs = b_ptr + tl.arange(0, B)[:, None] * N + across[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for k in range(K, 0, -B):
        if EVEN_K:
            a, b = tl.load(a_ptrs), tl.load(b_ptrs)
        else:
            a = tl.load(a_ptrs, mask=tl.arange(0, B)[None, :] < k, other=0.0)
            b = tl.load(b_ptrs, mask=tl.arange(0, B)[:, None] < k, other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += B
        b_ptrs += B * N
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@plain(lambda m, n, k: (-(-m // 16),))
def rows_of_two_passes(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Layer norm of single rows: a mean and a variance by blocks, then what is stored, with weights that are loaded."""
    for row in range(tl.program_id(0) * B, min(tl.program_id(0) * B + B, M)):
        mean = tl.zeros((B,), tl.float32)
        for k in range(0, K, B):
            inner = k + tl.arange(0, B)
            mean += tl.load(a_ptr + row * K + inner, mask=inner < K, other=0.0)
        mu = tl.sum(mean, 0) / K
        square = tl.zeros((B,), tl.float32)
        for k in range(0, K, B):
            inner = k + tl.arange(0, B)
            x = tl.load(a_ptr + row * K + inner, mask=inner < K, other=0.0)
            square += tl.where(inner < K, (x - mu) * (x - mu), 0.0)
        rstd = tl.rsqrt(tl.sum(square, 0) / K + 1e-5)
        for column in range(0, N, B):
            columns = column + tl.arange(0, B)
            w = tl.load(b_ptr + columns, mask=columns < N, other=0.0)
            x = tl.load(a_ptr + row * K + columns % K, mask=columns < N, other=0.0)
            tl.store(c_ptr + row * N + columns, (x - mu) * rstd * w, mask=columns < N)
        tl.store(d_ptr + row, rstd)


@plain(lambda m, n, k: (-(-m // 16), 1, 2), more=lambda m, n, k: dict(HEAD=8))
def heads(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr, HEAD: tl.constexpr):
    """Heads along the third axis: columns of A and C in groups, a rotation of halves as of positions."""
    rows, head = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(2)
    half = tl.arange(0, HEAD // 2)
    first = tl.load(a_ptr + rows[:, None] * K + head * HEAD + half[None, :], mask=rows[:, None] < M, other=0)
    second = tl.load(a_ptr + rows[:, None] * K + head * HEAD + HEAD // 2 + half[None, :], mask=rows[:, None] < M, other=0)
    to = c_ptr + rows[:, None] * N + head * HEAD + half[None, :]
    tl.store(to, 2 * first - second, mask=rows[:, None] < M)
    tl.store(to + HEAD // 2, first + 3 * second, mask=rows[:, None] < M)


@plain(lambda m, n, k: (-(-m * n // 64),))
def one_dimension(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Elements by a quotient and a remainder of their number: SwiGLU of two columns."""
    places = tl.program_id(0) * (4 * B) + tl.arange(0, 4 * B)
    inside = places < M * N
    row, column = places // N, places % N
    gate = tl.load(a_ptr + row * K + column % K, mask=inside, other=0)
    up = tl.load(a_ptr + row * K + (column + 1) % K, mask=inside, other=0)
    tl.store(c_ptr + places, silu(gate) * up, mask=inside)


@plain(lambda m, n, k: (-(-m // 32), -(-n // 16)))
def tall_tiles(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A tile of two blocks of rows, one after the other in an unrolled loop, with B's tile transposed twice."""
    columns = tl.program_id(1) * B + tl.arange(0, B)
    for part in tl.static_range(2):
        rows = (2 * tl.program_id(0) + part) * B + tl.arange(0, B)
        acc = tl.zeros((B, B), tl.float32)
        for k in tl.range(0, K, B, num_stages=2):
            inner = k + tl.arange(0, B)
            b = tl.load(b_ptr + inner[None, :] * N + columns[:, None], mask=(inner[None, :] < K) & (columns[:, None] < N), other=0)
            acc = tl.dot(masked(a_ptr, rows, inner, M, K), tl.trans(b), acc)
        put(c_ptr, rows, columns, M, N, acc)


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)))
def block_pointers(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Block pointers that are moved in the loop and beside it, B's with its axes exchanged, a bias of a column."""
    a = tl.make_block_ptr(base=a_ptr, shape=(M, K), strides=(K, 1), offsets=(0, 0), block_shape=(B, B), order=(1, 0))
    b = tl.make_block_ptr(base=b_ptr, shape=(N, K), strides=(1, N), offsets=(tl.program_id(1) * B, 0), block_shape=(B, B), order=(0, 1))
    a = tl.advance(a, (tl.program_id(0) * B, 0))
    acc = tl.zeros((B, B), tl.float32)
    for _ in range(0, K, B):
        acc = tl.dot(tl.load(a, boundary_check=(0, 1)), tl.trans(tl.load(b, boundary_check=(0, 1))), acc)
        a = tl.advance(a, (0, B))
        b = tl.advance(b, (0, B))
    rows = tl.program_id(0) * B + tl.arange(0, B)
    bias = tl.load(a_ptr + rows * K + K - 1, mask=rows < M, other=0)
    c = tl.make_block_ptr(base=c_ptr, shape=(M, N), strides=(N, 1), offsets=(0, 0), block_shape=(B, B), order=(1, 0))
    tl.store(tl.advance(c, (tl.program_id(0) * B, tl.program_id(1) * B)), acc + bias[:, None], boundary_check=(0, 1))


@plain(lambda m, n, k: (-(-m // 16),))
def rows_kept_by_a_mask(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows are stored where a loaded number says so, and two outputs."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, 64)
    kept = tl.load(a_ptr + rows * K, mask=rows < M, other=-1) >= 0
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(kept & (rows < M))[:, None] & (columns < N)[None, :])
    tl.store(d_ptr + rows, tl.where(kept, tl.max(tl.where(columns[None, :] < N, acc, -1e9), 1), 0), mask=rows < M)


@plain(lambda m, n, k: (2 * -(-m // 16),))
def parity(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Even programs take the left columns of their rows, odd ones the right ones; a tuple of a helper under both branches."""
    rows = tl.program_id(0) // 2 * B + tl.arange(0, B)
    half = tl.cdiv(tl.cdiv(N, 2), B) * B
    if tl.program_id(0) % 2 == 0:
        begin = 0
        end = half
    else:
        begin = half
        end = N
    for column in range(begin, end, B):
        columns = column + tl.arange(0, B)
        put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)), a="int8")
def packed_halves(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Two numbers of four bits in each byte of A, that a program takes apart."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B // 2):
        inner = k + tl.arange(0, B // 2)
        packed = masked(a_ptr, rows, inner, M, K)
        low, high = (packed << 4).to(tl.int8) >> 4, packed >> 4
        both = tl.interleave(low, high).to(tl.float32)
        pairs = 2 * k + tl.arange(0, B)
        acc = tl.dot(both, masked(b_ptr, pairs % K, columns, K, N), acc)
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)))
def chosen_matrix(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The number of a program decides from which rows it begins: the first blocks in their order, the others from the end."""
    blocks = tl.num_programs(0)
    block = tl.where(tl.program_id(0) < blocks // 2, tl.program_id(0), blocks - 1 - (tl.program_id(0) - blocks // 2))
    rows, columns = block * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)), refused={"producer": "depends on what the kernel loads"})
def rows_of_a_route(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """As of a mixture: a program's block of rows follows from a number that is loaded."""
    block = (tl.load(b_ptr).to(tl.int32) + 2 + tl.program_id(0)) % tl.num_programs(0)
    rows, columns = block * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    x = tl.load(a_ptr + rows * K, mask=rows < M, other=0)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], x[:, None] + columns[None, :], mask=inside)  # REFUSED producer


@plain(lambda m, n, k: (-(-m // 16),), refused={"consumer": "not a box with sides affine", "producer": "not a box with sides affine"})
def rows_each_by_a_table(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Every row by a number of its own that is loaded, as tokens of an expert."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    moved = tl.load(b_ptr + rows % K).to(tl.int32)  # THE TABLE
    token = (rows + 0 * moved) % M
    x = tl.load(a_ptr + token * K, mask=rows < M, other=0)  # REFUSED consumer
    tl.store(c_ptr + token * N, x, mask=rows < M)  # REFUSED producer


@plain(lambda m, n, k: (-(-m // 16),))
def joined_loops(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """One loop for all columns and all of K, whose counters are put back by hand."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    steps = tl.cdiv(K, B)
    acc = tl.zeros((B, B), tl.float32)
    k = 0
    column = 0
    for _ in range(0, steps * tl.cdiv(N, B)):
        inner = k * B + tl.arange(0, B)
        columns = column * B + tl.arange(0, B)
        acc = tl.dot(masked(a_ptr, rows, inner, M, K), masked(b_ptr, inner, columns, K, N), acc)
        k += 1
        if k == steps:
            put(c_ptr, rows, columns, M, N, acc)
            acc = tl.zeros((B, B), tl.float32)
            k = 0
            column += 1


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)))
def rounded(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """K to a multiple of the block, the rest in a step of its own behind the loop."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    whole = K // B * B
    inside = rows[:, None] < M
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, whole, B):
        inner = k + tl.arange(0, B)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=inside, other=0)
        acc = tl.dot(a, masked(b_ptr, inner, columns, K, N), acc)
    if whole < K:
        inner = whole + tl.arange(0, B)
        acc = tl.dot(masked(a_ptr, rows, inner, M, K), masked(b_ptr, inner, columns, K, N), acc)
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda m, n, k: (tiles(m, n), 3))
def split_k_as_tutorials(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Parts of K over the second axis, added by atomics that order all else, too."""
    pid, width = tl.program_id(0), tl.cdiv(N, B)
    rows, columns = pid // width * B + tl.arange(0, B), pid % width * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(tl.program_id(1) * B, K, tl.num_programs(1) * B):
        inner = k + tl.arange(0, B)
        acc = tl.dot(masked(a_ptr, rows, inner, M, K), masked(b_ptr, inner, columns, K, N), acc)
    tl.atomic_add(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@plain(lambda m, n, k: (tiles(m, n), 2))
def split_k_by_descriptor(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Parts of K, added by a descriptor."""
    row, column = tl.program_id(0) // tl.cdiv(N, B) * B, tl.program_id(0) % tl.cdiv(N, B) * B
    acc = tl.zeros((B, B), tl.float32)
    for k in range(tl.program_id(1) * B, K, 2 * B):
        inner = k + tl.arange(0, B)
        left = masked(a_ptr, row + tl.arange(0, B), inner, M, K)
        acc = tl.dot(left, masked(b_ptr, inner, column + tl.arange(0, B), K, N), acc)
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [B, B])
    c.atomic_add([row, column], acc)


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)), more=lambda m, n, k: dict(beta=2.0))
def accumulating(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, beta, B: tl.constexpr):
    """What is in C has a factor, where that is not 0."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    if beta != 0:
        acc += beta * (1 + masked(c_ptr, rows, columns, M, N))
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda m, n, k: (-(-m // 16),))
def written_twice(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows are written column by column, and then again without the largest of each."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    largest = tl.full((B,), -1e30, tl.float32)
    for column in range(0, N, B):
        columns = column + tl.arange(0, B)
        acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
        largest = tl.maximum(largest, tl.max(tl.where(columns[None, :] < N, acc, -1e30), 1))
        put(c_ptr, rows, columns, M, N, acc)
    tl.debug_barrier()
    for column in range(0, N, B):
        columns = column + tl.arange(0, B)
        put(c_ptr, rows, columns, M, N, masked(c_ptr, rows, columns, M, N) - largest[:, None])


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)))
def largest_by_atomics(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Floats by atomics of integers, at pointers of the other type."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_max(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=inside, sem="relaxed")


@plain(lambda m, n, k: (-(-n // 16), 2, -(-m // 32)))
def rows_of_two_axes(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Columns along the first axis, pairs of row blocks along the third."""
    rows = (tl.program_id(2) * 2 + tl.program_id(1)) * B + tl.arange(0, B)
    columns = tl.program_id(0) * B + tl.arange(0, B)
    put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)))
def rows_far_apart(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Each program has rows of all shares."""
    rows = tl.program_id(0) + tl.num_programs(0) * tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))
