"""Locks of two levels, lists and tables that many ranks change, meetings of two, and elections."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
from protocol import protocol
from tandem.simt import __syncthreads, atomic_cas, fence, ld, st, tid

N = 32


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == cohort_lock
@tandem.jit
def cohort_lock_k(
    next_ptr, serving_ptr, kept_ptr, lock_ptr, x_ptr, MOST: tl.constexpr, TIMES: tl.constexpr, N: tl.constexpr, F: tl.constexpr
):
    """Programs of a rank queue at its own lock; who holds that and the lock of all hands both on within its rank, up to MOST times."""
    o = tl.arange(0, N)
    lock, x = dl.symm_at(lock_ptr, 0), dl.symm_at(x_ptr, 0)
    for _ in range(TIMES):
        mine = tl.atomic_add(next_ptr, 1, sem="relaxed", scope="gpu")
        if tid(0) == 0:
            while ld(serving_ptr, scope="gpu", semantic="acquire" if F != 1 else "relaxed") != mine:  # !5
                pass
        __syncthreads()
        kept = tl.load(kept_ptr)  # !1 !2
        if kept == 0:
            if tid(0) == 0:
                while atomic_cas(lock, 0, 1, scope="sys" if F != 6 else "gpu", semantic="acquire" if F != 3 else "relaxed") != 0:  # !5 !6
                    pass
            __syncthreads()
        tl.store(x + o, tl.load(x + o) + 1)  # !1 !2 !3 !4 !5
        __syncthreads()
        goes_on = (kept < MOST) & (tl.atomic_add(next_ptr, 0, sem="relaxed", scope="gpu") > mine + 1)
        tl.store(kept_ptr, kept + 1 if goes_on else 0)  # !1 !2
        if F == 5:
            goes_on = goes_on | (kept == 0)
        if not goes_on:
            if tid(0) == 0:
                st(lock, 0, scope="sys", semantic="release" if F != 4 else "relaxed")
        __syncthreads()
        if tid(0) == 0:
            st(serving_ptr, mine + 1, scope="gpu", semantic="release" if F != 2 else "relaxed")
        __syncthreads()


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "livelock|deadlock", 6: "scope"}, ranks=(2, 3), sometimes=(5,))
def cohort_lock(team, f):
    x = z(team, "x")
    cohort_lock_k[(3,)](*(z(team, name, 1) for name in ("next", "serving", "kept", "lock")), x, 2, 3, N, f)
    team.synchronize()
    team.barrier()
    if f == 0 and team.rank == 0:
        assert np.asarray(x)[0] == 9 * team.size


# == tagged_free_list
@tandem.jit
def tagged_free_list_k(top_ptr, next_ptr, x_ptr, y_ptr, TIMES: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Free slots of rank 0 are a list whose first one lies in a word, with a number that grows by each change. 0 is the list's end."""
    me = dl.rank()
    o = tl.arange(0, N)
    top, nexts, x = dl.symm_at(top_ptr, 0), dl.symm_at(next_ptr, 0), dl.symm_at(x_ptr, 0)
    for i in range(TIMES):
        had = dl.allocate_smem(tl.int32, [1])
        if tid(0) == 0:
            seen = ld(top, scope="sys", semantic="acquire" if F != 1 else "relaxed")
            again = True
            while again:
                if (seen & 255) != 0:
                    behind = ld(nexts + (seen & 255), scope="sys", semantic="relaxed")
                    now = atomic_cas(top, seen, ((seen >> 8) + 1 << 8) | behind, scope="sys", semantic="acquire" if F != 2 else "relaxed")
                    again = now != seen
                    if not again:
                        dl.smem_store(had, (seen & 255).to(tl.int32), 0)
                    seen = now
                else:
                    seen = ld(top, scope="sys", semantic="acquire")
        __syncthreads()
        slot = dl.smem_load(had, 0)
        tl.store(x + slot * N + o, me * TIMES + i)  # !2 !3 !4 !5
        tl.store(y_ptr + o, tl.load(x + slot * N + o))  # !5
        if F != 4:
            __syncthreads()
        if tid(0) == (0 if F != 4 else 64):
            seen = ld(top, scope="sys", semantic="relaxed")
            again = True
            while again:
                st(nexts + slot, seen & 255, scope="sys", semantic="relaxed")
                now = atomic_cas(top, seen, ((seen >> 8) + 1 << 8) | slot, scope="sys", semantic="release" if F != 3 else "relaxed")
                again = now != seen
                seen = now
        __syncthreads()
        if F == 5:
            tl.store(y_ptr + o, tl.load(x + slot * N + o))  # !5
            __syncthreads()


