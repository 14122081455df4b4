"""AllGather in the ways of Triton-distributed's library: pull, push, by warps, by threads, packed with flags, through
multicast, collectives."""

import numpy as np
import pytest
import triton
import triton_dist
import triton.language as tl
import triton_dist.language as dl
from triton_dist.language.extra import libshmem_device
from triton_dist.language.extra.language_extra import (
    __syncthreads,
    ld,
    load_v2_b64,
    load_v4_u32,
    multimem_st_b32,
    multimem_st_b64,
    multimem_st_v2,
    multimem_st_v4,
    ntid,
    st_v2_u32,
    st_v4_b32,
    st_v4_u32,
    tid,
)
from triton_dist.language.extra.cuda.language_extra import load_v4_b32

COUNT = 512


def shard_of(rank, call=0):
    return np.random.default_rng([rank, call]).integers(-(2**31), 2**31, COUNT).astype(np.int32)


def gathered(size, call=0):
    return np.stack([shard_of(r, call) for r in range(size)])


@triton_dist.jit
def pull_tiles(shard_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    rank = dl.rank()
    world_size = dl.num_ranks()
    pid = tl.program_id(0)
    npid = tl.num_programs(0)
    for i in range(world_size):
        peer = (rank + i) % world_size
        peer_ptr = dl.symm_at(shard_ptr, peer)
        peer_ptr = tl.multiple_of(peer_ptr, 16)
        for block in range(pid, tl.cdiv(n, BLOCK_SIZE), npid):
            offs = block * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
            tl.store(out_ptr + peer * n + offs, tl.load(peer_ptr + offs, mask=offs < n), mask=offs < n)


@triton_dist.jit
def pull_vectors(shard_ptr, out_ptr, n):
    """Each thread moves 16 bytes at a time."""
    world_size = dl.num_ranks()
    vec_size: tl.constexpr = 128 // tl.constexpr(shard_ptr.dtype.element_ty.primitive_bitwidth)
    thread_idx = tid(0) + tl.program_id(0) * ntid(0)
    num_threads = ntid(0) * tl.num_programs(0)
    for peer in range(world_size):
        peer_ptr = dl.symm_at(shard_ptr, peer)
        for i in range(thread_idx, n // vec_size, num_threads):
            vec = dl.ld_vector(peer_ptr + i * vec_size, vec_size=vec_size)
            dl.st_vector(out_ptr + peer * n + i * vec_size, vec)


@triton_dist.jit
def push_words(shard_ptr, out_ptr, n):
    """load_v4 / st_v4 with a stride of the block's threads."""
    rank = dl.rank()
    world_size = dl.num_ranks()
    thread_idx = tid(0)
    block_size = ntid(0)
    for peer in range(world_size):
        peer_ptr = dl.symm_at(out_ptr, peer) + rank * n
        for i in range(thread_idx, n // 4, block_size):
            if peer % 2 == 0:
                a, b, c, d = load_v4_u32(shard_ptr + i * 4)
                st_v4_u32(peer_ptr + i * 4, a, b, c, d)
            else:
                x0, x1, x2, x3 = load_v4_b32(shard_ptr + i * 4)
                st_v4_b32(peer_ptr + i * 4, x0, x1, x2, x3)
    __syncthreads()
    libshmem_device.barrier_all_block()


@triton_dist.jit
def push_by_warps(shard_ptr, out_ptr, signal_ptr, n, bytes_per_element, NUM_CHUNKS: tl.constexpr, SIGNAL: tl.constexpr):
    """Warp w sends chunks w, w + num_warps, ... to every peer."""
    rank = dl.rank()
    world_size = dl.num_ranks()
    thread_idx = tid(0)
    warp_id = thread_idx // 32
    num_warps_here = ntid(0) // 32
    chunk = n // NUM_CHUNKS
    for i in range(warp_id, world_size * NUM_CHUNKS, num_warps_here):
        peer = i // NUM_CHUNKS
        c = i % NUM_CHUNKS
        dest = out_ptr + rank * n + c * chunk
        source = shard_ptr + c * chunk
        if SIGNAL:
            libshmem_device.putmem_signal_nbi_warp(
                dest, source, chunk * bytes_per_element, signal_ptr + rank * NUM_CHUNKS + c, 1, libshmem_device.NVSHMEM_SIGNAL_SET, peer
            )
        else:
            libshmem_device.putmem_nbi_warp(dest, source, chunk * bytes_per_element, peer)
    if SIGNAL:
        if thread_idx < world_size * NUM_CHUNKS:
            libshmem_device.signal_wait_until(signal_ptr + thread_idx, libshmem_device.NVSHMEM_CMP_EQ, 1)
        __syncthreads()
    else:
        libshmem_device.quiet()
        libshmem_device.barrier_all_block()


def run_push(everywhere, kernel, *args, signals=0):

    def main(team):
        shard, out = team.from_array(shard_of(team.rank)), team.empty((team.size, COUNT), "int32", name="out")
        extra = [team.zeros((team.size, signals), "uint64", name="signal")] if signals else []
        team.barrier()
        kernel[(1,)](shard, out, *extra, COUNT, *args)
        np.testing.assert_array_equal(np.asarray(out), gathered(team.size))
        team.barrier()
        for e in extra:
            e[...] = 0

    everywhere(main)


def run_pull(everywhere, kernel, grid, *args):

    def main(team):
        shard, out = team.from_array(shard_of(team.rank)), np.zeros((team.size, COUNT), np.int32)
        team.barrier()
        kernel[grid](shard, out, COUNT, *args)
        np.testing.assert_array_equal(out, gathered(team.size))
        team.barrier()

    everywhere(main)


def test_pull_tiles(everywhere):
    run_pull(everywhere, pull_tiles, (3,), 128)


def test_pull_vectors(everywhere):
    run_pull(everywhere, pull_vectors, (2,))


def test_push_words(everywhere):
    run_push(everywhere, push_words)


@pytest.mark.parametrize("warps", [1, 4, 8])
def test_push_by_warps_with_signals(everywhere, warps):

    def main(team):
        chunks = 4
        shard, out = team.from_array(shard_of(team.rank)), team.empty((team.size, COUNT), "int32", name="out")
        signal = team.zeros((team.size, chunks), "uint64", name="signal")
        team.barrier()
        push_by_warps[(1,)](shard, out, signal, COUNT, 4, chunks, True, num_warps=warps)
        np.testing.assert_array_equal(np.asarray(out), gathered(team.size))
        team.barrier()
        signal[...] = 0

    everywhere(main)


def test_push_by_warps_and_barrier(everywhere):

    def main(team):
        shard, out = team.from_array(shard_of(team.rank)), team.empty((team.size, COUNT), "int32", name="out")
        team.barrier()
        push_by_warps[(1,)](shard, out, None, COUNT, 4, 2, False)
        np.testing.assert_array_equal(np.asarray(out), gathered(team.size))

    everywhere(main)


@triton_dist.jit(do_not_specialize=["ll_flag"])
def _recv_ll_block(dest_ptr, src_ptr, num_ints, ll_flag):
    """Takes (data, flag) pairs until the flags are of this call."""
    thread_idx = tid(0)
    block_size = ntid(0)
    for n in range(thread_idx, num_ints // 2, block_size):
        data1, flag1, data2, flag2 = load_v4_u32(src_ptr + n * 4)
        while flag1 != ll_flag or flag2 != ll_flag:
            data1, flag1, data2, flag2 = load_v4_u32(src_ptr + n * 4)
        st_v2_u32(dest_ptr + n * 2, data1, data2)


@triton_dist.jit(do_not_specialize=["ll_flag"])
def _pack_ll_block(dest_ptr, src_ptr, num_ints, ll_flag, BLOCK_SIZE: tl.constexpr):
    iters = tl.cdiv(num_ints, BLOCK_SIZE)
    for n in range(iters):
        src_offsets = n * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        src_mask = src_offsets < num_ints
        src = tl.load(src_ptr + src_offsets, mask=src_mask)
        dest_offsets = n * BLOCK_SIZE * 2 + tl.arange(0, BLOCK_SIZE * 2)
        dest_mask = dest_offsets < num_ints * 2
        dest = tl.interleave(src, tl.full((BLOCK_SIZE,), ll_flag, tl.int32))
        tl.store(dest_ptr + dest_offsets, dest, mask=dest_mask)


@triton_dist.jit(do_not_specialize=["ll_flag"])
def low_latency_gather(shard_ptr, pack_ptr, inbox_ptr, out_ptr, n, ll_flag, BLOCK_SIZE: tl.constexpr):
    """Program r sends its packed shard to rank r, and unpacks rank r's."""
    rank = dl.rank()
    peer = tl.program_id(0)
    pack = pack_ptr + peer * n * 2
    _pack_ll_block(pack, shard_ptr, n, ll_flag, BLOCK_SIZE)
    __syncthreads()
    libshmem_device.putmem_block(inbox_ptr + rank * n * 2, pack, n * 8, peer)
    _recv_ll_block(out_ptr + peer * n, inbox_ptr + peer * n * 2, n, ll_flag)


def test_low_latency_protocol(everywhere):

    def main(team):
        pack = team.empty((team.size, COUNT * 2), "int32", name="pack")
        inbox = team.zeros((2, team.size, COUNT * 2), "int32", name="inbox")
        shard = team.empty(COUNT, "int32", name="shard")
        for call in range(1, 5):
            shard[...] = shard_of(team.rank, call)
            out = np.zeros((team.size, COUNT), np.int32)
            low_latency_gather[(team.size,)](shard, pack, inbox[call % 2], out, COUNT, call, 128)
            np.testing.assert_array_equal(out, gathered(team.size, call))
            if call % 2 == 0:
                team.barrier()

    everywhere(main)


@triton_dist.jit
def multicast_push(shard_ptr, out_ptr, n, KIND: tl.constexpr):
    """Each rank stores its shard once, to everyone's copy."""
    rank = dl.rank()
    mc_ptr = libshmem_device.remote_mc_ptr(libshmem_device.NVSHMEMX_TEAM_NODE, out_ptr) + rank * n
    thread_idx = tid(0)
    block_size = ntid(0)
    if KIND == "b32":
        for i in range(thread_idx, n, block_size):
            multimem_st_b32(mc_ptr + i, ld(shard_ptr + i))
    elif KIND == "b64":
        for i in range(thread_idx, n // 4, block_size):
            val0, val1 = load_v2_b64(shard_ptr.to(tl.pointer_type(tl.int64)) + i * 2)
            multimem_st_b64(mc_ptr.to(tl.pointer_type(tl.int64)) + i * 2, val0)
            multimem_st_b64(mc_ptr.to(tl.pointer_type(tl.int64)) + i * 2 + 1, val1)
    elif KIND == "v2":
        mc_float = mc_ptr.to(tl.pointer_type(tl.float32))
        for i in range(thread_idx, n // 2, block_size):
            a = ld(shard_ptr + i * 2).to(tl.float32, bitcast=True)
            b = ld(shard_ptr + i * 2 + 1).to(tl.float32, bitcast=True)
            multimem_st_v2(mc_float + i * 2, a, b)
    else:
        mc_float = mc_ptr.to(tl.pointer_type(tl.float32))
        for i in range(thread_idx, n // 4, block_size):
            a, b, c, d = load_v4_u32(shard_ptr + i * 4)
            multimem_st_v4(
                mc_float + i * 4,
                a.to(tl.float32, bitcast=True),
                b.to(tl.float32, bitcast=True),
                c.to(tl.float32, bitcast=True),
                d.to(tl.float32, bitcast=True),
            )
    __syncthreads()
    libshmem_device.barrier_all_block()


@pytest.mark.parametrize("kind", ["b32", "b64", "v2", "v4"])
def test_multicast_stores(everywhere, kind):
    run_push(everywhere, multicast_push, kind)


@triton_dist.jit
def collect(shard_ptr, out_ptr, n, KIND: tl.constexpr):
    if KIND == "block":
        libshmem_device.fcollect_block(libshmem_device.NVSHMEM_TEAM_WORLD, out_ptr, shard_ptr, n)
    elif KIND == "warp":
        if tid(0) // 32 == 0:
            libshmem_device.fcollect_warp(libshmem_device.NVSHMEM_TEAM_WORLD, out_ptr, shard_ptr, n)
    elif KIND == "thread":
        if tid(0) == 0:
            libshmem_device.fcollect(libshmem_device.NVSHMEM_TEAM_WORLD, out_ptr, shard_ptr, n)
    elif KIND == "broadcast":
        for root in range(dl.num_ranks()):
            libshmem_device.broadcast_block(libshmem_device.NVSHMEM_TEAM_WORLD, out_ptr + root * n, shard_ptr, n, root)
    else:
        for root in range(dl.num_ranks()):
            libshmem_device.broadcastmem_block(libshmem_device.NVSHMEM_TEAM_WORLD, out_ptr + root * n, shard_ptr, n * 4, root)


@pytest.mark.parametrize("kind", ["block", "warp", "thread", "broadcast", "broadcastmem"])
def test_collectives(everywhere, kind):
    run_push(everywhere, collect, kind)


@triton_dist.jit
def ring_push_1d(shard_ptr, out_ptr, signal_ptr, n, bytes):
    """Each rank passes on what it received last."""
    rank = libshmem_device.my_pe()
    world_size = libshmem_device.n_pes()
    right = (rank + 1) % world_size
    thread_idx = tid(0)
    offs = tl.arange(0, 512)
    tl.store(out_ptr + rank * n + offs, tl.load(shard_ptr + offs, mask=offs < n), mask=offs < n)
    __syncthreads()
    for stage in range(world_size - 1):
        segment = (rank - stage + world_size) % world_size
        if stage > 0:
            if thread_idx == 0:
                libshmem_device.signal_wait_until(signal_ptr + segment, libshmem_device.NVSHMEM_CMP_GE, 1)
            __syncthreads()
        libshmem_device.putmem_signal_block(
            out_ptr + segment * n, out_ptr + segment * n, bytes, signal_ptr + segment, 1, libshmem_device.NVSHMEM_SIGNAL_ADD, right
        )
    last = (rank + 1) % world_size
    if world_size > 1:
        if thread_idx == 0:
            libshmem_device.signal_wait_until(signal_ptr + last, libshmem_device.NVSHMEM_CMP_GE, 1)


def test_ring(everywhere):
    run_push(everywhere, ring_push_1d, COUNT * 4, signals=1)


@triton_dist.jit
def gather_from_addresses(ptrs, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    """The peers' addresses come from a tensor of integers."""
    for r in range(dl.num_ranks()):
        src = tl.load(ptrs + r).to(tl.pointer_type(tl.int32))
        src = tl.multiple_of(src, 16)
        offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        tl.store(out_ptr + r * n + offs, tl.load(src + offs, mask=offs < n), mask=offs < n)


def test_peers_from_a_tensor_of_addresses(everywhere):

    def main(team):
        shard, out = team.from_array(shard_of(team.rank)), np.zeros((team.size, COUNT), np.int32)
        ptrs = np.array([shard.peer(r).data_ptr() for r in range(team.size)], np.int64)
        team.barrier()
        gather_from_addresses[(triton.cdiv(COUNT, 100),)](ptrs, out, COUNT, 128)
        np.testing.assert_array_equal(out, gathered(team.size))
        team.barrier()

    everywhere(main)
