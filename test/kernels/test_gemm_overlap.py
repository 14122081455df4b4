"""AllGather + GEMM and GEMM + ReduceScatter in persistent kernels, with copy engines, tiles that start at the own
rank, and notify."""

import numpy as np
import pytest
import triton
import triton_dist
import triton.language as tl
import triton_dist.language as dl
from triton_dist.language.extra import libshmem_device
from triton_dist.language.extra.language_extra import __syncthreads, tid

M_PER_RANK, N, K = 32, 48, 64


def a_of(rank):
    return np.random.default_rng([1, rank]).integers(-3, 4, (M_PER_RANK, K)).astype(np.float16)


def b_of(rank):
    return np.random.default_rng([2, rank]).integers(-3, 4, (K, N)).astype(np.float16)


@triton.jit
def swizzle_2d(tile_id, num_pid_m, num_pid_n, GROUP_SIZE_M: tl.constexpr):
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    group_id = tile_id // num_pid_in_group
    first_pid_m = group_id * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + ((tile_id % num_pid_in_group) % group_size_m)
    pid_n = (tile_id % num_pid_in_group) // group_size_m
    return pid_m, pid_n


@triton.jit
def threadblock_swizzle_allgather_gemm_kernel(pid_m, num_pid_m, rank, num_ranks: tl.constexpr):
    """Starts at the rows that are here already."""
    per_rank = num_pid_m // num_ranks
    return (pid_m + rank * per_rank) % num_pid_m


def _metadata(grid, kernel, args):
    return {"name": f"gemm {args['M']}x{args['N']}x{args['K']}"}


@triton_dist.jit(launch_metadata=_metadata)
def kernel_consumer_gemm_persistent(
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
    ready_ptr,
    rank,
    num_ranks: tl.constexpr,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
    NUM_SMS: tl.constexpr,
):
    start_pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    k_tiles = tl.cdiv(K, BLOCK_SIZE_K)
    num_tiles = num_pid_m * num_pid_n
    tiles_per_SM = num_tiles // NUM_SMS
    if start_pid < num_tiles % NUM_SMS:
        tiles_per_SM += 1
    tile_id = start_pid - NUM_SMS
    ki = -1
    M_per_rank = M // num_ranks
    pid_m = 0
    pid_n = 0
    offs_am = tl.arange(0, BLOCK_SIZE_M)
    offs_bn = tl.arange(0, BLOCK_SIZE_N)
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for _ in range(0, k_tiles * tiles_per_SM):
        ki = tl.where(ki == k_tiles - 1, 0, ki + 1)
        if ki == 0:
            tile_id += NUM_SMS
            pid_m, pid_n = swizzle_2d(tile_id, num_pid_m, num_pid_n, GROUP_SIZE_M)
            pid_m = threadblock_swizzle_allgather_gemm_kernel(pid_m, num_pid_m, rank, num_ranks)
            offs_am = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
            offs_bn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
            offs_am = tl.where(offs_am < M, offs_am, 0)
            offs_bn = tl.where(offs_bn < N, offs_bn, 0)
            offs_am = tl.max_contiguous(tl.multiple_of(offs_am, BLOCK_SIZE_M), BLOCK_SIZE_M)
            offs_bn = tl.max_contiguous(tl.multiple_of(offs_bn, BLOCK_SIZE_N), BLOCK_SIZE_N)
            rank_beg = pid_m * BLOCK_SIZE_M // M_per_rank
            rank_end = (min((pid_m + 1) * BLOCK_SIZE_M, M) - 1) // M_per_rank
            token = dl.wait(ready_ptr + rank_beg, rank_end - rank_beg + 1, "gpu", "acquire", waitValue=1)
            a_ptr = dl.consume_token(a_ptr, token)
        offs_k = ki * BLOCK_SIZE_K + tl.arange(0, BLOCK_SIZE_K)
        a = tl.load(a_ptr + offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak, mask=offs_k[None, :] < K, other=0.0)
        b = tl.load(b_ptr + offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn, mask=offs_k[:, None] < K, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        if ki == k_tiles - 1:
            offs_cm = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
            offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
            c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
            c_mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
            tl.store(c_ptrs, accumulator.to(c_ptr.dtype.element_ty), mask=c_mask)
            accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)


@pytest.mark.parametrize("block_m", [16, 64])
def test_copy_engine_allgather_gemm(everywhere, block_m):
    """One stream pulls the shards and writes a signal for each; the kernel on the other waits for the rows of each
    tile."""

    def main(team):
        rank, size = team.rank, team.size
        m = M_PER_RANK * size
        workspace = team.empty((m, K), "float16", name="workspace")
        ready = team.zeros(size, "int32", name="ready")
        b = b_of(rank)
        c = team.local_empty((m, N), "float16", name="c")
        block = lambda t, r: t[r * M_PER_RANK : (r + 1) * M_PER_RANK]
        block(workspace, rank)[...] = a_of(rank)
        ready[rank : rank + 1] = 1
        team.barrier()
        copies, compute = team.new_stream(), team.new_stream()
        begin = team.stream.record_event()
        copies.wait_event(begin)
        compute.wait_event(begin)
        for k in range(1, size):
            peer = (rank + k) % size
            copies.copy(block(workspace, peer), block(workspace.peer(peer), peer))
            copies.signal_write(ready[peer : peer + 1], 1)
        b = team.local_from_array(b)
        kernel_consumer_gemm_persistent[(4,)](
            workspace, b, c, m, N, K, K, 1, N, 1, N, 1, ready, rank, size, block_m, 16, 32, 4, 4, stream=compute, num_stages=3, num_warps=4
        )
        team.stream.wait_event(copies.record_event())
        team.stream.wait_event(compute.record_event())
        full = np.concatenate([a_of(r) for r in range(size)]).astype(np.float32)
        np.testing.assert_array_equal(np.asarray(c), (full @ b_of(rank).astype(np.float32)).astype(np.float16))
        team.barrier()
        ready[...] = 0

    everywhere(main)


