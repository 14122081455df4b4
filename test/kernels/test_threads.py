"""Per-thread code: shuffles and ballots, vectors, shared memory, execution regions with tensor elements."""

import numpy as np
import pytest
import triton
import triton_dist
import triton.language as tl
import triton_dist.language as dl
from triton_dist.language.extra.language_extra import (
    __ballot_sync,
    __shfl_down_sync_i32,
    __shfl_sync_i32,
    __shfl_up_sync_i32,
    __shfl_xor_sync_i32,
    __syncthreads,
    atomic_add,
    atomic_cas,
    laneid,
    ld,
    ld_vector,
    num_warps,
    pack,
    st,
    st_vector,
    tid,
    unpack,
)


@triton_dist.jit
def warp_prefix_sum_kernel(value, lane_idx, num_lanes: tl.constexpr):
    i = 1
    while i < num_lanes:
        val = __shfl_up_sync_i32(0xFFFFFFFF, value, i)
        if lane_idx >= i:
            value += val
        i = i * 2
    return value


@triton_dist.jit
def warp_sum(value):
    for i in tl.static_range(5):
        value += __shfl_xor_sync_i32(0xFFFFFFFF, value, 16 >> i)
    return value


@triton_dist.jit
def warp_work(x_ptr, prefix_ptr, sum_ptr, down_ptr, ballot_ptr, compact_ptr, count_ptr):
    thread_idx = tid(axis=0)
    lane_idx = thread_idx % 32
    x = ld(x_ptr + thread_idx)
    st(prefix_ptr + thread_idx, warp_prefix_sum_kernel(x, lane_idx, 32))
    st(sum_ptr + thread_idx, warp_sum(x))
    st(down_ptr + thread_idx, __shfl_down_sync_i32(0xFFFFFFFF, x, 1))
    keep = x % 3 == 0
    ballot = __ballot_sync(0xFFFFFFFF, keep)
    st(ballot_ptr + thread_idx, ballot)
    below = ballot & ((1 << lane_idx) - 1)
    position = 0
    for b in range(32):
        position += (below >> b) & 1
    base = 0
    if laneid() == 0:
        total = 0
        for b in range(32):
            total += (ballot >> b) & 1
        base = atomic_add(count_ptr, total, scope="gpu", semantic="relaxed")
    base = __shfl_sync_i32(0xFFFFFFFF, base, 0)
    if keep:
        st(compact_ptr + base + position, x)


def test_warps(everywhere):

    def main(team):
        x = np.random.default_rng(team.rank).integers(0, 100, (4, 32)).astype(np.int32)
        prefix, total, down, ballot, compact = (np.zeros_like(x) for _ in range(5))
        count = np.zeros(1, np.int32)
        warp_work[(1,)](x, prefix, total, down, ballot, compact, count, num_warps=4)
        np.testing.assert_array_equal(prefix, np.cumsum(x, axis=1))
        np.testing.assert_array_equal(total, np.broadcast_to(x.sum(axis=1, keepdims=True), x.shape))
        np.testing.assert_array_equal(down, np.c_[x[:, 1:], x[:, -1:]])
        weights = np.uint64(1) << np.arange(32, dtype=np.uint64)
        bits = np.where(x % 3 == 0, weights, np.uint64(0)).sum(axis=1).astype(np.uint32).view(np.int32)
        np.testing.assert_array_equal(ballot, np.broadcast_to(bits[:, None], x.shape))
        kept = x[x % 3 == 0]
        assert count[0] == len(kept) and sorted(compact.ravel()[: len(kept)]) == sorted(kept)

    everywhere(main, ranks=(1, 2))