@protocol({2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(3, 4), sometimes=(2, 3, 4, 5))
def tagged_free_list(team, f):
    top, nexts = team.full(1, 2, "int64", name="top"), team.from_array(np.array([0, 0, 1], np.int64), name="next")
    x, y = z(team, "x", 3 * N), z(team, "y")
    team.barrier()
    tagged_free_list_k[(1,)](top, nexts, x, y, 3, N, f)


# == hash_table
@tandem.jit
def hash_table_k(key_ptr, value_ptr, there_ptr, y_ptr, EACH: tl.constexpr, ROOM: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Keys lie on the rank that their remainder says; who takes an empty place by an exchange fills it and says that it is there. All look
    up all keys, and wait where one has been claimed, but not filled."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for i in range(EACH):
        key = me * EACH + i + 1
        owner = key % n
        at = key // n % ROOM
        looking = True
        while looking:
            before = tl.atomic_cas(dl.symm_at(key_ptr, owner) + at, 0, key, sem="relaxed", scope="sys" if F != 5 else "gpu")  # !5
            looking = before != 0
            at = (at + 1) % ROOM if looking else at
        if F == 1:
            dl.notify(there_ptr + at, owner, signal=1, sig_op="set", comm_scope="intra_node")
        tl.store(dl.symm_at(value_ptr, owner) + at * N + o, key)  # !1 !2 !3 !4
        if F != 1:
            __syncthreads()
            if tid(0) == 0:
                st(dl.symm_at(there_ptr, owner) + at, 1, scope="sys", semantic="release" if F != 2 else "relaxed")
            __syncthreads()
    for key in range(1, n * EACH + 1):
        owner = key % n
        at = key // n % ROOM
        seen = tl.atomic_add(dl.symm_at(key_ptr, owner) + at, 0, sem="acquire", scope="sys")
        steps = 0
        while (seen != key) & (seen != 0) & (steps < ROOM):
            at = (at + 1) % ROOM
            steps += 1
            seen = tl.atomic_add(dl.symm_at(key_ptr, owner) + at, 0, sem="acquire", scope="sys")
        if seen == key:
            if F != 4:
                if tid(0) == 0:
                    while ld(dl.symm_at(there_ptr, owner) + at, scope="sys", semantic="acquire" if F != 3 else "relaxed") == 0:
                        pass
                __syncthreads()
            tl.store(y_ptr + o, tl.load(dl.symm_at(value_ptr, owner) + at * N + o))  # !1 !2 !3 !4


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "scope"}, ranks=(2, 3), sometimes=(1, 2, 3, 4))
def hash_table(team, f):
    room = 8
    hash_table_k[(1,)](z(team, "key", room), z(team, "value", room * N), z(team, "there", room, "int64"), z(team, "y"), 3, room, N, f)


