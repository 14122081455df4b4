"""Relaxed updates order some things and not others: other signals, waits that have ended; bulk copies that are not waited for."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair
from tandem.dist import tma
from tandem.simt import __syncthreads, atomic_add, ld, st, tid

N = 128


@tandem.jit
def reset_another(a_ptr, b_ptr, FIXED: tl.constexpr):
    """A program that has seen the second signal does not come after the first."""
    peer = (dl.rank() + 1) % dl.num_ranks()
    if tid(0) == 0:
        shmem.signal_op(a_ptr, 17, shmem.NVSHMEM_SIGNAL_SET, peer)  # <-- reset_of_another_signal
        shmem.signal_op(b_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
        shmem.signal_wait_until(b_ptr, shmem.NVSHMEM_CMP_EQ, 1)
        if FIXED:
            shmem.signal_wait_until(a_ptr, shmem.NVSHMEM_CMP_EQ, 17)
        shmem.signal_op(a_ptr, 0, shmem.NVSHMEM_SIGNAL_SET, dl.rank())  # <-- reset_of_another_signal


@pair("signal-misuse", "M11")
def reset_of_another_signal(team, fixed):
    reset_another[(1,)](team.zeros(1, "int64", name="a"), team.zeros(1, "int64", name="b"), fixed)


@tandem.jit
def reset_by_another(flag_ptr, back_ptr, FIXED: tl.constexpr):
    """Rank 0 takes its own update back, when rank 1 has told that it has seen it."""
    if tid(0) == 0:
        if dl.rank() == 0:
            shmem.signal_op(flag_ptr, 5, shmem.NVSHMEM_SIGNAL_SET, 1)
            if FIXED:
                shmem.signal_wait_until(back_ptr, shmem.NVSHMEM_CMP_EQ, 1)
            shmem.signal_op(flag_ptr, 0, shmem.NVSHMEM_SIGNAL_SET, 1)  # <-- taken_back_too_early
            if not FIXED:
                shmem.signal_wait_until(back_ptr, shmem.NVSHMEM_CMP_EQ, 1)
        else:
            shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 5)  # <-- taken_back_too_early
            shmem.signal_op(back_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, 0)


@pair("signal-misuse", "M15", ranks=(2,))
def taken_back_too_early(team, fixed):
    reset_by_another[(1,)](team.zeros(1, "int64", name="flag"), team.zeros(1, "int64", name="back"), fixed)


@tandem.jit
def bulk_and_notify(x_ptr, y_ptr, flag_ptr, FIXED: tl.constexpr):
    """Read out of shared memory is not yet written at the peer, and `notify` does not wait for it."""
    buffer = dl.allocate_smem(tl.int32, [N])
    peer = (dl.rank() + 1) % dl.num_ranks()
    dl.smem_store(buffer, tid(0), [tid(0)])
    tma.fence_async_shared()
    __syncthreads()
    if tid(0) == 0:
        tma.cp_async_bulk_shared_to_global(dl.symm_at(x_ptr, peer), dl.smem_get_ptr(buffer), 4 * N)  # <-- told_of_too_early
        tma.cp_async_bulk_commit_group()
        tma.cp_async_bulk_wait_group(0, read=not FIXED)
    __syncthreads()
    dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
    token = dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)
    o = tl.arange(0, N)
    tl.store(y_ptr + o, tl.load(dl.consume_token(x_ptr, token) + o))  # <-- told_of_too_early


@pair("race", "M16")
def told_of_too_early(team, fixed):
    x, y, flag = team.zeros(N, "int32", name="x"), team.zeros(N, "int32"), team.zeros(1, "int64", name="flag")
    bulk_and_notify[(1,)](x, y, flag, fixed, num_warps=4)


@tandem.jit
def read_by_parity(x_ptr, y_ptr, PARITY: tl.constexpr):
    """The shared memory is new: before the copy it holds nothing, and a wait for the phase before the first ends at once."""
    buffer = dl.allocate_smem(tl.int32, [N])
    barrier = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    t = tid(0)
    if t == 0:
        tma.mbarrier_init(barrier, 1)
    __syncthreads()
    if t == 0:
        tma.mbarrier_arrive_expect_tx(barrier, 4 * N)
        tma.cp_async_bulk_global_to_shared(dl.smem_get_ptr(buffer), x_ptr, 4 * N, barrier)  # <-- wrong_parity
    tma.mbarrier_wait_parity(barrier, PARITY)
    st(y_ptr + t, dl.smem_load(buffer, [t]), semantic="weak")  # <-- wrong_parity
    tma.mbarrier_wait_parity(barrier, 0)


@pair("race", "M16", ranks=(1, 2))
def wrong_parity(team, fixed):
    read_by_parity[(1,)](team.zeros(N, "int32", name="x"), team.zeros(N, "int32"), 0 if fixed else 1, num_warps=4)


@tandem.jit
def reset_by_notify(flag_ptr, FIXED: tl.constexpr):
    """`notify` comes after the waits of every thread of its program; a thread's own reset does not."""
    peer = (dl.rank() + 1) % dl.num_ranks()
    if tid(0) == 0:
        shmem.signal_op(flag_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
    shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 1)  # <-- reset_by_the_first_thread
    if FIXED:
        dl.notify(flag_ptr, dl.rank(), signal=0, sig_op="set", comm_scope="intra_node")
    else:
        if tid(0) == 0:
            shmem.signal_op(flag_ptr, 0, shmem.NVSHMEM_SIGNAL_SET, dl.rank())  # <-- reset_by_the_first_thread


