"""Locks, queues, a stack and barriers of shared memory, whose words lie on rank 0."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
from protocol import protocol
from tandem.simt import __syncthreads, fence, ld, st, tid

N = 64


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == ticket_lock
@tandem.jit
def ticket_lock_k(next_ptr, serving_ptr, sum_ptr, N: tl.constexpr, F: tl.constexpr):
    o = tl.arange(0, N)
    nxt, serving, data = dl.symm_at(next_ptr, 0), dl.symm_at(serving_ptr, 0), dl.symm_at(sum_ptr, 0)
    for i in range(3):
        ticket = tl.atomic_add(nxt, 1, sem="relaxed", scope="sys" if F != 4 else "gpu")  # !4
        if F != 3:
            while ld(serving, scope="sys", semantic="acquire" if F != 1 else "relaxed") != ticket:  # !5
                pass
        __syncthreads()
        tl.store(data + o, tl.load(data + o) + 1)  # !1 !2 !3 !6
        if F != 6:
            __syncthreads()
        if tid(0) == (0 if F != 6 else 96):
            if F == 5:
                if i < 2:
                    st(serving, ticket + 1, scope="sys", semantic="release")
            else:
                st(serving, ticket + 1, scope="sys", semantic="release" if F != 2 else "relaxed")


@protocol({1: "race", 2: "race", 3: "race", 4: "scope", 5: "livelock|deadlock", 6: "race"}, ranks=(2, 4, 8))
def ticket_lock(team, f):
    s = z(team, "sum")
    ticket_lock_k[(1,)](z(team, "next", 1), z(team, "serving", 1), s, N, f)
    team.barrier()
    team.synchronize()
    team.barrier()


# == mcs_lock
@tandem.jit
def mcs_lock_k(tail_ptr, next_ptr, locked_ptr, sum_ptr, N: tl.constexpr, F: tl.constexpr):
    """Tail on rank 0; each rank's node on itself. 0 is nobody, r + 1 is rank r."""
    me = dl.rank()
    o = tl.arange(0, N)
    tail, data = dl.symm_at(tail_ptr, 0), dl.symm_at(sum_ptr, 0)
    for i in range(3):
        if tid(0) == 0:
            st(next_ptr, 0, scope="sys", semantic="relaxed")
            st(locked_ptr, 1, scope="sys", semantic="relaxed")
            before = tl.atomic_xchg(tail, me + 1, sem="acq_rel" if F != 1 else "relaxed", scope="sys")
            if before != 0:
                if F != 6:
                    st(dl.symm_at(next_ptr, before - 1), me + 1, scope="sys", semantic="release")
                while ld(locked_ptr, scope="sys", semantic="acquire" if F != 2 else "relaxed") != 0:  # !6
                    pass
        __syncthreads()
        tl.store(data + o, tl.load(data + o) + 1)  # !1 !2 !3 !4 !5
        if F != 4:
            __syncthreads()
        if tid(0) == (0 if F != 4 else 64):
            after = ld(next_ptr, scope="sys", semantic="acquire")
            if after == 0:
                held = tl.atomic_cas(tail, me + 1, 0, sem="acq_rel" if F != 5 else "relaxed", scope="sys")
                if held != me + 1:
                    while after == 0:
                        after = ld(next_ptr, scope="sys", semantic="acquire")  # !6
            if after != 0:
                st(dl.symm_at(locked_ptr, after - 1), 0, scope="sys", semantic="release" if F != 3 else "relaxed")
        __syncthreads()


@protocol({2: "race", 3: "race"}, ranks=(2, 4), sometimes=(2, 3))
def mcs_lock(team, f):
    mcs_lock_k[(1,)](z(team, "tail", 1), z(team, "next", 1), z(team, "locked", 1), z(team, "sum"), N, f)


