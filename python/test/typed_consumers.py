"""Plain kernels that read a matrix A (M x K) of many element types, as an outsider writes them; R (M x N) is a residual, S (M) belongs to
rows. Each writes C (M x N) or D (M)."""

from typed_kernels import collected

import tandem
import tandem.language as tl

ALL, plain, refused = collected()


@plain("int8, int8, int8, int32", lambda rows, columns: (rows, columns))
def requantised(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Products of bytes, a bias of rows, a scale of rows, and bytes again; D has each row's largest sum so far."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.int32)
    for k in tl.range(0, tl.cdiv(K, 32), num_stages=3):
        inner = k * 32 + tl.arange(0, 32)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows < M)[:, None] & (inner < K)[None, :], other=0)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner < K)[:, None] & (columns < N)[None, :], other=0)
        acc = tl.dot(a, b, acc, out_dtype=tl.int32)
    bias = tl.load(s_ptr + rows, mask=rows < M, other=0.0)
    scaled = tl.floor((acc.to(tl.float32) + bias[:, None]) * 0.37 + 0.5)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], tl.clamp(scaled, -128.0, 127.0).to(tl.int8), mask=inside)
    tl.atomic_max(d_ptr + rows, tl.max(tl.where(inside, acc, -(2**31)), 1), mask=rows < M)


@plain("fp8e4nv, fp8e4nv, float16, float32", lambda rows, columns: (rows * columns,))
def fp8_by_descriptors(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [B, 32])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [32, B])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [B, B])
    row, column = tl.program_id(0) % tl.cdiv(M, B) * B, tl.program_id(0) // tl.cdiv(M, B) * B
    acc = tl.zeros((B, B), tl.float32)
    for k in tl.range(0, K, 32, num_stages=4, disallow_acc_multi_buffer=True):
        acc = tl.dot(a.load([row, k]), b.load([k, column]), acc, max_num_imprecise_acc=32)
    rows = row + tl.arange(0, B)
    scale = tl.load(s_ptr + rows, mask=rows < M, other=1.0)
    c.store([row, column], (acc * scale[:, None]).to(tl.float16))


@tandem.jit
def gelu(x):
    return 0.5 * x * (1 + tl.erf(x * 0.70710678))


@plain("bfloat16, bfloat16, bfloat16, float32", lambda rows, columns: (3,))
def persistent_grouped_gelu(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A persistent grouped product with a residual; the loop over tiles is flattened and specialised."""
    height, width = tl.cdiv(M, B), tl.cdiv(N, B)
    for tile in tl.range(tl.program_id(0), height * width, tl.num_programs(0), flatten=True, warp_specialize=True):
        group = tile // (4 * width)
        size = tl.minimum(height - group * 4, 4)
        row = group * 4 + tile % (4 * width) % size
        column = tile % (4 * width) // size
        rows, columns = row * B + tl.arange(0, B), column * B + tl.arange(0, B)
        rows_there = tl.max_contiguous(tl.multiple_of(rows % M, B), B)
        acc = tl.zeros((B, B), tl.float32)
        for k in range(0, tl.cdiv(K, B)):
            inner = k * B + tl.arange(0, B)
            a = tl.load(a_ptr + rows_there[:, None] * K + inner[None, :], mask=(inner < K)[None, :], other=0.0)
            b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner < K)[:, None] & (columns < N)[None, :], other=0.0)
            acc = tl.dot(a, b, acc)
        inside = (rows < M)[:, None] & (columns < N)[None, :]
        places = rows[:, None] * N + columns[None, :]
        residual = tl.load(r_ptr + places, mask=inside, other=0.0, eviction_policy="evict_first")
        tl.store(c_ptr + places, (gelu(acc) + residual).to(tl.bfloat16), mask=inside, cache_modifier=".cs")


@plain("float16, float16, float32, float32", lambda rows, columns: (rows, columns), over=("a_ptr", "r_ptr"))
def residual_travels_too(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    acc = tl.load(r_ptr + rows[:, None] * N + columns[None, :], mask=inside, other=0.0)
    a_ptrs = a_ptr + rows[:, None] * K + tl.arange(0, B)[None, :]
    b_ptrs = b_ptr + tl.arange(0, B)[:, None] * N + columns[None, :]
    left = K
    while left > 0:
        here = tl.arange(0, B) < left
        a = tl.load(a_ptrs, mask=(rows < M)[:, None] & here[None, :], other=0.0)
        acc = tl.dot(a, tl.load(b_ptrs, mask=here[:, None] & (columns < N)[None, :], other=0.0), acc)
        a_ptrs += B
        b_ptrs += B * N
        left -= B
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=inside)


@plain("float32, float32, float32, float32", lambda rows, columns: (columns, rows, 3))
def parts_of_k_with_a_last_program(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Parts of K go to R, one behind the other in time; whoever is last, by a counter in D, finds them all by atomics of whole numbers."""
    rows, columns = tl.program_id(1) * B + tl.arange(0, B), tl.program_id(0) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(tl.program_id(2) * B, K, B * tl.num_programs(2)):
        inner = k + tl.arange(0, B)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows < M)[:, None] & (inner < K)[None, :], other=0.0)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner < K)[:, None] & (columns < N)[None, :], other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.atomic_add(c_ptr + rows[:, None] * N + columns[None, :], tl.floor(acc), mask=inside)
    tl.debug_barrier()
    arrived = tl.atomic_add(d_ptr + tl.program_id(1) * B, 1.0)
    if arrived == tl.num_programs(2) * tl.num_programs(0) - 1:
        tl.store(d_ptr + tl.program_id(1) * B, 0.0)


