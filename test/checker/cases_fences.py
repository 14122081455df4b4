"""Fences of several scopes: each orders for the threads that its scope names, and none takes away what an earlier one has ordered."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair
from tandem.simt import __syncthreads, __syncwarp, atomic_add, fence, ld, st, tid

N = 32


def data(team, name, count=N):
    return team.zeros(count, "int32", name=name)


@tandem.jit
def arrive_and_look(x_ptr, y_ptr, count_ptr, N: tl.constexpr, SCOPE: tl.constexpr):
    """A relaxed look at the other programs' arrivals, then a fence."""
    o = tl.arange(0, N)
    me = tl.program_id(0)
    tl.store(x_ptr + me * N + o, me)  # <-- block_fence_between_programs
    __syncthreads()
    if tid(0) == 0:
        fence(semantic="acq_rel", scope="gpu")
        atomic_add(count_ptr, 1, scope="gpu", semantic="relaxed")
        while ld(count_ptr, scope="gpu", semantic="relaxed") < 2:
            pass
        fence(semantic="acq_rel", scope=SCOPE)
    __syncthreads()
    tl.store(y_ptr + me * N + o, tl.load(x_ptr + (1 - me) * N + o))  # <-- block_fence_between_programs


@pair("race", "M14", ranks=(1, 2))
def block_fence_between_programs(team, fixed):
    arrive_and_look[(2,)](data(team, "x", 2 * N), data(team, "y", 2 * N), data(team, "count", 1), N, "gpu" if fixed else "cta")


@tandem.jit
def within_the_block(x_ptr, y_ptr, flag_ptr, SCOPE: tl.constexpr, FENCED: tl.constexpr):
    """Thread 0 tells thread 32 of a word, by a flag and fences of the block's scope."""
    t = tid(0)
    if t == 0:
        st(x_ptr, 1, semantic="weak")  # <-- threads_without_a_fence
        fence(semantic="acq_rel", scope="cta")
        st(flag_ptr, 1, scope=SCOPE, semantic="relaxed")
    if t == 32:
        while ld(flag_ptr, scope=SCOPE, semantic="relaxed") != 1:
            pass
        if FENCED:
            fence(semantic="acq_rel", scope="cta")
        st(y_ptr, ld(x_ptr, semantic="weak"), semantic="weak")  # <-- threads_without_a_fence


@pair("race", "M3", ranks=(1,))
def threads_without_a_fence(team, fixed):
    for scope in ("cta", "gpu"):
        within_the_block[(1,)](data(team, "x"), data(team, "y"), data(team, "flag", 1), scope, fixed, num_warps=2)


@tandem.jit
def narrower_fence_behind(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, FIRST: tl.constexpr, SECOND: tl.constexpr):
    """A second fence, for the threads of the block or of the GPU, between the one for all and the flag."""
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer) + o, 1)  # <-- only_the_narrower_fence
    __syncthreads()
    if tid(0) == 0:
        if FIRST:
            fence(semantic="acq_rel", scope="sys")
        fence(semantic="acq_rel", scope=SECOND)
        st(dl.symm_at(flag_ptr, peer), 1, scope="sys", semantic="relaxed")
        while ld(flag_ptr, scope="sys", semantic="acquire") != 1:
            pass
    __syncthreads()
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- only_the_narrower_fence


@pair("race", None)
def only_the_narrower_fence(team, fixed):
    for second in ("cta", "gpu")[: 2 if fixed else 1]:
        narrower_fence_behind[(1,)](data(team, "x"), data(team, "y"), data(team, "flag", 1), N, fixed, second)


@tandem.jit
def warps_tell(x_ptr, y_ptr, flag_ptr, SIGNALS: tl.constexpr, FIXED: tl.constexpr):
    """All threads fence; a warp's first one tells the peer's warp of what the others know to be stored since the warp has met."""
    t = tid(0)
    peer = (dl.rank() + 1) % dl.num_ranks()
    st(dl.symm_at(x_ptr, peer) + t, t, semantic="weak")  # <-- fence_before_the_warp_has_met
    if FIXED:
        __syncwarp()
    if SIGNALS:
        shmem.fence()
    else:
        fence("acq_rel", "sys")
    if t % 32 == 0:
        if SIGNALS:
            shmem.signal_op(flag_ptr + t // 32, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
            shmem.signal_wait_until(flag_ptr + t // 32, shmem.NVSHMEM_CMP_EQ, 1)
        else:
            st(dl.symm_at(flag_ptr, peer) + t // 32, 1, scope="sys", semantic="relaxed")
            while ld(flag_ptr + t // 32, scope="sys", semantic="acquire") != 1:
                pass
    __syncwarp()
    st(y_ptr + t, ld(x_ptr + (t ^ 31), semantic="weak"), semantic="weak")  # <-- fence_before_the_warp_has_met


@pair("race", "M3")
def fence_before_the_warp_has_met(team, fixed):
    for signals in (False, True):
        flags = team.zeros(4, "int64", name="flag")
        warps_tell[(1,)](data(team, "x", 128), data(team, "y", 128), flags, signals, fixed)


@tandem.jit
def tell_and_look(x_ptr, y_ptr, flag_ptr, BEFORE: tl.constexpr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    if tid(0) == 0:
        st(dl.symm_at(x_ptr, peer), 1, semantic="weak")  # <-- other_half_of_a_fence
        fence(BEFORE, "sys")
        st(dl.symm_at(flag_ptr, peer), 1, scope="sys", semantic="relaxed")
        while ld(flag_ptr, scope="sys", semantic="relaxed") != 1:
            pass
        fence("acquire", "sys")
        st(y_ptr, ld(x_ptr, semantic="weak"), semantic="weak")  # <-- other_half_of_a_fence


@pair("race", "M4")
def other_half_of_a_fence(team, fixed):
    """A fence that acquires releases nothing."""
    tell_and_look[(1,)](data(team, "x", 1), data(team, "y", 1), data(team, "flag", 1), "release" if fixed else "acquire")


@tandem.jit
def look_behind_a_release(x_ptr, y_ptr, flag_ptr, BEHIND: tl.constexpr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    if tid(0) == 0:
        st(dl.symm_at(x_ptr, peer), 1, semantic="weak")  # <-- release_where_it_acquires
        st(dl.symm_at(flag_ptr, peer), 1, scope="sys", semantic="release")
        while ld(flag_ptr, scope="sys", semantic="relaxed") != 1:
            pass
        fence(BEHIND, "sys")
        st(y_ptr, ld(x_ptr, semantic="weak"), semantic="weak")  # <-- release_where_it_acquires


@pair("race", "M4")
def release_where_it_acquires(team, fixed):
    look_behind_a_release[(1,)](data(team, "x", 1), data(team, "y", 1), data(team, "flag", 1), "acquire" if fixed else "release")
