"""Barriers of a grid and of all ranks written by hand with atomics, loads and stores, in the manner of
Triton-distributed's common operations."""

import numpy as np
import pytest
import triton
import triton_dist
import triton.language as tl
import triton_dist.language as dl
from triton_dist.language.extra import libshmem_device
from triton_dist.language.extra.language_extra import (
    __syncthreads,
    arrive_inc,
    atomic_add,
    atomic_add_per_warp,
    atomic_cas,
    fence,
    ld,
    ld_acquire,
    membar,
    red_release,
    st,
    tid,
    wait_eq,
)


@triton.jit
def _is_cta_master():
    return (tid(0) == 0) & (tid(1) == 0) & (tid(2) == 0)


@triton.jit
def _is_gpu_master():
    return (tl.program_id(0) == 0) & (tl.program_id(1) == 0) & (tl.program_id(2) == 0)


@triton.jit
def unsafe_barrier_on_this_grid(ptr):
    """The first program adds what makes the sum flip the top bit; everyone waits for the flip."""
    __syncthreads()
    pid_size_x = tl.num_programs(axis=0)
    pid_size_y = tl.num_programs(axis=1)
    pid_size_z = tl.num_programs(axis=2)
    expected = pid_size_x * pid_size_y * pid_size_z
    if _is_cta_master():
        nb = tl.where(_is_gpu_master(), tl.cast(0x80000000, tl.uint32, bitcast=True) - (expected - 1), 1)
        old_arrive = atomic_add(ptr.to(tl.pointer_type(tl.uint32)), nb.to(tl.uint32), scope="gpu", semantic="release")
        while ((old_arrive ^ ld_acquire(ptr.to(tl.pointer_type(tl.uint32)), scope="gpu")) & 0x80000000) == 0:
            pass
    __syncthreads()


@triton.jit
def barrier_on_this_grid(ptr, use_cooperative: tl.constexpr):
    if use_cooperative:
        tl.static_assert(False, "no cooperative launch here")
    else:
        unsafe_barrier_on_this_grid(ptr)


@triton.jit
def reversed_twice(x_ptr, y_ptr, out_ptr, grid_barrier_ptr, n, BLOCK: tl.constexpr, USE_COOPERATIVE: tl.constexpr):
    pid = tl.program_id(0) + tl.program_id(1) * tl.num_programs(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + (n - 1 - offs)))
    barrier_on_this_grid(grid_barrier_ptr, USE_COOPERATIVE)
    tl.store(out_ptr + offs, tl.load(y_ptr + (n - 1 - offs)) + 1)
    barrier_on_this_grid(grid_barrier_ptr, USE_COOPERATIVE)
    tl.store(y_ptr + offs, tl.load(out_ptr + (n - 1 - offs)))


@pytest.mark.parametrize("grid", [(1,), (2, 3), (8,)])
def test_grid_barrier(everywhere, grid):

    def main(team):
        n = 32 * int(np.prod(grid))
        x = np.arange(n, dtype=np.int32) * (team.rank + 1)
        y, out, barrier = np.zeros_like(x), np.zeros_like(x), np.zeros(1, np.int32)
        for _ in range(2):  # the barrier is good for the next launch as it is left
            reversed_twice[grid](x, y, out, barrier, n, 32, False, launch_cooperative_grid=True)
            np.testing.assert_array_equal(out, x + 1)
            np.testing.assert_array_equal(y, x[::-1] + 1)

    everywhere(main, ranks=(1, 2))


@triton_dist.jit(do_not_specialize=["local_rank", "rank", "local_world_size"])
def barrier_all_intra_node_atomic_cas_block(local_rank, rank, local_world_size, symm_flag_ptr):
    with_rank_offset = rank - local_rank
    thread_idx = tid(axis=0)
    if thread_idx < local_world_size:
        remote_ptr = dl.symm_at(symm_flag_ptr + local_rank, thread_idx + with_rank_offset)
        while atomic_cas(remote_ptr, 0, 1, scope="sys", semantic="release") != 0:
            pass

    if thread_idx < local_world_size:
        while atomic_cas(symm_flag_ptr + thread_idx, 1, 0, scope="sys", semantic="acquire") != 1:
            pass
    __syncthreads()


@triton_dist.jit(do_not_specialize=["local_rank", "rank", "num_ranks", "target_value"])
def barrier_all_intra_node_non_atomic_block(local_rank, rank, num_ranks, symm_flags, target_value):
    thread_idx = tid(0)
    if thread_idx < num_ranks:
        peer_ptr = dl.symm_at(symm_flags, thread_idx + rank - local_rank)
        st(peer_ptr + local_rank, target_value, scope="sys", semantic="release")
        while ld(symm_flags + thread_idx, scope="sys", semantic="acquire") != target_value:
            pass
    __syncthreads()
    symm_flags += num_ranks
    if thread_idx < num_ranks:
        peer_ptr = dl.symm_at(symm_flags, thread_idx + rank - local_rank)
        st(peer_ptr + local_rank, target_value, scope="sys", semantic="release")
        while ld(symm_flags + thread_idx, scope="sys", semantic="acquire") != target_value:
            pass
    __syncthreads()


@triton_dist.jit(do_not_specialize=["local_rank", "rank", "num_ranks", "target_value"])
def barrier_all_intra_node_non_atomic(local_rank, rank, num_ranks, symm_flags, target_value, use_cooperative: tl.constexpr):
    tl.static_assert(symm_flags.dtype.element_ty == tl.int32)
    barrier_on_this_grid(symm_flags + 2 * num_ranks, use_cooperative)
    if tl.program_id(0) == 0:
        barrier_all_intra_node_non_atomic_block(local_rank, rank, num_ranks, symm_flags, target_value)
    barrier_on_this_grid(symm_flags + 2 * num_ranks, use_cooperative)


