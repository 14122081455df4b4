"""Distributed flash decoding: split over the keys on each rank, combined on the rank, gathered and combined over
ranks."""

import numpy as np
import pytest
import triton
import triton_dist
import triton.language as tl
import triton_dist.language as dl
from triton_dist.language.extra import libshmem_device
from triton_dist.language.extra.language_extra import __syncthreads, tid

HEADS, HEAD_DIM, KEYS_PER_RANK = 4, 16, 40


@triton.jit
def split_kv(
    q_ptr, k_ptr, v_ptr, partial_ptr, kv_len, sm_scale, BLOCK_DMODEL: tl.constexpr, BLOCK_N: tl.constexpr, NUM_KV_SPLITS: tl.constexpr
):
    """Program (head, split): attention over its keys; the result and the logarithm of its weight lie together."""
    head = tl.program_id(0)
    split_kv_id = tl.program_id(1)
    num_heads = tl.num_programs(0)
    offs_d = tl.arange(0, BLOCK_DMODEL)
    q = tl.load(q_ptr + head * BLOCK_DMODEL + offs_d)
    kv_len_per_split = tl.cdiv(kv_len, NUM_KV_SPLITS)
    split_start = kv_len_per_split * split_kv_id
    split_end = tl.minimum(split_start + kv_len_per_split, kv_len)
    e_max = -float("inf")
    e_sum = 0.0
    acc = tl.zeros([BLOCK_DMODEL], dtype=tl.float32)
    for start_n in range(split_start, split_end, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = offs_n < split_end
        kv = (offs_n[:, None] * num_heads + head) * BLOCK_DMODEL + offs_d[None, :]
        k = tl.load(k_ptr + kv, mask=mask[:, None], other=0.0)
        qk = tl.sum(q[None, :] * k, 1) * sm_scale
        qk = tl.where(mask, qk, float("-inf"))
        n_e_max = tl.maximum(tl.max(qk, 0), e_max)
        re_scale = tl.exp(e_max - n_e_max)
        p = tl.exp(qk - n_e_max)
        v = tl.load(v_ptr + kv, mask=mask[:, None], other=0.0)
        acc = acc * re_scale + tl.sum(p[:, None] * v, 0)
        e_sum = e_sum * re_scale + tl.sum(p, 0)
        e_max = n_e_max
    out = partial_ptr + (head * NUM_KV_SPLITS + split_kv_id) * (BLOCK_DMODEL + 1)
    tl.store(out + offs_d, acc / e_sum)
    tl.store(out + BLOCK_DMODEL, e_max + tl.log(e_sum))


@triton.jit
def combine(partial_ptr, out_ptr, stride_head, stride_split, BLOCK_DMODEL: tl.constexpr, SPLITS, FINAL: tl.constexpr):
    """Weighs the splits of a head by their logarithms."""
    head = tl.program_id(0)
    offs_d = tl.arange(0, BLOCK_DMODEL)
    e_sum = 0.0
    e_max = -float("inf")
    acc = tl.zeros([BLOCK_DMODEL], dtype=tl.float32)
    for split in range(0, SPLITS):
        part = partial_ptr + head * stride_head + split * stride_split
        tv = tl.load(part + offs_d)
        tlogic = tl.load(part + BLOCK_DMODEL)
        n_e_max = tl.maximum(tlogic, e_max)
        old_scale = tl.exp(e_max - n_e_max)
        exp_logic = tl.exp(tlogic - n_e_max)
        acc = acc * old_scale + exp_logic * tv
        e_sum = e_sum * old_scale + exp_logic
        e_max = n_e_max
    if FINAL:
        tl.store(out_ptr + head * BLOCK_DMODEL + offs_d, acc / e_sum)
    else:
        tl.store(out_ptr + head * (BLOCK_DMODEL + 1) + offs_d, acc / e_sum)
        tl.store(out_ptr + head * (BLOCK_DMODEL + 1) + BLOCK_DMODEL, e_max + tl.log(e_sum))


@triton_dist.jit
def gather_partials(mine_ptr, all_ptr, signal_ptr, nbytes, elements, call_count):
    """Program r sends to rank r and waits for it."""
    rank = dl.rank()
    peer = tl.program_id(0)
    libshmem_device.putmem_signal_block(
        all_ptr + rank * elements, mine_ptr, nbytes, signal_ptr + rank, call_count, libshmem_device.NVSHMEM_SIGNAL_SET, peer
    )
    if tid(0) == 0:
        libshmem_device.signal_wait_until(signal_ptr + peer, libshmem_device.NVSHMEM_CMP_GE, call_count)
    __syncthreads()


@pytest.mark.parametrize("splits", [1, 4])
def test_distributed_flash_decode(everywhere, splits):

    def main(team):
        size, width = team.size, HEAD_DIM + 1
        rng = np.random.default_rng(size)
        q = rng.standard_normal((HEADS, HEAD_DIM)).astype(np.float32)
        k, v = (rng.standard_normal((size * KEYS_PER_RANK, HEADS, HEAD_DIM)).astype(np.float32) for _ in range(2))
        mine = slice(team.rank * KEYS_PER_RANK, (team.rank + 1) * KEYS_PER_RANK)
        scale = HEAD_DIM**-0.5
        partial = team.local_empty((HEADS, splits, width), "float32")
        combined = team.empty((HEADS, width), "float32", name="combined")
        gathered = team.empty((size, HEADS, width), "float32", name="gathered")
        signal = team.zeros(size, "uint64", name="signal")
        out = np.zeros((HEADS, HEAD_DIM), np.float32)
        split_kv[(HEADS, splits)](q, k[mine].copy(), v[mine].copy(), partial, KEYS_PER_RANK, scale, HEAD_DIM, 16, splits)
        combine[(HEADS,)](partial, combined, splits * width, width, HEAD_DIM, splits, False)
        gather_partials[(size,)](combined, gathered, signal, HEADS * width * 4, HEADS * width, 1)
        combine[(HEADS,)](gathered, out, width, HEADS * width, HEAD_DIM, size, True)
        logits = np.einsum("hd,nhd->hn", q, k) * scale
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        wanted = np.einsum("hn,nhd->hd", weights, v) / weights.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-5)
        team.barrier()
        signal[...] = 0

    everywhere(main)
