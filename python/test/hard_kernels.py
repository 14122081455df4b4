"""Kernels of hostile users, with the arguments of authors_kernels: parts of K, grids too large, orders from the end, rows read
by all, elements of one byte, pointers that are chosen. Each is overlapped at both ends, or refused there with a reason at a line."""

import authors_kernels
import tandem.language as tl
from authors_kernels import masked, plain, product, put, strides, tiles

BEFORE = len(authors_kernels.ALL)
two = lambda m, n, k: (-(-m // 16), -(-n // 16))
turned = lambda m, n, k: (-(-n // 16), -(-m // 16))


@plain(two)
def two_parts_of_k(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Both parts of K in an unrolled loop; D has the rows' numbers."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for part in tl.static_range(2):
        for k in range(part * B, K, 2 * B):
            inner = k + tl.arange(0, B)
            acc = tl.dot(masked(a_ptr, rows, inner, M, K), masked(b_ptr, inner, columns, K, N), acc)
    put(c_ptr, rows, columns, M, N, acc)
    if tl.program_id(1) == 0:
        tl.store(d_ptr + rows, rows.to(tl.float32), mask=rows < M)


@plain(lambda m, n, k: (tiles(m, n), 2))
def split_k_added(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Split-K over the second axis, parts added by atomics."""
    pid, part = tl.program_id(0), tl.program_id(1)
    rows, columns = pid // tl.cdiv(N, B) * B + tl.arange(0, B), pid % tl.cdiv(N, B) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(part * B, K, 2 * B):
        inner = k + tl.arange(0, B)
        acc = tl.dot(masked(a_ptr, rows, inner, M, K), masked(b_ptr, inner, columns, K, N), acc)
    places = c_ptr + rows[:, None] * N + columns[None, :]
    tl.atomic_add(places, acc, mask=(rows[:, None] < M) & (columns[None, :] < N), sem="relaxed")


@plain(lambda m, n, k: (1,))
def one_program(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """One program does it all in nested loops."""
    for row in range(0, M, B):
        for column in range(0, N, B):
            rows, columns = row + tl.arange(0, B), column + tl.arange(0, B)
            put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))


@plain(lambda m, n, k: (3,))
def persistent_backwards(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Tiles dealt from the last one down."""
    width = tl.cdiv(N, B)
    last = tl.cdiv(M, B) * width - 1
    for nth in range(tl.program_id(0), last + 1, tl.num_programs(0)):
        tile = last - nth
        rows, columns = tile // width * B + tl.arange(0, B), tile % width * B + tl.arange(0, B)
        put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))


@plain(lambda m, n, k: (tiles(m, n) + 5,))
def too_many_programs(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Programs beyond the last tile have rows beyond the last one."""
    pid = tl.program_id(0)
    rows, columns = pid // tl.cdiv(N, B) * B + tl.arange(0, B), pid % tl.cdiv(N, B) * B + tl.arange(0, B)
    put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))


@plain(lambda m, n, k: (tiles(m, n) + 5,))
def too_many_leave(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Programs beyond the last tile return; the others go down a column first."""
    pid = tl.program_id(0)
    if pid >= tl.cdiv(M, B) * tl.cdiv(N, B):
        return
    rows, columns = pid % tl.cdiv(M, B) * B + tl.arange(0, B), pid // tl.cdiv(M, B) * B + tl.arange(0, B)
    put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))


@plain(two, more=lambda m, n, k: dict(ACT="relu", SCALE=0.5))
def bias_rows(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr, ACT: tl.constexpr, SCALE):
    """A bias of the column taken from B's first row, activation, scale, and row sums to D."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B) * SCALE
    acc += tl.load(b_ptr + columns, mask=columns < N, other=0)[None, :]
    if ACT == "relu":
        acc = tl.maximum(acc, 0)
    put(c_ptr, rows, columns, M, N, acc)


@plain(turned)
def block_pointers(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Block pointers with boundary checks, advanced."""
    row, column = tl.program_id(1) * B, tl.program_id(0) * B
    a = tl.make_block_ptr(a_ptr, (M, K), (K, 1), (row, 0), (B, B), (1, 0))
    b = tl.make_block_ptr(b_ptr, (K, N), (N, 1), (0, column), (B, B), (1, 0))
    acc = tl.zeros((B, B), tl.float32)
    for _ in range(tl.cdiv(K, B)):
        acc = tl.dot(
            tl.load(a, boundary_check=(0, 1), padding_option="zero"), tl.load(b, boundary_check=(0, 1), padding_option="zero"), acc
        )
        a, b = tl.advance(a, (0, B)), tl.advance(b, (B, 0))
    c = tl.make_block_ptr(c_ptr, (M, N), (N, 1), (row, column), (B, B), (1, 0))
    tl.store(c, acc, boundary_check=(0, 1))


@plain(two)
def block_pointer_from_the_end(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A block pointer that begins at the last K block and is advanced by negative offsets; another made of an offset base."""
    row, column = tl.program_id(0) * B, tl.program_id(1) * B
    last = (tl.cdiv(K, B) - 1) * B
    a = tl.make_block_ptr(a_ptr + row * K, (M - row, K), (K, 1), (0, last), (B, B), (1, 0))
    b = tl.make_block_ptr(b_ptr, (K, N), (N, 1), (last, column), (B, B), (1, 0))
    acc = tl.zeros((B, B), tl.float32)
    for _ in range(tl.cdiv(K, B)):
        acc = tl.dot(
            tl.load(a, boundary_check=(0, 1), padding_option="zero"), tl.load(b, boundary_check=(0, 1), padding_option="zero"), acc
        )
        a, b = tl.advance(a, (0, -B)), tl.advance(b, (-B, 0))
    c = tl.make_block_ptr(c_ptr + row * N, (M - row, N), (N, 1), (0, column), (B, B), (1, 0))
    tl.store(c, acc, boundary_check=(0, 1))


@plain(two)
def a_transposed_block_pointer(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A as a K x M matrix of strides 1, K; the result's transpose is stored through a transposed block."""
    row, column = tl.program_id(0) * B, tl.program_id(1) * B
    at = tl.make_block_ptr(a_ptr, (K, M), (1, K), (0, row), (B, B), (0, 1))
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        left = tl.load(at, boundary_check=(0, 1), padding_option="zero")
        acc = tl.dot(tl.trans(masked(b_ptr, k + tl.arange(0, B), column + tl.arange(0, B), K, N)), left, acc)
        at = tl.advance(at, (B, 0))
    ct = tl.make_block_ptr(c_ptr, (N, M), (1, N), (column, row), (B, B), (0, 1))
    tl.store(ct, acc, boundary_check=(0, 1))


@plain(two)
def two_outputs(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """C in two stores, even columns and odd ones; D too."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    place = c_ptr + rows[:, None] * N + columns[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(place, acc, mask=inside & (columns[None, :] % 2 == 0))
    tl.store(place, acc + 1, mask=inside & (columns[None, :] % 2 == 1))
    tl.store(d_ptr + rows, tl.load(a_ptr + rows * K, mask=rows < M, other=0), mask=(rows < M) & (tl.program_id(1) == 0))


@plain(two, a="e4m3", b="e4m3")
def eight_bits(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Floats of eight bits."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))


@plain(two, a="int8", b="int8", c="int8")
def bytes_to_bytes(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Elements of one byte on both sides: chunks and rows that are no multiple of a word."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.int32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        acc = tl.dot(masked(a_ptr, rows, inner, M, K), masked(b_ptr, inner, columns, K, N), acc)
    put(c_ptr, rows, columns, M, N, (acc % 5).to(tl.int8))


@plain(lambda m, n, k: (-(-n // 16), -(-m // 32), 2), multiple=2)
def batch_in_rows(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The third axis is a batch of half of the rows each; pointers moved by 64-bit offsets."""
    half = M // 2
    batch = tl.program_id(2).to(tl.int64)
    a, c = a_ptr + batch * half * K, c_ptr + batch * half * N
    rows, columns = tl.program_id(1) * B + tl.arange(0, B), tl.program_id(0) * B + tl.arange(0, B)
    put(c, rows, columns, half, N, product(a, b_ptr, rows, columns, half, N, K, B))


@plain(two, more=strides)
def strides_reversed(
    a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn
):
    """Rows from the last one, by a base at the end and negative strides."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    a, c = a_ptr + (M - 1) * stride_am, c_ptr + (M - 1) * stride_cm
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        left = tl.load(a - rows[:, None] * stride_am + inner[None, :] * stride_ak, mask=(rows[:, None] < M) & (inner[None, :] < K), other=0)
        acc = tl.dot(left, masked(b_ptr, inner, columns, K, N), acc)
    tl.store(c - rows[:, None] * stride_cm + columns[None, :] * stride_cn, acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@plain(lambda m, n, k: (-(-m // 8),))
def eight_rows_all_columns(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Eight rows a program; columns in a loop around the product; a running maximum goes to D."""
    rows = tl.program_id(0) * 8 + tl.arange(0, 8)
    largest = tl.full((8,), -1e30, tl.float32)
    for column in range(0, N, B):
        columns = column + tl.arange(0, B)
        acc = tl.zeros((8, B), tl.float32)
        for k in range(0, K, B):
            inner = k + tl.arange(0, B)
            acc += tl.sum(masked(a_ptr, rows, inner, M, K)[:, :, None] * masked(b_ptr, inner, columns, K, N)[None, :, :], 1)
        largest = tl.maximum(largest, tl.max(tl.where(columns[None, :] < N, acc, -1e30), 1))
        put(c_ptr, rows, columns, M, N, acc)
    tl.store(d_ptr + rows, largest, mask=rows < M)


@plain(two)
def reads_before_and_after(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The row's own element, the next row's and the last row's are added."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    acc += tl.load(a_ptr + tl.minimum(rows + 1, M - 1) * K)[:, None]
    acc += tl.load(a_ptr + (M - 1) * K)
    put(c_ptr, rows, columns, M, N, acc)


@plain(two)
def causal_rows(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Product of A with A's own first rows, below the diagonal; rows above are zeros."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    if tl.program_id(1) <= tl.program_id(0):
        for k in range(0, K, B):
            inner = k + tl.arange(0, B)
            acc = tl.dot(masked(a_ptr, rows, inner, M, K), tl.trans(masked(a_ptr, columns, inner, M, K)), acc)
        acc = tl.where(columns[None, :] <= rows[:, None], acc, 0)
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda m, n, k: (-(-m // 16),))
def attention_like(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Each program's rows against all rows of A, an online maximum, and the rows' first N columns summed by it."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, 64)
    q = masked(a_ptr, rows, tl.arange(0, 64), M, K)
    best = tl.full((B,), -1e30, tl.float32)
    for at in range(0, M, B):
        keys = at + tl.arange(0, B)
        s = tl.dot(q, tl.trans(masked(a_ptr, keys, tl.arange(0, 64), M, K)))
        best = tl.maximum(best, tl.max(tl.where(keys[None, :] < M, s, -1e30), 1))
    tl.store(
        c_ptr + rows[:, None] * N + columns[None, :], best[:, None] + columns[None, :], mask=(rows[:, None] < M) & (columns[None, :] < N)
    )


@plain(lambda m, n, k: (-(-m * k // 128),))
def flat_elements(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Elements by one number; what is beyond N columns of the row goes nowhere."""
    i = tl.program_id(0) * 128 + tl.arange(0, 128)
    row, column = i // K, i % K
    x = tl.load(a_ptr + i, mask=i < M * K, other=0)
    tl.store(c_ptr + row * N + column, x * 2, mask=(i < M * K) & (column < N))


@plain(lambda m, n, k: (4,))
def grid_stride(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A grid-stride loop over rows, each by halves."""
    for row in tl.range(tl.program_id(0), M, tl.num_programs(0), num_stages=2):
        for k in range(0, min(K, N), 32):
            inner = k + tl.arange(0, 32)
            x = tl.load(a_ptr + row * K + inner, mask=inner < min(K, N), other=0)
            tl.store(c_ptr + row * N + inner, x + row, mask=inner < min(K, N))


@plain(two)
def unsigned_rows(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Row numbers as unsigned 32 bits, then 64; a mask that compares unsigned."""
    rows = (tl.program_id(0) * B + tl.arange(0, B)).to(tl.uint32)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    wide = rows.to(tl.uint64)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        left = tl.load(a_ptr + wide[:, None] * K + inner[None, :], mask=(rows[:, None] < M.to(tl.uint32)) & (inner[None, :] < K), other=0)
        acc = tl.dot(left, masked(b_ptr, inner, columns, K, N), acc)
    tl.store(c_ptr + wide[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M.to(tl.uint32)) & (columns[None, :] < N))


@plain(two)
def unused_loads(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """All of A is read by every program, by one that nobody uses, and one row by a mask that is never true."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    total = 0.0
    for row in range(M):
        total += tl.load(a_ptr + row * K)
    acc += tl.load(a_ptr + M * K + rows, mask=rows < 0, other=0)[:, None]
    put(c_ptr, rows, columns, M, N, acc + total * 0)


@plain(two)
def xor_of_halves(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows in the order of number ^ 1 inside of a tile."""
    rows, columns = tl.program_id(0) * B + (tl.arange(0, B) ^ 1), tl.program_id(1) * B + tl.arange(0, B)
    put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))


@plain(two)
def descriptors_in_the_loop(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A descriptor made again in every step, of a moved base; the result through one of its own rows."""
    row, column = tl.program_id(0) * B, tl.program_id(1) * B
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        a = tl.make_tensor_descriptor(a_ptr + row * K, [M - row, K], [K, 1], [B, B])
        b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [B, B])
        acc = tl.dot(a.load([0, k]), b.load([k, column]), acc)
    c = tl.make_tensor_descriptor(c_ptr + row * N, [M - row, N], [N, 1], [B, B])
    c.store([0, column], acc)


@plain(lambda m, n, k: (5,))
def stream_k(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Iterations over K of all tiles are dealt evenly; a tile's parts are added by atomics."""
    width, steps = tl.cdiv(N, B), tl.cdiv(K, B)
    total = tl.cdiv(M, B) * width * steps
    each = tl.cdiv(total, tl.num_programs(0))
    at = tl.program_id(0) * each
    end = min(at + each, total)
    while at < end:
        tile, first = at // steps, at % steps
        last = min(steps, first + end - at)
        rows, columns = tile // width * B + tl.arange(0, B), tile % width * B + tl.arange(0, B)
        acc = tl.zeros((B, B), tl.float32)
        for step in range(first, last):
            inner = step * B + tl.arange(0, B)
            acc = tl.dot(masked(a_ptr, rows, inner, M, K), masked(b_ptr, inner, columns, K, N), acc)
        places = c_ptr + rows[:, None] * N + columns[None, :]
        tl.atomic_add(places, acc, mask=(rows[:, None] < M) & (columns[None, :] < N), sem="relaxed")
        at += last - first


@plain(two)
def in_place_twice(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """C is stored, read back and stored again, as a residual in place."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))
    places = c_ptr + rows[:, None] * N + columns[None, :]
    again = tl.load(places, mask=(rows[:, None] < M) & (columns[None, :] < N), other=0)
    put(c_ptr, rows, columns, M, N, 2 * again)


@plain(two, refused={"consumer": "not a box with sides affine"})
def pointers_that_change_places(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Two pointers of a loop change places in each of its steps."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    one, other, total = a_ptr, a_ptr + K, tl.zeros((B, B), tl.float32)
    for i in range(4):  # THE TABLE
        inside = (rows < M - 1)[:, None] & (columns < K)[None, :]
        total += (i + 1) * tl.load(one + rows[:, None] * K + columns[None, :], mask=inside, other=0)  # REFUSED consumer
        one, other = other, one
    put(c_ptr, rows, columns, M, N, total)


@plain(two)
def cleared_tail(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The last row block writes the first row as well."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (rows[:, None] > 0) & (columns[None, :] < N))
    if tl.program_id(0) == tl.num_programs(0) - 1:
        tl.store(c_ptr + columns, columns.to(tl.float32), mask=columns < N)


@plain(lambda m, n, k: (-(-n // 16), -(-m // 16)))
def column_major_grid(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The launch is reordered by hand into a swizzle of the flat number of a two-axis grid."""
    flat = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
    rows_, cols_ = tl.num_programs(1), tl.num_programs(0)
    i, j = tl.swizzle2d(flat // cols_, flat % cols_, rows_, cols_, 3)
    rows, columns = i * B + tl.arange(0, B), j * B + tl.arange(0, B)
    put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))


@plain(two, refused={"consumer": "not a box"})
def select_of_pointers(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Left columns come from A, right ones from B, by a pointer that is chosen."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    is_left = tl.program_id(1) % 2 == 0
    source, height, width = tl.where(is_left, a_ptr, b_ptr), tl.where(is_left, M, K), tl.where(is_left, K, N)  # THE TABLE
    inside = (rows[:, None] < tl.minimum(height, M)) & (columns[None, :] < tl.minimum(width, N))
    x = tl.load(source + rows[:, None] * width + columns[None, :], mask=inside, other=0)  # REFUSED consumer
    put(c_ptr, rows, columns, M, N, x)


HARD = authors_kernels.ALL[BEFORE:]