# == seqlock
@tandem.jit
def seqlock_k(seq_ptr, a_ptr, y_ptr, N: tl.constexpr, F: tl.constexpr):
    """One writer on rank 0; readers take what two equal even numbers enclose. Data are relaxed words."""
    me = dl.rank()
    seq, a = dl.symm_at(seq_ptr, 0), dl.symm_at(a_ptr, 0)
    t = tid(0)
    if me == 0:
        for v in range(1, 4):
            if t == 0:
                st(seq, 2 * v - 1, scope="sys", semantic="relaxed")
                fence("acq_rel", "sys")
                for k in range(4):
                    if F == 1:
                        st(a + k, v, semantic="weak")  # !1
                    else:
                        st(a + k, v, scope="sys" if F != 2 else "gpu", semantic="relaxed")  # !2
                st(seq, 2 * v, scope="sys", semantic="release")
    else:
        if t == 0:
            s1 = ld(seq, scope="sys", semantic="acquire")
            s2 = s1 + 1
            total = 0
            while (s1 != s2) | (s1 % 2 != 0) | (s1 < 6):
                s1 = ld(seq, scope="sys", semantic="acquire")
                total = 0
                for k in range(4):
                    total += ld(a + k, scope="sys", semantic="relaxed")  # !1 !2
                fence("acq_rel", "sys")
                s2 = ld(seq, scope="sys", semantic="relaxed")
            st(y_ptr, total, semantic="weak")


@protocol({1: "race", 2: "scope"}, ranks=(2, 4), sometimes=(1, 2))
def seqlock(team, f):
    y = z(team, "y", 1)
    seqlock_k[(1,)](z(team, "seq", 1), z(team, "a", 4), y, N, f)
    if f == 0 and team.rank:
        assert np.asarray(y)[0] == 12


