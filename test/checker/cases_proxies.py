"""Bulk copies read memory by the asynchronous proxy: threads' stores reach it through a proxy fence only. Some cases wait for copies."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from case import pair
from tandem.dist import tma
from tandem.simt import __syncthreads, ld, st, tid

N = 128


def data(team, name="x"):
    return team.zeros(N, "int32", name=name)


@tandem.jit
def fill_and_store(y_ptr, FIXED: tl.constexpr):
    buffer = dl.allocate_smem(tl.int32, [128])
    t = tid(0)
    dl.smem_store(buffer, t, [t])  # <-- bulk_store_without_proxy_fence
    if FIXED:
        tma.fence_async_shared()
    __syncthreads()
    if t == 0:
        tma.cp_async_bulk_shared_to_global(y_ptr, dl.smem_get_ptr(buffer), 512)  # <-- bulk_store_without_proxy_fence
        tma.cp_async_bulk_commit_group()
        tma.cp_async_bulk_wait_group(0)


@pair("race", "M16", ranks=(1, 2, 4))
def bulk_store_without_proxy_fence(team, fixed):
    fill_and_store[(1,)](data(team, "y"), fixed)


@tandem.jit
def one_thread_fences(y_ptr, FIXED: tl.constexpr):
    """A proxy fence orders its own thread's stores: before the barrier, each thread needs one."""
    buffer = dl.allocate_smem(tl.int32, [128])
    t = tid(0)
    dl.smem_store(buffer, t, [t])  # <-- proxy_fence_of_one_thread
    if FIXED:
        tma.fence_async_shared()
    elif t == 0:
        tma.fence_async_shared()
    __syncthreads()
    if t == 0:
        tma.cp_async_bulk_shared_to_global(y_ptr, dl.smem_get_ptr(buffer), 512)  # <-- proxy_fence_of_one_thread
        tma.cp_async_bulk_commit_group()
        tma.cp_async_bulk_wait_group(0)


@pair("race", "M16", ranks=(1, 2, 4))
def proxy_fence_of_one_thread(team, fixed):
    one_thread_fences[(1,)](data(team, "y"), fixed)


@tandem.jit
def store_then_load_in_bulk(x_ptr, y_ptr, FIXED: tl.constexpr):
    """The fence for shared memory says nothing of global memory."""
    buffer = dl.allocate_smem(tl.int32, [128])
    barrier = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    t = tid(0)
    st(x_ptr + t, t, semantic="weak")  # <-- bulk_load_of_stored_words
    if t == 0:
        tma.mbarrier_init(barrier, 1)
    if FIXED:
        tma.fence_proxy_async()
    else:
        tma.fence_async_shared()
    __syncthreads()
    if t == 0:
        tma.mbarrier_arrive_expect_tx(barrier, 512)
        tma.cp_async_bulk_global_to_shared(dl.smem_get_ptr(buffer), x_ptr, 512, barrier)  # <-- bulk_load_of_stored_words
    tma.mbarrier_wait_parity(barrier, 0)
    st(y_ptr + t, dl.smem_load(buffer, [t]), semantic="weak")


@pair("race", "M16", ranks=(1, 2, 4))
def bulk_load_of_stored_words(team, fixed):
    store_then_load_in_bulk[(1,)](data(team), data(team, "y"), fixed)


@tandem.jit
def load_what_a_peer_stored(x_ptr, y_ptr, flag_ptr, FIXED: tl.constexpr):
    """The flag is acquired by an ordinary load; before a bulk load of what it tells, a proxy fence is the kernel's own."""
    buffer = dl.allocate_smem(tl.int32, [128])
    barrier = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    t = tid(0)
    peer = (dl.rank() + 1) % dl.num_ranks()
    st(dl.symm_at(x_ptr, peer) + t, t, semantic="weak")  # <-- bulk_load_after_a_polled_flag
    if t == 0:
        tma.mbarrier_init(barrier, 1)
    __syncthreads()
    if t == 0:
        st(dl.symm_at(flag_ptr, peer), 1, scope="sys", semantic="release")
        while ld(flag_ptr, scope="sys", semantic="acquire") != 1:
            pass
        if FIXED:
            tma.fence_proxy_async()
        tma.mbarrier_arrive_expect_tx(barrier, 512)
        tma.cp_async_bulk_global_to_shared(dl.smem_get_ptr(buffer), x_ptr, 512, barrier)  # <-- bulk_load_after_a_polled_flag
    tma.mbarrier_wait_parity(barrier, 0)
    st(y_ptr + t, dl.smem_load(buffer, [t]), semantic="weak")


@pair("race", "M16")
def bulk_load_after_a_polled_flag(team, fixed):
    load_what_a_peer_stored[(1,)](data(team), data(team, "y"), team.zeros(1, "int64", name="flag"), fixed)


@tandem.jit
def tell_at_once(x_ptr, y_ptr, flag_ptr, FIXED: tl.constexpr):
    """The flag follows the bulk store, which nobody has waited for."""
    buffer = dl.allocate_smem(tl.int32, [128])
    t = tid(0)
    peer = (dl.rank() + 1) % dl.num_ranks()
    dl.smem_store(buffer, t, [t])
    tma.fence_async_shared()
    __syncthreads()
    if t == 0:
        tma.cp_async_bulk_shared_to_global(dl.symm_at(x_ptr, peer), dl.smem_get_ptr(buffer), 512)  # <-- bulk_store_told_at_once
        tma.cp_async_bulk_commit_group()
        if FIXED:
            tma.cp_async_bulk_wait_group(0)
        st(dl.symm_at(flag_ptr, peer), 1, scope="sys", semantic="release")
        while ld(flag_ptr, scope="sys", semantic="acquire") != 1:
            pass
    __syncthreads()
    st(y_ptr + t, ld(x_ptr + t, semantic="weak"), semantic="weak")  # <-- bulk_store_told_at_once
    if t == 0:
        tma.cp_async_bulk_wait_group(0)


@pair("race", "M16")
def bulk_store_told_at_once(team, fixed):
    tell_at_once[(1,)](data(team), data(team, "y"), team.zeros(1, "int64", name="flag"), fixed)


@tandem.jit
def arrive_after_bulk_store(x_ptr, y_ptr, FIXED: tl.constexpr):
    """An arrival at an mbarrier releases its thread's accesses, not the bulk store that it has started."""
    buffer = dl.allocate_smem(tl.int32, [128])
    done = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    t = tid(0)
    dl.smem_store(buffer, t, [t])
    tma.fence_async_shared()
    if t == 0:
        tma.mbarrier_init(done, 1)
    __syncthreads()
    if t == 0:
        tma.cp_async_bulk_shared_to_global(x_ptr, dl.smem_get_ptr(buffer), 512)  # <-- arrived_before_the_store
        tma.cp_async_bulk_commit_group()
        if FIXED:
            tma.cp_async_bulk_wait_group(0)
        tma.mbarrier_arrive(done)
    tma.mbarrier_wait_parity(done, 0)
    st(y_ptr + t, ld(x_ptr + t, semantic="weak"), semantic="weak")  # <-- arrived_before_the_store
    __syncthreads()
    if t == 0:
        tma.cp_async_bulk_wait_group(0)


@pair("race", "M16", ranks=(1, 2, 4))
def arrived_before_the_store(team, fixed):
    arrive_after_bulk_store[(1,)](data(team), data(team, "y"), fixed)
