"""Shared-memory buffers and per-thread regions: exchange between threads, every type, subviews, tiles read and written by element."""

import ml_dtypes
import numpy as np
import pytest
import tandem
import triton
import triton.language as tl
import triton_dist.language as dl
from triton_dist.language.extra.language_extra import __syncthreads, ld, st, tid

TYPES = [
    (tl.int8, np.int8),
    (tl.uint8, np.uint8),
    (tl.int16, np.int16),
    (tl.uint16, np.uint16),
    (tl.int32, np.int32),
    (tl.uint32, np.uint32),
    (tl.int64, np.int64),
    (tl.uint64, np.uint64),
    (tl.float16, np.float16),
    (tl.bfloat16, ml_dtypes.bfloat16),
    (tl.float32, np.float32),
    (tl.float64, np.float64),
    (tl.float8e4nv, ml_dtypes.float8_e4m3fn),
    (tl.float8e5, ml_dtypes.float8_e5m2),
]


@triton.jit
def mirror(x, o, T: tl.constexpr, N: tl.constexpr):
    smem = dl.allocate_smem(T, [N])
    t = tid(0)
    dl.smem_store(smem, ld(x + t), [t])
    __syncthreads()
    st(o + t, dl.smem_load(smem, [N - 1 - t]))
    dl.smem_dealloc(smem)