@triton_dist.jit
def kernel_gemm_rs_producer(
    a_ptr,
    b_ptr,
    scatter_ptr,
    counter_ptr,
    signal_ptr,
    M,
    N,
    K,
    rank,
    num_ranks: tl.constexpr,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    USE_NOTIFY: tl.constexpr,
):
    """One tile a program, stored at its owner; the last tile of a segment tells the owner."""
    pid = tl.program_id(0)
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    pid_m = pid // num_pid_n
    pid_n = pid % num_pid_n
    m_per_rank = M // num_ranks
    pid_m = (pid_m + (rank + 1) * (m_per_rank // BLOCK_SIZE_M)) % num_pid_m
    offs_m = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_n = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    acc = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        offs_k = k * BLOCK_SIZE_K + tl.arange(0, BLOCK_SIZE_K)
        a = tl.load(a_ptr + offs_m[:, None] * K + offs_k[None, :])
        b = tl.load(b_ptr + offs_k[:, None] * N + offs_n[None, :], mask=offs_n[None, :] < N, other=0.0)
        acc += tl.dot(a, b)
    owner = pid_m * BLOCK_SIZE_M // m_per_rank
    remote = dl.symm_at(scatter_ptr, owner) + rank * m_per_rank * N
    local_m = offs_m - owner * m_per_rank
    tl.store(remote + local_m[:, None] * N + offs_n[None, :], acc, mask=offs_n[None, :] < N)
    __syncthreads()
    tiles = m_per_rank // BLOCK_SIZE_M * num_pid_n
    if USE_NOTIFY:
        done = tl.atomic_add(counter_ptr + owner, 1, sem="acq_rel", scope="gpu")
        if done == tiles - 1:
            dl.notify(signal_ptr + rank, owner, signal=1, sig_op="set", comm_scope="intra_node")
    else:
        tl.atomic_add(dl.symm_at(signal_ptr, owner) + rank, 1, sem="release", scope="sys")


@triton_dist.jit
def kernel_ring_reduce(scatter_ptr, out_ptr, signal_ptr, m_per_rank, N, rank, num_ranks: tl.constexpr, expected, BLOCK: tl.constexpr):
    for block in range(tl.program_id(0), tl.cdiv(m_per_rank * N, BLOCK), tl.num_programs(0)):
        offs = block * BLOCK + tl.arange(0, BLOCK)
        mask = offs < m_per_rank * N
        acc = tl.zeros((BLOCK,), dtype=tl.float32)
        for i in tl.static_range(num_ranks):
            peer = (rank + i + 1) % num_ranks
            token = dl.wait(signal_ptr + peer, 1, "sys", "acquire", waitValue=expected)
            part = dl.consume_token(scatter_ptr + peer * m_per_rank * N, token)
            acc += tl.load(part + offs, mask=mask, other=0.0)
        tl.store(out_ptr + offs, acc, mask=mask)


@pytest.mark.parametrize("use_notify", [True, False])
def test_gemm_reduce_scatter(everywhere, use_notify):

    def main(team):
        rank, size = team.rank, team.size
        m, block_m, block_n = M_PER_RANK * size, 16, 16
        a = lambda r: np.random.default_rng([3, r]).integers(-3, 4, (m, K)).astype(np.float16)
        scatter = team.empty((size, M_PER_RANK, N), "float32", name="scatter")
        signal = team.zeros(size, "int64", name="signal")
        counter, out = team.zeros(size, "int32", name="counter"), team.local_empty((M_PER_RANK, N), "float32", name="out")
        team.barrier()
        tiles = M_PER_RANK // block_m * (N // block_n)
        reduce_stream = team.new_stream()
        kernel_gemm_rs_producer[(tiles * size,)](
            team.local_from_array(a(rank)),
            team.local_from_array(b_of(rank)),
            scatter,
            counter,
            signal,
            m,
            N,
            K,
            rank,
            size,
            block_m,
            block_n,
            32,
            use_notify,
        )
        kernel_ring_reduce[(2,)](scatter, out, signal, M_PER_RANK, N, rank, size, 1 if use_notify else tiles, 256, stream=reduce_stream)
        reduce_stream.synchronize()
        wanted = sum(a(r).astype(np.float32) @ b_of(r).astype(np.float32) for r in range(size))
        np.testing.assert_array_equal(np.asarray(out), wanted[rank * M_PER_RANK : (rank + 1) * M_PER_RANK])
        team.barrier()
        signal[...] = 0

    everywhere(main)


def test_a_stream_waits_for_a_signal_of_a_kernel(everywhere):

    @triton.jit
    def produce(data_ptr, signal_ptr, value, BLOCK: tl.constexpr):
        offs = tl.arange(0, BLOCK)
        tl.store(data_ptr + offs, offs + value)
        __syncthreads()
        if tid(0) == 0:
            libshmem_device.signal_op(signal_ptr, value, libshmem_device.NVSHMEM_SIGNAL_SET, dl.rank())

    def main(team):
        data, copy = team.empty(64, "int32", name="data"), team.zeros(64, "int32", name="copy")
        signal = team.zeros(1, "int64", name="signal")
        copies = team.new_stream()
        copies.signal_wait(signal, 9, compare="ge")
        copies.copy(copy, data)
        produce[(1,)](data, signal, 9, 64)
        copies.signal_write(signal, 0)
        copies.synchronize()
        np.testing.assert_array_equal(np.asarray(copy), np.arange(64) + 9)

    everywhere(main)
