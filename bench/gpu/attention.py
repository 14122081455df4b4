"""Fused attention forward with an online softmax, as in Triton's sixth tutorial: blocks by tensor descriptors or by pointers."""

import triton
import triton.language as tl


@triton.jit
def _attn_fwd_inner(
    acc,
    l_i,
    m_i,
    q,
    desc_k,
    desc_v,
    first_row,
    start_m,
    qk_scale,
    BM: tl.constexpr,
    D: tl.constexpr,
    BN: tl.constexpr,
    STAGE: tl.constexpr,
    offs_m: tl.constexpr,
    offs_n: tl.constexpr,
    N_CTX,
):
    """Stage 1: the blocks before the diagonal; 2: those that it crosses; 3: all."""
    if STAGE == 1:
        lo, hi = 0, start_m * BM
    elif STAGE == 2:
        lo, hi = start_m * BM, (start_m + 1) * BM
        lo = tl.multiple_of(lo, BM)
    else:
        lo, hi = 0, N_CTX
    row = first_row + lo
    for start_n in tl.range(lo, hi, BN):
        start_n = tl.multiple_of(start_n, BN)
        k = desc_k.load([row, 0]).T
        qk = tl.dot(q, k)
        if STAGE == 2:
            mask = offs_m[:, None] >= (start_n + offs_n[None, :])
            qk = qk * qk_scale + tl.where(mask, 0, -1.0e6)
            m_ij = tl.maximum(m_i, tl.max(qk, 1))
            qk -= m_ij[:, None]
        else:
            m_ij = tl.maximum(m_i, tl.max(qk, 1) * qk_scale)
            qk = qk * qk_scale - m_ij[:, None]
        p = tl.math.exp2(qk)
        alpha = tl.math.exp2(m_i - m_ij)
        l_ij = tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = desc_v.load([row, 0])
        acc = tl.dot(p.to(v.dtype), v, acc)
        l_i = l_i * alpha + l_ij
        m_i = m_ij
        row += BN
    return acc, l_i, m_i


@triton.jit
def attention(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    m_ptr,
    sm_scale,
    heads_total,
    N_CTX,
    D: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    STAGE: tl.constexpr,
):
    """Blocks by tensor descriptors. STAGE 3: causal; 1: not. q, k, v, out: [heads_total * N_CTX, D]."""
    rows = heads_total * N_CTX
    desc_q = tl.make_tensor_descriptor(q_ptr, shape=[rows, D], strides=[D, 1], block_shape=[BM, D])
    desc_k = tl.make_tensor_descriptor(k_ptr, shape=[rows, D], strides=[D, 1], block_shape=[BN, D])
    desc_v = tl.make_tensor_descriptor(v_ptr, shape=[rows, D], strides=[D, 1], block_shape=[BN, D])
    desc_o = tl.make_tensor_descriptor(out_ptr, shape=[rows, D], strides=[D, 1], block_shape=[BM, D])
    _attend(desc_q, desc_k, desc_v, desc_o, m_ptr, sm_scale, N_CTX, D, BM, BN, STAGE)


@triton.jit
def attention_host(
    desc_q, desc_k, desc_v, desc_o, m_ptr, sm_scale, N_CTX, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, STAGE: tl.constexpr
):
    """The same with descriptors that the host makes."""
    _attend(desc_q, desc_k, desc_v, desc_o, m_ptr, sm_scale, N_CTX, D, BM, BN, STAGE)


@triton.jit
def _attend(
    desc_q, desc_k, desc_v, desc_o, m_ptr, sm_scale, N_CTX, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, STAGE: tl.constexpr
):
    start_m = tl.program_id(0)
    head = tl.program_id(1)
    first_row = head * N_CTX
    offs_m = start_m * BM + tl.arange(0, BM)
    offs_n = tl.arange(0, BN)
    m_i = tl.zeros([BM], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BM], dtype=tl.float32) + 1.0
    acc = tl.zeros([BM, D], dtype=tl.float32)
    qk_scale = sm_scale * 1.44269504
    q = desc_q.load([first_row + start_m * BM, 0])
    if STAGE & 1:
        acc, l_i, m_i = _attn_fwd_inner(
            acc, l_i, m_i, q, desc_k, desc_v, first_row, start_m, qk_scale, BM, D, BN, 4 - STAGE, offs_m, offs_n, N_CTX
        )
    if STAGE & 2:
        acc, l_i, m_i = _attn_fwd_inner(acc, l_i, m_i, q, desc_k, desc_v, first_row, start_m, qk_scale, BM, D, BN, 2, offs_m, offs_n, N_CTX)
    m_i += tl.math.log2(l_i)
    acc = acc / l_i[:, None]
    tl.store(m_ptr + head * N_CTX + offs_m, m_i)
    desc_o.store([first_row + start_m * BM, 0], acc.to(q.dtype))


