"""Products of A (M x K) and B (K x N) as tutorials write them. None knows of ranks."""

import tandem
import tandem.language as tl


@tandem.jit
def grouped(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """A product as tutorials write it: programs in groups of rows, addresses that wrap around, pointers that the loop moves on."""
    pid = tl.program_id(0)
    rows = tl.cdiv(M, BLOCK_M)
    in_group = GROUP * tl.cdiv(N, BLOCK_N)
    first = pid // in_group * GROUP
    height = min(rows - first, GROUP)
    pid_m = first + pid % in_group % height
    pid_n = pid % in_group // height
    offs_am = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_bn = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    offs_cm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_cn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(offs_cm[:, None] < M) & (offs_cn[None, :] < N))


@tandem.jit
def described(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    a_desc = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[stride_am, 1], block_shape=[BLOCK_M, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(b_ptr, shape=[K, N], strides=[stride_bk, 1], block_shape=[BLOCK_K, BLOCK_N])
    c_desc = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[stride_cm, 1], block_shape=[BLOCK_M, BLOCK_N])
    row = tl.program_id(0) // tl.cdiv(N, BLOCK_N) * BLOCK_M
    column = tl.program_id(0) % tl.cdiv(N, BLOCK_N) * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        acc = tl.dot(a_desc.load([row, k]), b_desc.load([k, column]), acc)
    c_desc.store([row, column], acc.to(c_ptr.dtype.element_ty))


@tandem.jit
def clamped(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Programs of several tiles, which are counted twice; rows behind the end become the first, columns the last."""
    columns = tl.cdiv(N, BLOCK_N)
    stored = tl.program_id(0) - tl.num_programs(0)
    for tile in range(tl.program_id(0), tl.cdiv(M, BLOCK_M) * columns, tl.num_programs(0)):
        m = tile // columns * BLOCK_M + tl.arange(0, BLOCK_M)
        n = tile % columns * BLOCK_N + tl.arange(0, BLOCK_N)
        m = tl.where(m < M, m, 0)
        n = tl.minimum(n, N - 1)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for start in range(0, K, BLOCK_K):
            k = start + tl.arange(0, BLOCK_K)
            a = tl.load(a_ptr + m[:, None] * stride_am + k[None, :] * stride_ak, mask=k[None, :] < K, other=0.0)
            b = tl.load(b_ptr + k[:, None] * stride_bk + n[None, :] * stride_bn, mask=k[:, None] < K, other=0.0)
            acc = tl.dot(a, b, acc)
        stored += tl.num_programs(0)
        m = stored // columns * BLOCK_M + tl.arange(0, BLOCK_M)
        n = stored % columns * BLOCK_N + tl.arange(0, BLOCK_N)
        c_ptrs = c_ptr + m[:, None] * stride_cm + n[None, :] * stride_cn
        tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))
