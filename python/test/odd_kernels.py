"""Kernels of odd forms, with the arguments of authors_kernels: places by bits and choices, strides and loops that few authors write. Each
is overlapped at both ends, or refused there with a reason at a line."""

import authors_kernels
import tandem
import tandem.language as tl
from authors_kernels import masked, plain, product, put, strides, tiles

BEFORE = len(authors_kernels.ALL)


@plain(lambda m, n, k: (tiles(m, n),))
def snake(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Tiles along a row of blocks and back along the next one."""
    width = tl.cdiv(N, B)
    block, at = tl.program_id(0) // width, tl.program_id(0) % width
    column = at if block % 2 == 0 else width - 1 - at
    rows, columns = block * B + tl.arange(0, B), column * B + tl.arange(0, B)
    put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)))
def two_loops(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """K in two loops, of which the second has smaller blocks and begins anywhere."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    half = K // 2
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, half, B):
        inner = k + tl.arange(0, B)
        left = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < half), other=0)
        acc = tl.dot(left, masked(b_ptr, inner, columns, K, N), acc)
    acc = acc * 2
    for k in range(half, K, B // 2):
        inner = k + tl.arange(0, B)
        there = (rows[:, None] < M) & (inner[None, :] < min(k + B // 2, K))
        acc = tl.dot(tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=there, other=0), masked(b_ptr, inner, columns, K, N), acc)
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)))
def residual_and_norm(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows are read for their largest element, then for the product, then as what is added to it; D has the largest."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    largest = tl.zeros((B,), tl.float32)
    for k in range(0, K, B):
        largest = tl.maximum(largest, tl.max(tl.abs(masked(a_ptr, rows, k + tl.arange(0, B), M, K)), axis=1))
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    put(c_ptr, rows, columns, M, N, acc + largest[:, None] + masked(a_ptr, rows, columns % K, M, K))
    if tl.program_id(1) == 0:
        tl.store(d_ptr + rows, largest, mask=rows < M)


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)))
def downwards(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """K from its end."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    steps = tl.cdiv(K, B)
    a_ptrs = a_ptr + rows[:, None] * K + ((steps - 1) * B + tl.arange(0, B))[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for step in range(steps - 1, -1, -1):
        inner = step * B + tl.arange(0, B)
        left = tl.load(a_ptrs, mask=(rows[:, None] < M) & (inner[None, :] < K), other=0)
        acc = tl.dot(left, masked(b_ptr, inner, columns, K, N), acc)
        a_ptrs -= B
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda m, n, k: (3,))
def until_done(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Programs stay, and count two numbers by hand."""
    width = tl.cdiv(N, B)
    block, column = tl.program_id(0) // width, tl.program_id(0) % width
    while block * B < M:
        rows, columns = block * B + tl.arange(0, B), column * B + tl.arange(0, B)
        put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))
        column += tl.num_programs(0)
        block += column // width
        column = column % width