@plain("float16, float32, float32, int32", lambda rows, columns: (rows,))
def routed(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Logits of few experts, the best of each row, and how many rows each expert has."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    best, choice = tl.full((B,), float("-inf"), tl.float32), tl.zeros((B,), tl.int32)
    for column in range(0, N, B):
        columns = column + tl.arange(0, B)
        acc = tl.zeros((B, B), tl.float32)
        for k in range(0, K, B):
            inner = k + tl.arange(0, B)
            a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows < M)[:, None] & (inner < K)[None, :], other=0.0)
            b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner < K)[:, None] & (columns < N)[None, :], other=0.0)
            acc = tl.dot(a, b.to(tl.float16), acc)
        acc = tl.where((columns < N)[None, :], acc, float("-inf"))
        value, place = tl.max(acc, 1, return_indices=True)
        choice = tl.where(value > best, column + place, choice)
        best = tl.maximum(best, value)
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], tl.sort(acc, 1), mask=(rows < M)[:, None] & (columns < N)[None, :])
    tl.store(d_ptr + rows, choice, mask=rows < M)


@plain("uint8, float16, float16, float32", lambda rows, columns: (rows, columns))
def kept_by_bytes(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A has bits of a mask, eight to a byte, of which a column uses one."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    bits = tl.load(a_ptr + rows[:, None].to(tl.int64) * K + (columns // 8 % K)[None, :], mask=inside, other=0)
    kept = (bits >> (columns % 8)[None, :].to(tl.uint8)) & 1
    value = tl.load(r_ptr + rows[:, None] * N + columns[None, :], mask=inside, other=0.0)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], tl.where(kept != 0, value * 2, 0.0), mask=inside)


