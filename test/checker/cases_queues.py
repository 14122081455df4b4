"""Locks in which programs queue, queues of many producers, barriers that turn a sense round, words that say who is there in bits."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
from case import pair
from tandem.simt import __syncthreads, atomic_add, atomic_cas, ld, st, tid

N = 16


def word(team, name, count=1):
    return team.zeros(count, "int64", name=name)


@tandem.jit
def queue_lock(tail_ptr, next_ptr, locked_ptr, x_ptr, ORDER: tl.constexpr):
    """Who takes the lock tells the one before it in the queue, and waits for it on a word of its own (MCS). The tail is on rank 0."""
    me = dl.rank()
    tail, x0 = dl.symm_at(tail_ptr, 0), dl.symm_at(x_ptr, 0)
    for _ in range(3):
        if tid(0) == 0:
            st(next_ptr, 0, scope="sys", semantic="relaxed")
            st(locked_ptr, 1, scope="sys", semantic="relaxed")
            before = tl.atomic_xchg(tail, (me + 1).to(tl.int64), sem="acq_rel", scope="sys")
            if before != 0:
                st(dl.symm_at(next_ptr, (before - 1).to(tl.int32)), (me + 1).to(tl.int64), scope="sys", semantic="release")
                while ld(locked_ptr, scope="sys", semantic="acquire") != 0:
                    pass
        __syncthreads()
        tl.store(x0, tl.load(x0) + 1)  # <-- queue_lock_given_relaxed
        __syncthreads()
        if tid(0) == 0:
            is_last = False
            if ld(next_ptr, scope="sys", semantic="acquire") == 0:
                mine = (me + 1).to(tl.int64)
                is_last = atomic_cas(tail, mine, tl.cast(0, tl.int64), scope="sys", semantic="acq_rel") == mine
                if not is_last:
                    while ld(next_ptr, scope="sys", semantic="acquire") == 0:
                        pass
            if not is_last:
                following = ld(next_ptr, scope="sys", semantic="acquire")
                st(dl.symm_at(locked_ptr, (following - 1).to(tl.int32)), 0, scope="sys", semantic=ORDER)


@pair("race", None)
def queue_lock_given_relaxed(team, fixed):
    words = [word(team, name) for name in ("tail", "next", "locked")]
    queue_lock[(1,)](*words, team.zeros(1, "int32", name="x"), "release" if fixed else "relaxed")


@tandem.jit
def many_producers(tail_ptr, turn_ptr, x_ptr, y_ptr, EACH: tl.constexpr, ROOM: tl.constexpr, N: tl.constexpr, FIXED: tl.constexpr):
    """A ticket names a slot of rank 0's queue; the slot's word says whose turn it is: a producer's of a ticket, or the consumer's."""
    o = tl.arange(0, N)
    tail, turn, x = dl.symm_at(tail_ptr, 0), dl.symm_at(turn_ptr, 0), dl.symm_at(x_ptr, 0)
    if tl.program_id(0) == 0:
        for _ in range(EACH):
            ticket = tl.atomic_add(tail, 1, sem="relaxed", scope="sys")
            if tid(0) == 0:
                while ld(turn + ticket % ROOM, scope="sys", semantic="acquire") != ticket:
                    pass
            __syncthreads()
            tl.store(x + ticket % ROOM * N + o, dl.rank())  # <-- slot_given_back_early
            __syncthreads()
            if tid(0) == 0:
                st(turn + ticket % ROOM, ticket + 1, scope="sys", semantic="release")
            __syncthreads()
    elif dl.rank() == 0:
        for i in range(EACH * dl.num_ranks()):
            slot = i % ROOM
            if tid(0) == 0:
                while ld(turn + slot, scope="sys", semantic="acquire") != i + 1:
                    pass
                if not FIXED:
                    st(turn + slot, (i + ROOM).to(tl.int64), scope="sys", semantic="release")
            __syncthreads()
            tl.store(y_ptr + i * N + o, tl.load(x + slot * N + o))  # <-- slot_given_back_early
            __syncthreads()
            if FIXED and tid(0) == 0:
                st(turn + slot, (i + ROOM).to(tl.int64), scope="sys", semantic="release")
            __syncthreads()


@pair("race", None)
def slot_given_back_early(team, fixed):
    each, room = 4, 3
    turns = team.from_array(np.arange(room, dtype=np.int64))
    x, y = team.zeros(room * N, "int32", name="x"), team.zeros(each * team.size * N, "int32")
    tail = word(team, "tail")
    team.barrier()
    many_producers[(2,)](tail, turns, x, y, each, room, N, fixed)


@tandem.jit
def meet(count_ptr, sense_ptr, sense, ORDER: tl.constexpr):
    """The last rank to come clears the count and turns the sense round, for which the others wait."""
    __syncthreads()
    if tid(0) == 0:
        count, turned = dl.symm_at(count_ptr, 0), dl.symm_at(sense_ptr, 0)
        if atomic_add(count, 1, scope="sys", semantic=ORDER) == dl.num_ranks() - 1:
            st(count, 0, scope="sys", semantic="relaxed")
            st(turned, sense, scope="sys", semantic="release")
        else:
            while ld(turned, scope="sys", semantic="acquire") != sense:
                pass
    __syncthreads()


@tandem.jit
def turn_senses(x_ptr, y_ptr, count_ptr, sense_ptr, ORDER: tl.constexpr):
    sense = tl.cast(0, tl.int64)
    for i in range(4):
        tl.store(dl.symm_at(x_ptr, (dl.rank() + 1) % dl.num_ranks()), i)  # <-- arrivals_that_release_nothing
        for half in range(2):
            sense = 1 - sense
            meet(count_ptr, sense_ptr, sense, ORDER)
            if half == 0:
                tl.store(y_ptr + i, tl.load(x_ptr))  # <-- arrivals_that_release_nothing


@pair("race", "M4")
def arrivals_that_release_nothing(team, fixed):
    x, y = team.zeros(1, "int32", name="x"), team.zeros(4, "int32")
    turn_senses[(1,)](x, y, word(team, "count"), word(team, "sense"), "acq_rel" if fixed else "relaxed")


@tandem.jit
def bits_of_ranks(x_ptr, y_ptr, here_ptr, N: tl.constexpr, ORDER: tl.constexpr):
    """Each rank sets its bit in a word of every rank, and reads who is there, one by one."""
    o = tl.arange(0, N)
    rank = dl.rank()
    for peer in range(dl.num_ranks()):
        tl.store(dl.symm_at(x_ptr, peer) + rank * N + o, rank)  # <-- bit_seen_relaxed
        tl.atomic_or(dl.symm_at(here_ptr, peer), tl.cast(1, tl.int64) << rank, sem="release", scope="sys")
    for source in range(dl.num_ranks()):
        if tid(0) == 0:
            while ld(here_ptr, scope="sys", semantic=ORDER) & (tl.cast(1, tl.int64) << source) == 0:
                pass
        __syncthreads()
        tl.store(y_ptr + source * N + o, tl.load(x_ptr + source * N + o))  # <-- bit_seen_relaxed


@pair("race", "M4")
def bit_seen_relaxed(team, fixed):
    x, y = team.zeros(team.size * N, "int32", name="x"), team.zeros(team.size * N, "int32")
    bits_of_ranks[(1,)](x, y, word(team, "here"), N, "acquire" if fixed else "relaxed")


@tandem.jit
def fewer_each_round(x_ptr, count_ptr, MISSING: tl.constexpr):
    """In round i the first n - i ranks meet; the others have ended."""
    rank, n = dl.rank(), dl.num_ranks()
    goal = tl.cast(0, tl.int64)
    for i in range(n - rank):
        tl.store(dl.symm_at(x_ptr, (rank + 1) % (n - i)) + i, rank)  # <-- one_short_of_a_shrinking_team
        goal += n - i
        for peer in range(n - i):
            dl.notify(count_ptr, peer, signal=1, sig_op="add", comm_scope="intra_node")
        dl.wait(count_ptr, 1, "sys", "acquire", waitValue=goal - MISSING, compare="ge")
        tl.store(x_ptr + n + i, tl.load(x_ptr + i))  # <-- one_short_of_a_shrinking_team


@pair("race", "M15", ranks=(3, 4))
def one_short_of_a_shrinking_team(team, fixed):
    fewer_each_round[(1,)](team.zeros(2 * team.size, "int32", name="x"), word(team, "count"), 0 if fixed else 1)