@pair("signal-misuse", "M15")
def reset_by_the_first_thread(team, fixed):
    reset_by_notify[(1,)](team.zeros(1, "int64", name="flag"), fixed)


@tandem.jit
def set_again(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, BY: tl.constexpr):
    """The flag goes to 1 with a release, then to 2 without: by the same thread, the second value continues the release."""
    o = tl.arange(0, N)
    if dl.rank() == 0:
        tl.store(dl.symm_at(x_ptr, 1) + o, 5)  # <-- set_again_by_another
        __syncthreads()
        if tid(0) == 0:
            st(dl.symm_at(flag_ptr, 1), 1, scope="sys", semantic="release")
        __syncthreads()
        if tid(0) == BY:
            st(dl.symm_at(flag_ptr, 1), 2, scope="sys", semantic="relaxed")
    elif dl.rank() == 1:
        if tid(0) == 0:
            while ld(flag_ptr, scope="sys", semantic="acquire") != 2:
                pass
        __syncthreads()
        tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- set_again_by_another


@pair("race", "M4", ranks=(2,))
def set_again_by_another(team, fixed):
    x, y = team.zeros(N, "int32", name="x"), team.zeros(N, "int32", name="y")
    set_again[(1,)](x, y, team.zeros(1, "int64", name="flag"), N, 0 if fixed else 32)


@tandem.jit
def notify_and_set(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, ADDS: tl.constexpr):
    """Nobody knows which thread carries out `notify`: an addition continues its release, a store does not."""
    o = tl.arange(0, N)
    if dl.rank() == 0:
        tl.store(dl.symm_at(x_ptr, 1) + o, 5)  # <-- set_behind_notify
        dl.notify(flag_ptr, 1, signal=1, sig_op="set", comm_scope="intra_node")
        __syncthreads()
        if tid(0) == 0:
            if ADDS:
                atomic_add(dl.symm_at(flag_ptr, 1), 1, scope="sys", semantic="relaxed")
            else:
                st(dl.symm_at(flag_ptr, 1), 2, scope="sys", semantic="relaxed")
    elif dl.rank() == 1:
        if tid(0) == 0:
            while ld(flag_ptr, scope="sys", semantic="acquire") != 2:
                pass
        __syncthreads()
        tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- set_behind_notify


@pair("race", "M4", ranks=(2,))
def set_behind_notify(team, fixed):
    x, y = team.zeros(N, "int32", name="x"), team.zeros(N, "int32", name="y")
    notify_and_set[(1,)](x, y, team.zeros(1, "int64", name="flag"), N, fixed)


@tandem.jit
def add_to_anothers(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, BY: tl.constexpr):
    """A store of another thread ends the chain of a release, but not for the thread that made it."""
    o = tl.arange(0, N)
    if dl.rank() == 0:
        tl.store(dl.symm_at(x_ptr, 1) + o, 5)  # <-- added_behind_a_store
        __syncthreads()
        if tid(0) == 0:
            atomic_add(dl.symm_at(flag_ptr, 1), 1, scope="sys", semantic="release")
            atomic_add(dl.symm_at(flag_ptr, 1), 1, scope="sys", semantic="relaxed")
        __syncthreads()
        if tid(0) == 32:
            st(dl.symm_at(flag_ptr, 1), 7, scope="sys", semantic="relaxed")
        __syncthreads()
        if tid(0) == BY:
            atomic_add(dl.symm_at(flag_ptr, 1), 1, scope="sys", semantic="relaxed")
    elif dl.rank() == 1:
        if tid(0) == 0:
            while ld(flag_ptr, scope="sys", semantic="acquire") != 8:
                pass
        __syncthreads()
        tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- added_behind_a_store


@pair("race", "M4", ranks=(2,))
def added_behind_a_store(team, fixed):
    x, y = team.zeros(N, "int32", name="x"), team.zeros(N, "int32", name="y")
    add_to_anothers[(1,)](x, y, team.zeros(1, "int64", name="flag"), N, 0 if fixed else 64)
