"""Kernels in the manner of libraries: of linear layers, norms, activations, attention and quantised products, with operands of their own.
Each reads rows of some matrices and writes rows of another; either end may be overlapped with a collective, or is refused at a line."""

import tandem
import tandem.language as tl

ALL = []


def library(grid, arrays, reads=(), writes=None, numbers=lambda m, n, k: {}, refused=(), multiple=1):
    """Adds a kernel: its grid, of M, N and K; its arrays, of which each has a shape, a type and, if it is no matrix of small numbers, what
    is in it; which of them travel to it, and which one from it; its numbers; and for the ends at which it is refused, words of the error
    at the line behind `# REFUSED consumer` or `producer`. M is a multiple of `multiple`."""

    def add(function):
        kernel = function if hasattr(function, "run") else tandem.jit(function)
        reads_ = (reads,) if isinstance(reads, str) else reads
        kernel.case = dict(
            grid=grid, arrays=arrays, reads=reads_, writes=writes, numbers=numbers, refused=dict(refused), multiple=multiple
        )  # fmt: skip
        ALL.append(kernel)
        return kernel

    return add


cdiv = lambda a, b: -(-a // b)
F32, F16, I8, I32 = "float32", "float16", "int8", "int32"


@tandem.jit
def swizzle(pid, M, N, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    height, width = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = pid // (GROUP * width) * GROUP
    size = tl.minimum(height - first, GROUP)
    return first + (pid % (GROUP * width)) % size, (pid % (GROUP * width)) // size


@library(
    lambda m, n, k: (cdiv(m, 16) * cdiv(n, 32),),
    lambda m, n, k: dict(A=((m, k), F16), B=((k, n), F16), bias=((n,), F32), residual=((m, n), F16), out=((m, n), F16)),
    "A", "out", lambda m, n, k: dict(M=m, N=n, K=k, BLOCK_M=16, BLOCK_N=32, BLOCK_K=16, GROUP_M=4, EVEN_K=k % 16 == 0),
)  # fmt: skip
def template_mm(
    A, B, bias, residual, out, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, EVEN_K: tl.constexpr,
):  # fmt: skip
    """A template of products: rows that wrap around and are told to be contiguous, an epilogue of flat places."""
    pid = tl.program_id(0).to(tl.int32)
    grid_m = (M + BLOCK_M - 1) // BLOCK_M
    grid_n = (N + BLOCK_N - 1) // BLOCK_N
    width = GROUP_M * grid_n
    group_id = pid // width
    group_size = min(grid_m - group_id * GROUP_M, GROUP_M)
    pid_m = group_id * GROUP_M + (pid % group_size)
    pid_n = (pid % width) // (group_size)
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    if M >= BLOCK_M:
        ram = tl.max_contiguous(tl.multiple_of(rm % M, BLOCK_M), BLOCK_M)
    else:
        ram = rm % M
    rbn = tl.max_contiguous(tl.multiple_of(rn % N, BLOCK_N), BLOCK_N) if N >= BLOCK_N else rn % N
    rk = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k_idx in range(0, tl.cdiv(K, BLOCK_K)):
        a_k = rk[None, :] + (k_idx * BLOCK_K)
        b_k = rk[:, None] + (k_idx * BLOCK_K)
        if EVEN_K:
            a = tl.load(A + ram[:, None] * K + a_k)
            b = tl.load(B + b_k * N + rbn[None, :])
        else:
            a = tl.load(A + ram[:, None] * K + a_k, mask=a_k < K, other=0.0)
            b = tl.load(B + b_k * N + rbn[None, :], mask=b_k < K, other=0.0)
        acc += tl.dot(a, b, allow_tf32=False)
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    idx_m = rm[:, None]
    idx_n = rn[None, :]
    mask = (idx_m < M) & (idx_n < N)
    xindex = idx_n + N * idx_m
    tmp0 = tl.load(bias + tl.broadcast_to(idx_n, acc.shape), mask, eviction_policy="evict_last").to(tl.float32)
    tmp1 = tl.load(residual + tl.broadcast_to(xindex, acc.shape), mask).to(tl.float32)
    tl.store(out + tl.broadcast_to(xindex, acc.shape), acc + tmp0 + tmp1, mask)


@library(
    lambda m, n, k: (cdiv(m, 16) * cdiv(n, 16),),
    lambda m, n, k: dict(
        a_ptr=((m, k), I8), b_ptr=((n, k), I8), scale_a=((m,), F32), scale_b=((n,), F32), bias=((n,), F16), c_ptr=((m, n), F16)
    ),
    "a_ptr", "c_ptr", lambda m, n, k: dict(M=m, N=n, K=k, BM=16, BN=16, BK=32),
)  # fmt: skip
def scaled_mm(a_ptr, b_ptr, scale_a, scale_b, bias, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Integers with a scale of each row and column; B by rows of the result's columns; places of 64 bits."""
    pid = tl.program_id(axis=0)
    num_pid_n = tl.cdiv(N, BN)
    pid_m, pid_n = pid // num_pid_n, pid % num_pid_n
    accumulator = tl.zeros((BM, BN), dtype=tl.int32)
    offsets_am = pid_m * BM + tl.arange(0, BM).to(tl.int64)
    masks_am = offsets_am < M
    offsets_bn = pid_n * BN + tl.arange(0, BN).to(tl.int64)
    masks_bn = offsets_bn < N
    offsets_k = tl.arange(0, BK).to(tl.int64)
    a_ptrs = a_ptr + (K * offsets_am[:, None] + offsets_k[None, :])
    b_ptrs = b_ptr + (offsets_k[:, None] + K * offsets_bn[None, :])
    for k in range(0, tl.cdiv(K, BK)):
        masks_k = offsets_k < K
        a = tl.load(a_ptrs, mask=masks_am[:, None] & masks_k[None, :], other=0)
        b = tl.load(b_ptrs, mask=masks_k[:, None] & masks_bn[None, :], other=0)
        accumulator = tl.dot(a, b, accumulator, out_dtype=tl.int32)
        offsets_k += BK
        a_ptrs += BK
        b_ptrs += BK
    sa = tl.load(scale_a + offsets_am[:, None], masks_am[:, None], other=0)
    c = sa * accumulator.to(tl.float32)
    sb = tl.load(scale_b + offsets_bn[:, None], masks_bn[:, None], other=0)
    c = (sb.T * c).to(c_ptr.type.element_ty)
    c += tl.load(bias + offsets_bn, masks_bn, other=0)
    c_ptrs = c_ptr + N * offsets_am[:, None] + offsets_bn[None, :]
    tl.store(c_ptrs, c, mask=masks_am[:, None] & masks_bn[None, :])


@library(
    lambda m, n, k: (cdiv(m, 16) * cdiv(n, 16),),
    lambda m, n, k: dict(A=((m, k), I8), B=((n, k), I8), As=((m, cdiv(k, 32)), F32), Bs=((cdiv(n, 16), cdiv(k, 32)), F32), C=((m, n), F16)),
    "A", "C", lambda m, n, k: dict(M=m, N=n, K=k, group_n=16, group_k=32, BM=16, BN=16, BK=32, GROUP=2),
)  # fmt: skip
def block_scaled(A, B, C, As, Bs, M, N, K, group_n, group_k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """Scales of blocks along K, that change within the loop."""
    pid_m, pid_n = swizzle(tl.program_id(0), M, N, BM, BN, GROUP)
    offs_am = (pid_m * BM + tl.arange(0, BM)) % M
    offs_bn = (pid_n * BN + tl.arange(0, BN)) % N
    offs_k = tl.arange(0, BK)
    a_ptrs = A + (offs_am[:, None] * K + offs_k[None, :])
    b_ptrs = B + (offs_k[:, None] + offs_bn[None, :] * K)
    As_ptrs = As + offs_am * tl.cdiv(K, group_k)
    Bs_ptrs = Bs + offs_bn // group_n * tl.cdiv(K, group_k)
    accumulator = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BK, other=0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BK, other=0)
        offs_ks = k * BK // group_k
        a_s = tl.load(As_ptrs + offs_ks)
        b_s = tl.load(Bs_ptrs + offs_ks)
        accumulator += tl.dot(a, b).to(tl.float32) * a_s[:, None] * b_s[None, :]
        a_ptrs += BK
        b_ptrs += BK
    offs_cm = pid_m * BM + tl.arange(0, BM)
    offs_cn = pid_n * BN + tl.arange(0, BN)
    tl.store(C + N * offs_cm[:, None] + offs_cn[None, :], accumulator.to(tl.float16), mask=(offs_cm[:, None] < M) & (offs_cn[None, :] < N))


@library(
    lambda m, n, k: (cdiv(n, 16), cdiv(m, 16)),
    lambda m, n, k: dict(x=((m, k), F32), gate=((k, n), F32), up=((k, n), F32), y=((m, n), F32)),
    "x", "y", lambda m, n, k: dict(m=m, n=n, k=k, B=16),
)  # fmt: skip
def gate_and_up(x, gate, up, y, m, n, k, B: tl.constexpr):
    """Two weights, the activation of one product times the other."""
    rows = tl.program_id(1) * B + tl.arange(0, B)
    columns = tl.program_id(0) * B + tl.arange(0, B)
    g = tl.zeros((B, B), tl.float32)
    u = tl.zeros((B, B), tl.float32)
    for start in tl.range(0, k, B, num_stages=2):
        inner = start + tl.arange(0, B)
        tile = tl.load(x + rows[:, None] * k + inner, mask=(rows[:, None] < m) & (inner < k), other=0.0)
        inside = (inner[:, None] < k) & (columns < n)
        g = tl.dot(tile, tl.load(gate + inner[:, None] * n + columns, mask=inside, other=0.0), g)
        u = tl.dot(tile, tl.load(up + inner[:, None] * n + columns, mask=inside, other=0.0), u)
    tl.store(y + rows[:, None] * n + columns, g * tl.sigmoid(g) * u, mask=(rows[:, None] < m) & (columns < n))


@library(
    lambda m, n, k: (4,),
    lambda m, n, k: dict(a_ptr=((m, k), F16), b_ptr=((n, k), F16), c_ptr=((m, n), F16)),
    "a_ptr", "c_ptr", lambda m, n, k: dict(M=m, N=n, K=k, BM=16, BN=32, BK=16, GROUP=2, PROGRAMS=4),
)  # fmt: skip
def persistent_descriptors(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, PROGRAMS: tl.constexpr
):
    """Tiles in turn by as many programs as a constant says, a number of the tile that is carried, and halves of a tile stored apart."""
    a_desc = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c_desc = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN // 2])
    start_pid = tl.program_id(axis=0)
    tiles = tl.cdiv(M, BM) * tl.cdiv(N, BN)
    tile_id_c = start_pid - PROGRAMS
    for tile_id in tl.range(start_pid, tiles, PROGRAMS, flatten=True):
        pid_m, pid_n = swizzle(tile_id, M, N, BM, BN, GROUP)
        accumulator = tl.zeros((BM, BN), dtype=tl.float32)
        for ki in range(tl.cdiv(K, BK)):
            a = a_desc.load([pid_m * BM, ki * BK])
            b = b_desc.load([pid_n * BN, ki * BK])
            accumulator = tl.dot(a, b.T, accumulator)
        tile_id_c += PROGRAMS
        pid_m, pid_n = swizzle(tile_id_c, M, N, BM, BN, GROUP)
        acc = tl.permute(tl.reshape(accumulator, (BM, 2, BN // 2)), (0, 2, 1))
        acc0, acc1 = tl.split(acc)
        c_desc.store([pid_m * BM, pid_n * BN], acc0.to(tl.float16))
        c_desc.store([pid_m * BM, pid_n * BN + BN // 2], acc1.to(tl.float16))


@library(
    lambda m, n, k: (cdiv(m, 16), cdiv(n, 16)),
    lambda m, n, k: dict(
        x=((m, k), F32), qw=((cdiv(k, 8), n), I32, "bits"), scales=((cdiv(k, 16), n), F32), zeros=((cdiv(k, 16), n), F32), y=((m, n), F32)
    ),
    "x", "y", lambda m, n, k: dict(M=m, N=n, K=k, B=16, GROUP=16),
)  # fmt: skip
def four_bits(x, qw, scales, zeros, y, M, N, K, B: tl.constexpr, GROUP: tl.constexpr):
    """Weights of four bits, eight in a word, with scales and zeros of groups along K."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, tl.cdiv(K, B)):
        inner = k * B + tl.arange(0, B)
        inside = (inner[:, None] < K) & (columns[None, :] < N)
        words = tl.load(qw + inner[:, None] // 8 * N + columns[None, :], mask=inside, other=0)
        bits = (words >> (inner[:, None] % 8) * 4) & 0xF
        group = inner[:, None] // GROUP * N + columns[None, :]
        w = (bits.to(tl.float32) - tl.load(zeros + group, mask=inside, other=0.0)) * tl.load(scales + group, mask=inside, other=0.0)
        tile = tl.load(x + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        acc = tl.dot(tile, tl.where(inside, w, 0.0), acc, input_precision="ieee")
    tl.store(y + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@library(
    lambda m, n, k: (cdiv(m, 16), 2),
    lambda m, n, k: dict(x=((m, k), F32), down=((k, 16), F32), up=((2, 16, n), F32), y=((m, 2 * n), F32)),
    "x", "y", lambda m, n, k: dict(M=m, N=n, K=k, B=16),
)  # fmt: skip
def low_rank(x, down, up, y, M, N, K, B: tl.constexpr):
    """A product with few columns, and of that another, for two slices of the result; the columns go through a loop."""
    rows, part = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1)
    low = tl.zeros((B, 16), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        tile = tl.load(x + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        low += tl.dot(tile, tl.load(down + inner[:, None] * 16 + tl.arange(0, 16)[None, :], mask=inner[:, None] < K, other=0.0))
    for n in range(tl.cdiv(N, B)):
        columns = n * B + tl.arange(0, B)
        w = tl.load(up + part * 16 * N + tl.arange(0, 16)[:, None] * N + columns[None, :], mask=columns[None, :] < N, other=0.0)
        places = y + rows[:, None] * (2 * N) + part * N + columns[None, :]
        tl.store(places, tl.dot(low, w), mask=(rows[:, None] < M) & (columns[None, :] < N))


@library(
    lambda m, n, k: (cdiv(n, 16), cdiv(m, 16)),
    lambda m, n, k: dict(w=((m, k), F32), x=((n, k), F32), out=((n, m), F32)),
    "w", None, lambda m, n, k: dict(M=n, N=m, K=k, B=16),
)  # fmt: skip
def columns_travel(w, x, out, M, N, K, B: tl.constexpr):
    """The matrix that travels is the right one, by columns of the result."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        a = tl.load(x + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        b = tl.load(w + columns[None, :] * K + inner[:, None], mask=(columns[None, :] < N) & (inner[:, None] < K), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(out + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@library(
    lambda m, n, k: (cdiv(k, 16), cdiv(n, 16)),
    lambda m, n, k: dict(x=((m, k), F32), dy=((m, n), F32), dw=((k, n), F32), db=((n,), F32)),
    ("x", "dy"), None, lambda m, n, k: dict(M=m, N=n, K=k, B=16),
)  # fmt: skip
def gradient_of_weights(x, dy, dw, db, M, N, K, B: tl.constexpr):
    """Rows of both operands travel, and are what the loop sums over."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    of_bias = tl.zeros((B,), tl.float32)
    x_ptrs = x + rows[:, None] + tl.arange(0, B)[None, :] * K
    dy_ptrs = dy + tl.arange(0, B)[:, None] * N + columns[None, :]
    for m in range(0, tl.cdiv(M, B)):
        left = M - m * B
        a = tl.load(x_ptrs, mask=(rows[:, None] < K) & (tl.arange(0, B)[None, :] < left), other=0.0)
        b = tl.load(dy_ptrs, mask=(tl.arange(0, B)[:, None] < left) & (columns[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
        of_bias += tl.sum(b, 0)
        x_ptrs += B * K
        dy_ptrs += B * N
    tl.store(dw + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < K) & (columns[None, :] < N))
    if tl.program_id(0) == 0:
        tl.store(db + columns, of_bias, mask=columns < N)


@library(
    lambda m, n, k: (cdiv(n, 16), m // 4),
    lambda m, n, k: dict(x=((m, 4, k), F32), w=((m, k, n), F32), y=((m, 4, n), F32)),
    ("x", "w"), "y", lambda m, n, k: dict(N=n, K=k, B=16), multiple=4,
)  # fmt: skip
def batches(x, w, y, N, K, B: tl.constexpr):
    """A batch along the rows, four of its products in a program."""
    columns = tl.program_id(0) * B + tl.arange(0, B)
    for nth in tl.static_range(4):
        batch = (tl.program_id(1) * 4 + nth).to(tl.int64)
        acc = tl.zeros((4, B), tl.float32)
        for k in range(K):
            row = tl.load(x + batch * 4 * K + tl.arange(0, 4) * K + k)
            acc += row[:, None] * tl.load(w + batch * K * N + k * N + columns, mask=columns < N, other=0.0)[None, :]
        tl.store(y + batch * 4 * N + tl.arange(0, 4)[:, None] * N + columns[None, :], acc, mask=columns[None, :] < N)