# == vyukov_queue
@tandem.jit
def vyukov_k(seq_ptr, cell_ptr, head_ptr, tail_ptr, y_ptr, PER: tl.constexpr, CELLS: tl.constexpr, F: tl.constexpr):
    """Bounded queue on rank 0 with a sequence number a cell; odd ranks take, even ranks put."""
    me, _n = dl.rank(), dl.num_ranks()
    seq, cell, head, tail = dl.symm_at(seq_ptr, 0), dl.symm_at(cell_ptr, 0), dl.symm_at(head_ptr, 0), dl.symm_at(tail_ptr, 0)
    if tid(0) == 0:
        for i in range(PER):
            if me % 2 == 0:
                pos = tl.atomic_add(tail, 1, sem="relaxed", scope="sys")
                at = pos % CELLS
                if F != 1:
                    while ld(seq + at, scope="sys", semantic="acquire" if F != 2 else "relaxed") != pos // CELLS * 2:  # !5
                        pass
                st(cell + at, me * PER + i, semantic="weak")  # !1 !2 !3 !4
                st(seq + at, pos // CELLS * 2 + 1, scope="sys", semantic="release" if F != 3 else "relaxed")
            else:
                pos = tl.atomic_add(head, 1, sem="relaxed", scope="sys")
                at = pos % CELLS
                while ld(seq + at, scope="sys", semantic="acquire") != pos // CELLS * 2 + 1:  # !1 !5
                    pass
                v = ld(cell + at, semantic="weak")  # !1 !2 !3 !4
                if F != 4:
                    st(y_ptr + i, v, semantic="weak")
                    st(seq + at, pos // CELLS * 2 + (2 if F != 5 else 1), scope="sys", semantic="release")
                else:
                    st(seq + at, pos // CELLS * 2 + 2, scope="sys", semantic="relaxed")
                    st(y_ptr + i, v, semantic="weak")


@protocol({1: "race|livelock", 2: "race", 3: "race", 4: "race", 5: "livelock|deadlock"}, ranks=(2, 4, 8))
def vyukov_queue(team, f):
    vyukov_k[(1,)](z(team, "seq", 2), z(team, "cell", 2), z(team, "head", 1), z(team, "tail", 1), z(team, "y", 5), 5, 2, f)


# == treiber_stack
@tandem.jit
def treiber_k(top_ptr, next_ptr, value_ptr, done_ptr, y_ptr, PER: tl.constexpr, F: tl.constexpr):
    """Nodes of all ranks on rank 0; rank 0 takes the whole list when all are done. 0 is the end."""
    me, n = dl.rank(), dl.num_ranks()
    top, nxt, value, done = dl.symm_at(top_ptr, 0), dl.symm_at(next_ptr, 0), dl.symm_at(value_ptr, 0), dl.symm_at(done_ptr, 0)
    if tid(0) == 0:
        for i in range(PER):
            node = me * PER + i + 1
            st(value + node, 1, semantic="weak")  # !1 !2 !3
            old = ld(top, scope="sys", semantic="relaxed")
            again = True
            while again:
                st(nxt + node, old, semantic="weak")  # !1 !2
                seen = tl.atomic_cas(top, old, node, sem="release" if F != 1 else "relaxed", scope="sys")
                again = seen != old
                old = seen
        if F != 3:
            tl.atomic_add(done, 1, sem="relaxed", scope="sys")
        if me == 0:
            if F != 3:
                while ld(done, scope="sys", semantic="relaxed") < n:
                    pass
            node = tl.atomic_xchg(top, 0, sem="acquire" if F != 2 else "relaxed", scope="sys")
            total = 0
            while node != 0:
                total += ld(value + node, semantic="weak")  # !1 !2
                node = ld(nxt + node, semantic="weak")  # !1 !2
            st(y_ptr, total, semantic="weak")


@protocol({1: "race", 2: "race"}, ranks=(2, 4))
def treiber_stack(team, f):
    y = z(team, "y", 1)
    treiber_k[(1,)](z(team, "top", 1), z(team, "next", 40), z(team, "value", 40), z(team, "done", 1), y, 3, f)
    if f == 0 and team.rank == 0:
        assert np.asarray(y)[0] == 3 * team.size


# == rw_lock
@tandem.jit
def rw_lock_k(lock_ptr, data_ptr, y_ptr, N: tl.constexpr, F: tl.constexpr):
    """A word: -1 a writer, else the readers. Rank 0 writes, the others read."""
    me = dl.rank()
    o = tl.arange(0, N)
    lock, data = dl.symm_at(lock_ptr, 0), dl.symm_at(data_ptr, 0)
    for i in range(2):
        if me == 0:
            if tid(0) == 0:
                while tl.atomic_cas(lock, 0, -1, sem="acquire" if F != 1 else "relaxed", scope="sys") != 0:  # !6
                    pass
            __syncthreads()
            tl.store(data + o, i)  # !1 !2 !3 !4 !5
            __syncthreads()
            if tid(0) == 0:
                if F != 6:
                    st(lock, 0, scope="sys", semantic="release" if F != 2 else "relaxed")
        else:
            if tid(0) == 0:
                got = False
                while not got:
                    c = ld(lock, scope="sys", semantic="relaxed")  # !6
                    if c >= 0:
                        got = tl.atomic_cas(lock, c, c + 1, sem="acquire" if F != 3 else "relaxed", scope="sys") == c  # !6
            __syncthreads()
            tl.store(y_ptr + o, tl.load(data + o))  # !1 !2 !3 !4 !5
            if F != 5:
                __syncthreads()
            if tid(0) == (0 if F != 5 else 64):
                tl.atomic_add(lock, -1, sem="release" if F != 4 else "relaxed", scope="sys")
        __syncthreads()


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "deadlock|livelock"}, ranks=(2, 4), sometimes=(1, 2, 3, 4, 5))
def rw_lock(team, f):
    rw_lock_k[(1,)](z(team, "lock", 1), z(team, "data"), z(team, "y"), N, f)


# == work_stealing
@tandem.jit
def work_stealing_k(head_ptr, tail_ptr, job_ptr, out_ptr, ready_ptr, JOBS: tl.constexpr, F: tl.constexpr):
    """Each rank fills its own list, tells all, then takes from its own and the others' lists by tickets."""
    me, n = dl.rank(), dl.num_ranks()
    t = tid(0)
    if t == 0:
        for i in range(JOBS - me % 2):
            st(job_ptr + i, me * JOBS + i, semantic="weak")  # !1 !2 !3
        st(tail_ptr, JOBS - me % 2, scope="sys", semantic="release" if F != 1 else "relaxed")
        for d in range(n):
            v = (me + d) % n
            size = ld(dl.symm_at(tail_ptr, v), scope="sys", semantic="acquire")
            if F != 3:
                while size == 0:
                    size = ld(dl.symm_at(tail_ptr, v), scope="sys", semantic="acquire" if F != 2 else "relaxed")
            else:
                size = tl.cast(JOBS - v % 2, tl.int32)
            k = tl.atomic_add(dl.symm_at(head_ptr, v), 1, sem="relaxed", scope="sys")
            while k < size:
                job = ld(dl.symm_at(job_ptr, v) + k, semantic="weak")  # !1 !2 !3
                if F == 4:
                    st(dl.symm_at(out_ptr, 0) + job % JOBS, job, semantic="weak")  # !4
                else:
                    st(dl.symm_at(out_ptr, 0) + job, job + 1, semantic="weak")
                k = tl.atomic_add(dl.symm_at(head_ptr, v), 1, sem="relaxed", scope="sys" if F != 5 else "gpu")  # !5


@protocol({1: "race", 3: "race", 4: "race", 5: "scope"}, ranks=(2, 4), sometimes=(1, 3))
def work_stealing(team, f):
    work_stealing_k[(1,)](z(team, "head", 1), z(team, "tail", 1), z(team, "job", 8), z(team, "out", 64), z(team, "ready", 1), 6, f)


# == sense_barrier
@tandem.jit
def sense_barrier_k(count_ptr, sense_ptr, x_ptr, y_ptr, N: tl.constexpr, F: tl.constexpr):
    """Central counter on rank 0; the last clears it, then flips the sense."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    count, sense = dl.symm_at(count_ptr, 0), dl.symm_at(sense_ptr, 0)
    mine = 0
    for i in range(4):
        tl.store(x_ptr + o, me + i)  # !1 !2 !3 !6
        for half in tl.static_range(2):
            mine = 1 - mine
            __syncthreads()
            if tid(0) == 0:
                if tl.atomic_add(count, 1, sem="acq_rel" if F != 1 else "release", scope="sys") == n - 1:
                    if F == 4:
                        st(sense, mine, scope="sys", semantic="release")
                        st(count, 0, scope="sys", semantic="relaxed")  # !4
                    else:
                        if F != 5:
                            st(count, 0, scope="sys", semantic="relaxed")
                        st(sense, mine, scope="sys", semantic="release" if F != 2 else "relaxed")
                else:
                    while ld(sense, scope="sys", semantic="acquire" if F != 3 else "relaxed") != mine:  # !5 !4
                        pass
            if F != 6:
                __syncthreads()
            if half == 0:
                for p in range(n):
                    tl.store(y_ptr + p * N + o, tl.load(dl.symm_at(x_ptr, p) + o))  # !1 !2 !3 !6


@protocol({1: "race", 2: "race", 3: "race", 4: "race|deadlock|livelock|signal-misuse", 5: "deadlock|livelock", 6: "race"}, ranks=(2, 4, 8))
def sense_barrier(team, f):
    sense_barrier_k[(1,)](z(team, "count", 1), z(team, "sense", 1), z(team, "x"), z(team, "y", N * team.size), N, f)


# == dissemination
@tandem.jit
def dissemination_k(flag_ptr, x_ptr, y_ptr, epoch_ptr, LOG: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    epoch = tl.load(epoch_ptr) + 1
    tl.store(x_ptr + o, me + epoch.to(tl.int32))  # !1 !2 !3 !5 !6
    for r in tl.static_range(LOG - (1 if F == 1 else 0)):
        dl.notify(flag_ptr + (r if F != 2 else 0), (me + (1 << r)) % n, signal=epoch, sig_op="set", comm_scope="intra_node")  # !2
        dl.wait(
            flag_ptr + (r if F != 2 else 0),
            1,
            "sys",
            "acquire" if F != 3 else "relaxed",
            waitValue=epoch if F != 4 else epoch + 1,
            compare="ge",
        )  # !4 !2
    for p in range(n):
        tl.store(y_ptr + p * N + o, tl.load(dl.symm_at(x_ptr, p) + o))  # !1 !2 !3 !5 !6
    if F != 5:
        for r in tl.static_range(LOG):
            dl.notify(flag_ptr + LOG + r, (me + (1 << r)) % n, signal=epoch, sig_op="set", comm_scope="intra_node")
            dl.wait(flag_ptr + LOG + r, 1, "sys", "acquire", waitValue=epoch, compare="ge")
    tl.store(epoch_ptr, epoch if F != 6 else epoch - 1)


@protocol({1: "race", 2: "race|signal-misuse", 3: "race", 4: "deadlock", 5: "race", 6: "race|signal-misuse"}, ranks=(4, 8, 6))
def dissemination(team, f):
    log = (team.size - 1).bit_length()
    flag, x, y, e = z(team, "flag", 2 * log, "int64"), z(team, "x"), z(team, "y", N * team.size), z(team, "epoch", 1, "int64")
    for launch in range(3):
        dissemination_k[(1,)](flag, x, y, e, log, N, f)
