"""Ordinary Triton kernels, timed as they are written, by Tandem's compiler and by Triton's."""

import triton
import triton.language as tl


@triton.jit
def vector_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@triton.jit
def softmax(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * stride + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + offsets, (x / tl.sum(x, axis=0)).to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def layer_norm(x_ptr, out_ptr, weight_ptr, bias_ptr, stride, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * stride + offsets, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / columns
    weight = tl.load(weight_ptr + offsets, mask=mask).to(tl.float32)
    bias = tl.load(bias_ptr + offsets, mask=mask).to(tl.float32)
    y = centred * (1 / tl.sqrt(variance + eps)) * weight + bias
    tl.store(out_ptr + row * stride + offsets, y.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0).to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def fused_dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    """The four words of one Philox counter decide about four neighbours, as in PyTorch's own dropout."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    a, b, c, d = tl.rand4x(seed, tl.program_id(0) * (BLOCK // 4) + tl.arange(0, BLOCK // 4))
    keep = tl.interleave(tl.interleave(a, c), tl.interleave(b, d)) > p
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0).to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def transpose(x_ptr, out_ptr, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (m[:, None] < rows) & (n[None, :] < columns)
    x = tl.load(x_ptr + m[:, None] * columns + n[None, :], mask=mask)
    tl.store(out_ptr + n[:, None] * rows + m[None, :], tl.trans(x), mask=tl.trans(mask))


@triton.jit
def place_of(tile, rows, columns, GROUP: tl.constexpr):
    """Row and column of a tile, counted in tiles; GROUP rows share the columns that they need at one time."""
    in_group = GROUP * columns
    first = tile // in_group * GROUP
    height = min(rows - first, GROUP)
    return first + tile % height, tile % in_group // height


@triton.jit
def matmul_persistent(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, SMS: tl.constexpr
):
    """C[M, N] = A[M, K] B[N, K]^T by tensor descriptors; each program takes every SMS-th tile."""
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    rows = tl.cdiv(M, BM)
    columns = tl.cdiv(N, BN)
    steps = tl.cdiv(K, BK)
    for tile in tl.range(tl.program_id(0), rows * columns, SMS, flatten=True):
        row, column = place_of(tile, rows, columns, GROUP)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(steps):
            acc = tl.dot(a.load([row * BM, k * BK]), b.load([column * BN, k * BK]).T, acc)
        c.store([row * BM, column * BN], acc.to(c_ptr.dtype.element_ty))


@triton.jit
def matmul_columns(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BN1: tl.constexpr,
    BN2: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
    SMS: tl.constexpr,
):
    """The same product by tiles of BN + BN1 + BN2 columns (BN2 may be 0): a width that is no power of two, where that divides the work
    more evenly among the programs."""
    WIDTH: tl.constexpr = BN + BN1 + BN2
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    b1 = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN1, BK])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    c1 = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN1])
    if BN2:
        b2 = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN2, BK])
        c2 = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN2])
    rows = tl.cdiv(M, BM)
    columns = tl.cdiv(N, WIDTH)
    steps = tl.cdiv(K, BK)
    for tile in tl.range(tl.program_id(0), rows * columns, SMS, flatten=True):
        row, column = place_of(tile, rows, columns, GROUP)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        acc1 = tl.zeros((BM, BN1), dtype=tl.float32)
        if BN2:
            acc2 = tl.zeros((BM, BN2), dtype=tl.float32)
        for k in range(steps):
            x = a.load([row * BM, k * BK])
            acc = tl.dot(x, b.load([column * WIDTH, k * BK]).T, acc)
            acc1 = tl.dot(x, b1.load([column * WIDTH + BN, k * BK]).T, acc1)
            if BN2:
                acc2 = tl.dot(x, b2.load([column * WIDTH + BN + BN1, k * BK]).T, acc2)
        c.store([row * BM, column * WIDTH], acc.to(c_ptr.dtype.element_ty))
        c1.store([row * BM, column * WIDTH + BN], acc1.to(c_ptr.dtype.element_ty))
        if BN2:
            c2.store([row * BM, column * WIDTH + BN + BN1], acc2.to(c_ptr.dtype.element_ty))


@triton.jit
def matmul_few(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SMS: tl.constexpr):
    """The same product where A has at most BM rows. They are the tile's columns: of rows the tensor cores want 64."""
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    for tile in tl.range(tl.program_id(0), tl.cdiv(N, BN), SMS):
        acc = tl.zeros((BN, BM), dtype=tl.float32)
        for k in range(tl.cdiv(K, BK)):
            acc = tl.dot(b.load([tile * BN, k * BK]), a.load([0, k * BK]).T, acc)
        m = tl.arange(0, BM)
        n = tile * BN + tl.arange(0, BN)
        tl.store(c_ptr + m[None, :] * N + n[:, None], acc.to(c_ptr.dtype.element_ty), mask=(m < M)[None, :] & (n < N)[:, None])


@triton.jit
def matmul_halves(a_ptr, b_ptr, c_ptr, part_ptr, flag_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The same product for few tiles, of BM rows and 2 BN columns: two programs, which run at one time, have half of K each; each gives the
    other one half of its sum, and stores the other half of the tile. `part` holds a half tile for each program, `flag` zeros, which are
    zeros again in the end."""
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    rows = tl.cdiv(M, BM)
    half = tl.program_id(0) % 2
    tile = tl.program_id(0) // 2
    row = tile % rows * BM
    column = tile // rows * (2 * BN)
    steps = tl.cdiv(K, BK)
    left = tl.zeros((BM, BN), dtype=tl.float32)
    right = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(half * steps // 2, (half + 1) * steps // 2):
        x = a.load([row, k * BK])
        left = tl.dot(x, b.load([column, k * BK]).T, left)
        right = tl.dot(x, b.load([column + BN, k * BK]).T, right)
    inside = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    own = tile * 2 + half
    other = tile * 2 + 1 - half
    tl.store(part_ptr + own * (BM * BN) + inside, tl.where(half == 0, right, left))
    tl.atomic_xchg(flag_ptr + own, 1, sem="release")
    while tl.atomic_add(flag_ptr + other, 0, sem="acquire") == 0:
        pass
    tl.store(flag_ptr + other, 0)
    acc = tl.where(half == 0, left, right) + tl.load(part_ptr + other * (BM * BN) + inside)
    c.store([row, column + half * BN], acc.to(c_ptr.dtype.element_ty))


@triton.jit
def matmul_pointers(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
):
    """C[M, N] = A[M, K] B[K, N] by pointer arithmetic, as in Triton's third tutorial."""
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BM)
    num_pid_n = tl.cdiv(N, BN)
    num_pid_in_group = GROUP * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP
    group_size_m = min(num_pid_m - first_pid_m, GROUP)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m
    offs_am = (pid_m * BM + tl.arange(0, BM)) % M
    offs_bn = (pid_n * BN + tl.arange(0, BN)) % N
    offs_k = tl.arange(0, BK)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)
    accumulator = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BK, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BK, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BK * stride_ak
        b_ptrs += BK * stride_bk
    c = accumulator.to(c_ptr.dtype.element_ty)
    offs_cm = pid_m * BM + tl.arange(0, BM)
    offs_cn = pid_n * BN + tl.arange(0, BN)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    tl.store(c_ptrs, c, mask=(offs_cm[:, None] < M) & (offs_cn[None, :] < N))


@triton.jit
def matmul_grouped(
    a_ptr,
    b_ptr,
    c_ptr,
    expert_ptr,
    row_ptr,
    end_ptr,
    first_ptr,
    height_ptr,
    blocks,
    M,
    E,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BN1: tl.constexpr,
    BK: tl.constexpr,
    SMS: tl.constexpr,
):
    """C[rows of e] = A[rows of e, K] B[e, N, K]^T for each expert e; row block i belongs to expert[i] and holds rows row[i] to end[i]. The
    height[i] row blocks from first[i] on are an expert's and go together: all of them with one block of B's rows, then with the next.
    A tile has BN + BN1 columns (BN1 may be 0), which divide N."""
    WIDTH: tl.constexpr = BN + BN1
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[E * N, K], strides=[K, 1], block_shape=[BN, BK])
    if BN1:
        b1 = tl.make_tensor_descriptor(b_ptr, shape=[E * N, K], strides=[K, 1], block_shape=[BN1, BK])
    columns = tl.cdiv(N, WIDTH)
    for tile in tl.range(tl.program_id(0), blocks * columns, SMS, flatten=True):
        first = tl.load(first_ptr + tile // columns)
        height = tl.load(height_ptr + tile // columns)
        block = first + (tile - first * columns) % height
        column = (tile - first * columns) // height * WIDTH
        of_expert = tl.load(expert_ptr + block) * N + column
        row = tl.load(row_ptr + block)
        end = tl.load(end_ptr + block)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        if BN1:
            acc1 = tl.zeros((BM, BN1), dtype=tl.float32)
        for k in range(tl.cdiv(K, BK)):
            x = a.load([row, k * BK])
            acc = tl.dot(x, b.load([of_expert, k * BK]).T, acc)
            if BN1:
                acc1 = tl.dot(x, b1.load([of_expert + BN, k * BK]).T, acc1)
        m = row + tl.arange(0, BM)
        c_ptrs = c_ptr + m[:, None].to(tl.int64) * N + column
        inside = (m < end)[:, None]
        tl.store(c_ptrs + tl.arange(0, BN)[None, :], acc.to(c_ptr.dtype.element_ty), mask=inside)
        if BN1:
            tl.store(c_ptrs + BN + tl.arange(0, BN1)[None, :], acc1.to(c_ptr.dtype.element_ty), mask=inside)
