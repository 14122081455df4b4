"""AllReduce and ReduceScatter: one shot, two shots, a double tree, a ring, and through multicast."""

import numpy as np
import pytest
import triton
import triton_dist
import triton.language as tl
import triton_dist.language as dl
from triton_dist.language.extra import libshmem_device
from triton_dist.language.extra.language_extra import (
    __syncthreads,
    atomic_add,
    ld,
    multimem_ld_reduce_v4,
    multimem_st_v4,
    ntid,
    num_threads,
    st,
    tid,
)

COUNT = 256


def part_of(rank, dtype="float32", count=COUNT):
    return np.random.default_rng(rank).integers(-8, 9, count).astype(dtype)


def total(size):
    return sum(part_of(r) for r in range(size))


@triton_dist.jit
def barrier_all_block(flag_ptr, value):
    thread_idx = tid(0)
    __syncthreads()
    if thread_idx < dl.num_ranks():
        st(dl.symm_at(flag_ptr, thread_idx) + dl.rank(), value, scope="sys", semantic="release")
        while ld(flag_ptr + thread_idx, scope="sys", semantic="acquire") < value:
            pass
    __syncthreads()


@triton_dist.jit
def one_shot(x_ptr, out_ptr, flag_ptr, n, BLOCK: tl.constexpr):
    """Every program of every rank adds its block of all ranks."""
    rank = dl.rank()
    world_size = dl.num_ranks()
    pid = tl.program_id(0)
    barrier_all_block(flag_ptr + pid * world_size, 1)
    for block in range(pid, tl.cdiv(n, BLOCK), tl.num_programs(0)):
        offs = block * BLOCK + tl.arange(0, BLOCK)
        mask = offs < n
        acc = tl.zeros((BLOCK,), dtype=tl.float32)
        for i in range(world_size):
            peer = (rank + i) % world_size
            acc += tl.load(dl.symm_at(x_ptr, peer) + offs, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_ptr + offs, acc.to(out_ptr.dtype.element_ty), mask=mask)
    barrier_all_block(flag_ptr + pid * world_size, 2)