@pytest.mark.parametrize("num_warps", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("ttype, dtype", TYPES)
def test_exchange_between_threads(ttype, dtype, num_warps):
    n = 32 * num_warps
    x, o = (np.arange(n) % 100).astype(dtype), np.zeros(n, dtype)
    mirror[(1,)](x, o, ttype, n, num_warps=num_warps)
    np.testing.assert_array_equal(o.astype(np.float64), x[::-1].astype(np.float64))


@triton.jit
def transposed_through_rows(x, o, N: tl.constexpr):
    smem = dl.allocate_smem(tl.float32, [N, N])
    t = tid(0)
    for i in range(N):
        dl.smem_store(dl.smem_index(smem, i), ld(x + i * N + t), [t])
    __syncthreads()
    for i in range(N):
        st(o + i * N + t, dl.smem_load(smem, [t, i]))


def test_subviews():
    x, o = np.random.default_rng(0).standard_normal((32, 32)).astype(np.float32), np.zeros((32, 32), np.float32)
    transposed_through_rows[(1,)](x, o, 32, num_warps=1)
    np.testing.assert_array_equal(o, x.T)


@triton.jit
def through_pointers(x, o, addresses):
    smem = dl.allocate_smem(tl.int32, [4, 32])
    t = tid(0)
    st(dl.smem_get_ptr(smem, [t // 32, t % 32]), ld(x + t))
    __syncthreads()
    st(o + t, ld(dl.smem_get_ptr(smem) + 127 - t))
    st(addresses + t, dl.get_smem_shared_address_u32(smem, [t // 32, t % 32]))


def test_pointers_and_addresses():
    x, o, addresses = np.arange(128, dtype=np.int32), np.zeros(128, np.int32), np.zeros(128, np.uint32)
    through_pointers[(1,)](x, o, addresses, num_warps=4)
    np.testing.assert_array_equal(o, x[::-1])
    np.testing.assert_array_equal(addresses - addresses[0], 4 * np.arange(128))


@triton.jit
def tree_sum(x, o, N: tl.constexpr):
    smem = dl.allocate_smem(tl.float32, [N])
    t = tid(0)
    dl.smem_store(smem, ld(x + tl.program_id(0) * N + t), [t])
    __syncthreads()
    stride = N // 2
    while stride > 0:
        if t < stride:
            dl.smem_store(smem, dl.smem_load(smem, [t]) + dl.smem_load(smem, [t + stride]), [t])
        __syncthreads()
        stride //= 2
    if t == 0:
        st(o + tl.program_id(0), dl.smem_load(smem, [0]))


def test_sum_by_a_tree():
    x, o = np.random.default_rng(0).integers(0, 9, (5, 128)).astype(np.float32), np.zeros(5, np.float32)
    for slots in (1, 2):
        tandem.launch(lambda team: tree_sum[(5,)](x, o, 128, num_warps=4), slots_per_rank=slots)
        np.testing.assert_array_equal(o, x.sum(axis=1))


@triton.jit
def region_vector(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    w = tl.zeros((N,), tl.float32)
    with dl.simt_exec_region() as (thread_idx, threads):
        for k in range(thread_idx, N, threads):
            w[k] = v[N - 1 - k] * 2
    tl.store(o + i, w + v)


@triton.jit
def region_matrix(x, o, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + at)
    with dl.simt_exec_region() as (thread_idx, threads):
        for k in range(thread_idx, M, threads):
            total = tl.cast(0, tl.int32)
            for j in range(N):
                total += v[k, j]
                v[k, j] = total
    tl.store(o + at, v)


@pytest.mark.parametrize("num_warps", [1, 4])
@pytest.mark.parametrize("n", [16, 128, 512])
def test_tiles_by_element(n, num_warps):
    x, o = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    region_vector[(1,)](x, o, n, num_warps=num_warps)
    np.testing.assert_array_equal(o, 2 * x[::-1] + x)
    x, o = np.random.default_rng(0).integers(0, 9, (n, 8)).astype(np.int32), np.zeros((n, 8), np.int32)
    region_matrix[(1,)](x, o, n, 8, num_warps=num_warps)
    np.testing.assert_array_equal(o, x.cumsum(axis=1))


@triton.jit
def region_under_condition(x, o, flag, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    for turn in range(3):
        if flag > turn:
            with dl.simt_exec_region() as (thread_idx, threads):
                if thread_idx % 2 == 0:
                    v[thread_idx] = v[thread_idx] + 10
    tl.store(o + i, v)


def test_regions_inside_loops_and_branches():
    x, o = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    for flag in range(4):
        region_under_condition[(1,)](x, o, flag, 32, num_warps=1)
        np.testing.assert_array_equal(o, x + np.where(x % 2 == 0, 10 * flag, 0))


@triton.jit
def misused(o, CASE: tl.constexpr):
    smem = dl.allocate_smem(tl.int32, [4, 32])
    if CASE == 0:
        dl.smem_load(smem, [0])
    elif CASE == 1:
        dl.smem_store(smem, tl.arange(0, 32), [0, 0])
    elif CASE == 2:
        dl.allocate_smem(tl.int32, [0])
    elif CASE == 3:
        dl.smem_index(dl.smem_index(smem, 0), 0)
    else:
        st(o, dl.smem_load(smem, [4 + tid(0), 0]))


@pytest.mark.parametrize("case, text", [(0, "rank 2"), (1, "value"), (2, "shape"), (3, "rank 1")])
def test_refused(case, text):
    with pytest.raises(tandem.CompileError, match=text):
        misused[(1,)](np.zeros(32, np.int32), case)


def test_outside_the_buffer():
    with pytest.raises(tandem.SimulationError, match="index 4 is outside dimension 0 of size 4"):
        misused[(1,)](np.zeros(32, np.int32), 4)
    test_pointers_and_addresses()  # the report belongs to that run only


@triton.jit
def fills_shared_memory(o, BYTES: tl.constexpr):
    dl.allocate_smem(tl.int8, [BYTES // 2])
    dl.allocate_smem(tl.int8, [BYTES // 2])
    st(o, 1)


def test_more_than_a_gpu_has():
    fills_shared_memory[(1,)](np.zeros(1, np.int32), 227 * 1024)
    with pytest.raises(tandem.SimulationError, match="no room for 116736 bytes more: a GPU has 232448"):
        fills_shared_memory[(1,)](np.zeros(1, np.int32), 228 * 1024)


@triton.jit
def takes_turns(x, o, n, N: tl.constexpr):
    """Two buffers change places in every round."""
    a = dl.allocate_smem(tl.int32, [N])
    b = dl.allocate_smem(tl.int32, [N])
    t = tid(0)
    dl.smem_store(a, ld(x + t), [t])
    for i in range(n):
        __syncthreads()
        dl.smem_store(b, dl.smem_load(a, [(t + 1) % N]), [t])
        a, b = b, a
    __syncthreads()
    st(o + t, dl.smem_load(a, [t]))


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_buffers_that_change_places_in_a_loop(n):
    x, o = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    takes_turns[(1,)](x, o, n, 32, num_warps=1)
    np.testing.assert_array_equal(o, np.roll(x, -n))
