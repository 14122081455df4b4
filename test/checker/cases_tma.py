"""Bulk copies and mbarriers: the wait for a copy, its thread, and its reach."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from case import pair
from tandem.dist import tma
from tandem.simt import __syncthreads, cp_async, cp_async_commit_group, cp_async_wait_group, ld, st, tid

N = 128


def data(team, name="x"):
    return team.zeros(N, "int32", name=name)


@tandem.jit
def load_and_read(x_ptr, y_ptr, FIXED: tl.constexpr):
    buffer = dl.allocate_smem(tl.int32, [128])
    barrier = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    t = tid(0)
    dl.smem_store(buffer, -1, [t])
    tma.fence_async_shared()
    if t == 0:
        tma.mbarrier_init(barrier, 1)
    __syncthreads()
    if t == 0:
        tma.mbarrier_arrive_expect_tx(barrier, 512)
        tma.cp_async_bulk_global_to_shared(dl.smem_get_ptr(buffer), x_ptr, 512, barrier)  # <-- read_before_mbarrier
    if FIXED:
        tma.mbarrier_wait_parity(barrier, 0)
    st(y_ptr + t, dl.smem_load(buffer, [t]), semantic="weak")  # <-- read_before_mbarrier
    tma.mbarrier_wait_parity(barrier, 0)


@pair("race", None, ranks=(1, 2))
def read_before_mbarrier(team, fixed):
    load_and_read[(1,)](data(team), data(team, "y"), fixed)


@tandem.jit
def expect_too_many(x_ptr, y_ptr, BYTES: tl.constexpr):
    buffer = dl.allocate_smem(tl.int32, [128])
    barrier = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    t = tid(0)
    if t == 0:
        tma.mbarrier_init(barrier, 1)
    __syncthreads()
    if t == 0:
        tma.mbarrier_arrive_expect_tx(barrier, BYTES)
        tma.cp_async_bulk_global_to_shared(dl.smem_get_ptr(buffer), x_ptr, 512, barrier)
    tma.mbarrier_wait_parity(barrier, 0)  # <-- expected_bytes_never_come
    st(y_ptr + t, dl.smem_load(buffer, [t]), semantic="weak")


@pair("deadlock", None, ranks=(1, 2))
def expected_bytes_never_come(team, fixed):
    expect_too_many[(1,)](data(team), data(team, "y"), 512 if fixed else 1024)


@tandem.jit
def make_and_use(x_ptr, y_ptr, FIXED: tl.constexpr):
    """Other threads may look at the mbarrier before it is one."""
    buffer = dl.allocate_smem(tl.int32, [128])
    barrier = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    t = tid(0)
    if t == 0:
        tma.mbarrier_init(barrier, 1)  # <-- used_before_it_is_made
    if FIXED:
        __syncthreads()
    if t == 0:
        tma.mbarrier_arrive_expect_tx(barrier, 512)
        tma.cp_async_bulk_global_to_shared(dl.smem_get_ptr(buffer), x_ptr, 512, barrier)
    tma.mbarrier_wait_parity(barrier, 0)  # <-- used_before_it_is_made
    st(y_ptr + t, dl.smem_load(buffer, [t]), semantic="weak")


@pair("race", "M3", ranks=(1, 2))
def used_before_it_is_made(team, fixed):
    make_and_use[(1,)](data(team), data(team, "y"), fixed)


@tandem.jit
def use_and_end(x_ptr, y_ptr, FIXED: tl.constexpr):
    """A thread ends the mbarrier while others may still wait for its phase."""
    buffer = dl.allocate_smem(tl.int32, [128])
    barrier = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    t = tid(0)
    if t == 0:
        tma.mbarrier_init(barrier, 1)
    __syncthreads()
    if t == 0:
        tma.mbarrier_arrive_expect_tx(barrier, 512)
        tma.cp_async_bulk_global_to_shared(dl.smem_get_ptr(buffer), x_ptr, 512, barrier)
    tma.mbarrier_wait_parity(barrier, 0)  # <-- ended_while_waited_for
    st(y_ptr + t, dl.smem_load(buffer, [t]), semantic="weak")
    if FIXED:
        __syncthreads()
    if t == 0:
        tma.mbarrier_invalidate(barrier)  # <-- ended_while_waited_for


@pair("race", "M3", ranks=(1, 2))
def ended_while_waited_for(team, fixed):
    use_and_end[(1,)](data(team), data(team, "y"), fixed)


@tandem.jit
def wrong_phase(x_ptr, y_ptr, PHASE: tl.constexpr):
    buffer = dl.allocate_smem(tl.int32, [128])
    barrier = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    t = tid(0)
    dl.smem_store(buffer, -1, [t])
    tma.fence_async_shared()
    if t == 0:
        tma.mbarrier_init(barrier, 1)
    __syncthreads()
    if t == 0:
        tma.mbarrier_arrive_expect_tx(barrier, 512)
        tma.cp_async_bulk_global_to_shared(dl.smem_get_ptr(buffer), x_ptr, 512, barrier)  # <-- phase_before_the_load
    tma.mbarrier_wait_parity(barrier, PHASE)
    st(y_ptr + t, dl.smem_load(buffer, [t]), semantic="weak")  # <-- phase_before_the_load
    tma.mbarrier_wait_parity(barrier, 0)


@pair("race", None, ranks=(1, 2))
def phase_before_the_load(team, fixed):
    wrong_phase[(1,)](data(team), data(team, "y"), 0 if fixed else 1)


@tandem.jit
def reload_while_read(x_ptr, y_ptr, FIXED: tl.constexpr):
    buffer = dl.allocate_smem(tl.int32, [128])
    barrier = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    t = tid(0)
    if t == 0:
        tma.mbarrier_init(barrier, 1)
    __syncthreads()
    for i in range(2):
        if t == 0:
            tma.mbarrier_arrive_expect_tx(barrier, 512)
            tma.cp_async_bulk_global_to_shared(dl.smem_get_ptr(buffer), x_ptr, 512, barrier)  # <-- buffer_loaded_again
        tma.mbarrier_wait_parity(barrier, i)
        st(y_ptr + t, dl.smem_load(buffer, [t]), semantic="weak")  # <-- buffer_loaded_again
        if FIXED:
            __syncthreads()


@pair("race", None, ranks=(1, 2))
def buffer_loaded_again(team, fixed):
    reload_while_read[(1,)](data(team), data(team, "y"), fixed)


@tandem.jit
def store_and_reuse(y_ptr, FIXED: tl.constexpr):
    buffer = dl.allocate_smem(tl.int32, [128])
    t = tid(0)
    dl.smem_store(buffer, t, [t])
    tma.fence_async_shared()
    __syncthreads()
    if t == 0:
        tma.cp_async_bulk_shared_to_global(y_ptr, dl.smem_get_ptr(buffer), 512)  # <-- buffer_reused_under_store
        tma.cp_async_bulk_commit_group()
        if FIXED:
            tma.cp_async_bulk_wait_group(0, read=True)
    __syncthreads()
    dl.smem_store(buffer, t + 1, [t])  # <-- buffer_reused_under_store
    if t == 0:
        tma.cp_async_bulk_wait_group(0)


@pair("race", None, ranks=(1, 2))
def buffer_reused_under_store(team, fixed):
    store_and_reuse[(1,)](data(team, "y"), fixed)


@tandem.jit
def store_and_tell(x_ptr, y_ptr, flag_ptr, READ: tl.constexpr):
    """Waiting until the shared memory has been read does not say that the bytes have arrived."""
    buffer = dl.allocate_smem(tl.int32, [128])
    t = tid(0)
    peer = (dl.rank() + 1) % dl.num_ranks()
    dl.smem_store(buffer, t, [t])
    tma.fence_async_shared()
    __syncthreads()
    if t == 0:
        tma.cp_async_bulk_shared_to_global(dl.symm_at(x_ptr, peer), dl.smem_get_ptr(buffer), 512)  # <-- told_after_read_only
        tma.cp_async_bulk_commit_group()
        tma.cp_async_bulk_wait_group(0, read=READ)
        st(dl.symm_at(flag_ptr, peer), 1, scope="sys", semantic="release")
        while ld(flag_ptr, scope="sys", semantic="acquire") != 1:
            pass
    __syncthreads()
    st(y_ptr + t, ld(x_ptr + t, semantic="weak"), semantic="weak")  # <-- told_after_read_only
    if t == 0:
        tma.cp_async_bulk_wait_group(0)


@pair("race", None)
def told_after_read_only(team, fixed):
    store_and_tell[(1,)](data(team), data(team, "y"), team.zeros(1, "int64", name="flag"), not fixed)


@tandem.jit
def fill_and_store(y_ptr, FIXED: tl.constexpr):
    buffer = dl.allocate_smem(tl.int32, [128])
    t = tid(0)
    dl.smem_store(buffer, t, [t])  # <-- stored_before_barrier
    tma.fence_async_shared()
    if FIXED:
        __syncthreads()
    if t == 0:
        tma.cp_async_bulk_shared_to_global(y_ptr, dl.smem_get_ptr(buffer), 512)  # <-- stored_before_barrier
        tma.cp_async_bulk_commit_group()
        tma.cp_async_bulk_wait_group(0)


@pair("race", None, ranks=(1, 2))
def stored_before_barrier(team, fixed):
    fill_and_store[(1,)](data(team, "y"), fixed)


@tandem.jit
def store_and_leave(y_ptr, FIXED: tl.constexpr):
    buffer = dl.allocate_smem(tl.int32, [128])
    t = tid(0)
    dl.smem_store(buffer, t, [t])
    tma.fence_async_shared()
    __syncthreads()
    if t == 0:
        tma.cp_async_bulk_shared_to_global(y_ptr, dl.smem_get_ptr(buffer), 512)  # <-- store_never_waited_for
        tma.cp_async_bulk_commit_group()
        if FIXED:
            tma.cp_async_bulk_wait_group(0)


@pair("unfinished-bulk-copy", None, ranks=(1, 2))
def store_never_waited_for(team, fixed):
    store_and_leave[(1,)](data(team, "y"), fixed)


@tandem.jit
def copy_and_read(x_ptr, y_ptr, FIXED: tl.constexpr):
    """A thread's own copies: those of the last group are still on their way."""
    buffer = dl.allocate_smem(tl.int32, [256])
    t = tid(0)
    for i in tl.static_range(2):
        cp_async(dl.smem_get_ptr(buffer, [128 * i + t]), x_ptr + t, 4)  # <-- read_before_group
        cp_async_commit_group()
    cp_async_wait_group(0 if FIXED else 1)
    st(y_ptr + t, dl.smem_load(buffer, [t]) + dl.smem_load(buffer, [128 + t]), semantic="weak")  # <-- read_before_group
    cp_async_wait_group(0)


@pair("race", None, ranks=(1, 2))
def read_before_group(team, fixed):
    copy_and_read[(1,)](data(team), data(team, "y"), fixed)


@tandem.jit
def copy_for_another(x_ptr, y_ptr, FIXED: tl.constexpr):
    """A thread's wait is for its own copies; the others know of them behind a barrier."""
    buffer = dl.allocate_smem(tl.int32, [128])
    t = tid(0)
    cp_async(dl.smem_get_ptr(buffer, [t]), x_ptr + t, 4)  # <-- read_anothers_copy
    cp_async_commit_group()
    cp_async_wait_group(0)
    if FIXED:
        __syncthreads()
    st(y_ptr + t, dl.smem_load(buffer, [127 - t]), semantic="weak")  # <-- read_anothers_copy


@pair("race", None, ranks=(1, 2))
def read_anothers_copy(team, fixed):
    copy_for_another[(1,)](data(team), data(team, "y"), fixed)