@triton_dist.jit
def two_shot(x_ptr, out_ptr, flag_ptr, n, BLOCK: tl.constexpr):
    """Each rank adds its part of all ranks in place, then all gather the parts."""
    rank = dl.rank()
    world_size = dl.num_ranks()
    per_rank = n // world_size
    barrier_all_block(flag_ptr, 1)
    mine = rank * per_rank
    for start in range(0, per_rank, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < per_rank
        acc = tl.load(x_ptr + mine + offs, mask=mask, other=0).to(tl.float32)
        for i in range(1, world_size):
            peer = (rank + i) % world_size
            acc += tl.load(dl.symm_at(x_ptr + mine, peer) + offs, mask=mask, other=0)
        tl.store(x_ptr + mine + offs, acc.to(x_ptr.dtype.element_ty), mask=mask)
    barrier_all_block(flag_ptr, 2)
    for i in range(world_size):
        peer = (rank + i) % world_size
        for start in range(0, per_rank, BLOCK):
            offs = start + tl.arange(0, BLOCK)
            mask = offs < per_rank
            data = tl.load(dl.symm_at(x_ptr + peer * per_rank, peer) + offs, mask=mask)
            tl.store(out_ptr + peer * per_rank + offs, data, mask=mask)
    barrier_all_block(flag_ptr, 3)


@triton_dist.jit
def one_shot_multimem(x_ptr, out_ptr, flag_ptr, n, BLOCK: tl.constexpr):
    """The switch adds: every thread reads the sum of 16 bytes of all ranks."""
    barrier_all_block(flag_ptr, 1)
    VEC: tl.constexpr = 128 // x_ptr.dtype.element_ty.primitive_bitwidth
    mc_ptr = libshmem_device.remote_mc_ptr(libshmem_device.NVSHMEM_TEAM_WORLD, x_ptr)
    thread_idx = tid(0)
    for i in range(thread_idx, n // VEC, ntid(0)):
        v0, v1, v2, v3 = multimem_ld_reduce_v4(mc_ptr + i * VEC)
        out = (out_ptr + i * VEC).to(tl.pointer_type(v0.dtype))
        st(out, v0)
        st(out + 1, v1)
        st(out + 2, v2)
        st(out + 3, v3)
    barrier_all_block(flag_ptr, 2)


@triton_dist.jit
def two_shot_multimem(x_ptr, out_ptr, flag_ptr, n, BLOCK: tl.constexpr):
    """Each rank reads the sums of its part and stores them to everyone."""
    rank = dl.rank()
    world_size = dl.num_ranks()
    barrier_all_block(flag_ptr, 1)
    VEC: tl.constexpr = 128 // tl.constexpr(x_ptr.dtype.element_ty.primitive_bitwidth)
    per_rank = n // world_size
    mc_x = libshmem_device.remote_mc_ptr(libshmem_device.NVSHMEM_TEAM_WORLD, x_ptr) + rank * per_rank
    mc_out = libshmem_device.remote_mc_ptr(libshmem_device.NVSHMEM_TEAM_WORLD, out_ptr) + rank * per_rank
    for i in range(tid(0), per_rank // VEC, num_threads()):
        v0, v1, v2, v3 = multimem_ld_reduce_v4(mc_x + i * VEC)
        multimem_st_v4(mc_out + i * VEC, v0, v1, v2, v3)
    barrier_all_block(flag_ptr, 2)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("kernel", [one_shot, two_shot, one_shot_multimem, two_shot_multimem])
def test_allreduce(everywhere, kernel, dtype):
    programs = 3 if kernel is one_shot else 1

    def main(team):
        x = team.zeros(COUNT, dtype, name="x")
        x[...] = part_of(team.rank).astype(x.dtype)
        out = team.zeros(COUNT, dtype, name="out")
        flags = team.zeros((programs, team.size), "int32", name="flags")
        team.barrier()
        kernel[(programs,)](x, out, flags, COUNT, 64)
        np.testing.assert_array_equal(np.asarray(out).astype(np.float32), total(team.size))
        team.barrier()

    everywhere(main)


@triton.jit
def _node(tree_id, rank, world_size):
    """Position of a rank in tree 0, or in tree 1, which is tree 0 mirrored."""
    return tl.where(tree_id == 0, rank, world_size - 1 - rank)


@triton_dist.jit
def double_tree(x_ptr, scratch_ptr, out_ptr, signal_ptr, n, BLOCK: tl.constexpr):
    """Program t reduces half t of the data up a heap-shaped tree and sends the sum down. Tree 1 is tree 0 mirrored."""
    tree_id = tl.program_id(0)
    rank = dl.rank()
    world_size = dl.num_ranks()
    thread_idx = tid(0)
    node = _node(tree_id, rank, world_size)
    half = n // 2
    offs = tree_id * half + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < half
    signal_ptr += tree_id * 3
    acc = tl.load(x_ptr + offs, mask=mask, other=0.0)
    for c in tl.static_range(2):
        child = 2 * node + 1 + c
        if child < world_size:
            if thread_idx == 0:
                libshmem_device.signal_wait_until(signal_ptr + c, libshmem_device.NVSHMEM_CMP_EQ, 1)
            __syncthreads()
            acc += tl.load(scratch_ptr + c * n + offs, mask=mask, other=0.0)
    parent = (node - 1) // 2
    if node > 0:
        peer = _node(tree_id, parent, world_size)
        which = (node - 1) % 2
        tl.store(dl.symm_at(scratch_ptr, peer) + which * n + offs, acc, mask=mask)
        __syncthreads()
        dl.notify(signal_ptr + which, peer, signal=1, sig_op="set", comm_scope="intra_node")
        token = dl.wait(signal_ptr + 2, 1, "sys", "acquire", waitValue=1)
        out_ptr = dl.consume_token(out_ptr, token)
        acc = tl.load(out_ptr + offs, mask=mask)
    else:
        tl.store(out_ptr + offs, acc, mask=mask)
    for c in tl.static_range(2):
        child = 2 * node + 1 + c
        if child < world_size:
            peer = _node(tree_id, child, world_size)
            tl.store(dl.symm_at(out_ptr, peer) + offs, acc, mask=mask)
            __syncthreads()
            dl.notify(signal_ptr + 2, peer, signal=1, sig_op="add", comm_scope="intra_node")


def test_double_tree(everywhere):

    def main(team):
        x, out = team.from_array(part_of(team.rank)), team.empty(COUNT, "float32", name="out")
        scratch, signal = team.empty((2, COUNT), "float32", name="scratch"), team.zeros((2, 3), "int64", name="signal")
        team.barrier()
        double_tree[(2,)](x, scratch, out, signal, COUNT, 128)
        np.testing.assert_array_equal(np.asarray(out), total(team.size))
        team.barrier()
        signal[...] = 0

    everywhere(main)


@triton_dist.jit
def ring_reduce_scatter(x_ptr, inbox_ptr, signal_ptr, out_ptr, m_per_rank, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Each rank adds its part of a segment to what came from the left and puts it to the right; it ends with its own
    segment."""
    rank = dl.rank()
    world_size = dl.num_ranks()
    right = (rank + 1) % world_size
    rows = tl.arange(0, BLOCK_M)
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (rows[:, None] < m_per_rank) & (cols[None, :] < n)
    tile = rows[:, None] * n + cols[None, :]
    num_pid = tl.num_programs(0)
    pid = tl.program_id(0)
    for stage in range(0, world_size):
        segment = (rank - 1 - stage + 2 * world_size) % world_size
        acc = tl.load(x_ptr + segment * m_per_rank * n + tile, mask=mask, other=0.0)
        if stage != 0:
            token = dl.wait(signal_ptr + (stage - 1) * num_pid + pid, 1, "sys", "acquire")
            inbox_ptr = dl.consume_token(inbox_ptr, token)
            acc += tl.load(inbox_ptr + (stage - 1) * m_per_rank * n + tile, mask=mask, other=0.0)
        if stage == world_size - 1:
            tl.store(out_ptr + tile, acc, mask=mask)
        else:
            remote = dl.symm_at(inbox_ptr, right)
            tl.store(remote + stage * m_per_rank * n + tile, acc, mask=mask)
            __syncthreads()
            if tid(0) == 0:
                atomic_add(dl.symm_at(signal_ptr, right) + stage * num_pid + pid, 1, scope="sys", semantic="release")


def test_ring_reduce_scatter(everywhere):
    m, n = 5, 48

    def main(team):
        parts = lambda r: part_of(r, count=team.size * m * n).reshape(team.size, m, n)
        x, inbox = team.from_array(parts(team.rank)), team.empty((team.size, m, n), "float32", name="inbox")
        signal, out = team.zeros((team.size, 3), "int32", name="signal"), np.zeros((m, n), np.float32)
        team.barrier()
        ring_reduce_scatter[lambda meta: (triton.cdiv(n, meta["BLOCK_N"]),)](x, inbox, signal, out, m, n, BLOCK_M=8, BLOCK_N=16)
        np.testing.assert_array_equal(out, sum(parts(r)[team.rank] for r in range(team.size)))
        team.barrier()

    everywhere(main)
