"""Queues of two locks and of many producers, reclaiming by hazards and by epochs, once-only work, tasks that wait for others, and locks."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
from protocol import protocol
from tandem.simt import __syncthreads, fence, ld, st, tid

N = 32


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == hazards
@tandem.jit
def hazards_k(buffer_ptr, current_ptr, hazard_ptr, y_ptr, VERSIONS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Rank 0 writes versions into free buffers; a reader names the buffer that it reads, and looks again whether it is current.
    Buffer 0 is empty; a hazard of -1 names none."""
    me, n = dl.rank(), dl.num_ranks()
    buffer, current, hazard = dl.symm_at(buffer_ptr, 0), dl.symm_at(current_ptr, 0), dl.symm_at(hazard_ptr, 0)
    if me == 0:
        for v in range(1, VERSIONS + 1):
            free = tl.cast(0, tl.int32)
            if tid(0) == 0:
                now = ld(current, scope="sys", semantic="relaxed")
                free = (now + 1) % 3
                if F != 1:  # an `sc` fence lies before the looks, at the end of the round before
                    used = True
                    while used:
                        used = False
                        for r in range(1, n):
                            if ld(hazard + r, scope="sys", semantic="acquire" if F != 3 else "relaxed") == free:
                                used = True
                for k in range(4):
                    st(buffer + free * N + k, v, semantic="weak")  # !1 !2 !3 !4 !5
                st(current, free, scope="sys", semantic="release" if F != 4 else "relaxed")
                if F < 3:
                    fence("seq_cst", "sys")
    elif tid(0) == 0:
        total = 0
        for i in range(VERSIONS):
            at = ld(current, scope="sys", semantic="acquire")
            seen = at - 1
            while seen != at:
                at = ld(current, scope="sys", semantic="acquire")
                if F != 2:
                    st(hazard + me, at, scope="sys", semantic="relaxed")
                if F != 5:
                    fence("seq_cst", "sys")
                seen = ld(current, scope="sys", semantic="acquire")
            for k in range(4):
                total += ld(buffer + at * N + k, semantic="weak")  # !1 !2 !3 !4 !5
            st(hazard + me, -1, scope="sys", semantic="release")
        st(y_ptr, total, semantic="weak")


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(2, 3), sometimes=(1, 2, 3, 4, 5))
def hazards(team, f):
    hazard = team.full(team.size, -1, "int32", name="hazard")
    hazards_k[(1,)](z(team, "buffer", 3 * N), z(team, "current", 1), hazard, z(team, "y", 1), 6, N, f)


# == two_lock_queue
@tandem.jit
def take(lock, SEM: tl.constexpr):
    while tl.atomic_cas(lock, 0, 1, sem=SEM, scope="sys") != 0:
        pass


@tandem.jit
def two_lock_queue_k(word_ptr, next_ptr, value_ptr, y_ptr, PER: tl.constexpr, F: tl.constexpr):
    """Michael and Scott's: a lock for the tail, one for the head, a node that is no value. Words: head, tail, their locks.
    Even ranks put, odd ones take."""
    me = dl.rank()
    word, nxt, value = dl.symm_at(word_ptr, 0), dl.symm_at(next_ptr, 0), dl.symm_at(value_ptr, 0)
    if tid(0) == 0:
        for i in range(PER):
            if me % 2 == 0:
                node = me * PER + i + 1
                st(value + node, node, semantic="weak")  # !2 !5
                take(word + 3, "acquire" if F != 1 else "relaxed")
                tail = ld(word + 1, semantic="weak")  # !1
                st(nxt + tail, node, scope="sys", semantic="release" if F != 2 else "relaxed")
                st(word + 1, node, semantic="weak")  # !1
                st(word + 3, 0, scope="sys", semantic="release")
            else:
                v = tl.cast(0, tl.int32)
                while v == 0:
                    take(word + 2, "acquire" if F != 4 else "relaxed")
                    head = ld(word, semantic="weak")  # !3 !4
                    after = ld(nxt + head, scope="sys", semantic="acquire" if F != 5 else "relaxed")
                    if after != 0:
                        v = ld(value + after, semantic="weak")  # !2 !5
                        st(word, after, semantic="weak")  # !3 !4
                    st(word + 2, 0, scope="sys", semantic="release" if F != 3 else "relaxed")
                st(y_ptr + i, v, semantic="weak")


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(4,))
def two_lock_queue(team, f):
    two_lock_queue_k[(1,)](z(team, "word", 4), z(team, "next", 32), z(team, "value", 32), z(team, "y", 3), 3, f)


