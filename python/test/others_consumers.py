"""Plain kernels that read a matrix A (M x K), written as other libraries write theirs; each writes C (M x N) or D (M), zeros before."""

from plain_kernels import collected, refusals

import tandem
import tandem.language as tl

ALL, plain = collected()
REFUSED, refused = refusals(plain)


@tandem.jit
def group_of(pid, height, width, GROUP: tl.constexpr):
    """The tile of a program, in groups of row blocks, as Triton's tutorial has it."""
    in_group = GROUP * width
    first = pid // in_group * GROUP
    size = min(height - first, GROUP)
    return first + pid % in_group % size, pid % in_group // size


@plain(lambda rows, columns: (rows * columns,))
def grouped_with_moving_pointers(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows and columns modulo the sizes, pointers that move by K blocks, and a mask of what is left of K."""
    pid_m, pid_n = group_of(tl.program_id(0), tl.cdiv(M, B), tl.cdiv(N, B), 2)
    rows, columns, inner = (pid_m * B + tl.arange(0, B)) % M, (pid_n * B + tl.arange(0, B)) % N, tl.arange(0, B)
    a_ptrs, b_ptrs = a_ptr + (rows[:, None] * K + inner[None, :]), b_ptr + (inner[:, None] * N + columns[None, :])
    acc = tl.zeros((B, B), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, B)):
        a = tl.load(a_ptrs, mask=inner[None, :] < K - k * B, other=0.0)
        b = tl.load(b_ptrs, mask=inner[:, None] < K - k * B, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += B
        b_ptrs += B * N
    acc = tl.where(acc >= 0, acc, 0.5 * acc)
    rows, columns = pid_m * B + tl.arange(0, B), pid_n * B + tl.arange(0, B)
    tl.store(c_ptr + N * rows[:, None] + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@plain(lambda rows, columns: (rows, columns))
def three_taps(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A convolution along the rows as three products, whose edges are zeros."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for tap in tl.static_range(3):
        at = rows + (tap - 1)
        for k in range(0, K, B):
            inner = k + tl.arange(0, B)
            ok = (at[:, None] >= 0) & (at[:, None] < M) & (inner[None, :] < K)
            a = tl.load(a_ptr + at[:, None] * K + inner[None, :], mask=ok, other=0.0)
            b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0)
            acc += tl.dot(a, b) * (tap + 1)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@plain(lambda rows, columns: (rows,))
def image_neighbours(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows are the points of an image eight wide: a window of three by three, by quotients and remainders."""
    points = tl.program_id(0) * B + tl.arange(0, B)
    y, x = points // 8, points % 8
    acc = tl.zeros((B,), tl.float32)
    for dy in tl.static_range(-1, 2):
        for dx in tl.static_range(-1, 2):
            ok = (y + dy >= 0) & (x + dx >= 0) & (x + dx < 8) & ((y + dy) * 8 + x + dx < M)
            acc += tl.load(a_ptr + ((y + dy) * 8 + x + dx) * K, mask=ok, other=0.0) * (3 * dy + dx + 5)
    tl.store(d_ptr + points, acc, mask=points < M)


@plain(lambda rows, columns: (rows, columns))
def normalised_rows(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Mean, then variance, then the product of the normalised rows: three passes over them."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        total += tl.sum(tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows < M)[:, None] & (inner < K)[None, :], other=0.0), 1)
    mean = total / K
    square = tl.zeros((B,), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        x = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows < M)[:, None] & (inner < K)[None, :], other=0.0)
        x = tl.where(inner[None, :] < K, x - mean[:, None], 0.0)
        square += tl.sum(x * x, axis=1)
    scale = 1 / tl.sqrt(square / K + 1e-5)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        x = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows < M)[:, None] & (inner < K)[None, :], other=0.0)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0)
        acc = tl.dot((x - mean[:, None]) * scale[:, None], b, acc)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@plain(lambda rows, columns: (min(5, rows * columns),))