@triton_dist.jit
def vectors(x_ptr, y_ptr, out_ptr, bits_ptr, n, VEC_SIZE: tl.constexpr):
    thread_idx = tid(0)
    for i in range(thread_idx, n // VEC_SIZE, num_warps() * 32):
        x = ld_vector(x_ptr + i * VEC_SIZE, vec_size=VEC_SIZE)
        y = ld_vector(y_ptr + i * VEC_SIZE, vec_size=VEC_SIZE)
        acc = dl.zeros_vector(VEC_SIZE, tl.float32)
        acc = acc + x.to(tl.float32) * y.to(tl.float32)
        acc = acc - x.to(tl.float32)
        st_vector(out_ptr + i * VEC_SIZE, acc.to(out_ptr.dtype.element_ty))
        words = x.recast(tl.int32)
        st_vector(bits_ptr + i * VEC_SIZE // 2, words)
        first = acc[0]
        pair = dl.make_vector([first, acc[1]])
        st_vector(out_ptr + i * VEC_SIZE, pair.to(out_ptr.dtype.element_ty))


@pytest.mark.parametrize("vec_size", [4, 8])
def test_vectors(everywhere, vec_size):

    def main(team):
        rng = np.random.default_rng(team.rank)
        x, y = (rng.integers(-8, 8, 1024).astype(np.float16) for _ in range(2))
        out, bits = np.zeros_like(x), np.zeros(512, np.int32)
        vectors[(1,)](x, y, out, bits, 1024, vec_size)
        np.testing.assert_array_equal(out, x * y - x)
        np.testing.assert_array_equal(bits, x.view(np.int32))

    everywhere(main, ranks=(1,), seeds=(0,))


@triton_dist.jit
def repack(x_ptr, out_ptr):
    thread_idx = tid(0)
    v = ld_vector(x_ptr + thread_idx * 4, vec_size=4)
    word = pack(v, tl.uint64)
    back = unpack(word, tl.uint16)
    st_vector(out_ptr + thread_idx * 4, back)


def test_pack_and_unpack(everywhere):

    def main(team):
        x = np.arange(512, dtype=np.uint16) * 31
        out = np.zeros_like(x)
        repack[(1,)](x, out)
        np.testing.assert_array_equal(out, x)

    everywhere(main, ranks=(1,), seeds=(0,))


@triton_dist.jit
def shared_exchange(x_ptr, out_ptr, BLOCK: tl.constexpr):
    """Each thread leaves its value in shared memory and takes that of the mirrored thread; a warp keeps a counter
    there."""
    smem = dl.allocate_smem(tl.int32, [2, BLOCK])
    row = dl.smem_index(smem, 1)
    thread_idx = tid(0)
    dl.smem_store(row, ld(x_ptr + thread_idx), [thread_idx])
    dl.smem_store(smem, 0, [0, thread_idx])
    __syncthreads()
    counter = dl.smem_get_ptr(smem, [0, 0])
    atomic_add(counter, 1, scope="cta", semantic="relaxed")
    __syncthreads()
    mirrored = dl.smem_load(row, [BLOCK - 1 - thread_idx])
    st(out_ptr + thread_idx, mirrored + dl.smem_load(smem, [0, 0]))
    dl.smem_dealloc(smem)


def test_shared_memory(everywhere):

    def main(team):
        x, out = np.arange(128, dtype=np.int32) * 7, np.zeros(128, np.int32)
        shared_exchange[(1,)](x, out, 128, num_warps=4)
        np.testing.assert_array_equal(out, x[::-1] + 128)

    everywhere(main, ranks=(1, 2))


@triton_dist.jit
def region_over_tile(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """A tile's elements, read and written by threads, then a tile again."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0)
    with dl.simt_exec_region() as (thread_idx, block_size):
        for i in range(thread_idx, BLOCK, block_size):
            x[i] = x[i] * 2 + i
    total = tl.sum(x)
    tl.store(out_ptr + offs, x + total, mask=offs < n)


@triton_dist.jit
def region_over_matrix(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    tile = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + tile)
    sums = tl.zeros((M,), dtype=tl.int32)
    with dl.simt_exec_region() as (thread_idx, block_size):
        if thread_idx < M:
            acc = 0
            for j in range(N):
                acc += x[thread_idx, j]
            sums[thread_idx] = acc
    tl.store(out_ptr + tl.arange(0, M), sums)


def test_execution_regions(everywhere):

    def main(team):
        x = np.random.default_rng(team.rank).integers(0, 100, 300).astype(np.int32)
        out = np.zeros_like(x)
        region_over_tile[(triton.cdiv(300, 256),)](x, out, 300, 256)
        for begin in (0, 256):
            part = x[begin : begin + 256] * 2 + np.arange(len(x[begin : begin + 256]))
            padding = np.arange(len(part), 256).sum()
            np.testing.assert_array_equal(out[begin : begin + 256], part + part.sum() + padding)
        matrix, sums = x[:256].reshape(16, 16), np.zeros(16, np.int32)
        region_over_matrix[(1,)](matrix, sums, 16, 16)
        np.testing.assert_array_equal(sums, matrix.sum(axis=1))

    everywhere(main, ranks=(1, 2))


@triton_dist.jit
def lock_and_add(lock_ptr, value_ptr):
    """A spin lock held by one thread of a program at a time."""
    if tid(0) == 0:
        while atomic_cas(lock_ptr, 0, 1, scope="gpu", semantic="acquire") != 0:
            pass
        st(value_ptr, ld(value_ptr, scope="gpu", semantic="relaxed") + 1, scope="gpu", semantic="relaxed")
        st(lock_ptr, 0, scope="gpu", semantic="release")
    __syncthreads()


def test_spin_lock(everywhere):

    def main(team):
        lock, value = np.zeros(1, np.int32), np.zeros(1, np.int32)
        lock_and_add[(40,)](lock, value)
        assert (lock[0], value[0]) == (0, 40)

    everywhere(main, ranks=(1, 2))
