"""Mbarriers and bulk copies: phases, bytes, groups, what happens without the wait, and deadlocks at their lines."""

import numpy as np
import pytest
import tandem
import triton
import triton.language as tl
import triton_dist.language as dl
from triton_dist.language.extra.cuda.tma_language import (
    cp_async_bulk_commit_group,
    cp_async_bulk_global_to_shared,
    cp_async_bulk_shared_to_global,
    cp_async_bulk_wait_group,
    fence_async_shared,
    mbarrier_arrive,
    mbarrier_arrive_expect_tx,
    mbarrier_expect_transaction,
    mbarrier_init,
    mbarrier_invalidate,
    mbarrier_try_wait_parity,
    mbarrier_wait_parity,
)
from triton_dist.language.extra.language_extra import (
    __syncthreads,
    cp_async,
    cp_async_commit_group,
    cp_async_wait_group,
    ld,
    ld_vector,
    st,
    st_vector,
    tid,
)


def line_of(function, text):
    """Returns the line of `text` in this file."""
    lines = open(__file__, encoding="utf-8").read().split("\n")
    start = next(k for k, line in enumerate(lines) if line.startswith(f"def {function}("))
    return start + 1 + next(k for k, line in enumerate(lines[start:]) if text in line)


@triton.jit
def copied(source_ptr, out_ptr, STEPS: tl.constexpr, WAITS: tl.constexpr):
    """One thread brings 512 bytes a step; all threads read them."""
    buffer = dl.allocate_smem(tl.int32, [128])
    barrier = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    t = tid(0)
    dl.smem_store(buffer, -1, [t])
    if t == 0:
        mbarrier_init(barrier, 1)
    __syncthreads()
    for i in range(STEPS):
        if t == 0:
            mbarrier_arrive_expect_tx(barrier, 512)
            cp_async_bulk_global_to_shared(dl.smem_get_ptr(buffer), source_ptr + i * 128, 512, barrier)
        if WAITS:
            mbarrier_wait_parity(barrier, i & 1)
        st(out_ptr + i * 128 + t, dl.smem_load(buffer, [t]))
        __syncthreads()
    mbarrier_wait_parity(barrier, (STEPS - 1) & 1)
    __syncthreads()
    if t == 0:
        mbarrier_invalidate(barrier)


def test_a_load_is_there_after_its_barrier(everywhere):

    def main(team):
        source, out = np.arange(512, dtype=np.int32), np.zeros(512, np.int32)
        copied[(1,)](source, out, 4, True, num_warps=4)
        np.testing.assert_array_equal(out, source)

    everywhere(main, ranks=(1, 2))


@triton.jit
def through_a_ring(source_ptr, out_ptr, STEPS: tl.constexpr, WAITS: tl.constexpr):
    """Each thread brings 16 bytes a step, three steps ahead, of which the last one's are half zeros."""
    buffer = dl.allocate_smem(tl.int32, [4 * 128])
    t = tid(0)
    for i in tl.static_range(4):
        dl.smem_store(buffer, -1, [4 * t + i])
    place = dl.smem_get_ptr(buffer, [4 * t])
    for i in tl.static_range(STEPS + 3):
        if i < STEPS:
            cp_async(place + i % 4 * 128, source_ptr + i * 128 + 4 * t, 16, read=tl.where(i + 1 == STEPS, 8, 16))
        cp_async_commit_group()
        if i >= 3:
            if WAITS:
                cp_async_wait_group(3)
            st_vector(out_ptr + (i - 3) * 128 + 4 * t, ld_vector(place + (i - 3) % 4 * 128, 4, "cta", "weak"), "gpu", "weak")
    cp_async_wait_group(0)


def test_threads_bring_what_they_read(everywhere):

    def main(team):
        source, out = np.arange(9 * 128, dtype=np.int32), np.zeros(9 * 128, np.int32)
        through_a_ring[(1,)](source, out, 9, True, num_warps=1)
        wanted = np.where((np.arange(9 * 128) >= 8 * 128) & (source % 4 > 1), 0, source)
        np.testing.assert_array_equal(out, wanted)

    everywhere(main, ranks=(1, 2))


def test_a_threads_copy_is_late_without_the_wait():
    late = 0
    for seed in range(8):
        source, out = np.arange(128, dtype=np.int32), np.zeros(128, np.int32)
        tandem.launch(lambda team: through_a_ring[(1,)](source, out, 1, False, num_warps=1), seed=seed, check=False)
        late += np.any(out == -1)
    assert late > 0


def test_a_load_is_late_without_the_wait():
    """Some seed shows the old bytes, or a message torn in two, when nothing waits."""
    late = 0
    for seed in range(8):
        source, out = np.arange(128, dtype=np.int32), np.zeros(128, np.int32)
        tandem.launch(lambda team: copied[(1,)](source, out, 1, False, num_warps=4), seed=seed, check=False)
        assert np.all((out == source) | (out == -1))
        late += np.any(out == -1)
    assert late > 0


