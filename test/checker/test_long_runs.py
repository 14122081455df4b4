"""What a run has behind it costs the rest of it nothing: the checker forgets programs, bulk copies and words that are no more."""

import time

import tandem
import tandem.dist as dl
import tandem.language as tl
from tandem.dist import tma
from tandem.simt import __syncthreads, cp_async, cp_async_commit_group, cp_async_wait_group, st, tid

PIECES = 32


@tandem.jit
def copy_in(x_ptr, y_ptr, PIECES: tl.constexpr):
    buffer, barrier = dl.allocate_smem(tl.int32, [PIECES, 32]), dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    t = tid(0)
    if t == 0:
        tma.mbarrier_init(barrier, 1)
    __syncthreads()
    if t == 0:
        tma.mbarrier_arrive_expect_tx(barrier, PIECES * 128)
        for k in range(PIECES):
            tma.cp_async_bulk_global_to_shared(dl.smem_get_ptr(dl.smem_index(buffer, k)), x_ptr + 32 * k, 128, barrier)
    tma.mbarrier_wait_parity(barrier, 0)
    st(y_ptr + t, dl.smem_load(dl.smem_index(buffer, 0), [t % 32]), semantic="weak")


@tandem.jit
def copy_often(x_ptr, y_ptr, TIMES):
    """Each round copies by an mbarrier and by each thread, and waits."""
    buffer, barrier = dl.allocate_smem(tl.int32, [2, 128]), dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    t = tid(0)
    if t == 0:
        tma.mbarrier_init(barrier, 1)
    __syncthreads()
    for k in range(TIMES):
        if t == 0:
            tma.mbarrier_arrive_expect_tx(barrier, 512)
            tma.cp_async_bulk_global_to_shared(dl.smem_get_ptr(dl.smem_index(buffer, 0)), x_ptr, 512, barrier)
        cp_async(dl.smem_get_ptr(buffer, [1, t]), x_ptr + t, 4)
        cp_async_commit_group()
        cp_async_wait_group(0)
        tma.mbarrier_wait_parity(barrier, k % 2)
        __syncthreads()
    st(y_ptr + t, dl.smem_load(buffer, [1, 127 - t]), semantic="weak")


def seconds(launches, times=0):
    """Of the processor, so that others on the machine do not count."""

    def main(team):
        x, y = team.zeros(32 * PIECES, "int32"), team.zeros(128, "int32")
        for _ in range(launches):
            if times:
                copy_often[(1,)](x, y, times)
            else:
                copy_in[(1,)](x, y, PIECES)
        team.synchronize()

    begin = time.process_time()
    assert tandem.launch(main, ranks=1, check=True).reports == []
    return time.process_time() - begin


def test_launches_that_copy_in_bulk():
    seconds(1)  # compiles
    few = min(seconds(50) for _ in range(3))
    assert seconds(400) < 24 * few


def test_copies_of_a_program_that_goes_on():
    seconds(1, 1)  # compiles
    few = min(seconds(1, 20) for _ in range(3))
    assert seconds(1, 160) < 24 * few


@tandem.jit
def store_one(x_ptr):
    tl.store(x_ptr, 1)


def test_short_runs_in_a_process_with_much_scattered_memory():
    """That is given back to the system behind runs, which takes long to look for."""

    def seconds_of_short_runs():
        begin = time.process_time()
        for _ in range(50):
            tandem.launch(lambda team: store_one[(1,)](team.zeros(1, "int32")), ranks=2, check=True)
        return time.process_time() - begin

    seconds_of_short_runs()  # compiles
    before = min(seconds_of_short_runs() for _ in range(3))
    held = [bytes(2000) for _ in range(200_000)]
    del held[::2]
    assert min(seconds_of_short_runs() for _ in range(3)) < 8 * before