# == claimed_ring
@tandem.jit
def claimed_ring_k(ring_ptr, cursor_ptr, there_ptr, gate_ptr, y_ptr, PER, ROOM: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """The disruptor with many producers: each claims a number, waits for the reader's gate, fills the slot and says that it is there."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    ring, there, gate = dl.symm_at(ring_ptr, 0), dl.symm_at(there_ptr, 0), dl.symm_at(gate_ptr, 0)
    if me == 0:
        for s in range(PER * (n - 1)):
            if tid(0) == 0:
                while ld(there + s % ROOM, scope="sys", semantic="acquire" if F != 3 else "relaxed") != s + 1:  # !1 !5
                    pass
            __syncthreads()
            tl.store(y_ptr + s * N + o, tl.load(ring + s % ROOM * N + o))  # !1 !2 !3 !4 !6
            if F != 6:
                __syncthreads()
            if tid(0) == (0 if F != 6 else 64):
                st(gate, s + 1, scope="sys", semantic="release" if F != 4 else "relaxed")
    else:
        for i in range(PER):
            s = tl.atomic_add(dl.symm_at(cursor_ptr, 0), 1, sem="relaxed", scope="sys")
            if tid(0) == 0:
                while ld(gate, scope="sys", semantic="acquire") < s - ROOM + (1 if F != 1 else 0):  # !5
                    pass
            __syncthreads()
            tl.store(ring + s % ROOM * N + o, s)  # !1 !2 !3 !4 !6
            __syncthreads()
            if tid(0) == 0:
                st(there + s % ROOM, s + (1 if F != 5 else 2), scope="sys", semantic="release" if F != 2 else "relaxed")


@protocol({1: "race|livelock", 2: "race", 3: "race", 4: "race", 5: "livelock|deadlock", 6: "race"}, ranks=(2, 4))
def claimed_ring(team, f):
    y = z(team, "y", 4 * team.size * N)
    claimed_ring_k[(1,)](z(team, "ring", 3 * N), z(team, "cursor", 1), z(team, "there", 3), z(team, "gate", 1), y, 4, 3, N, f)
    if f == 0 and team.rank == 0:
        assert (np.asarray(y).reshape(-1, N)[: 4 * (team.size - 1), 0] == np.arange(4 * (team.size - 1))).all()


# == once
@tandem.jit
def once_k(state_ptr, x_ptr, y_ptr, N: tl.constexpr, F: tl.constexpr):
    """Whoever comes first makes the table; the others find it made or wait: 0 nothing, 1 somebody is at it, 2 made."""
    state, x = dl.symm_at(state_ptr, 0), dl.symm_at(x_ptr, 0)
    if tid(0) == 0:
        now = ld(state, scope="sys", semantic="acquire" if F != 1 else "relaxed")
        if now != 2:
            if F == 5:
                mine = now == 0
            else:
                mine = tl.atomic_cas(state, 0, 1, sem="relaxed", scope="sys") == 0
            if mine:
                for k in range(4):
                    st(x + k, k, semantic="weak")  # !1 !2 !3 !5
                if F != 4:
                    st(state, 2, scope="sys", semantic="release" if F != 2 else "relaxed")
            else:
                while ld(state, scope="sys", semantic="acquire" if F != 3 else "relaxed") != 2:  # !4
                    pass
        total = 0
        for k in range(4):
            total += ld(x + k, semantic="weak")  # !1 !2 !3 !5
        st(y_ptr, total, semantic="weak")


@protocol({1: "race", 2: "race", 3: "race", 4: "livelock|deadlock", 5: "race"}, ranks=(2, 4), sometimes=(1, 3, 5))
def once(team, f):
    once_k[(1,)](z(team, "state", 1), z(team, "x"), z(team, "y", 1), N, f)


# == tasks_in_order
@tandem.jit
def tasks_in_order_k(left_ptr, seq_ptr, job_ptr, tail_ptr, head_ptr, data_ptr, TASKS: tl.constexpr, F: tl.constexpr):
    """Task t needs tasks t - 2 and t - 3. Who finishes one takes it off its followers' counts, and queues those that have none left."""
    left, seq, job, data = dl.symm_at(left_ptr, 0), dl.symm_at(seq_ptr, 0), dl.symm_at(job_ptr, 0), dl.symm_at(data_ptr, 0)
    tail, head = dl.symm_at(tail_ptr, 0), dl.symm_at(head_ptr, 0)
    if tid(0) == 0:
        at = tl.atomic_add(head, 1, sem="relaxed", scope="sys")
        while at < TASKS:
            while ld(seq + at, scope="sys", semantic="acquire" if F != 1 else "relaxed") == 0:  # !5
                pass
            t = ld(job + at, semantic="weak")  # !1 !4
            value = 1
            if t >= 3:
                value = ld(data + t - 2, semantic="weak") + ld(data + t - 3, semantic="weak")  # !1 !2 !3
            st(data + t, value, semantic="weak")  # !1 !2 !3
            for d in range(2, 4):
                if t + d < TASKS:
                    if t + d >= 3:
                        old = tl.atomic_add(left + t + d, -1, sem="acq_rel" if F != 2 else "relaxed", scope="sys")
                        if old == (1 if F != 3 else 2):
                            place = tl.atomic_add(tail, 1, sem="relaxed", scope="sys")
                            st(job + place, t + d, semantic="weak")  # !1 !4
                            if (F != 5) | (t + d != 6):
                                st(seq + place, 1, scope="sys", semantic="release" if F != 4 else "relaxed")
            at = tl.atomic_add(head, 1, sem="relaxed", scope="sys")


@protocol({1: "race", 2: "race", 3: "race|livelock|deadlock", 4: "race", 5: "livelock|deadlock"}, ranks=(2, 3), sometimes=(1, 2, 3, 4))
def tasks_in_order(team, f):
    tasks = 12
    needs = np.array([0, 0, 0] + [2] * (tasks - 3), np.int32)
    ready, jobs = (np.arange(tasks) < 3).astype(np.int32), np.minimum(np.arange(tasks), 2).astype(np.int32)
    left, seq, job = team.from_array(needs, "left"), team.from_array(ready, "seq"), team.from_array(jobs, "job")
    tail = team.full(1, 3, "int32", name="tail")
    tasks_in_order_k[(1,)](left, seq, job, tail, z(team, "head", 1), z(team, "data", tasks), tasks, f)


# == slots_of_nulls
@tandem.jit
def slots_of_nulls_k(slot_ptr, data_ptr, y_ptr, ITEMS: tl.constexpr, ROOM: tl.constexpr, F: tl.constexpr):
    """FastForward: a slot that is 0 is free, any other value is an item, which names data. Neither side looks at the other's index."""
    me, n = dl.rank(), dl.num_ranks()
    right = (me + 1) % n
    if tid(0) == 0:
        for i in range(ITEMS):
            slot = dl.symm_at(slot_ptr, right) + i % ROOM
            if F != 1:
                while ld(slot, scope="sys", semantic="acquire" if F != 2 else "relaxed") != 0:  # !5
                    pass
            st(dl.symm_at(data_ptr, right) + i % ROOM, i, semantic="weak")  # !1 !2 !3 !4
            st(slot, i + 1, scope="sys", semantic="release" if F != 3 else "relaxed")
            mine = slot_ptr + i % ROOM
            while ld(mine, scope="sys", semantic="acquire") != i + 1:  # !1
                pass
            if F != 4:
                st(y_ptr + i, ld(data_ptr + i % ROOM, semantic="weak"), semantic="weak")  # !1 !2 !3
                if F != 5:
                    st(mine, 0, scope="sys", semantic="release")
            else:
                st(mine, 0, scope="sys", semantic="release")
                st(y_ptr + i, ld(data_ptr + i % ROOM, semantic="weak"), semantic="weak")  # !4


@protocol({1: "race|livelock", 2: "race", 3: "race", 4: "race", 5: "livelock|deadlock"}, ranks=(3, 4))
def slots_of_nulls(team, f):
    slots_of_nulls_k[(1,)](z(team, "slot", 2), z(team, "data", 2), z(team, "y", 6), 6, 2, f)


# == big_reader_lock
@tandem.jit
def big_reader_lock_k(reads_ptr, writes_ptr, x_ptr, y_ptr, TIMES: tl.constexpr, F: tl.constexpr):
    """Each reader has a flag of its own; the writer raises its own and waits until none reads. Each looks behind an `sc` fence."""
    me, n = dl.rank(), dl.num_ranks()
    reads, writes, x = dl.symm_at(reads_ptr, 0), dl.symm_at(writes_ptr, 0), dl.symm_at(x_ptr, 0)
    if tid(0) == 0:
        for i in range(TIMES):
            if me == 0:
                st(writes, 1, scope="sys", semantic="relaxed")
                if F != 5:
                    fence("seq_cst", "sys")
                if F != 1:
                    for r in range(1, n):
                        while ld(reads + r, scope="sys", semantic="acquire" if F != 2 else "relaxed") != 0:
                            pass
                st(x, i, semantic="weak")  # !1 !2 !3 !4 !5
                st(writes, 0, scope="sys", semantic="release" if F != 3 else "relaxed")
            else:
                waiting = True
                while waiting:
                    st(reads + me, 1, scope="sys", semantic="relaxed")
                    if F != 5:
                        fence("seq_cst", "sys")
                    waiting = (ld(writes, scope="sys", semantic="acquire") != 0) if F != 4 else False
                    if waiting:
                        st(reads + me, 0, scope="sys", semantic="release")
                        while ld(writes, scope="sys", semantic="relaxed") != 0:
                            pass
                st(y_ptr + i, ld(x, semantic="weak"), semantic="weak")  # !1 !2 !3 !4 !5
                st(reads + me, 0, scope="sys", semantic="release")


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(2, 3), sometimes=(1, 2, 3, 4, 5))
def big_reader_lock(team, f):
    big_reader_lock_k[(1,)](z(team, "reads", team.size), z(team, "writes", 1), z(team, "x", 1), z(team, "y", 4), 4, f)