@plain(lambda m, n, k: (-(-n // 16), 2, -(-m // 32)), more=lambda m, n, k: strides(m, n, k) | dict(stride_az=m // 2 * k), multiple=2)
def halves_in_three_axes(
    a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, stride_az, B: tl.constexpr
):
    """Two matrices behind one another, whose numbers are in the middle of three axes; all strides are values."""
    half = M // 2
    z = tl.program_id(1)
    rows, columns = tl.program_id(2) * B + tl.arange(0, B), tl.program_id(0) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        a_ptrs = a_ptr + z * stride_az + rows[:, None] * stride_am + inner[None, :] * stride_ak
        left = tl.load(a_ptrs, mask=(rows[:, None] < half) & (inner[None, :] < K), other=0)
        b_ptrs = b_ptr + inner[:, None] * stride_bk + columns[None, :] * stride_bn
        acc = tl.dot(left, tl.load(b_ptrs, mask=(inner[:, None] < K) & (columns[None, :] < N), other=0), acc)
    c_ptrs = c_ptr + (z * half + rows)[:, None] * stride_cm + columns[None, :] * stride_cn
    tl.store(c_ptrs, acc, mask=(rows[:, None] < half) & (columns[None, :] < N))


@plain(lambda m, n, k: (-(-m // 16),))
def pairs_by_bits(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Neighbours change places, by bits of their numbers; column blocks by shifts."""
    rows = (tl.program_id(0) << 4) | tl.arange(0, B)
    other = rows ^ 1
    for column in range(0, (N + 15) >> 4):
        columns = (column << 4) + tl.arange(0, B)
        acc = product(a_ptr, b_ptr, other, columns, M, N, K, B)
        put(c_ptr, rows, columns, M, N, acc)


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)), multiple=16)
def three_axes_block(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A descriptor of three axes, made in the kernel, and one of the result."""
    columns = tl.program_id(1) * B + tl.arange(0, B)
    a = tl.make_tensor_descriptor(a_ptr, shape=[M // 4, 4, K], strides=[4 * K, K, 1], block_shape=[B // 4, 4, B])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[B, B])
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        left = a.load([tl.program_id(0) * (B // 4), 0, k]).reshape(B, B)
        acc = tl.dot(left, masked(b_ptr, k + tl.arange(0, B), columns, K, N), acc)
    c.store([tl.program_id(0) * B, tl.program_id(1) * B], acc)


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)), multiple=16)
def last_one_moved_back(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Instead of a mask the last block of rows would begin earlier."""
    first = tl.maximum(tl.minimum(tl.program_id(0) * B, M - B), 0)
    rows, columns = first + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)))
def turned_pointers(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Pointers that are transposed and reshaped before they are used."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        turned = tl.trans(a_ptr + rows[:, None] * K + inner[None, :])
        left = tl.load(turned, mask=(rows[None, :] < M) & (inner[:, None] < K), other=0)
        acc = tl.dot(left.T, masked(b_ptr, inner, columns, K, N), acc)
    line = tl.reshape(c_ptr + rows[:, None] * N + columns[None, :], (B * B,))
    tl.store(line, tl.reshape(acc, (B * B,)), mask=tl.reshape((rows[:, None] < M) & (columns[None, :] < N), (B * B,)))


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)), refused={"producer": "depends on what the kernel loads"})
def a_stride_that_is_read(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The strides are numbers that are loaded."""
    none = tl.load(d_ptr).to(tl.int32)
    wide, high = K + none, N + none
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, wide, B)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * high + columns[None, :], acc, mask=inside)  # REFUSED producer


@plain(lambda m, n, k: (-(-m // 16),))
def powers_of_two(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A loop whose counter doubles: prefixes of a row are added up."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    k = 1
    while k < K:
        total += tl.load(a_ptr + rows * K + k, mask=rows < M, other=0)
        k = 2 * k
    for column in range(0, N):
        tl.store(c_ptr + rows * N + column, total * (column + 1), mask=rows < M)


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)))
def only_some_steps(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Steps of K that a condition leaves out, with loads in both branches of another."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        if k % (2 * B) == 0:
            if tl.program_id(1) % 2 == 0:
                left = masked(a_ptr, rows, inner, M, K)
            else:
                left = masked(a_ptr, rows + 0, inner, M, K) * 2
            acc = tl.dot(left, masked(b_ptr, inner, columns, K, N), acc)
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda m, n, k: (-(-m // 32), -(-n // 16)))
def halves_of_a_tile(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A program has two tiles, one below the other, and stores the second one first, in two parts."""
    top, columns = tl.program_id(0) * 2 * B, tl.program_id(1) * B + tl.arange(0, B)
    for below in tl.static_range(1, -1, -1):
        rows = top + below * B + tl.arange(0, B)
        acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
        even, odd = tl.split(acc.reshape(B, B // 2, 2))
        two = tl.program_id(1) * B + 2 * tl.arange(0, B // 2)
        put(c_ptr, rows, two + 1, M, N, odd)
        put(c_ptr, rows, two, M, N, even)


@plain(lambda m, n, k: lambda meta: (-(-m // meta["B"]), -(-n // meta["WIDE"])))
@tandem.autotune([tandem.Config({"WIDE": 32}, num_warps=2), tandem.Config({"WIDE": 16})], key=["M"])
@tandem.heuristics({"EVEN": lambda args: args["K"] % args["B"] == 0})
@tandem.jit
def tuned(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr, WIDE: tl.constexpr, EVEN: tl.constexpr):
    """Under decorators that choose constants, by which the grid goes."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * WIDE + tl.arange(0, WIDE)
    acc = tl.zeros((B, WIDE), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        if EVEN:
            left = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=rows[:, None] < M, other=0)
        else:
            left = masked(a_ptr, rows, inner, M, K)
        acc = tl.dot(left, masked(b_ptr, inner, columns, K, N), acc)
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda m, n, k: (-(-m // 16),))
def cleared_before(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows are cleared, then written block by block."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    for column in range(0, N, B):
        put(c_ptr, rows, column + tl.arange(0, B), M, N, tl.zeros((B, B), tl.float32))
    for column in range(0, N, B):
        columns = column + tl.arange(0, B)
        put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)), multiple=2)
def two_bases(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Both halves of the rows through pointers of their own, in a tuple; sums of a row and of the one half of all below it."""
    half = M // 2
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    bases = (a_ptr, a_ptr + half * K)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        for i in tl.static_range(2):
            acc = tl.dot(masked(bases[i], rows % half, inner, half, K), masked(b_ptr, inner, columns, K, N), acc)
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)), refused={"producer": "depends on what the kernel loads"})
def only_where_something_is(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A tile is stored if its first row of A has a number that is not 0."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    if tl.load(a_ptr + tl.program_id(0) * B * K) != 0:
        inside = (rows[:, None] < M) & (columns[None, :] < N)
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=inside)  # REFUSED producer


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)))
def until_it_is_small(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A loop that runs as long as what it has loaded says."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    left = masked(a_ptr, rows, tl.arange(0, B), M, K).to(tl.float32)
    turns = 0
    while tl.max(left) > 0.25:
        left = 0.5 * left + 0.01 * masked(a_ptr, rows, (turns + tl.arange(0, B)) % K, M, K)
        left = tl.where(turns > 20, 0.0, left)
        turns += 1
    put(c_ptr, rows, columns, M, N, left + turns)


@plain(lambda m, n, k: (-(-m // 16), -(-n // 16)))
def below_the_diagonal(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """K up to the row's number, so that a program's loop has a length of its own; rows backwards by a negative stride."""
    first = M - 1 - tl.program_id(0) * B
    rows, columns = first - tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    a_ptrs = a_ptr + first * K - tl.arange(0, B)[:, None] * K
    for k in range(0, min(K, first + 1), B):
        inner = k + tl.arange(0, B)
        seen = (rows[:, None] >= 0) & (inner[None, :] <= rows[:, None]) & (inner[None, :] < K)
        acc = tl.dot(tl.load(a_ptrs + inner[None, :], mask=seen, other=0), masked(b_ptr, inner, columns, K, N), acc)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] >= 0) & (columns[None, :] < N))


@plain(lambda m, n, k: (-(-n // 16),))
def sums_down_all_rows(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """One program goes down all rows and keeps a running sum."""
    columns = tl.program_id(0) * B + tl.arange(0, B)
    carried = tl.zeros((B,), tl.float32)
    for row in range(0, M, B):
        rows = row + tl.arange(0, B)
        acc = tl.cumsum(masked(a_ptr, rows, columns % K, M, K).to(tl.float32), 0) + carried[None, :]
        put(c_ptr, rows, columns, M, N, acc)
        carried += tl.sum(masked(a_ptr, rows, columns % K, M, K).to(tl.float32), 0)


ODD = authors_kernels.ALL[BEFORE:]
