"""Runs that cannot end: cyclic waits, values nobody writes, collectives that do not match, too few slots for spinning programs."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair
from tandem.simt import __syncthreads, atomic_cas, ld, st, tid


def flag(team, name="flag", count=1):
    return team.zeros(count, "int64", name=name)


@tandem.jit
def wait_then_tell(flag_ptr, FIXED: tl.constexpr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    if FIXED:
        dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)  # <-- cyclic_wait
    if not FIXED:
        dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")


@pair("deadlock", None)
def cyclic_wait(team, fixed):
    wait_then_tell[(1,)](flag(team), fixed)


@tandem.jit
def wait_for(flag_ptr, VALUE: tl.constexpr):
    dl.notify(flag_ptr, (dl.rank() + 1) % dl.num_ranks(), signal=1, sig_op="set", comm_scope="intra_node")
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=VALUE)  # <-- value_nobody_writes


@pair("deadlock", None)
def value_nobody_writes(team, fixed):
    wait_for[(1,)](flag(team), 1 if fixed else 2)


@tandem.jit
def wait_for_all(flag_ptr, COUNT: tl.constexpr):
    rank = dl.rank()
    for peer in range(dl.num_ranks()):
        dl.notify(flag_ptr + rank, peer, signal=1, sig_op="set", comm_scope="intra_node")
    dl.wait(flag_ptr, COUNT, "sys", "acquire", waitValue=1)  # <-- one_signal_too_many


@pair("deadlock", None)
def one_signal_too_many(team, fixed):
    wait_for_all[(1,)](flag(team, count=team.size + 1), team.size if fixed else team.size + 1)


@tandem.jit
def tell_first_only(flag_ptr, FIXED: tl.constexpr):
    peer = (dl.rank() + 1) % dl.num_ranks() if FIXED else 0
    dl.notify(flag_ptr, peer, signal=1, sig_op="add", comm_scope="intra_node")
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1, compare="ge")  # <-- wrong_peer_told


@pair("deadlock", None)
def wrong_peer_told(team, fixed):
    tell_first_only[(1,)](flag(team), fixed)


@tandem.jit
def set_without_symm_at(flag_ptr, FIXED: tl.constexpr):
    """Rank 0 tells rank 1, who polls its own flag."""
    if tid(0) == 0:
        if dl.rank() == 0:
            st(dl.symm_at(flag_ptr, 1) if FIXED else flag_ptr, 1, scope="sys", semantic="release")
        elif dl.rank() == 1:
            while ld(flag_ptr, scope="sys", semantic="acquire") != 1:  # <-- missing_symm_at
                pass


@pair("livelock", None)
def missing_symm_at(team, fixed):
    set_without_symm_at[(1,)](flag(team), fixed)


@tandem.jit
def meet(FIRST: tl.constexpr):
    if dl.rank() != FIRST:
        shmem.barrier_all_block()  # <-- barrier_without_a_member


@pair("deadlock", None)
def barrier_without_a_member(team, fixed):
    meet[(1,)](-1 if fixed else 0)


@tandem.jit
def last_tells(flag_ptr):
    """Programs spin until the last one has run: they must all be resident."""
    if tid(0) == 0:
        if tl.program_id(0) == tl.num_programs(0) - 1:
            st(flag_ptr, 1, scope="gpu", semantic="release")
        else:
            while ld(flag_ptr, scope="gpu", semantic="acquire") != 1:  # <-- too_few_slots
                pass


@pair("livelock", None, ranks=(1, 2), slots=4)
def too_few_slots(team, fixed):
    last_tells[(4 if fixed else 6,)](flag(team))


@tandem.jit
def grid_barrier(counter_ptr):
    tl.atomic_add(counter_ptr, 1, sem="release", scope="gpu")
    while tl.atomic_add(counter_ptr, 0, sem="acquire", scope="gpu") != tl.num_programs(0):  # <-- grid_larger_than_gpu
        pass


@pair("livelock", None, ranks=(1, 2), slots=2)
def grid_larger_than_gpu(team, fixed):
    grid_barrier[(2 if fixed else 3,)](team.zeros(1, "int32", name="counter"))


@tandem.jit
def take_both(a_ptr, b_ptr, FIXED: tl.constexpr):
    """Two programs take two locks; in opposite order each may hold what the other one needs."""
    if tid(0) == 0:
        swapped = False if FIXED else tl.program_id(0) == 1
        first = b_ptr if swapped else a_ptr
        second = a_ptr if swapped else b_ptr
        while atomic_cas(first, 0, 1, scope="gpu", semantic="acquire") != 0:
            pass
        while atomic_cas(second, 0, 1, scope="gpu", semantic="acquire") != 0:  # <-- locks_in_opposite_order
            pass
        st(second, 0, scope="gpu", semantic="release")
        st(first, 0, scope="gpu", semantic="release")


@pair("deadlock", None, ranks=(1,))
def locks_in_opposite_order(team, fixed):
    take_both[(2,)](team.zeros(1, "int32", name="a"), team.zeros(1, "int32", name="b"), fixed)


@tandem.jit
def never_given(lock_ptr, FIXED: tl.constexpr):
    if tid(0) == 0:
        while atomic_cas(lock_ptr, 0, 1, scope="gpu", semantic="acquire") != 0:  # <-- lock_never_given
            pass
        if FIXED:
            st(lock_ptr, 0, scope="gpu", semantic="release")


@pair("deadlock", None, ranks=(1, 2))
def lock_never_given(team, fixed):
    never_given[(2,)](team.zeros(1, "int32", name="lock"), fixed)


@tandem.jit
def some_threads_meet(FIXED: tl.constexpr):
    if tid(0) < (128 if FIXED else 32):
        __syncthreads()  # <-- barrier_of_some_threads


@pair("divergent-block-operation", None, ranks=(1, 2))
def barrier_of_some_threads(team, fixed):
    some_threads_meet[(1,)](fixed)
