"""Threads of one program, and programs of one kernel."""

import tandem
import tandem.language as tl
from case import pair
from tandem.simt import __syncthreads, atomic_add, fence, ld, st, tid

N = 128


@tandem.jit
def neighbours(x_ptr, y_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    t = tid(0)
    st(x_ptr + t, t, semantic="weak")  # <-- missing_syncthreads
    if FIXED:
        __syncthreads()
    st(y_ptr + t, ld(x_ptr + (t + 1) % N, semantic="weak"), semantic="weak")  # <-- missing_syncthreads


@pair("race", "M3", ranks=(1, 2))
def missing_syncthreads(team, fixed):
    neighbours[(1,)](team.zeros(N, "int32", name="x"), team.zeros(N, "int32"), N, fixed)


@tandem.jit
def tile_and_threads(x_ptr, y_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, N), 7)  # <-- thread_reads_tile
    if FIXED:
        __syncthreads()
    t = tid(0)
    st(y_ptr + t, ld(x_ptr + (t ^ 64), semantic="weak"), semantic="weak")  # <-- thread_reads_tile


@pair("race", "M3", ranks=(1, 2))
def thread_reads_tile(team, fixed):
    tile_and_threads[(1,)](team.zeros(N, "int32", name="x"), team.zeros(N, "int32"), N, fixed)


@tandem.jit
def overlapping_rows(x_ptr, STEP: tl.constexpr, N: tl.constexpr):
    tl.store(x_ptr + tl.program_id(0) * STEP + tl.arange(0, N), tl.program_id(0))  # <-- overlapping_programs


@pair("race", "M13", ranks=(1, 2))
def overlapping_programs(team, fixed):
    overlapping_rows[(4,)](team.zeros(4 * N, "int32", name="x"), N if fixed else N - 1, N)


@tandem.jit
def hand_over(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, STORE: tl.constexpr):
    o = tl.arange(0, N)
    if tl.program_id(0) == 0:
        tl.store(x_ptr + o, 5)  # <-- relaxed_flag
        __syncthreads()
        if tid(0) == 0:
            st(flag_ptr, 1, scope="gpu", semantic=STORE)
    else:
        if tid(0) == 0:
            while ld(flag_ptr, scope="gpu", semantic="acquire") != 1:
                pass
        __syncthreads()
        tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- relaxed_flag


@pair("race", "M4", ranks=(1, 2))
def relaxed_flag(team, fixed):
    hand_over[(2,)](
        team.zeros(N, "int32", name="x"), team.zeros(N, "int32"), team.zeros(1, "int32", name="flag"), N, "release" if fixed else "relaxed"
    )


@tandem.jit
def count_in(x_ptr, y_ptr, counter_ptr, PROGRAMS: tl.constexpr, SEM: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(x_ptr + pid, pid)  # <-- relaxed_counter
    if tl.atomic_add(counter_ptr, 1, sem=SEM, scope="gpu") == PROGRAMS - 1:
        tl.store(y_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, PROGRAMS))))  # <-- relaxed_counter


@pair("race", "M4", ranks=(1, 2))
def relaxed_counter(team, fixed):
    count_in[(8,)](team.zeros(8, "int32", name="x"), team.zeros(1, "int32"), team.zeros(1, "int32"), 8, "acq_rel" if fixed else "relaxed")


@tandem.jit
def fenced_flag(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    t = tid(0)
    if tl.program_id(0) == 0:
        st(x_ptr + t, t, semantic="weak")  # <-- flag_before_barrier
        if FIXED:
            __syncthreads()
        if t == 0:
            fence(semantic="acq_rel", scope="gpu")
            st(flag_ptr, 1, scope="gpu", semantic="relaxed")
    else:
        if t == 0:
            while ld(flag_ptr, scope="gpu", semantic="acquire") != 1:
                pass
        __syncthreads()
        st(y_ptr + t, ld(x_ptr + t, semantic="weak"), semantic="weak")  # <-- flag_before_barrier


@pair("race", "M3", ranks=(1, 2))
def flag_before_barrier(team, fixed):
    fenced_flag[(2,)](team.zeros(N, "int32", name="x"), team.zeros(N, "int32"), team.zeros(1, "int32", name="flag"), N, fixed)


@tandem.jit
def only_one_waits(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    t = tid(0)
    if tl.program_id(0) == 0:
        tl.store(x_ptr + tl.arange(0, N), 3)  # <-- others_did_not_wait
        __syncthreads()
        if t == 0:
            atomic_add(flag_ptr, 1, scope="gpu", semantic="release")
    else:
        if t == 0:
            while ld(flag_ptr, scope="gpu", semantic="acquire") != 1:
                pass
        if FIXED:
            __syncthreads()
        st(y_ptr + t, ld(x_ptr + t, semantic="weak"), semantic="weak")  # <-- others_did_not_wait


@pair("race", "M3", ranks=(1, 2))
def others_did_not_wait(team, fixed):
    only_one_waits[(2,)](team.zeros(N, "int32", name="x"), team.zeros(N, "int32"), team.zeros(1, "int32", name="flag"), N, fixed)