@plain("float16, float16, float16, float32", lambda rows, columns: (rows,))
def rotated_pairs(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Neighbouring columns are turned by an angle of row and column; the sum of squares of what comes out is D's."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    squares = tl.zeros((B,), tl.float32)
    for k in tl.static_range(0, 64, 16):
        columns = k + tl.arange(0, 16)
        x = tl.load(a_ptr + rows[:, None] * K + columns[None, :], mask=(rows < M)[:, None] & (columns < K)[None, :], other=0.0)
        even, odd = tl.split(tl.reshape(x, (B, 8, 2)).to(tl.float32))
        angle = rows[:, None].to(tl.float32) * tl.exp2(-(k // 2 + tl.arange(0, 8))[None, :].to(tl.float32) * 0.4)
        turned = tl.join(even * tl.cos(angle) - odd * tl.sin(angle), even * tl.sin(angle) + odd * tl.cos(angle))
        squares += tl.sum(tl.reshape(turned * turned, (B, 16)), 1)
    tl.store(d_ptr + rows, tl.sqrt_rn(squares), mask=rows < M)


@plain("float16, float16, float32, float32", lambda rows, columns: (rows, 2))
def causal_heads(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Attention of rows to the rows before them, by halves of the columns, in base two; each head adds its part of D."""
    half = K // 2
    rows, inner = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, 32)
    a_ptr += tl.program_id(1) * half
    inside = (inner < half)[None, :]
    q = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows < M)[:, None] & inside, other=0.0)
    most, total = tl.full((B,), -1e30, tl.float32), tl.zeros((B,), tl.float32)
    acc = tl.zeros((B, 32), tl.float32)
    for start in range(0, tl.minimum((tl.program_id(0) + 1) * B, M), B):
        keys = start + tl.arange(0, B)
        k = tl.load(a_ptr + keys[None, :] * K + inner[:, None], mask=(keys < M)[None, :] & (inner < half)[:, None], other=0.0)
        scores = tl.where((keys[None, :] <= rows[:, None]) & (keys < M)[None, :], tl.dot(q, k) * 0.3, -1e30)
        fresh = tl.maximum(most, tl.max(scores, 1))
        p, fade = tl.exp2(scores - fresh[:, None]), tl.exp2(most - fresh)
        total, most = total * fade + tl.sum(p, 1), fresh
        acc = tl.dot(p.to(tl.float16), tl.trans(k), acc * fade[:, None])
    out = acc / total[:, None]
    where = rows[:, None] * N + tl.program_id(1) * (N // 2) + inner[None, :]
    tl.store(c_ptr + where, out, mask=(rows < M)[:, None] & (inner < tl.minimum(half, N // 2))[None, :])


@plain("float32, float32, float32, float32", lambda rows, columns: (rows, columns))
def from_one_of_two_matrices(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A cache's layout: rows of even blocks are A's, of odd ones B's, by one branch on the program's number."""
    block, columns = tl.program_id(0), tl.program_id(1) * B + tl.arange(0, B)
    rows = block * B + tl.arange(0, B)
    inside = (rows < M)[:, None] & (columns < tl.minimum(N, K))[None, :]
    if block % 2 == 0:
        x = tl.load(a_ptr + rows[:, None] * K + columns[None, :], mask=inside, other=0.0)
    else:
        x = tl.load(b_ptr + (rows % K)[:, None] * N + columns[None, :], mask=inside, other=0.0)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], x * 2, mask=inside)


@plain("float32, float32, float32, float32", lambda rows, columns: (rows, 2))
def from_one_of_two_places(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Halves of a matrix, of which a program's number chooses one by a branch and then a row by an expression."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, B)
    half_ptr = a_ptr + K // 2 if tl.program_id(1) == 1 else a_ptr
    inside = (rows < M)[:, None] & (columns < tl.minimum(K // 2, N // 2))[None, :]
    x = tl.load(half_ptr + rows[:, None] * K + columns[None, :], mask=inside, other=0.0)
    tl.store(c_ptr + rows[:, None] * N + (tl.program_id(1) * (N // 2) + columns)[None, :], x * 3, mask=inside)


@refused("chooses among several matrices", "float32, float32, float32, float32", lambda rows, columns: (rows, columns))
def chosen_pointers(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Each element comes from A or from R; the choice is between pointers."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    inside = (rows < M)[:, None] & (columns < tl.minimum(N, K))[None, :]
    is_even = ((rows[:, None] + columns[None, :]) % 2) == 0
    places = tl.where(is_even, a_ptr + rows[:, None] * K + columns[None, :], r_ptr + rows[:, None] * N + columns[None, :])
    x = tl.load(places, mask=inside, other=0.0)  # REFUSED
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], x, mask=inside)


@plain("float16, float16, float16, float32", lambda rows, columns: (rows, columns))
def three_dimensions(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A descriptor of A that has runs of eight columns as a dimension."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K // 8, 8], [K, 8, 1], [B, 2, 8])
    row, rows, columns = tl.program_id(0) * B, tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K // 8, 2):
        x = tl.reshape(a.load([row, k, 0]), (B, 16))
        inner = 8 * k + tl.arange(0, 16)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner < K)[:, None] & (columns < N)[None, :], other=0.0)
        acc = tl.dot(x, b, acc)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc.to(tl.float16), mask=(rows < M)[:, None] & (columns < N)[None, :])


@plain("float32, float32, float32, float32", lambda rows, columns: (rows, columns))
def block_pointers_padded_with_nans(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows behind the last are NaNs, which the store leaves out; A's pointer has its dimensions the other way round."""
    a = tl.make_block_ptr(a_ptr, (K, M), (1, K), (0, tl.program_id(0) * B), (B, B), (0, 1))
    b = tl.make_block_ptr(b_ptr, (K, N), (N, 1), (0, tl.program_id(1) * B), (B, B), (1, 0))
    acc = tl.zeros((B, B), tl.float32)
    for _ in range(0, K, B):
        x = tl.trans(tl.load(a, boundary_check=(0, 1), padding_option="nan"))
        acc += tl.dot(tl.where(x == x, x, 0.0), tl.load(b, boundary_check=(0, 1), padding_option="zero"), input_precision="tf32x3")
        a, b = tl.advance(a, (B, 0)), tl.advance(b, (B, 0))
    c = tl.make_block_ptr(c_ptr, (M, N), (N, 1), (tl.program_id(0) * B, tl.program_id(1) * B), (B, B), (1, 0))
    tl.store(c, acc, boundary_check=(0, 1))


@plain("float64, float64, float64, float64", lambda rows, columns: (4 * rows,))
def rows_in_doubles(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """One program has four rows, one after the other; one that has none returns at once."""
    if tl.program_id(0) * 4 >= M:
        return
    for nth in range(4):
        row = tl.program_id(0) * 4 + nth
        if row < M:
            total = tl.zeros((B,), tl.float64)
            for k in range(0, K, B):
                columns = k + tl.arange(0, B)
                total += tl.load(a_ptr + row * K + columns, mask=columns < K, other=0.0)
            tl.store(d_ptr + row, tl.sum(total))


@plain("float16, float16, float16, float32", lambda rows, columns: (2, 2))
def persistent_until_none_is_left(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Programs of two axes take tiles in turns until none is left; sums are of 16 bits."""
    tile, programs = tl.program_id(0) + tl.num_programs(0) * tl.program_id(1), tl.num_programs(0) * tl.num_programs(1)
    width = tl.cdiv(N, B)
    while tile < tl.cdiv(M, B) * width:
        rows, columns = tile // width * B + tl.arange(0, B), tile % width * B + tl.arange(0, B)
        acc = tl.zeros((B, B), tl.float16)
        for k in range(0, K, B):
            inner = k + tl.arange(0, B)
            a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows < M)[:, None] & (inner < K)[None, :], other=0.0)
            b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner < K)[:, None] & (columns < N)[None, :], other=0.0)
            acc = tl.dot(a, b, acc, out_dtype=tl.float16)
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows < M)[:, None] & (columns < N)[None, :])
        tile += programs


@plain("float32, float32, float32, float32", lambda rows, columns: (rows,))
def gathered_within_a_tile(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows of a tile change places by loaded numbers once they are here."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, B)
    inside = (rows < M)[:, None] & (columns < tl.minimum(K, N))[None, :]
    x = tl.load(a_ptr + rows[:, None] * K + columns[None, :], mask=inside, other=0.0)
    order = tl.abs(tl.load(b_ptr + tl.arange(0, B), mask=tl.arange(0, B) < N, other=0.0) * 5).to(tl.int32) % B
    x = tl.gather(x, tl.broadcast_to(order[:, None], (B, B)), 0)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], tl.cumsum(x, 0), mask=inside)


@refused("is not a box", "float16, float32, float32, float32", lambda rows, columns: (rows,))
def rows_by_a_gathering_descriptor(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows whose numbers another matrix has come by one access of a descriptor."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [1, 32])
    rows = tl.abs(tl.load(b_ptr + tl.arange(0, B), mask=tl.arange(0, B) < N, other=0.0) * 5).to(tl.int32) % M
    x = a.gather(rows, 0)  # REFUSED
    tl.atomic_add(d_ptr + rows, tl.floor(tl.sum(x.to(tl.float32), 1)), mask=rows < M)


@plain("float16, float32, float32, float32", lambda rows, columns: (rows,))
def neighbours_by_a_gathering_descriptor(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows of a tile, the last one first, by one access of a descriptor."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [1, 16])
    rows = tl.program_id(0) * B + B - 1 - tl.arange(0, B)
    x = a.gather(rows, 0)
    tl.store(d_ptr + rows, tl.sum(x.to(tl.float32), 1), mask=rows < M)


@plain("int16, int16, int32, int32", lambda rows, columns: (columns, rows))
def sums_of_scalars(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """One number at a time, and a loop that ends early by what it has found."""
    if tl.program_id(0) > 0:
        return
    for nth in range(B):
        row = tl.program_id(1) * B + nth
        if row < M:
            total, k, goes_on = 0, 0, True
            while goes_on & (k < K):
                total += tl.load(a_ptr + row * K + k).to(tl.int32)
                goes_on = total < 9
                k += 1
            tl.store(d_ptr + row, total)


@refused("as pointers to elements of the matrix", "float16, float16, float16, float32", lambda rows, columns: (rows, columns))
def words_of_pairs(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Pairs of A's elements are read as words."""
    words = a_ptr.to(tl.pointer_type(tl.int32))
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    inside = (rows < M)[:, None] & (columns < tl.minimum(N, K // 2))[None, :]
    word = tl.load(words + rows[:, None] * (K // 2) + columns[None, :], mask=inside, other=0)  # REFUSED
    low = (word & 0xFFFF).to(tl.int16).to(tl.float16, bitcast=True)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], low, mask=inside)


@plain("float16, float16, float32, float32", lambda rows, columns: (rows, columns))
def printed_and_asserted(a_ptr, b_ptr, r_ptr, s_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """What it reads is squared by an instruction of its own and checked."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    inside = (rows < M)[:, None] & (columns < tl.minimum(N, K))[None, :]
    x = tl.load(a_ptr + rows[:, None] * K + columns[None, :], mask=inside, other=0.0).to(tl.float32)
    y = tl.inline_asm_elementwise("mul.f32 $0, $1, $1;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1)
    tl.device_assert(y >= 0, "a square is no less than zero")
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], y, mask=inside)