def persistent_with_late_store(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Programs stay; the numbers of the tile that is stored are computed anew by a counter of its own, as in Triton's tutorial."""
    height, width, steps = tl.cdiv(M, B), tl.cdiv(N, B), tl.cdiv(K, B)
    tiles = height * width
    late = tl.program_id(0) - tl.num_programs(0)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True):
        pid_m, pid_n = group_of(tile, height, width, 8)
        acc = tl.zeros((B, B), tl.float32)
        for step in range(steps):
            rows, inner, columns = pid_m * B + tl.arange(0, B), step * B + tl.arange(0, B), pid_n * B + tl.arange(0, B)
            rows = tl.where(rows < M, rows, 0)
            a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=inner[None, :] < K, other=0.0)
            b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0)
            acc = tl.dot(a, b, acc)
        late += tl.num_programs(0)
        pid_m, pid_n = group_of(late, height, width, 8)
        rows, columns = pid_m * B + tl.arange(0, B), pid_n * B + tl.arange(0, B)
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@plain(lambda rows, columns: (rows, columns))
def operand_turned(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A's tile is loaded K by rows and turned for the product, in fp16."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(K - 1, -1, -B):
        inner = k - tl.arange(0, B)
        a = tl.load(a_ptr + inner[:, None] + rows[None, :] * K, mask=(inner[:, None] >= 0) & (rows[None, :] < M), other=0.0)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner[:, None] >= 0) & (columns[None, :] < N), other=0.0)
        acc += tl.dot(tl.trans(a).to(tl.float16), b.to(tl.float16))
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@plain(lambda rows, columns: (rows,))
def pairs_turned(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A rotary embedding: even and odd columns of a row by angles that come from the row's number."""
    rows, half = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, B)
    ok = (rows[:, None] < M) & (2 * half[None, :] + 1 < K) & (2 * half[None, :] + 1 < N)
    at = rows[:, None] * K + 2 * half[None, :]
    x, y = tl.load(a_ptr + at, mask=ok, other=0.0), tl.load(a_ptr + at + 1, mask=ok, other=0.0)
    angle = rows[:, None].to(tl.float32) * (half[None, :] + 1).to(tl.float32)
    c, s = tl.cos(angle), tl.sin(angle)
    out = c_ptr + rows[:, None] * N + 2 * half[None, :]
    tl.store(out, x * c - y * s, mask=ok)
    tl.store(out + 1, x * s + y * c, mask=ok)


@plain(lambda rows, columns: (rows,))
def window_of_rows(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Each block of rows against those at most 24 before: a sliding window."""
    start = tl.program_id(0) * B
    rows, inner = start + tl.arange(0, B), tl.arange(0, B)
    q = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
    best = tl.full((B,), float("-inf"), tl.float32)
    for first in range(tl.maximum(start - 24, 0) // B * B, tl.minimum(start + B, M), B):
        keys = first + tl.arange(0, B)
        x = tl.load(a_ptr + keys[:, None] * K + inner[None, :], mask=(keys[:, None] < M) & (inner[None, :] < K), other=0.0)
        near = (keys[None, :] <= rows[:, None]) & (keys[None, :] + 24 > rows[:, None]) & (keys[None, :] < M)
        best = tl.maximum(best, tl.max(tl.where(near, tl.dot(q, tl.trans(x)), float("-inf")), 1))
    tl.store(d_ptr + rows, best, mask=rows < M)


@plain(lambda rows, columns: (rows, 2, 2))
def heads_and_parts(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """K is two heads, columns two parts; both are axes of the grid, and results are added by atomics."""
    rows, head, part = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1), tl.program_id(2)
    width = K // 2
    a_ptr += head * width
    b_ptr += head.to(tl.int64) * width * N
    for first in range(part * B, N, 2 * B):
        columns = first + tl.arange(0, B)
        acc = tl.zeros((B, B), tl.float32)
        for k in range(0, width, B):
            inner = k + tl.arange(0, B)
            a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < width), other=0.0)
            b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < width) & (columns[None, :] < N), other=0.0)
            acc = tl.dot(a, b, acc)
        tl.atomic_add(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N), sem="relaxed")


@plain(lambda rows, columns: (rows * columns,))
def block_pointers_of_both_orders(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Block pointers, B's through its transpose; a program beyond the last row would have left early."""
    pid_m, pid_n = tl.program_id(0) // tl.cdiv(N, B), tl.program_id(0) % tl.cdiv(N, B)
    if pid_m * B >= M:
        return
    a = tl.make_block_ptr(base=a_ptr, shape=(M, K), strides=(K, 1), offsets=(pid_m * B, 0), block_shape=(B, B), order=(1, 0))
    b = tl.make_block_ptr(base=b_ptr, shape=(N, K), strides=(1, N), offsets=(pid_n * B, 0), block_shape=(B, B), order=(0, 1))
    acc = tl.zeros((B, B), tl.float32)
    for _ in range(0, tl.cdiv(K, B)):
        acc += tl.dot(
            tl.load(a, boundary_check=(0, 1), padding_option="zero"), tl.trans(tl.load(b, boundary_check=(0, 1), padding_option="zero"))
        )
        a = tl.advance(a, [0, B])
        b = tl.advance(b, [0, B])
    c = tl.make_block_ptr(c_ptr, (M, N), (N, 1), (pid_m * B, pid_n * B), (B, B), (1, 0))
    tl.store(c, acc.to(c_ptr.dtype.element_ty), boundary_check=(0, 1))


@plain(lambda rows, columns: (rows, columns))
def eight_bit_product(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows are scaled by their largest element and multiplied in fp8, or int8, and scaled back."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc, exact = tl.zeros((B, B), tl.float32), tl.zeros((B, B), tl.int32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0)
        acc = tl.dot(a.to(tl.float8e4nv), b.to(tl.float8e4nv), acc)
        exact = tl.dot(a.to(tl.int8), b.to(tl.int8), exact)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc + exact, mask=(rows[:, None] < M) & (columns[None, :] < N))


@tandem.jit
def larger(value, place, other, other_place):
    takes = (other > value) | ((other == value) & (other_place < place))
    return tl.where(takes, other, value), tl.where(takes, other_place, place)


@plain(lambda rows, columns: (rows,))
def place_of_the_largest(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The largest element's place in each row by a reduction of pairs, and the rows sorted."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, 64)
    x = tl.load(a_ptr + rows[:, None] * K + columns[None, :], mask=(rows[:, None] < M) & (columns[None, :] < K), other=-9.0)
    value, place = tl.reduce((x, tl.broadcast_to(columns[None, :], (B, 64))), 1, larger)
    tl.store(d_ptr + rows, value * 100 + place, mask=rows < M)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], tl.sort(x, 1), mask=(rows[:, None] < M) & (columns[None, :] < N))


