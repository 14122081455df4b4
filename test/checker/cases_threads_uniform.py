"""Threads that come alone and agree on all operands: the access is theirs, not thread 0's, and each of them reads."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair
from tandem.dist import tma
from tandem.simt import __syncthreads, ld, st, tid

N = 128


def words(team, name, dtype="int32"):
    return team.zeros(N, dtype, name=name)


@tandem.jit
def one_slot(y_ptr, FIXED: tl.constexpr):
    buffer = dl.allocate_smem(tl.int32, [2])
    t = tid(0)
    if t == 0:
        dl.smem_store(buffer, 1, [0])  # <-- slot_of_two_threads
    if t == 32:
        dl.smem_store(buffer, 2, [1 if FIXED else 0])  # <-- slot_of_two_threads
    __syncthreads()
    st(y_ptr + t, dl.smem_load(buffer, [0]), semantic="weak")


@pair("race", "M3", ranks=(1,))
def slot_of_two_threads(team, fixed):
    one_slot[(1,)](words(team, "y"), fixed)


@tandem.jit
def hand_over(y_ptr, FIXED: tl.constexpr):
    buffer = dl.allocate_smem(tl.int32, [2])
    t = tid(0)
    if t == 0:
        dl.smem_store(buffer, 1, [0])  # <-- slot_read_by_thread
    if FIXED:
        __syncthreads()
    if t == 32:
        st(y_ptr, dl.smem_load(buffer, [0]), semantic="weak")  # <-- slot_read_by_thread


@pair("race", "M3", ranks=(1,))
def slot_read_by_thread(team, fixed):
    hand_over[(1,)](words(team, "y"), fixed)


@tandem.jit
def two_producers(y_ptr, FIXED: tl.constexpr):
    buffer = dl.allocate_smem(tl.int32, [2])
    barrier = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    t = tid(0)
    if t == 0:
        tma.mbarrier_init(barrier, 2)
    __syncthreads()
    if t == 0:
        dl.smem_store(buffer, 1, [0])
        tma.mbarrier_arrive(barrier)
    if t == 32:
        if FIXED:
            dl.smem_store(buffer, 2, [1])
        tma.mbarrier_arrive(barrier)
        if not FIXED:
            dl.smem_store(buffer, 2, [1])  # <-- store_behind_arrival
    if t >= 64:
        tma.mbarrier_wait_parity(barrier, 0)
        st(y_ptr + t, dl.smem_load(buffer, [t % 2]), semantic="weak")  # <-- store_behind_arrival


@pair("race", None, ranks=(1,))
def store_behind_arrival(team, fixed):
    two_producers[(1,)](words(team, "y"), fixed)


@tandem.jit
def warp_reads(x_ptr, y_ptr, FIXED: tl.constexpr):
    t = tid(0)
    if t == 0:
        st(x_ptr, 1, semantic="weak")  # <-- warp_reads_one_word
    if FIXED:
        __syncthreads()
    if t < 32:
        st(y_ptr + t, ld(x_ptr, semantic="weak"), semantic="weak")  # <-- warp_reads_one_word


@pair("race", "M3", ranks=(1,))
def warp_reads_one_word(team, fixed):
    warp_reads[(1,)](words(team, "x"), words(team, "y"), fixed)


@tandem.jit
def warps_poll(x_ptr, flag_ptr, y_ptr, SEM: tl.constexpr):
    t = tid(0)
    peer = (dl.rank() + 1) % dl.num_ranks()
    st(dl.symm_at(x_ptr, peer) + t, t, semantic="weak")  # <-- relaxed_poll_of_warps
    __syncthreads()
    if t == 0:
        st(dl.symm_at(flag_ptr, peer), 1, scope="sys", semantic="release")
    if t >= 32:
        while ld(flag_ptr, scope="sys", semantic=SEM) != 1:
            pass
        st(y_ptr + t, ld(x_ptr + t, semantic="weak"), semantic="weak")  # <-- relaxed_poll_of_warps


@pair("race", "M4")
def relaxed_poll_of_warps(team, fixed):
    warps_poll[(1,)](words(team, "x"), words(team, "flag"), words(team, "y"), "acquire" if fixed else "relaxed")
    team.barrier()


@tandem.jit
def warps_wait(x_ptr, flag_ptr, y_ptr, FIXED: tl.constexpr):
    t = tid(0)
    peer = (dl.rank() + 1) % dl.num_ranks()
    st(dl.symm_at(x_ptr, peer) + t, t, semantic="weak")  # <-- signal_before_fence
    __syncthreads()
    if t == 0:
        if FIXED:
            shmem.fence()
        shmem.signal_op(flag_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
    if t >= 32:
        shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 1)
        st(y_ptr + t, ld(x_ptr + t, semantic="weak"), semantic="weak")  # <-- signal_before_fence


@pair("race", "M11")
def signal_before_fence(team, fixed):
    warps_wait[(1,)](words(team, "x"), words(team, "flag", "int64"), words(team, "y"), fixed)
    team.barrier()


@tandem.jit
def narrow_wait(x_ptr, flag_ptr, y_ptr, FIXED: tl.constexpr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    if tid(0) == 32:
        tl.store(dl.symm_at(x_ptr, peer), 7)  # <-- flag_of_32_bits
        st(dl.symm_at(flag_ptr, peer), 1, scope="sys", semantic="release" if FIXED else "relaxed")
        shmem.int32_wait_until_equals(flag_ptr, 1)
        tl.store(y_ptr, tl.load(x_ptr))  # <-- flag_of_32_bits


@pair("race", "M4")
def flag_of_32_bits(team, fixed):
    narrow_wait[(1,)](words(team, "x"), words(team, "flag"), words(team, "y"), fixed)
    team.barrier()


@tandem.jit
def payload_of_another(x_ptr, flag_ptr, y_ptr, FIXED: tl.constexpr):
    t = tid(0)
    peer = (dl.rank() + 1) % dl.num_ranks()
    if t == 32:
        tl.store(dl.symm_at(x_ptr, peer), 7)  # <-- payload_of_another_thread
    if FIXED:
        __syncthreads()
    if t == 0:
        st(dl.symm_at(flag_ptr, peer), 1, scope="sys", semantic="release")
        while ld(flag_ptr, scope="sys", semantic="acquire") != 1:
            pass
        st(y_ptr, ld(x_ptr, semantic="weak"), semantic="weak")  # <-- payload_of_another_thread


@pair("race", "M4")
def payload_of_another_thread(team, fixed):
    payload_of_another[(1,)](words(team, "x"), words(team, "flag"), words(team, "y"), fixed)
    team.barrier()


@tandem.jit
def atomic_flag(x_ptr, flag_ptr, y_ptr, FIXED: tl.constexpr):
    t = tid(0)
    peer = (dl.rank() + 1) % dl.num_ranks()
    if t == 0:
        st(dl.symm_at(x_ptr, peer), 7, semantic="weak")  # <-- atomic_of_another_thread
    if FIXED:
        __syncthreads()
    if t == 32:
        tl.atomic_xchg(dl.symm_at(flag_ptr, peer), 1, sem="release", scope="sys")
        while ld(flag_ptr, scope="sys", semantic="acquire") != 1:
            pass
        st(y_ptr, ld(x_ptr, semantic="weak"), semantic="weak")  # <-- atomic_of_another_thread


@pair("race", "M4")
def atomic_of_another_thread(team, fixed):
    atomic_flag[(1,)](words(team, "x"), words(team, "flag"), words(team, "y"), fixed)
    team.barrier()
