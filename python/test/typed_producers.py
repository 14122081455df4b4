"""Plain kernels that write a matrix C (M x N), or D (M), of many element types, as an outsider writes them; R (M x N) is a residual, S (M)
belongs to rows."""

from typed_consumers import gelu
from typed_kernels import collected

import tandem
import tandem.language as tl

ALL, plain, refused = collected()


@tandem.jit
def product(a_ptr, b_ptr, rows, columns, M, N, K, B: tl.constexpr, TYPE: tl.constexpr = tl.float32):
    acc = tl.zeros((B, B), TYPE)
    for k in range(0, K, 32):
        inner = k + tl.arange(0, 32)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows < M)[:, None] & (inner < K)[None, :], other=0)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner < K)[:, None] & (columns < N)[None, :], other=0)
        acc = tl.dot(a, b, acc, out_dtype=TYPE)
    return acc


@tandem.jit
def put(ptr, rows, columns, M, N, value):
    tl.store(ptr + rows[:, None] * N + columns[None, :], value, mask=(rows < M)[:, None] & (columns < N)[None, :])


@plain("int8, int8, int8, int32", lambda rows, columns: (rows, columns))
def bytes_that_wrap(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B, tl.int32).to(tl.int8))


@plain("fp8e4nv, fp8e4nv, fp8e4nv, float32", lambda rows, columns: (rows * columns,))
def fp8_results(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Scaled by the row's largest, so that sums stay in range; the scale is D's."""
    row, column = tl.program_id(0) // tl.cdiv(N, B), tl.program_id(0) % tl.cdiv(N, B)
    rows, columns = row * B + tl.arange(0, B), column * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    scale = 20.0 / tl.maximum(tl.max(tl.abs(acc), 1), 1e-3)
    put(c_ptr, rows, columns, M, N, (acc * scale[:, None]).to(tl.float8e4nv))
    if column == 0:
        tl.store(d_ptr + rows, scale, mask=rows < M)


@plain("bfloat16, bfloat16, bfloat16, float32", lambda rows, columns: (rows, columns))
def infinities_and_zeros_below(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Some elements are infinite, some minus zero."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    acc = tl.where(acc > 9, float("inf"), tl.where(acc < 0, -0.0, acc))
    put(c_ptr, rows, columns, M, N, acc.to(tl.bfloat16))


@plain("float16, float16, float16, float32", lambda rows, columns: (3,))
def persistent_pipelined(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Descriptors made in the kernel, options of loops, bias of rows, gelu, residual, halves of the tile."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [B, 16])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [16, B])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [B, B // 2])
    r = tl.make_tensor_descriptor(r_ptr, [M, N], [N, 1], [B, B])
    width = tl.cdiv(N, B)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, B) * width, tl.num_programs(0), num_stages=2, warp_specialize=True):
        row, column = tile // width * B, tile % width * B
        acc = tl.zeros((B, B), tl.float32)
        for k in tl.range(0, K, 16, num_stages=4, loop_unroll_factor=2):
            acc = tl.dot(a.load([row, k]), b.load([k, column]), acc)
        rows = row + tl.arange(0, B)
        acc = gelu(acc + tl.load(s_ptr + rows, mask=rows < M, other=0.0)[:, None]) + r.load([row, column])
        left, right = acc.to(tl.float16).reshape(B, 2, B // 2).permute(0, 2, 1).split()
        c.store([row, column], left)
        c.store([row, column + B // 2], right)


@plain("float16, float16, int32, int32", lambda rows, columns: (rows, columns, 2))
def largest_by_atomics(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Two programs give a tile the larger of their numbers."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    value = tl.where(tl.program_id(2) == 0, acc, -acc).to(tl.int32)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.atomic_max(c_ptr + rows[:, None] * N + columns[None, :], value, mask=inside, sem="relaxed")


@plain("float16, float16, float32, float32", lambda rows, columns: (rows,), over="d_ptr")
def numbers_of_rows(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """What travels is a vector: the logarithm of a sum of exponentials of each row."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    most, total = tl.full((B,), float("-inf"), tl.float32), tl.zeros((B,), tl.float32)
    for column in range(0, N, B):
        columns = column + tl.arange(0, B)
        x = tl.where((columns < N)[None, :], product(a_ptr, b_ptr, rows, columns, M, N, K, B), float("-inf"))
        fresh = tl.maximum(most, tl.max(x, 1))
        total = total * tl.exp(most - fresh) + tl.sum(tl.exp(x - fresh[:, None]), 1)
        most = fresh
    tl.store(d_ptr + rows, most + tl.log(total), mask=rows < M)


@plain("float32, float32, float32, float32", lambda rows, columns: (rows, columns))
def parts_never_written(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Elements of every third row, and of the last column, keep what they have."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    inside = (rows < M)[:, None] & (columns < N - 1)[None, :] & (rows % 3 != 1)[:, None]
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=inside)


@plain("float16, float16, float16, float32", lambda rows, columns: (columns,))
def block_pointer_that_goes_down(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A program has all rows of some columns, by a block pointer that it moves; the loop ends by a counter of rows left."""
    c = tl.make_block_ptr(c_ptr, (M, N), (N, 1), (0, tl.program_id(0) * B), (B, B), (1, 0))
    left, row = M, 0
    while left > 0:
        acc = product(a_ptr, b_ptr, row + tl.arange(0, B), tl.program_id(0) * B + tl.arange(0, B), M, N, K, B)
        tl.store(c, acc.to(tl.float16), boundary_check=(0, 1))
        c, row, left = tl.advance(c, (B, 0)), row + B, left - B


@plain("float32, float32, float32, float32", lambda rows, columns: (rows, 2))
def to_one_of_two_places(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A branch on the program's number chooses where the columns begin that it goes through."""
    rows, half = tl.program_id(0) * B + tl.arange(0, B), N // 2
    to_ptr, first = c_ptr, 0
    if tl.program_id(1) == 1:
        to_ptr, first = c_ptr + half, half
    for column in range(0, half, B):
        columns = column + tl.arange(0, B)
        acc = product(a_ptr, b_ptr, rows, first + columns, M, N, K, B)
        tl.store(to_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows < M)[:, None] & (columns < half)[None, :])


@refused("chooses among several matrices", "float32, float32, float32, float32", lambda rows, columns: (rows, columns))
def to_one_of_two_matrices(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The choice between C and R, element by element, is between pointers."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    places = rows[:, None] * N + columns[None, :]
    to = tl.where(columns[None, :] % 2 == 0, c_ptr + places, r_ptr + places)
    tl.store(to, acc, mask=(rows < M)[:, None] & (columns < N)[None, :])  # REFUSED


@plain("float32, float32, float32, float32", lambda rows, columns: (rows, columns))
def by_an_exchange(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Stored by atomic exchanges."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    tl.atomic_xchg(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows < M)[:, None] & (columns < N)[None, :])


@plain("float16, float16, int32, int32", lambda rows, columns: (rows, columns, 2))
def least_by_a_descriptor(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [B, B])
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    value = tl.where(tl.program_id(2) == 0, acc, -acc).to(tl.int32)
    c.atomic_min([tl.program_id(0) * B, tl.program_id(1) * B], value)


@plain("float16, float16, float16, float32", lambda rows, columns: (rows, columns))
def rows_by_a_scattering_descriptor(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows of a tile, the last one first, by one access of a descriptor."""
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [1, B])
    rows = tl.program_id(0) * B + B - 1 - tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, tl.program_id(1) * B + tl.arange(0, B), M, N, K, B)
    c.scatter(acc.to(tl.float16), rows, tl.program_id(1) * B)


@plain("float64, float64, float64, float64", lambda rows, columns: (rows, columns))
def doubles_added_up(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Products of doubles without a unit: sums over a tile of three dimensions."""
    rows, columns, inner = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B), tl.arange(0, 4)
    acc = tl.zeros((B, B), tl.float64)
    for k in range(0, K, 4):
        a = tl.load(a_ptr + rows[:, None] * K + (k + inner)[None, :], mask=(rows < M)[:, None] & (k + inner < K)[None, :], other=0)
        b = tl.load(b_ptr + (k + inner)[:, None] * N + columns[None, :], mask=(k + inner < K)[:, None] & (columns < N)[None, :], other=0)
        acc += tl.sum(a[:, :, None] * b[None, :, :], 1)
    put(c_ptr, rows, columns, M, N, acc)


@plain("uint8, uint8, uint8, int32", lambda rows, columns: (4 * rows,))
def rows_of_bits(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Four rows a program, each by a scan with an operator of its own; the first that is not there is the last."""
    row = tl.program_id(0) * 4
    last = tl.minimum(row + 4, M)
    while row < last:
        for column in range(0, N, B):
            columns = column + tl.arange(0, B)
            x = tl.load(r_ptr + row * N + columns, mask=columns < N, other=0)
            y = tl.associative_scan(x.to(tl.int32), 0, either)
            tl.store(c_ptr + row * N + columns, (y ^ (x.to(tl.int32) << 1)).to(tl.uint8), mask=columns < N)
        row += 1


@tandem.jit
def either(x, y):
    return x | y


@refused("depends on what the kernel loads", "float16, float16, float32, float32", lambda rows, columns: (rows, columns, 2))
def whoever_is_last_stores(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Parts of K by R; a counter says who is last, and stores."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    places = rows[:, None] * N + columns[None, :]
    if tl.program_id(2) == 0:
        tl.store(r_ptr + places, acc, mask=inside)
    tl.debug_barrier()
    if tl.atomic_add(d_ptr + tl.program_id(0) * B + tl.program_id(1), 1.0) == 1:
        tl.store(c_ptr + places, acc + tl.load(r_ptr + places, mask=inside, other=0.0), mask=inside)  # REFUSED


@refused("only loads, stores and atomic updates", "float16, float16, int32, int32", lambda rows, columns: (rows, columns))
def compared_and_exchanged(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B).to(tl.int32)
    places = tl.minimum(rows, M - 1)[:, None] * N + tl.minimum(columns, N - 1)[None, :]
    tl.atomic_cas(c_ptr + places, tl.zeros((B, B), tl.int32), acc)  # REFUSED