# == bakery
@tandem.jit
def bakery_k(choosing_ptr, number_ptr, x_ptr, TIMES: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Lamport's bakery: who comes draws a number above all others, and waits for all that have a smaller one. No word has two writers."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    choosing, number, x = dl.symm_at(choosing_ptr, 0), dl.symm_at(number_ptr, 0), dl.symm_at(x_ptr, 0)
    for _ in range(TIMES):
        if tid(0) == 0:
            st(choosing + me, 1, scope="sys", semantic="relaxed")
            if F != 1:
                fence("sc", "sys")
            most = tl.cast(0, tl.int32)
            for p in range(n):
                most = tl.maximum(most, ld(number + p, scope="sys", semantic="relaxed"))
            mine = most + 1
            st(number + me, mine, scope="sys", semantic="relaxed")
            st(choosing + me, 0, scope="sys", semantic="release")
            if F != 2:
                fence("sc", "sys")
            for p in range(n):
                if (p != me) & ((F != 3) | (p != 0)):
                    while ld(choosing + p, scope="sys", semantic="acquire") != 0:
                        pass
                    theirs = ld(number + p, scope="sys", semantic="acquire" if F != 4 else "relaxed")
                    while (theirs != 0) & ((theirs < mine) | ((theirs == mine) & (p < me))):
                        theirs = ld(number + p, scope="sys", semantic="acquire" if F != 4 else "relaxed")
        if F != 6:
            __syncthreads()
        tl.store(x + o, tl.load(x + o) + 1)  # !1 !2 !3 !4 !5 !6 !7
        if F != 7:
            __syncthreads()
        if tid(0) == (0 if F != 7 else 64):
            st(number + me, 0, scope="sys", semantic="release" if F != 5 else "relaxed")
        __syncthreads()


@protocol({k: "race" for k in range(1, 8)}, ranks=(2, 3), sometimes=(1, 2, 3, 4, 5, 6, 7))
def bakery(team, f):
    x = z(team, "x")
    bakery_k[(1,)](z(team, "choosing", team.size), z(team, "number", team.size), x, 3, N, f)
    team.synchronize()
    team.barrier()
    if f == 0 and team.rank == 0:
        assert np.asarray(x)[0] == 3 * team.size


# == exchanger
@tandem.jit
def exchanger_k(slot_ptr, x_ptr, y_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Whoever comes first leaves its number in a slot and waits; the second one takes that, leaves its own, and both read each other's
    data. Whoever came first empties the slot."""
    me = dl.rank()
    o = tl.arange(0, N)
    slot = dl.symm_at(slot_ptr, me // 2 * 2)
    for r in range(1, ROUNDS + 1):
        tl.store(x_ptr + r % 2 * N + o, me * ROUNDS + r)  # !1 !2 !3 !4 !6
        met = dl.allocate_smem(tl.int32, [1])
        __syncthreads()
        if tid(0) == 0:
            other = tl.cast(0, tl.int32)
            while other == 0:
                seen = atomic_cas(slot, 0, me + 1, scope="sys", semantic="acq_rel" if F != 1 else "acquire")
                if seen == 0:
                    answer = ld(slot, scope="sys", semantic="acquire" if F != 2 else "relaxed")
                    while answer < 1000:  # !5
                        answer = ld(slot, scope="sys", semantic="acquire" if F != 2 else "relaxed")
                    other = answer - 1000
                    if F != 5:
                        st(slot, 0, scope="sys", semantic="release" if F != 3 else "relaxed")
                elif seen < 1000:
                    if atomic_cas(slot, seen, 1000 + me + 1, scope="sys", semantic="acq_rel" if F != 4 else "acquire") == seen:
                        other = seen
                        while ld(slot, scope="sys", semantic="acquire" if F != 1 else "relaxed") == 1000 + me + 1:  # !5
                            pass
            dl.smem_store(met, other - 1, 0)
        __syncthreads()
        other = dl.smem_load(met, 0)
        tl.store(y_ptr + o, tl.load(dl.symm_at(x_ptr, other) + r % 2 * N + o))  # !1 !2 !3 !4 !6
        __syncthreads()


@protocol({1: "race", 2: "race", 4: "race", 5: "livelock|deadlock"}, ranks=(2, 4), sometimes=(1, 2, 4))
def exchanger(team, f):
    exchanger_k[(1,)](z(team, "slot", 1), z(team, "x", 2 * N), z(team, "y"), 3, N, f)