@triton.jit
def spins(source_ptr, out_ptr):
    buffer = dl.allocate_smem(tl.int32, [128])
    barrier = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    t = tid(0)
    if t == 0:
        mbarrier_init(barrier, 2)
        mbarrier_expect_transaction(barrier, 256)
        mbarrier_expect_transaction(barrier, 256)
        cp_async_bulk_global_to_shared(dl.smem_get_ptr(buffer), source_ptr, 512, barrier)
    __syncthreads()
    if t == 32:
        mbarrier_arrive(barrier)
    if t == 64:
        mbarrier_arrive(barrier)
    while mbarrier_try_wait_parity(barrier, 0) == 0:
        pass
    st(out_ptr + t, dl.smem_load(buffer, [t]))


def test_polling_and_two_arrivals(everywhere):

    def main(team):
        source, out = np.arange(128, dtype=np.int32), np.zeros(128, np.int32)
        spins[(1,)](source, out, num_warps=4)
        np.testing.assert_array_equal(out, source)

    everywhere(main, ranks=(1, 2))


@triton.jit
def nobody_arrives(out_ptr):
    barrier = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    t = tid(0)
    if t == 0:
        mbarrier_init(barrier, 2)
        mbarrier_arrive(barrier)
    __syncthreads()
    mbarrier_wait_parity(barrier, 0)  # one arrival is missing
    st(out_ptr + t, 1)


def test_a_missing_arrival_is_a_deadlock_at_the_wait():
    with pytest.raises(tandem.SimulationError, match="deadlock") as error:
        tandem.launch(lambda team: nobody_arrives[(1,)](np.zeros(128, np.int32)))
    assert "1 of 2 arrivals and 0 bytes are outstanding" in str(error.value)
    assert f"test_mbarrier.py:{line_of('nobody_arrives', 'one arrival is missing')}" in str(error.value)


@triton.jit
def too_few_bytes(source_ptr):
    buffer = dl.allocate_smem(tl.int32, [128])
    barrier = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    t = tid(0)
    if t == 0:
        mbarrier_init(barrier, 1)
        mbarrier_arrive_expect_tx(barrier, 512)
        cp_async_bulk_global_to_shared(dl.smem_get_ptr(buffer), source_ptr, 256, barrier)
    __syncthreads()
    mbarrier_wait_parity(barrier, 0)


def test_bytes_that_never_come_are_a_deadlock():
    with pytest.raises(tandem.SimulationError, match="0 of 1 arrivals and 256 bytes are outstanding"):
        tandem.launch(lambda team: too_few_bytes[(1,)](np.zeros(128, np.int32)))


@triton.jit
def two_waiters():
    barriers = dl.allocate_smem(tl.int64, [2])
    t = tid(0)
    if t == 0:
        mbarrier_init(dl.smem_get_ptr(barriers, [0]), 1)
        mbarrier_init(dl.smem_get_ptr(barriers, [1]), 1)
    __syncthreads()
    if t // 32 == 0:
        mbarrier_wait_parity(dl.smem_get_ptr(barriers, [0]), 0)
        mbarrier_arrive(dl.smem_get_ptr(barriers, [1]))
    else:
        mbarrier_wait_parity(dl.smem_get_ptr(barriers, [1]), 0)
        mbarrier_arrive(dl.smem_get_ptr(barriers, [0]))


def test_warps_that_wait_for_each_other_are_a_deadlock():
    with pytest.raises(tandem.SimulationError, match="deadlock") as error:
        tandem.launch(lambda team: two_waiters[(1,)](num_warps=2))
    assert str(error.value).count("1 of 1 arrivals") >= 2


@triton.jit
def stored(source_ptr, out_ptr, flag_ptr, READ: tl.constexpr, WAITS: tl.constexpr):
    """Thread 0 stores the buffer, then all threads overwrite it."""
    buffer = dl.allocate_smem(tl.int32, [128])
    t = tid(0)
    dl.smem_store(buffer, ld(source_ptr + t), [t])
    fence_async_shared()
    __syncthreads()
    if t == 0:
        cp_async_bulk_shared_to_global(out_ptr, dl.smem_get_ptr(buffer), 512)
        cp_async_bulk_commit_group()
        if WAITS:
            cp_async_bulk_wait_group(0, read=READ)
    __syncthreads()
    dl.smem_store(buffer, -1, [t])
    st(flag_ptr + t, ld(out_ptr + t))
    __syncthreads()
    if t == 0:
        cp_async_bulk_wait_group(0)


@pytest.mark.parametrize("read", [False, True])
def test_a_store_has_read_or_is_complete_after_its_group(everywhere, read):

    def main(team):
        source, out, seen = np.arange(1, 129, dtype=np.int32), np.zeros(128, np.int32), np.zeros(128, np.int32)
        stored[(1,)](source, out, seen, read, True, num_warps=4)
        np.testing.assert_array_equal(out, source)
        if not read:
            np.testing.assert_array_equal(seen, source)

    everywhere(main, ranks=(1, 2), check=False if read else None)


