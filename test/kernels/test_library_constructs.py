"""Turns of phrase of the library's kernels: null pointers, optional buffers, flags set in branches of threads,
options as parameters."""

import numpy as np
import pytest
import triton
import triton_dist
import triton.language as tl
import triton_dist.language as dl
from triton_dist.language.extra import libshmem_device
from triton_dist.language.extra.cuda import libnvshmem_device
from triton_dist.language.extra.language_extra import (
    __syncthreads,
    atomic_add_per_warp,
    ld,
    load_v2_b64,
    multimem_ld_reduce_v4,
    multimem_st_b64,
    ntid,
    st,
    st_v4_b32,
    threads_per_warp,
    tid,
)

COUNT = 128


def data_of(rank, dtype="float32"):
    return np.random.default_rng(rank).integers(-8, 9, COUNT).astype(dtype)


@triton.jit(do_not_specialize=["rank", "world_size"])
def tree_by_pulls(
    symm_input_ptr,
    symm_signal_ptr,
    output_ptr,
    child0: tl.constexpr,
    child1: tl.constexpr,
    parent: tl.constexpr,
    numel,
    rank,
    world_size,
    CHUNK_SIZE: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    """A parent pulls its children's sums when they say they are ready; a child pulls the total when its parent says
    so."""
    symm_input_ptr = tl.cast(symm_input_ptr, output_ptr.dtype)
    chunk_id = tl.program_id(axis=0)
    thread_idx = tid(axis=0)
    NULLPTR: tl.constexpr = tl.cast(tl.cast(0, tl.int64), symm_input_ptr.dtype, bitcast=True)
    if child0 != -1:
        child0_ptr = libnvshmem_device.remote_ptr(symm_input_ptr, child0)
        child0_ptr = tl.multiple_of(child0_ptr, 16)
    else:
        child0_ptr = NULLPTR
    if child1 != -1:
        child1_ptr = libnvshmem_device.remote_ptr(symm_input_ptr, child1)
    else:
        child1_ptr = NULLPTR
    if parent != -1:
        parent_ptr = libnvshmem_device.remote_ptr(symm_input_ptr, parent)
    else:
        parent_ptr = NULLPTR
    has_child = (child0 != -1) or (child1 != -1)
    has_parent = parent != -1
    SIGNAL_VALUE = chunk_id + 1
    chunk_offset = chunk_id * CHUNK_SIZE
    signals = symm_signal_ptr + chunk_id * world_size
    if child0 != -1:
        if thread_idx == 0:
            libshmem_device.signal_wait_until(signals + child0, libshmem_device.NVSHMEM_CMP_EQ, SIGNAL_VALUE)
        __syncthreads()
    if child1 != -1:
        if thread_idx == 0:
            libshmem_device.signal_wait_until(signals + child1, libshmem_device.NVSHMEM_CMP_EQ, SIGNAL_VALUE)
        __syncthreads()
    if has_child:
        for n in range(CHUNK_SIZE // BLOCK_SIZE):
            offsets = chunk_offset + n * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
            mask = offsets < numel
            x = tl.load(symm_input_ptr + offsets, mask=mask)
            if child0 != -1:
                x += tl.load(child0_ptr + offsets, mask=mask)
            if child1 != -1:
                x += tl.load(child1_ptr + offsets, mask=mask)
            tl.store(symm_input_ptr + offsets, x, mask=mask)
    if has_parent:
        __syncthreads()
        if thread_idx == 0:
            libshmem_device.signal_op(signals + rank, SIGNAL_VALUE, libshmem_device.NVSHMEM_SIGNAL_SET, parent)
            libshmem_device.signal_wait_until(signals + parent, libshmem_device.NVSHMEM_CMP_EQ, SIGNAL_VALUE)
        __syncthreads()
    for n in range(CHUNK_SIZE // BLOCK_SIZE):
        offsets = chunk_offset + n * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        mask = offsets < numel
        if has_parent:
            x = tl.load(parent_ptr + offsets, mask=mask)
            if has_child:
                tl.store(symm_input_ptr + offsets, x, mask=mask)
        else:
            x = tl.load(symm_input_ptr + offsets, mask=mask)
        tl.store(output_ptr + offsets, x, mask=mask)
    for child in tl.static_range(2):
        peer = child0 if child == 0 else child1
        if peer != -1:
            __syncthreads()
            if thread_idx == 0:
                libshmem_device.signal_op(signals + rank, SIGNAL_VALUE, libshmem_device.NVSHMEM_SIGNAL_SET, peer)


def test_tree_by_pulls(everywhere):

    def main(team):
        rank, size = team.rank, team.size
        x, out = team.from_array(data_of(rank)), np.zeros(COUNT, np.float32)
        signal = team.zeros((2, size), "uint64", name="signal")
        child = lambda k: 2 * rank + k if 2 * rank + k < size else -1
        team.barrier()
        tree_by_pulls[(2,)](x, signal, out, child(1), child(2), (rank - 1) // 2 if rank else -1, COUNT, rank, size, 64, 32)
        np.testing.assert_array_equal(out, sum(data_of(r) for r in range(size)))
        team.barrier()
        signal[...] = 0

    everywhere(main)


@triton.jit(do_not_specialize=["rank"])
def two_shot_push(input_ptr, symm_out_ptr, symm_signal_ptr, out_ptr, rank, world_size: tl.constexpr, n_elements, BLOCK_SIZE: tl.constexpr):
    """One program: resets the signals, pushes each part to its owner, adds, pushes the sums to all. `out_ptr` may be
    None."""
    thread_idx = tid(0)
    elem_size = tl.constexpr(input_ptr.dtype.element_ty.primitive_bitwidth) // 8
    elem_per_rank = tl.cdiv(n_elements, world_size)
    symm_out_ptr = tl.cast(symm_out_ptr, input_ptr.dtype)
    symm_recv_ptr = symm_out_ptr + n_elements
    tl.store(symm_signal_ptr + tl.arange(0, world_size * 2), 0)
    libshmem_device.barrier_all_block()
    for i in range(world_size):
        peer = (rank + i + 1) % world_size
        libshmem_device.putmem_signal_nbi_block(
            symm_recv_ptr + rank * elem_per_rank,
            input_ptr + peer * elem_per_rank,
            elem_per_rank * elem_size,
            symm_signal_ptr + rank,
            1,
            libshmem_device.NVSHMEM_SIGNAL_SET,
            peer,
        )
    if thread_idx < world_size:
        libshmem_device.signal_wait_until(symm_signal_ptr + thread_idx, libshmem_device.NVSHMEM_CMP_EQ, 1)
    __syncthreads()
    for n in range(tl.cdiv(elem_per_rank, BLOCK_SIZE)):
        offs = n * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        mask = offs[:] < elem_per_rank
        acc = tl.zeros_like(tl.load(input_ptr + offs, mask=mask))
        for stage in range(world_size):
            acc += tl.load(symm_recv_ptr + (rank + stage) % world_size * elem_per_rank + offs, mask=mask)
        tl.store(symm_out_ptr + elem_per_rank * rank + offs, acc, mask=mask)
    __syncthreads()
    symm_signal_ptr += world_size
    for i in range(world_size - 1):
        peer = (rank + i + 1) % world_size
        libshmem_device.putmem_signal_nbi_block(
            symm_out_ptr + rank * elem_per_rank,
            symm_out_ptr + rank * elem_per_rank,
            elem_per_rank * elem_size,
            symm_signal_ptr + rank,
            1,
            libshmem_device.NVSHMEM_SIGNAL_SET,
            peer,
        )
    if thread_idx < world_size and thread_idx != rank:
        libshmem_device.signal_wait_until(symm_signal_ptr + thread_idx, libshmem_device.NVSHMEM_CMP_EQ, 1)
    __syncthreads()
    if out_ptr:
        for n in range(tl.cdiv(n_elements, BLOCK_SIZE)):
            offs = n * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
            tl.store(out_ptr + offs, tl.load(symm_out_ptr + offs, mask=offs < n_elements), mask=offs < n_elements)


@pytest.mark.parametrize("copied", [True, False])
def test_two_shot_push(everywhere, copied):

    def main(team):
        x, symm_out = team.from_array(data_of(team.rank)), team.empty((2, COUNT * 4), "int8", name="symm_out")
        signal, out = team.zeros((2, team.size), "uint64", name="signal"), np.zeros(COUNT, np.float32)
        two_shot_push[(1,)](x, symm_out, signal, out if copied else None, team.rank, team.size, COUNT, 32)
        found = out if copied else np.asarray(symm_out)[0].view(np.float32)
        np.testing.assert_array_equal(found, sum(data_of(r) for r in range(team.size)))
        team.barrier()
        signal[...] = 0

    everywhere(main)


@triton_dist.jit
def first_of_each_rank(
    topk_indices, found_ptr, counter_ptr, slot_ptr, num_tokens, topk: int, experts_per_rank: tl.constexpr, num_warps: tl.constexpr
):
    """For each (token, k) by warps: whether an earlier k goes to the same rank, and which; without `break`."""
    WARP_SIZE = threads_per_warp()
    pid = tl.program_id(0)
    num_pid = tl.num_programs(0)
    thread_idx = tid(0)
    warp_id = thread_idx // WARP_SIZE
    lane_id = thread_idx % WARP_SIZE
    world_size = dl.num_ranks()
    n_warps: tl.constexpr = tl.extra.cuda.num_warps()
    tl.static_assert(n_warps == num_warps)
    for token_offset in range(pid * num_warps + warp_id, num_tokens, num_warps * num_pid):
        for j in range(topk):
            expert_idx = ld(topk_indices + token_offset * topk + j)
            expert_rank = expert_idx // experts_per_rank
            if expert_rank < world_size:
                store_idx = atomic_add_per_warp(counter_ptr + expert_rank, 1, scope="gpu", semantic="relaxed")
                st(slot_ptr + token_offset * topk + j, store_idx)
                skip_this_token = False
                first = j
                for topk_idx in range(j):
                    if not skip_this_token and ld(topk_indices + token_offset * topk + topk_idx) // experts_per_rank == expert_rank:
                        skip_this_token = True
                        first = topk_idx
                if not skip_this_token:
                    libshmem_device.putmem_warp(found_ptr + token_offset * topk + j, slot_ptr + token_offset * topk + j, 0, expert_rank)
                    if lane_id == 0:
                        st(found_ptr + token_offset * topk + j, -1)
                else:
                    if lane_id == 0:
                        st(found_ptr + token_offset * topk + j, first)


@pytest.mark.parametrize("warps", [1, 4])
def test_flags_set_by_threads(everywhere, warps):
    tokens, topk = 10, 4

    def main(team):
        experts = 2 * team.size
        # the last expert is for dropped tokens
        chosen = np.random.default_rng(team.rank).integers(0, experts + 1, (tokens, topk)).astype(np.int32)
        found = team.full((tokens, topk), 77, "int32", name="found")
        counter, slots = team.zeros(team.size, "int32", name="counter"), team.full((tokens, topk), -1, "int32", name="slots")
        first_of_each_rank[(2,)](chosen, found, counter, slots, tokens, topk, 2, num_warps=warps)
        for t in range(tokens):
            for j in range(topk):
                same = [k for k in range(j) if chosen[t, k] // 2 == chosen[t, j] // 2]
                dropped = chosen[t, j] == experts
                assert np.asarray(found)[t, j] == (77 if dropped else same[0] if same else -1)
        wanted = np.bincount(chosen.ravel() // 2, minlength=team.size + 1)[: team.size]
        np.testing.assert_array_equal(np.asarray(counter), wanted)
        for r in range(team.size):
            assert sorted(np.asarray(slots)[chosen // 2 == r]) == list(range(wanted[r]))
        team.barrier()

    everywhere(main)


@triton_dist.jit
def multicast_in_bytes(in_ptr, symm_in_ptr, symm_out_ptr, out_ptr, elems, BLOCK_SIZE: tl.constexpr):
    """Copies in when there is something to copy, reduces 16 bytes a thread, and stores the words to all through a
    byte pointer."""
    symm_in_ptr = tl.cast(symm_in_ptr, out_ptr.dtype)
    thread_idx = tid(axis=0)
    rank = dl.rank()
    elem_size = tl.constexpr(out_ptr.dtype.element_ty.primitive_bitwidth) // 8
    if in_ptr:
        for bid in range(0, tl.cdiv(elems, BLOCK_SIZE)):
            offs = tl.arange(0, BLOCK_SIZE) + bid * BLOCK_SIZE
            tl.store(symm_in_ptr + offs, tl.load(in_ptr + offs, mask=offs < elems), mask=offs < elems)
    libshmem_device.barrier_all_block()
    data_mc_ptr = libshmem_device.remote_mc_ptr(libshmem_device.NVSHMEMX_TEAM_NODE, symm_in_ptr)
    VEC_SIZE = 128 // tl.constexpr(symm_in_ptr.dtype.element_ty.primitive_bitwidth)
    for idx in range(thread_idx, elems // VEC_SIZE, ntid(axis=0)):
        val0, val1, val2, val3 = multimem_ld_reduce_v4(data_mc_ptr + idx * VEC_SIZE)
        st_v4_b32(out_ptr + idx * VEC_SIZE, val0, val1, val2, val3)
    __syncthreads()
    ptr = tl.cast(out_ptr, tl.pointer_type(tl.int8))
    mc_ptr = tl.cast(libshmem_device.remote_mc_ptr(libshmem_device.NVSHMEMX_TEAM_NODE, symm_out_ptr), tl.pointer_type(tl.int8))
    mc_ptr += rank * elems * elem_size
    for n in range(thread_idx, elems * elem_size // 16, ntid(axis=0)):
        val0, val1 = load_v2_b64(ptr + n * 16)
        multimem_st_b64(mc_ptr + n * 16, val0)
        multimem_st_b64(mc_ptr + n * 16 + 8, val1)
    libshmem_device.barrier_all_block()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("given", [True, False])
def test_multicast_in_bytes(everywhere, dtype, given):

    def main(team):
        x, symm_out = team.zeros(COUNT, dtype, name="x"), team.empty((team.size, COUNT), dtype, name="symm_out")
        mine = data_of(team.rank).astype(x.dtype)
        out = team.local_empty(COUNT, dtype)
        if not given:
            x[...] = mine
        multicast_in_bytes[(1,)](mine if given else None, x, symm_out, out, COUNT, 64)
        wanted = sum(data_of(r) for r in range(team.size))
        for part in [np.asarray(out), *np.asarray(symm_out)]:
            np.testing.assert_array_equal(part.astype(np.float32), wanted)
        team.barrier()

    everywhere(main)