# == try_then_beside
@tandem.jit
def try_then_beside_k(lock_ptr, sum_ptr, own_ptr, done_ptr, y_ptr, TIMES: tl.constexpr, F: tl.constexpr):
    """Who finds the lock taken adds to its own sum; rank 0 puts all sums together when all are done."""
    me, n = dl.rank(), dl.num_ranks()
    lock, sums = dl.symm_at(lock_ptr, 0), dl.symm_at(sum_ptr, 0)
    if tid(0) == 0:
        for i in range(TIMES):
            got = tl.atomic_cas(lock, 0, 1, sem="acquire" if F != 1 else "relaxed", scope="sys") == 0
            if got | (F == 2):
                st(sums, ld(sums, semantic="weak") + 1, semantic="weak")  # !1 !2 !3 !5
                if got:
                    st(lock, 0, scope="sys", semantic="release" if F != 3 else "relaxed")
            else:
                st(own_ptr, ld(own_ptr, semantic="weak") + 1, semantic="weak")  # !4
        tl.atomic_add(dl.symm_at(done_ptr, 0), 1, sem="release" if F != 4 else "relaxed", scope="sys")
        if me == 0:
            while ld(done_ptr, scope="sys", semantic="acquire") < n - (1 if F == 5 else 0):
                pass
            total = ld(sums, semantic="weak")  # !1 !2 !3 !4 !5
            for p in range(n):
                total += ld(dl.symm_at(own_ptr, p), semantic="weak")  # !4
            st(y_ptr, total, semantic="weak")


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(2, 3), sometimes=(1, 2, 3, 4, 5))
def try_then_beside(team, f):
    y = z(team, "y", 1)
    try_then_beside_k[(1,)](z(team, "lock", 1), z(team, "sum", 1), z(team, "own", 1), z(team, "done", 1), y, 4, f)
    if f == 0 and team.rank == 0:
        assert np.asarray(y)[0] == 4 * team.size