def test_the_checker_names_accesses_that_no_wait_orders():
    source, out, seen = np.ones(128, np.int32), np.zeros(128, np.int32), np.zeros(128, np.int32)
    with pytest.raises(tandem.SimulationError, match="race"):
        tandem.launch(lambda team: copied[(1,)](source, out, 1, False, num_warps=4), check=True)
    with pytest.raises(tandem.SimulationError, match="race"):
        tandem.launch(lambda team: stored[(1,)](source, out, seen, True, True, num_warps=4), check=True)
    tandem.launch(lambda team: copied[(1,)](source, out, 1, True, num_warps=4), check=True)
    tandem.launch(lambda team: stored[(1,)](source, out, seen, False, True, num_warps=4), check=True)


@pytest.mark.parametrize("waits", [False, True])
def test_a_store_is_late(waits):
    """After the wait for reads only, global memory may be old; without it, the overwritten buffer may be stored."""
    old = spoiled = 0
    for seed in range(8):
        source, out, seen = np.arange(1, 129, dtype=np.int32), np.zeros(128, np.int32), np.zeros(128, np.int32)
        tandem.launch(lambda team: stored[(1,)](source, out, seen, True, waits, num_warps=4), seed=seed, check=False)
        old += np.any(seen == 0)
        spoiled += np.any(out == -1)
    assert old > 0
    assert (spoiled > 0) == (not waits)


@triton.jit
def leaves_early(source_ptr, LOAD: tl.constexpr):
    buffer = dl.allocate_smem(tl.int32, [128])
    barrier = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    t = tid(0)
    dl.smem_store(buffer, t, [t])
    if t == 0:
        mbarrier_init(barrier, 1)
        if LOAD:
            cp_async_bulk_global_to_shared(dl.smem_get_ptr(buffer), source_ptr, 512, barrier)
        else:
            cp_async_bulk_shared_to_global(source_ptr, dl.smem_get_ptr(buffer), 512)


@pytest.mark.parametrize("load, text", [(True, "a bulk load still writes"), (False, "a bulk store still reads")])
def test_a_program_that_ends_too_early(load, text):
    found = 0
    for seed in range(4):
        try:
            tandem.launch(lambda team: leaves_early[(1,)](np.zeros(128, np.int32), load), seed=seed)
        except tandem.SimulationError as error:
            assert text in str(error)
            found += 1
    assert found > 0


@triton.jit
def misused(global_ptr, WHAT: tl.constexpr):
    buffer = dl.allocate_smem(tl.int64, [4])
    barrier = dl.smem_get_ptr(buffer)
    t = tid(0)
    if t < 4:
        dl.smem_store(buffer, 0, [t])
    __syncthreads()
    if t == 0:
        if WHAT == 0:
            mbarrier_arrive(barrier)
        elif WHAT == 1:
            mbarrier_init(global_ptr, 1)
        elif WHAT == 2:
            mbarrier_init(barrier, 0)
        elif WHAT == 3:
            mbarrier_init(barrier, 1)
            mbarrier_expect_transaction(barrier, 1048576)
        elif WHAT == 4:
            mbarrier_init(barrier, 1)
            mbarrier_arrive_expect_tx(barrier, 16)
            mbarrier_arrive(barrier)
        elif WHAT == 5:
            mbarrier_init(barrier, 1)
            cp_async_bulk_global_to_shared(dl.smem_get_ptr(buffer), global_ptr, 8, barrier)
        elif WHAT == 6:
            mbarrier_init(barrier, 1)
            cp_async_bulk_global_to_shared(global_ptr, global_ptr, 16, barrier)
        elif WHAT == 7:
            mbarrier_init(barrier, 1)
            cp_async_bulk_global_to_shared(dl.smem_get_ptr(buffer), global_ptr + 15, 16, barrier)
        elif WHAT == 8:
            mbarrier_init(barrier, 1)
            cp_async_bulk_global_to_shared(dl.smem_get_ptr(buffer, [2]), global_ptr + 16, 16, barrier)
        elif WHAT == 9:
            cp_async(dl.smem_get_ptr(buffer), global_ptr, 16, read=20)
        elif WHAT == 10:
            cp_async(global_ptr, global_ptr, 16)
        elif WHAT == 11:
            cp_async(dl.smem_get_ptr(buffer), global_ptr, 16)


@pytest.mark.parametrize(
    "what, text",
    [
        (0, "is no initialised mbarrier"),
        (1, "an mbarrier lies in shared memory"),
        (2, "an mbarrier of 0 arrivals"),
        (3, "1048576 bytes outstanding"),
        (4, "more than 1 arrivals in one phase"),
        (5, "a bulk copy of 8 bytes, no multiple of 16"),
        (6, "must lie in shared memory of the program"),
        (7, "not aligned to 16 bytes|128 bytes"),
        (8, "read of 16 bytes at byte offset 128"),
        (9, "reads 20 of 16 bytes"),
        (10, "the destination of `cp_async` must lie in shared memory"),
        (11, "an asynchronous copy still writes shared memory when its program ends"),
    ],
)
def test_misuse_is_reported(what, text):
    with pytest.raises(tandem.SimulationError, match=text):
        tandem.launch(lambda team: misused[(1,)](np.zeros(16, np.int64), what, num_warps=1))
