"""Attention in the manner of libraries: keys and values travel."""

import tandem
import tandem.language as tl
from library_kernels import F32, I32, cdiv, library


def heads(kv=2, q=4):
    return lambda m, n, k: dict(Q=((m, q, 16), F32), K=((m, kv, 16), F32), V=((m, kv, 16), F32), Out=((m, q, 16), F32))


@tandem.jit
def online(acc, l_i, m_i, qk, v):
    m_new = tl.maximum(m_i, tl.max(qk, 1))
    p = tl.exp(qk - m_new[:, None])
    alpha = tl.exp(m_i - m_new)
    return acc * alpha[:, None] + tl.dot(p, v), l_i * alpha + tl.sum(p, 1), m_new


@library(
    lambda m, n, k: (cdiv(m, 16), 4), heads(), ("K", "V"), "Out",
    lambda m, n, k: dict(sm_scale=0.25, N_CTX=m, GROUPS=2, BM=16, BN=16, D=16),
)  # fmt: skip
def grouped_queries(
    Q, K, V, Out, sm_scale, N_CTX, GROUPS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    """Causal, two query heads for each of keys; keys up to the diagonal only."""
    start_m, head = tl.program_id(0), tl.program_id(1)
    offs_m, offs_n, offs_d = start_m * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    kv_head = head // GROUPS
    q_stride, kv_stride = tl.num_programs(1) * D, tl.num_programs(1) // GROUPS * D
    q = tl.load(Q + offs_m[:, None] * q_stride + head * D + offs_d[None, :], mask=offs_m[:, None] < N_CTX, other=0.0)
    k_ptrs = K + offs_n[None, :] * kv_stride + kv_head * D + offs_d[:, None]
    v_ptrs = V + offs_n[:, None] * kv_stride + kv_head * D + offs_d[None, :]
    m_i = tl.full([BM], -1e30, dtype=tl.float32)
    l_i = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    hi = tl.minimum((start_m + 1) * BM, N_CTX)
    for start_n in range(0, hi, BN):
        start_n = tl.multiple_of(start_n, BN)
        k = tl.load(k_ptrs + start_n * kv_stride, mask=(start_n + offs_n)[None, :] < N_CTX, other=0.0)
        qk = tl.dot(q, k) * sm_scale
        qk = tl.where(offs_m[:, None] >= (start_n + offs_n[None, :]), qk, -1e30)
        v = tl.load(v_ptrs + start_n * kv_stride, mask=(start_n + offs_n)[:, None] < N_CTX, other=0.0)
        acc, l_i, m_i = online(acc, l_i, m_i, qk, v)
    out = acc / l_i[:, None]
    tl.store(Out + offs_m[:, None] * q_stride + head * D + offs_d[None, :], out, mask=offs_m[:, None] < N_CTX)


@library(
    lambda m, n, k: (cdiv(m, 16) * 4,), lambda m, n, k: heads(4)(m, n, k) | dict(sinks=((4,), F32)), ("K", "V"), "Out",
    lambda m, n, k: dict(N_CTX=m, WINDOW=20, HEADS=4, BM=16, BN=8, D=16),
)  # fmt: skip
def window_and_sinks(Q, K, V, sinks, Out, N_CTX, WINDOW, HEADS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """A window of keys before each query, a sink of each head; one number of the program for both."""
    pid = tl.program_id(0)
    start_m, head = pid // HEADS, pid % HEADS
    offs_m, offs_d = start_m * BM + tl.arange(0, BM), tl.arange(0, D)
    q = tl.load(Q + offs_m[:, None] * (HEADS * D) + head * D + offs_d[None, :], mask=offs_m[:, None] < N_CTX, other=0.0)
    m_i = tl.zeros([BM], dtype=tl.float32) + tl.load(sinks + head)
    l_i = tl.full([BM], 1.0, dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    lo = tl.maximum(start_m * BM - WINDOW + 1, 0) // BN * BN
    hi = min((start_m + 1) * BM, N_CTX)
    for start_n in tl.range(lo, hi, BN):
        offs_n = start_n + tl.arange(0, BN)
        k = tl.load(K + offs_n[None, :] * (HEADS * D) + head * D + offs_d[:, None], mask=offs_n[None, :] < N_CTX, other=0.0)
        qk = tl.sum(q[:, :, None] * k[None, :, :], 1)
        seen = (offs_m[:, None] >= offs_n[None, :]) & (offs_m[:, None] - offs_n[None, :] < WINDOW)
        v = tl.load(V + offs_n[:, None] * (HEADS * D) + head * D + offs_d[None, :], mask=offs_n[:, None] < N_CTX, other=0.0)
        qk = tl.where(seen, qk, -1e30)
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.where(seen, tl.exp(qk - m_new[:, None]), 0.0)
        alpha = tl.exp(m_i - m_new)
        acc = acc * alpha[:, None] + tl.sum(p[:, :, None] * v[None, :, :], 1)
        l_i = l_i * alpha + tl.sum(p, 1)
        m_i = m_new
    tl.store(Out + offs_m[:, None] * (HEADS * D) + head * D + offs_d[None, :], acc / l_i[:, None], mask=offs_m[:, None] < N_CTX)


@library(
    lambda m, n, k: (cdiv(m, 16), 2),
    lambda m, n, k: heads(2, 2)(m, n, k) | dict(cu_seqlens=((3,), I32, lambda m, n, k: [0, m // 3, m])), ("K", "V"), "Out",
    lambda m, n, k: dict(N_CTX=m, BM=16, BN=16, D=16),
)  # fmt: skip
def sequences_of_lengths(Q, K, V, Out, cu_seqlens, N_CTX, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Two sequences one behind the other, whose ends are loaded: a query sees its own. Keys go from a loaded number on."""
    offs_m, head, offs_d = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1), tl.arange(0, D)
    middle, end = tl.load(cu_seqlens + 1), tl.load(cu_seqlens + 2)
    q = tl.load(Q + offs_m[:, None] * (2 * D) + head * D + offs_d[None, :], mask=offs_m[:, None] < end, other=0.0)
    first = tl.where(offs_m >= middle, middle, 0)
    m_i = tl.full([BM], -1e30, dtype=tl.float32)
    l_i = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    for start_n in range(tl.min(first), end, BN):
        offs_n = start_n + tl.arange(0, BN)
        k = tl.load(K + offs_n[None, :] * (2 * D) + head * D + offs_d[:, None], mask=offs_n[None, :] < end, other=0.0)
        last = tl.where(offs_m >= middle, end, middle)
        seen = (offs_n[None, :] >= first[:, None]) & (offs_n[None, :] < last[:, None])
        v = tl.load(V + offs_n[:, None] * (2 * D) + head * D + offs_d[None, :], mask=offs_n[:, None] < end, other=0.0)
        acc, l_i, m_i = online(acc, l_i, m_i, tl.where(seen, tl.dot(q, k), -1e30), v)
    tl.store(Out + offs_m[:, None] * (2 * D) + head * D + offs_d[None, :], acc / l_i[:, None], mask=offs_m[:, None] < N_CTX)


@library(
    lambda m, n, k: (2, 4),
    lambda m, n, k: dict(Q=((8, 16), F32), K=((m, 2, 16), F32), V=((m, 2, 16), F32), Mid=((2, 4, 4, 16), F32), Lse=((2, 4, 4), F32)),
    ("K", "V"), None,
    lambda m, n, k: dict(N_CTX=m, SPLITS=4, BN=8, D=16, GROUP=4),
)  # fmt: skip
def keys_in_splits(Q, K, V, Mid, Lse, N_CTX, SPLITS: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, GROUP: tl.constexpr):
    """The first stage of decoding: each program has a part of the keys for the queries of a head of keys."""
    head, split = tl.program_id(0), tl.program_id(1)
    rows, offs_d = tl.arange(0, GROUP), tl.arange(0, D)
    q = tl.load(Q + (head * GROUP + rows[:, None]) * D + offs_d[None, :])
    per_split = tl.cdiv(N_CTX, SPLITS)
    begin = per_split * split
    end = tl.minimum(begin + per_split, N_CTX)
    e_max = tl.zeros([GROUP], dtype=tl.float32) - 1e30
    e_sum = tl.zeros([GROUP], dtype=tl.float32)
    acc = tl.zeros([GROUP, D], dtype=tl.float32)
    if end > begin:
        for start in range(begin, end, BN):
            offs_n = start + tl.arange(0, BN)
            k = tl.load(K + offs_n[None, :] * (2 * D) + head * D + offs_d[:, None], mask=offs_n[None, :] < end, other=0.0)
            qk = tl.where(offs_n[None, :] < end, tl.sum(q[:, :, None] * k[None, :, :], 1), -1e30)
            v = tl.load(V + offs_n[:, None] * (2 * D) + head * D + offs_d[None, :], mask=offs_n[:, None] < end, other=0.0)
            n_max = tl.maximum(tl.max(qk, 1), e_max)
            scale = tl.exp(e_max - n_max)
            p = tl.exp(qk - n_max[:, None])
            acc = acc * scale[:, None] + tl.sum(p[:, :, None] * v[None, :, :], 1)
            e_sum = e_sum * scale + tl.sum(p, 1)
            e_max = n_max
        at = (head * 4 + split) * GROUP + rows
        tl.store(Mid + at[:, None] * D + offs_d[None, :], acc / e_sum[:, None])
        tl.store(Lse + at, e_max + tl.log(e_sum))