@plain(lambda rows, columns: (rows, columns))
def every_other_row(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows by twos are added: a pool that reads 2 r and 2 r + 1 and writes row r."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    total = tl.zeros((B, B), tl.float32)
    for which in tl.static_range(2):
        at = 2 * rows + which
        total += tl.load(a_ptr + at[:, None] * K + columns[None, :], mask=(at[:, None] < M) & (columns[None, :] < min(K, N)), other=0.0)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total, mask=(rows[:, None] < M) & (columns[None, :] < N))


@plain(lambda rows, columns: (rows * 16,))
def one_row_each(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A row a program, as in softmax kernels: exponentials over their sum, in a loop of two passes."""
    row = tl.program_id(0)
    if row < M:
        at = a_ptr + row.to(tl.int64) * K
        best, total = -float("inf"), 0.0
        for k in range(0, K, B):
            x = tl.load(at + k + tl.arange(0, B), mask=k + tl.arange(0, B) < K, other=-float("inf"))
            now = tl.maximum(best, tl.max(x, 0))
            total = total * tl.exp(best - now) + tl.sum(tl.exp(x - now), 0)
            best = now
        for k in range(0, min(K, N), B):
            inner = k + tl.arange(0, B)
            x = tl.load(at + inner, mask=inner < min(K, N), other=0.0)
            tl.store(c_ptr + row * N + inner, tl.exp(x - best) / total, mask=inner < min(K, N))
        tl.store(d_ptr + row, best)


@plain(lambda rows, columns: (columns, rows))
def row_of_the_second_axis(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Descriptors of two widths over the same rows, one for the left columns, one for the right."""
    pid_n, pid_m = tl.program_id(0), tl.program_id(1)
    left = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[B, 2 * B])
    b = tl.make_tensor_descriptor(b_ptr, shape=[K, N], strides=[N, 1], block_shape=[2 * B, B])
    acc = tl.zeros((B, B), tl.float32)
    for k in tl.range(0, K, 2 * B, num_stages=3):
        acc = tl.dot(left.load([pid_m * B, k]), b.load([k, pid_n * B]), acc)
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[B, B])
    c.store([pid_m * B, pid_n * B], acc)


@refused("not a box with sides affine in the program's numbers", lambda rows, columns: (rows,))
def rows_by_a_table(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A page table: where rows lie is loaded."""
    slots = tl.program_id(0) * B + tl.arange(0, B)
    page = tl.load(b_ptr + slots // 4, mask=slots < M, other=0.0).to(tl.int32)
    rows = tl.where(page < 0, 0, page) % M
    x = tl.load(a_ptr + rows * K, mask=slots < M, other=0.0)  # REFUSED
    tl.store(d_ptr + slots, x, mask=slots < M)
