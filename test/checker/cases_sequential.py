"""The order of `sc` fences: Peterson's lock, of two threads that store one word each and load the other's."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from case import pair
from tandem.simt import __syncthreads, fence, ld, st, tid


@tandem.jit
def lock_of_two(flag_ptr, turn_ptr, count_ptr, SEMANTIC: tl.constexpr, SCOPE: tl.constexpr):
    me = dl.rank()
    other = (1 - me).to(tl.int64)
    flags, turn_at, count_at = dl.symm_at(flag_ptr, 0), dl.symm_at(turn_ptr, 0), dl.symm_at(count_ptr, 0)
    for i in range(3):
        if tid(0) == 0:
            st(flags + me, 1, scope="sys", semantic="relaxed")
            fence(SEMANTIC, SCOPE)
            st(turn_at, other, scope="sys", semantic="relaxed")
            fence(SEMANTIC, SCOPE)
            waits = True
            while waits:
                theirs = ld(flags + other, scope="sys", semantic="acquire")
                turn = ld(turn_at, scope="sys", semantic="acquire")
                waits = (theirs != 0) & (turn == other)
        __syncthreads()
        if SCOPE == "sys":
            tl.store(count_at, tl.load(count_at) + 1)  # <-- fences_of_no_order
        else:
            tl.store(count_at, tl.load(count_at) + 1)  # <-- fences_of_a_rank
        __syncthreads()
        if tid(0) == 0:
            st(flags + me, 0, scope="sys", semantic="release")


def lock(team, semantic, scope):
    count = team.zeros(1, "int32", name="count")
    lock_of_two[(1,)](team.zeros(2, "int64", name="flag"), team.zeros(1, "int64", name="turn"), count, semantic, scope)


@pair("race", None, ranks=(2,))
def fences_of_no_order(team, fixed):
    lock(team, "sc" if fixed else "acq_rel", "sys")


@pair("race", None, ranks=(2,))
def fences_of_a_rank(team, fixed):
    lock(team, "sc", "sys" if fixed else "gpu")