@triton_dist.jit(do_not_specialize=["rank", "num_ranks", "target_value"])
def shift_between_barriers(x_ptr, out_ptr, symm_flags, rank, num_ranks, target_value, KIND: tl.constexpr, BLOCK: tl.constexpr):
    """Writes x, joins the ranks, reads the neighbour's, joins again before anybody writes the next."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, offs * target_value + rank)
    if KIND == "cas":
        barrier_all_intra_node_atomic_cas_block(rank, rank, num_ranks, symm_flags)
    elif KIND == "block":
        barrier_all_intra_node_non_atomic_block(rank, rank, num_ranks, symm_flags, target_value)
    else:
        barrier_all_intra_node_non_atomic(rank, rank, num_ranks, symm_flags, target_value, False)
    peer_ptr = dl.symm_at(x_ptr, (rank + 1) % num_ranks)
    tl.store(out_ptr + offs, tl.load(peer_ptr + offs))
    __syncthreads()
    if KIND == "cas":
        barrier_all_intra_node_atomic_cas_block(rank, rank, num_ranks, symm_flags)
    elif KIND == "block":
        barrier_all_intra_node_non_atomic_block(rank, rank, num_ranks, symm_flags, target_value + 1)
    else:
        barrier_all_intra_node_non_atomic(rank, rank, num_ranks, symm_flags, target_value + 1, False)


@pytest.mark.parametrize("kind", ["cas", "block", "grid"])
def test_barrier_of_all_ranks(everywhere, kind):
    programs = 3 if kind == "grid" else 1

    def main(team):
        x = team.empty(64 * programs, "int32", name="x")
        flags = team.zeros(2 * team.size + 1, "int32", name="flags")
        out = np.zeros(64 * programs, np.int32)
        for turn in range(1, 6, 2):
            shift_between_barriers[(programs,)](x, out, flags, team.rank, team.size, turn, kind, 64)
            np.testing.assert_array_equal(out, np.arange(64 * programs) * turn + (team.rank + 1) % team.size)

    everywhere(main)


@triton.jit
def arrivals(out_ptr, counter_ptr, total_ptr, turn, BLOCK: tl.constexpr):
    """Every program stores, then arrives; the last program waits for all and sums what they stored."""
    pid = tl.program_id(0)
    num_pid = tl.num_programs(0)
    thread_idx = tid(0)
    tl.store(out_ptr + pid * BLOCK + tl.arange(0, BLOCK), tl.full((BLOCK,), pid * turn, tl.int32))
    if pid % 2 == 0:
        arrive_inc(counter_ptr, thread_idx, 1, "gpu")
    else:
        __syncthreads()
        if thread_idx == 0:
            red_release(counter_ptr, 1, scope="gpu")
    if pid == num_pid - 1:
        wait_eq(counter_ptr, thread_idx, num_pid * turn, "gpu")
        total = 0
        for i in range(num_pid):
            total += tl.sum(tl.load(out_ptr + i * BLOCK + tl.arange(0, BLOCK)))
        tl.store(total_ptr, total)


def test_arrive_and_wait(everywhere):

    def main(team):
        out, counter, total = team.local_empty(6 * 32, "int32"), np.zeros(1, np.int32), np.zeros(1, np.int32)
        for turn in range(1, 4):
            arrivals[(6,)](out, counter, total, turn, 32)
            assert total[0] == 32 * 15 * turn

    everywhere(main, ranks=(1, 2))


@triton.jit
def slots_by_warp(counter_ptr, slot_ptr):
    """Every warp takes one slot, every thread knows it."""
    slot = atomic_add_per_warp(counter_ptr, 1, scope="gpu", semantic="relaxed")
    st(slot_ptr + tl.program_id(0) * 128 + tid(0), slot)
    membar("gl")
    fence("acq_rel", "sys")


def test_a_slot_for_each_warp(everywhere):

    def main(team):
        counter, slot = np.zeros(1, np.int32), np.full((5, 4, 32), -1, np.int32)
        slots_by_warp[(5,)](counter, slot, num_warps=4)
        assert counter[0] == 20
        assert (slot == slot[:, :, :1]).all()
        assert sorted(slot[:, :, 0].ravel()) == list(range(20))

    everywhere(main, ranks=(1, 2))


@triton.jit
def spins_by_thread(signal_ptr, out_ptr, num_ranks, value):
    """Thread r tells rank r and waits for rank r."""
    thread_idx = tid(0)
    rank = dl.rank()
    if thread_idx < num_ranks:
        st(dl.symm_at(signal_ptr, thread_idx) + rank, value + rank, scope="sys", semantic="release")
        while ld(signal_ptr + thread_idx, scope="sys", semantic="acquire") != value + thread_idx:
            pass
    __syncthreads()
    if thread_idx == 0:
        libshmem_device.quiet()
    offs = tl.arange(0, 32)
    tl.store(out_ptr + offs, tl.load(signal_ptr + offs, mask=offs < num_ranks, other=0))


def test_spins_by_thread(everywhere):

    def main(team):
        signal, out = team.zeros(team.size, "uint64", name="signal"), np.zeros(32, np.uint64)
        spins_by_thread[(1,)](signal, out, team.size, 5)
        np.testing.assert_array_equal(out[: team.size], np.arange(team.size) + 5)

    everywhere(main)