# == epochs_of_three
@tandem.jit
def epochs_of_three_k(global_ptr, local_ptr, x_ptr, y_ptr, TIMES: tl.constexpr, F: tl.constexpr):
    """Readers name the epoch in which they read; what was retired is written again two epochs later, when all have left the epoch.
    x has three places, the writer retires place e % 3 in epoch e; a local word of -1 reads nothing."""
    me, n = dl.rank(), dl.num_ranks()
    glob, local, x = dl.symm_at(global_ptr, 0), dl.symm_at(local_ptr, 0), dl.symm_at(x_ptr, 0)
    if tid(0) == 0:
        if me == 0:
            for e in range(1, TIMES + 1):
                st(x + (e + 1) % 3, e + 1, semantic="weak")  # !1 !2 !3 !4 !5
                st(glob, e, scope="sys", semantic="release" if F != 3 else "relaxed")
                if F != 3 and F != 5:
                    fence("seq_cst", "sys")
                if F != 1:
                    for r in range(1 if F != 2 else 2, n):
                        busy = True
                        while busy:
                            seen = ld(local + r, scope="sys", semantic="acquire")
                            busy = (seen >= 0) & (seen < e)
        else:
            for i in range(TIMES):
                e = ld(glob, scope="sys", semantic="acquire")
                again = True
                while again:
                    st(local + me, e, scope="sys", semantic="relaxed")
                    if F != 5:
                        fence("seq_cst", "sys")
                    now = ld(glob, scope="sys", semantic="acquire")
                    again = now != e
                    e = now
                st(y_ptr + i, ld(x + (e + 1) % 3, semantic="weak"), semantic="weak")  # !1 !2 !3 !4 !5
                st(local + me, -1, scope="sys", semantic="release" if F != 4 else "relaxed")


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(2, 3), sometimes=(1, 2, 4, 5))
def epochs_of_three(team, f):
    local = team.full(team.size, -1, "int32", name="local")
    epochs_of_three_k[(1,)](z(team, "global", 1), local, z(team, "x", 3), z(team, "y", 6), 6, f)


# == three_locks
@tandem.jit
def three_locks_k(lock_ptr, x_ptr, ROUNDS: tl.constexpr, F: tl.constexpr):
    """Two locks in either order, under a third one that keeps the others out; one round goes without it."""
    me = dl.rank()
    lock = dl.symm_at(lock_ptr, 0)
    if tid(0) == 0:
        for r in range(ROUNDS):
            guarded = (r < ROUNDS - 1) | (F != 1)
            if guarded:
                take(lock + 2, "acquire")
            take(lock + me % 2, "acquire")
            take(lock + 1 - me % 2, "acquire")  # !1
            st(dl.symm_at(x_ptr, 0), r, semantic="weak")  # !2
            st(lock + me % 2, 0, scope="sys", semantic="release" if F != 2 else "relaxed")
            st(lock + 1 - me % 2, 0, scope="sys", semantic="release" if F != 2 else "relaxed")
            if guarded:
                st(lock + 2, 0, scope="sys", semantic="release" if F != 2 else "relaxed")


@protocol({1: "deadlock", 2: "race"}, ranks=(2, 3))
def three_locks(team, f):
    three_locks_k[(1,)](z(team, "lock", 3), z(team, "x", 1), 3, f)
