"""Branches of one program that wait for each other: warps, or threads, in different roles."""

import numpy as np
import pytest
import tandem
import triton
import triton.language as tl
import triton_dist.language as dl
from triton_dist.language.extra import libshmem_device
from triton_dist.language.extra.language_extra import __syncthreads, ld, named_barrier_arrive, named_barrier_sync, st, tid


@triton.jit
def first_waits_for_second(flag_ptr, out_ptr):
    warp_id = tid(0) // 32
    if warp_id == 0:
        while ld(flag_ptr, scope="gpu", semantic="acquire") != 1:
            pass
        st(out_ptr + tid(0), 7)
    else:
        if tid(0) == 32:
            st(flag_ptr, 1, scope="gpu", semantic="release")
    __syncthreads()
    st(out_ptr + tid(0) + 128, tid(0))


def test_the_first_branch_waits_for_the_second(everywhere):

    def main(team):
        flag, out = np.zeros(1, np.int32), np.zeros(256, np.int32)
        first_waits_for_second[(1,)](flag, out, num_warps=4)
        np.testing.assert_array_equal(out, np.r_[np.full(32, 7), np.zeros(96), np.arange(128)])

    everywhere(main, ranks=(1, 2))


@triton.jit
def producer_consumer(ring_ptr, full_ptr, empty_ptr, source_ptr, out_ptr, n, SLOTS: tl.constexpr):
    """Warp 0 fills a ring that warp 1 empties; each waits for the other at every turn."""
    thread_idx = tid(0)
    lane = thread_idx % 32
    scale = thread_idx * 0 + 3
    if thread_idx // 32 == 0:
        for i in range(n):
            slot = i % SLOTS
            while ld(empty_ptr + slot, scope="gpu", semantic="acquire") != i // SLOTS:
                pass
            value = ld(source_ptr + i * 32 + lane)
            st(ring_ptr + slot * 32 + lane, value)
            libshmem_device.fence()
            if lane == 0:
                st(full_ptr + slot, i // SLOTS + 1, scope="gpu", semantic="release")
    elif thread_idx // 32 == 1:
        for i in range(n):
            slot = i % SLOTS
            while ld(full_ptr + slot, scope="gpu", semantic="acquire") != i // SLOTS + 1:
                pass
            value = ld(ring_ptr + slot * 32 + lane)
            st(out_ptr + i * 32 + lane, value * scale)
            if lane == 0:
                st(empty_ptr + slot, i // SLOTS + 1, scope="gpu", semantic="release")
    else:
        st(out_ptr + n * 32 + thread_idx - 64, scale)
    __syncthreads()


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_ring_between_warps(everywhere, n):

    def main(team):
        source = np.arange(n * 32, dtype=np.int32)
        ring, full, empty = np.zeros(64, np.int32), np.zeros(2, np.int32), np.zeros(2, np.int32)
        out = np.zeros(n * 32 + 64, np.int32)
        producer_consumer[(1,)](ring, full, empty, source, out, n, 2, num_warps=4)
        np.testing.assert_array_equal(out, np.r_[source * 3, np.full(64, 3)])

    everywhere(main, ranks=(1, 2))


@triton.jit
def send_and_receive(data_ptr, inbox_ptr, signal_ptr, ack_ptr, out_ptr, n, bytes):
    """Warp 0 waits for each message of the left neighbour; warp 1 sends to the right, the next only when the last was
    acknowledged."""
    rank = dl.rank()
    world_size = dl.num_ranks()
    left = (rank + world_size - 1) % world_size
    right = (rank + 1) % world_size
    thread_idx = tid(0)
    warp_id = thread_idx // 32
    lane = thread_idx % 32
    if warp_id == 0:
        for i in range(n):
            if lane == 0:
                libshmem_device.signal_wait_until(signal_ptr, libshmem_device.NVSHMEM_CMP_EQ, i + 1)
            st(out_ptr + i * 32 + lane, ld(inbox_ptr + lane, scope="sys", semantic="acquire"))
            if lane == 0:
                libshmem_device.signal_op(ack_ptr, i + 1, libshmem_device.NVSHMEM_SIGNAL_SET, left)
    else:
        for i in range(n):
            libshmem_device.putmem_signal_warp(
                inbox_ptr, data_ptr + i * 32, bytes, signal_ptr, i + 1, libshmem_device.NVSHMEM_SIGNAL_SET, right
            )
            if lane == 0:
                libshmem_device.signal_wait_until(ack_ptr, libshmem_device.NVSHMEM_CMP_EQ, i + 1)


def test_warps_wait_for_peers(everywhere):
    n = 4

    def main(team):
        data = lambda rank: np.random.default_rng(rank).integers(0, 1000, (n, 32)).astype(np.int32)
        mine, inbox = team.from_array(data(team.rank)), team.zeros(32, "int32", name="inbox")
        signal, ack = team.zeros(1, "uint64", name="signal"), team.zeros(1, "uint64", name="ack")
        out = np.zeros((n, 32), np.int32)
        send_and_receive[(1,)](mine, inbox, signal, ack, out, n, 128, num_warps=2)
        np.testing.assert_array_equal(out, data((team.rank - 1) % team.size))
        team.barrier()
        signal[...], ack[...] = 0, 0

    everywhere(main)


@triton.jit
def named_barriers(buffer_ptr, out_ptr, n):
    """Warp 0 fills, warps 1 and 2 empty; barrier 1 says full, barrier 2 says empty."""
    thread_idx = tid(0)
    warp_id = thread_idx // 32
    lane = thread_idx % 32
    if warp_id == 0:
        for i in range(n):
            named_barrier_sync(2, 96)
            st(buffer_ptr + lane, i * 32 + lane)
            st(buffer_ptr + 32 + lane, i * 64 + lane)
            named_barrier_arrive(1, 96)
    elif warp_id < 3:
        for i in range(n):
            named_barrier_arrive(2, 96)
            named_barrier_sync(1, 96)
            st(out_ptr + (i * 2 + warp_id - 1) * 32 + lane, ld(buffer_ptr + (warp_id - 1) * 32 + lane))
    __syncthreads()


def test_named_barriers_join_branches(everywhere):
    n = 5

    def main(team):
        buffer, out = np.zeros(64, np.int32), np.zeros((n, 2, 32), np.int32)
        named_barriers[(1,)](buffer, out, n, num_warps=4)
        i, lane = np.arange(n)[:, None], np.arange(32)
        np.testing.assert_array_equal(out, np.stack([i * 32 + lane, i * 64 + lane], axis=1))

    everywhere(main, ranks=(1, 2))


@triton.jit
def too_few_come():
    if tid(0) < 32:
        named_barrier_sync(3, 64)


def test_a_named_barrier_that_too_few_reach_is_a_deadlock():
    with pytest.raises(tandem.SimulationError, match="waits at barrier 3 for 64 threads; 32 have come"):
        tandem.launch(lambda team: too_few_come[(1,)]())


@triton.jit
def nobody_stores(flag_ptr):
    if tid(0) // 32 == 0:
        while ld(flag_ptr, scope="gpu", semantic="acquire") != 1:
            pass
    else:
        while ld(flag_ptr + 1, scope="gpu", semantic="acquire") != 1:
            pass


def test_branches_that_both_look_for_ever_are_a_livelock():
    with pytest.raises(tandem.SimulationError, match="livelock") as error:
        tandem.launch(lambda team: nobody_stores[(1,)](np.zeros(2, np.int32)))
    assert "of its 128 threads" in str(error.value)


@triton.jit
def stores_after_the_branch(flag_ptr):
    if tid(0) // 32 == 0:
        while ld(flag_ptr, scope="gpu", semantic="acquire") != 1:
            pass
    st(flag_ptr, 1, scope="gpu", semantic="release")


def test_what_follows_a_branch_does_not_wait_for_its_warp():
    flag = np.zeros(1, np.int32)
    tandem.launch(lambda team: stores_after_the_branch[(1,)](flag))
    assert flag[0] == 1
