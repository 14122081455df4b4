"""Every thread acts on one place: threads that change it race with each other, and a program that waits for them waits for all."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair
from tandem.dist import tma
from tandem.simt import __shfl_sync_i32, __syncthreads, __syncwarp, atomic_add, fence, ld, named_barrier_sync, st, tid

N = 128


def words(team, name, count=N):
    return team.zeros(count, "int32", name=name)


@tandem.jit
def count_threads(x_ptr, FIXED: tl.constexpr):
    if FIXED:
        atomic_add(x_ptr, 1)
    else:
        st(x_ptr, ld(x_ptr, semantic="weak") + 1, semantic="weak")  # <-- count_of_all_threads


@pair("race", "M3", ranks=(1,))
def count_of_all_threads(team, fixed):
    count_threads[(1,)](words(team, "x"), fixed)


@tandem.jit
def shared_step(y_ptr, FIXED: tl.constexpr):
    step = dl.allocate_smem(tl.int32, [1])
    for s in range(3):
        dl.smem_store(step, s, [0])  # <-- shared_word_of_a_loop
        __syncthreads()
        st(y_ptr + tid(0), dl.smem_load(step, [0]), semantic="weak")  # <-- shared_word_of_a_loop
        if FIXED:
            __syncthreads()


@pair("race", "M3", ranks=(1,))
def shared_word_of_a_loop(team, fixed):
    shared_step[(1,)](words(team, "y"), fixed)


@tandem.jit
def some_then_first(x_ptr, FIXED: tl.constexpr):
    if tid(0) >= 32:
        st(x_ptr, 5, semantic="weak")  # <-- first_of_those_that_stored
    if FIXED:
        __syncthreads()
    if tid(0) == 32:
        st(x_ptr, 6, semantic="weak")  # <-- first_of_those_that_stored


@pair("race", "M3", ranks=(1,))
def first_of_those_that_stored(team, fixed):
    some_then_first[(1,)](words(team, "x"), fixed)


@tandem.jit
def warp_stores(y_ptr, FIXED: tl.constexpr):
    word = dl.allocate_smem(tl.int32, [1])
    if tid(0) < 32:
        dl.smem_store(word, 5, [0])  # <-- word_of_a_warp
        if FIXED:
            __syncwarp()
        if tid(0) == 0:
            st(y_ptr, dl.smem_load(word, [0]), semantic="weak")  # <-- word_of_a_warp


@pair("race", "M3", ranks=(1,))
def word_of_a_warp(team, fixed):
    warp_stores[(1,)](words(team, "y"), fixed)


@tandem.jit
def single_warp(x_ptr, n_ptr, y_ptr, FIXED: tl.constexpr):
    n = ld(n_ptr, semantic="weak")
    if tid(0) == 3:
        st(x_ptr, 9, semantic="weak")  # <-- program_of_one_warp
    if FIXED:
        __syncwarp()
    st(y_ptr + tid(0), ld(x_ptr, semantic="weak") + n, semantic="weak")  # <-- program_of_one_warp
    if FIXED:
        if tid(0) == 5:
            st(n_ptr, 8, semantic="weak")


@pair("race", "M3", ranks=(1,))
def program_of_one_warp(team, fixed):
    single_warp[(1,)](words(team, "x"), words(team, "n"), words(team, "y"), fixed, num_warps=1)


@tandem.jit
def halves_meet(n_ptr, y_ptr, FIXED: tl.constexpr):
    n = ld(n_ptr, semantic="weak")  # <-- halves_at_a_named_barrier
    if tid(0) < 64:
        st(y_ptr + tid(0), n, semantic="weak")
        if FIXED:
            named_barrier_sync(1, 128)
    else:
        st(y_ptr + tid(0), n + 1, semantic="weak")
        if FIXED:
            named_barrier_sync(1, 128)
    if tid(0) == 5:
        st(n_ptr, 8, semantic="weak")  # <-- halves_at_a_named_barrier


@pair("race", "M3", ranks=(1,))
def halves_at_a_named_barrier(team, fixed):
    halves_meet[(1,)](words(team, "n"), words(team, "y"), fixed)


@tandem.jit
def each_arrives(n_ptr, y_ptr, count_ptr, FIXED: tl.constexpr):
    if tl.program_id(0) == 0:
        st(y_ptr + tid(0), ld(n_ptr, semantic="weak"), semantic="weak")  # <-- arrival_of_each_thread
        if tid(0) < (128 if FIXED else 127):
            atomic_add(count_ptr, 1, scope="gpu", semantic="release")
    elif tid(0) == 0:
        while ld(count_ptr, scope="gpu", semantic="acquire") < (128 if FIXED else 127):
            pass
        st(n_ptr, 8, semantic="weak")  # <-- arrival_of_each_thread


@pair("race", None, ranks=(1,))
def arrival_of_each_thread(team, fixed):
    each_arrives[(2,)](words(team, "n"), words(team, "y"), words(team, "count"), fixed)


@tandem.jit
def all_publish(x_ptr, y_ptr, flag_ptr, FIXED: tl.constexpr):
    t = tid(0)
    if tl.program_id(0) == 0:
        st(x_ptr + t, t, semantic="weak")  # <-- flag_that_all_threads_set
        if FIXED:
            __syncthreads()
        st(flag_ptr, 1, scope="gpu", semantic="release")
    else:
        while ld(flag_ptr, scope="gpu", semantic="acquire") != 1:
            pass
        st(y_ptr + t, ld(x_ptr + t, semantic="weak"), semantic="weak")  # <-- flag_that_all_threads_set


@pair("race", "M3", ranks=(1,))
def flag_that_all_threads_set(team, fixed):
    all_publish[(2,)](words(team, "x"), words(team, "y"), words(team, "flag"), fixed)


@tandem.jit
def all_signal(x_ptr, y_ptr, signal_ptr, FIXED: tl.constexpr):
    t = tid(0)
    peer = (dl.rank() + 1) % dl.num_ranks()
    st(dl.symm_at(x_ptr, peer) + t, t, semantic="weak")  # <-- signal_that_each_thread_adds_to
    shmem.fence()
    shmem.signal_op(signal_ptr, 1, shmem.NVSHMEM_SIGNAL_ADD, peer)
    shmem.signal_wait_until(signal_ptr, shmem.NVSHMEM_CMP_GE, 128 if FIXED else 1)
    st(y_ptr + t, ld(x_ptr + t, semantic="weak"), semantic="weak")  # <-- signal_that_each_thread_adds_to


@pair("race", None)
def signal_that_each_thread_adds_to(team, fixed):
    all_signal[(1,)](words(team, "x"), words(team, "y"), team.zeros(1, "int64", name="signal"), fixed)
    team.barrier()


@tandem.jit
def fence_of_all(x_ptr, y_ptr, flag_ptr, FIXED: tl.constexpr):
    o = tl.arange(0, 64)
    if tl.program_id(0) == 0:
        tl.store(x_ptr + o, o)  # <-- tile_behind_a_fence_alone
        if FIXED:
            __syncthreads()
        fence("acq_rel", "gpu")
        if tid(0) == 0:
            st(flag_ptr, 1, scope="gpu", semantic="relaxed")
    else:
        if tid(0) == 0:
            while ld(flag_ptr, scope="gpu", semantic="acquire") != 1:
                pass
        __syncthreads()
        tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- tile_behind_a_fence_alone


@pair("race", "M3", ranks=(1,))
def tile_behind_a_fence_alone(team, fixed):
    fence_of_all[(2,)](words(team, "x"), words(team, "y"), words(team, "flag"), fixed)


@tandem.jit
def same_or_not(x_ptr, y_ptr, FIXED: tl.constexpr):
    t = tid(0)
    st(y_ptr + t // 2, (t // 2 if FIXED else t) + 7, semantic="weak")  # <-- two_threads_store_the_same
    if t < 32:
        st(x_ptr, __shfl_sync_i32(0xFFFFFFFF, t, 4), semantic="weak")


@pair("race", None, ranks=(1,))
def two_threads_store_the_same(team, fixed):
    same_or_not[(1,)](words(team, "x"), words(team, "y"), fixed)


@tandem.jit
def arrive_and_read_others(x_ptr, y_ptr, ARRIVALS: tl.constexpr):
    bar = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]), [0])
    if tid(0) == 0:
        tma.mbarrier_init(bar, ARRIVALS)
    __syncthreads()
    st(x_ptr + tid(0), tid(0), semantic="weak")  # <-- thread_that_does_not_arrive
    if tid(0) < ARRIVALS:
        tma.mbarrier_arrive(bar)
    tma.mbarrier_wait_parity(bar, 0)
    st(y_ptr + tid(0), ld(x_ptr + (tid(0) ^ 64), semantic="weak"), semantic="weak")  # <-- thread_that_does_not_arrive


@pair("race", "M3", ranks=(1,))
def thread_that_does_not_arrive(team, fixed):
    arrive_and_read_others[(1,)](words(team, "x"), words(team, "y"), N if fixed else N - 1)


@tandem.jit
def arrive_all_at_once(x_ptr, y_ptr, bar_count, FIXED: tl.constexpr):
    bar = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]), [0])
    if tid(0) == 0:
        tma.mbarrier_init(bar, bar_count)
    __syncthreads()
    st(x_ptr + tid(0), tid(0), semantic="weak")  # <-- read_before_the_wait
    tma.mbarrier_arrive(bar)
    if FIXED:
        tma.mbarrier_wait_parity(bar, 0)
    st(y_ptr + tid(0), ld(x_ptr + (tid(0) ^ 64), semantic="weak"), semantic="weak")  # <-- read_before_the_wait


@pair("race", "M3", ranks=(1,))
def read_before_the_wait(team, fixed):
    arrive_all_at_once[(1,)](words(team, "x"), words(team, "y"), N, fixed)


@tandem.jit
def barrier_by_hand(n_ptr, y_ptr, FIXED: tl.constexpr):
    st(y_ptr + tid(0), ld(n_ptr, semantic="weak"), semantic="weak")  # <-- barrier_of_too_few
    atomic_add(n_ptr + 1, 1, scope="cta", semantic="acq_rel")
    while ld(n_ptr + 1, scope="cta", semantic="acquire") < (N if FIXED else N - 1):
        pass
    st(n_ptr, 8, semantic="weak")  # <-- barrier_of_too_few


@pair("race", "M3", ranks=(1,))
def barrier_of_too_few(team, fixed):
    barrier_by_hand[(1,)](words(team, "n"), words(team, "y"), fixed)


@tandem.jit
def read_and_report(n_ptr, y_ptr, seen_ptr, done_ptr):
    st(y_ptr + tid(0), ld(n_ptr, semantic="weak"), semantic="weak")  # <-- copy_over_what_some_still_read
    atomic_add(seen_ptr, tl.cast(1, tl.int64), scope="sys", semantic="release")
    while ld(done_ptr, scope="sys", semantic="acquire") != 1:
        pass


@pair("race", "M13", ranks=(1,))
def copy_over_what_some_still_read(team, fixed):
    signal = lambda name: team.zeros(1, "int64", name=name)
    n, source, seen, done, copies = words(team, "n"), words(team, "source"), signal("seen"), signal("done"), team.new_stream()
    copies.wait_event(team.stream.record_event())
    read_and_report[(1,)](n, words(team, "y"), seen, done)
    copies.signal_wait(seen, N if fixed else N - 1, "ge")
    copies.copy(n, source)  # <-- copy_over_what_some_still_read
    copies.signal_write(done, 1)


@tandem.jit
def read_then_flag(x_ptr, y_ptr, flag_ptr, FIXED: tl.constexpr):
    if tl.program_id(0) == 0:
        st(y_ptr + tid(0), ld(x_ptr, semantic="weak"), semantic="weak")  # <-- flag_of_each_behind_its_read
        if FIXED:
            __syncthreads()
        st(flag_ptr, 1, scope="gpu", semantic="release")
    elif tid(0) == 0:
        while ld(flag_ptr, scope="gpu", semantic="acquire") != 1:
            pass
        st(x_ptr, 7, semantic="weak")  # <-- flag_of_each_behind_its_read


@pair("race", "M3", ranks=(1,))
def flag_of_each_behind_its_read(team, fixed):
    read_then_flag[(2,)](words(team, "x"), words(team, "y"), words(team, "flag"), fixed)


@tandem.jit
def store_downwards(x_ptr, FIXED: tl.constexpr):
    at = tid(0)
    for j in range(2):
        st(x_ptr + (31 - at), 5, semantic="weak")  # <-- same_value_by_another_thread
        if FIXED:
            __syncthreads()
        at = tl.where((at > 0) & (at < 31), ((at - 1) ^ 1) + 1, at)


@pair("race", "M3", ranks=(1,))
def same_value_by_another_thread(team, fixed):
    store_downwards[(1,)](words(team, "x"), fixed, num_warps=1)