@triton.jit
def _pointer_inner(
    acc,
    l_i,
    m_i,
    q,
    k_ptrs,
    v_ptrs,
    start_m,
    qk_scale,
    stride_kn,
    stride_vn,
    BM: tl.constexpr,
    BN: tl.constexpr,
    STAGE: tl.constexpr,
    offs_m: tl.constexpr,
    offs_n: tl.constexpr,
    N_CTX,
):
    if STAGE == 1:
        lo, hi = 0, start_m * BM
    elif STAGE == 2:
        lo, hi = start_m * BM, (start_m + 1) * BM
        lo = tl.multiple_of(lo, BM)
    else:
        lo, hi = 0, N_CTX
    k_ptrs += lo * stride_kn
    v_ptrs += lo * stride_vn
    for start_n in range(lo, hi, BN):
        start_n = tl.multiple_of(start_n, BN)
        k = tl.load(k_ptrs)
        qk = tl.dot(q, k)
        if STAGE == 2:
            mask = offs_m[:, None] >= (start_n + offs_n[None, :])
            qk = qk * qk_scale + tl.where(mask, 0, -1.0e6)
            m_ij = tl.maximum(m_i, tl.max(qk, 1))
            qk -= m_ij[:, None]
        else:
            m_ij = tl.maximum(m_i, tl.max(qk, 1) * qk_scale)
            qk = qk * qk_scale - m_ij[:, None]
        p = tl.math.exp2(qk)
        alpha = tl.math.exp2(m_i - m_ij)
        l_ij = tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(v_ptrs)
        acc = tl.dot(p.to(v.dtype), v, acc)
        l_i = l_i * alpha + l_ij
        m_i = m_ij
        k_ptrs += BN * stride_kn
        v_ptrs += BN * stride_vn
    return acc, l_i, m_i


@triton.jit
def attention_pointers(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    m_ptr,
    sm_scale,
    stride_h,
    stride_n,
    stride_d,
    N_CTX,
    D: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    STAGE: tl.constexpr,
):
    """Blocks by pointers; all four tensors have the same strides."""
    start_m = tl.program_id(0)
    head = tl.program_id(1)
    base = head.to(tl.int64) * stride_h
    offs_m = start_m * BM + tl.arange(0, BM)
    offs_n = tl.arange(0, BN)
    offs_d = tl.arange(0, D)
    k_ptrs = k_ptr + base + offs_n[None, :] * stride_n + offs_d[:, None] * stride_d
    v_ptrs = v_ptr + base + offs_n[:, None] * stride_n + offs_d[None, :] * stride_d
    m_i = tl.zeros([BM], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BM], dtype=tl.float32) + 1.0
    acc = tl.zeros([BM, D], dtype=tl.float32)
    qk_scale = sm_scale * 1.44269504
    q = tl.load(q_ptr + base + offs_m[:, None] * stride_n + offs_d[None, :] * stride_d)
    if STAGE & 1:
        acc, l_i, m_i = _pointer_inner(
            acc, l_i, m_i, q, k_ptrs, v_ptrs, start_m, qk_scale, stride_n, stride_n, BM, BN, 4 - STAGE, offs_m, offs_n, N_CTX
        )
    if STAGE & 2:
        acc, l_i, m_i = _pointer_inner(
            acc, l_i, m_i, q, k_ptrs, v_ptrs, start_m, qk_scale, stride_n, stride_n, BM, BN, 2, offs_m, offs_n, N_CTX
        )
    m_i += tl.math.log2(l_i)
    acc = acc / l_i[:, None]
    tl.store(m_ptr + head * N_CTX + offs_m, m_i)
    tl.store(out_ptr + base + offs_m[:, None] * stride_n + offs_d[None, :] * stride_d, acc.to(q.dtype))
