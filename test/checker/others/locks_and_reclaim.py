"""Locks of queues and tickets, buffers that are taken from a pool or reused when their last reader has gone, and reads that never wait."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
from protocol import protocol
from tandem.libdevice import ffs
from tandem.simt import __syncthreads, atomic_add, atomic_cas, fence, ld, st, tid

N = 32


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


def is_first_word(team, array, value):
    team.synchronize()
    team.barrier()
    assert team.rank or np.asarray(array)[0] == value


# == lock_of_nodes
@tandem.jit
def lock_of_nodes_k(tail_ptr, node_ptr, x_ptr, TIMES: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Who comes waits on the node of the one before it, and goes on with that node (CLH). Nodes lie on rank 0; node n is free at first."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    tail, node, x = dl.symm_at(tail_ptr, 0), dl.symm_at(node_ptr, 0), dl.symm_at(x_ptr, 0)
    mine = me
    for _ in range(TIMES):
        before = mine
        if tid(0) == 0:
            st(node + mine, 1, scope="sys", semantic="relaxed")
        __syncthreads()
        before = (tl.atomic_xchg(tail, mine + 1, sem="acq_rel", scope="sys") + n) % (n + 1)
        if tid(0) == 0:
            while ld(node + before, scope="sys", semantic="acquire" if F != 1 else "relaxed") != 0:  # !4
                pass
        if F != 3:
            __syncthreads()
        tl.store(x + o, tl.load(x + o) + 1)  # !1 !2 !3 !5
        if F != 5:
            __syncthreads()
        if tid(0) == (0 if F != 5 else 64):
            if F != 4:
                st(node + mine, 0, scope="sys", semantic="release" if F != 2 else "relaxed")
        mine = before


@protocol({1: "race", 2: "race", 3: "race", 4: "livelock|deadlock", 5: "race"}, ranks=(2, 3))
def lock_of_nodes(team, f):
    x = z(team, "x")
    lock_of_nodes_k[(1,)](z(team, "tail", 1), z(team, "node", team.size + 1), x, 3, N, f)
    if f == 0:
        is_first_word(team, x, 3 * team.size)


# == readers_by_ticket
@tandem.jit
def readers_by_ticket_k(ticket_ptr, read_ptr, write_ptr, x_ptr, y_ptr, TIMES: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """A ticket of one row for readers and writers: a reader lets the next reader in at once, a writer when it goes."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    ticket, read, write, x = dl.symm_at(ticket_ptr, 0), dl.symm_at(read_ptr, 0), dl.symm_at(write_ptr, 0), dl.symm_at(x_ptr, 0)
    for i in range(TIMES):
        mine = tl.atomic_add(ticket, 1, sem="relaxed", scope="sys")
        if (me + i) % n == 0:
            if tid(0) == 0:
                while ld(write, scope="sys", semantic="acquire" if F != 1 else "relaxed") != mine:
                    pass
            __syncthreads()
            tl.store(x + o, i + 1)  # !1 !2 !3 !4 !5
            __syncthreads()
            if tid(0) == 0:
                atomic_add(read, 1, scope="sys", semantic="release" if F != 2 else "relaxed")
                atomic_add(write, 1, scope="sys", semantic="release")
        else:
            if tid(0) == 0:
                while ld(read, scope="sys", semantic="acquire" if F != 3 else "relaxed") != mine:
                    pass
                atomic_add(read, 1, scope="sys", semantic="relaxed")
            if F != 5:
                __syncthreads()
            tl.store(y_ptr + o, tl.load(x + o))  # !1 !2 !3 !4 !5
            __syncthreads()
            if tid(0) == 0:
                atomic_add(write, 1, scope="sys", semantic="release" if F != 4 else "relaxed")
        __syncthreads()


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(2, 3), sometimes=(1, 2, 3, 4, 5))
def readers_by_ticket(team, f):
    readers_by_ticket_k[(1,)](z(team, "ticket", 1), z(team, "read", 1), z(team, "write", 1), z(team, "x"), z(team, "y"), 4, N, f)


# == quiescent_readers
@tandem.jit
def quiescent_readers_k(buffer_ptr, current_ptr, quiet_ptr, y_ptr, LAST: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Rank 0 publishes versions in two buffers. Readers never wait; they say up to which version they have gone on, and the writer takes
    a buffer again when all have left it."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    if me == 0:
        for v in range(1, LAST + 1):
            for c in range(1, n - (1 if F == 4 else 0)):
                while tl.atomic_add(quiet_ptr + c, 0, sem="acquire" if F != 6 else "relaxed", scope="sys") < v - 1 - (
                    1 if F == 3 else 0
                ):  # !7
                    pass
            tl.store(buffer_ptr + v % 2 * N + o, v)  # !1 !2 !3 !4 !5 !6
            __syncthreads()
            if tid(0) == 0:
                st(current_ptr, v, scope="sys", semantic="release" if F != 5 else "relaxed")
            __syncthreads()
    else:
        v = tl.cast(0, tl.int32)
        while v < LAST:
            v = tl.atomic_add(dl.symm_at(current_ptr, 0), 0, sem="acquire", scope="sys")  # !7
            tl.store(y_ptr + o, tl.load(dl.symm_at(buffer_ptr, 0) + v % 2 * N + o))  # !1 !2 !3 !4 !5 !6
            __syncthreads()
            if (tid(0) == 0) & ((F != 7) | (v < 2)):
                st(dl.symm_at(quiet_ptr, 0) + me, v if F != 1 else v + 1, scope="sys", semantic="release" if F != 2 else "relaxed")
            __syncthreads()


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "race", 7: "livelock|deadlock"}, ranks=(2, 3), sometimes=(1, 3, 4))
def quiescent_readers(team, f):
    y = z(team, "y")
    quiescent_readers_k[(1,)](z(team, "buffer", 2 * N), z(team, "current", 1), z(team, "quiet", team.size), y, 5, N, f)
    if f == 0 and team.rank:
        assert np.asarray(y)[0] == 5


# == left_and_right
@tandem.jit
def left_and_right_k(data_ptr, side_ptr, count_ptr, y_ptr, TIMES: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Two copies of the data. Readers count themselves in, then look which copy is theirs; the writer changes the other one, turns them
    to it, and waits until nobody is counted that may have looked before."""
    me = dl.rank()
    o = tl.arange(0, N)
    data, side, count = dl.symm_at(data_ptr, 0), dl.symm_at(side_ptr, 0), dl.symm_at(count_ptr, 0)
    if me == 0:
        for i in range(1, TIMES + 1):
            other = i % 2
            tl.store(data + other * N + o, i)  # !1 !2 !3 !4 !5 !6
            __syncthreads()
            if tid(0) == 0:
                st(side, other, scope="sys", semantic="release" if F != 1 else "relaxed")
                fence("sc" if F != 6 else "acq_rel", "sys")
                if F != 2:
                    while ld(count, scope="sys", semantic="acquire" if F != 3 else "relaxed") != 0:
                        pass
            __syncthreads()
    else:
        for i in range(TIMES):
            if tid(0) == 0:
                atomic_add(count, 1, scope="sys", semantic="relaxed")
                fence("sc" if F != 6 else "acq_rel", "sys")
            __syncthreads()
            mine = tl.atomic_add(side, 0, sem="acquire", scope="sys")
            tl.store(y_ptr + o, tl.load(data + mine * N + o))  # !1 !2 !3 !4 !5 !6
            if F != 5:
                __syncthreads()
            if tid(0) == (0 if F != 5 else 64):
                atomic_add(count, -1, scope="sys", semantic="release" if F != 4 else "relaxed")
            __syncthreads()


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "race"}, ranks=(2, 3), sometimes=(1, 2, 3, 4, 5, 6))
def left_and_right(team, f):
    left_and_right_k[(1,)](z(team, "data", 2 * N), z(team, "side", 1), z(team, "count", 1), z(team, "y"), 3, N, f)


# == pool_of_buffers
@tandem.jit
def pool_of_buffers_k(tokens_ptr, free_ptr, buffer_ptr, y_ptr, TIMES: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """A semaphore says that a buffer is free, a word of bits which ones are."""
    me = dl.rank()
    o = tl.arange(0, N)
    tokens, free, buffer = dl.symm_at(tokens_ptr, 0), dl.symm_at(free_ptr, 0), dl.symm_at(buffer_ptr, 0)
    for i in range(TIMES):
        taken = dl.allocate_smem(tl.int32, [1])
        if tid(0) == 0:
            left = ld(tokens, scope="sys", semantic="relaxed")
            again = True
            while again:
                if left > 0:
                    seen = atomic_cas(tokens, left, left - 1, scope="sys", semantic="acquire")
                    again = seen != left
                    left = seen
                else:
                    left = ld(tokens, scope="sys", semantic="relaxed")
            bits = ld(free, scope="sys", semantic="relaxed")
            again = True
            while again:
                lowest = bits & -bits
                seen = atomic_cas(free, bits, bits & ~lowest if F != 3 else bits, scope="sys", semantic="acquire")
                again = seen != bits
                if not again:
                    dl.smem_store(taken, ffs(lowest) - 1, 0)
                bits = seen
        __syncthreads()
        at = dl.smem_load(taken, 0)
        tl.store(buffer + at * N + o, me)  # !1 !2 !3 !4
        tl.store(y_ptr + o, tl.load(buffer + at * N + o))
        if F != 4:
            __syncthreads()
        if tid(0) == (0 if F != 4 else 64):
            tl.atomic_or(free, 1 << at, sem="release" if F != 2 else "relaxed", scope="sys")
            atomic_add(tokens, 1, scope="sys", semantic="release" if F != 2 else "relaxed")
        __syncthreads()


@protocol({3: "race", 2: "race", 4: "race"}, ranks=(3, 4), sometimes=(2, 3, 4))
def pool_of_buffers(team, f):
    tokens, free = team.full(1, 2, "int32", name="tokens"), team.full(1, 3, "int32", name="free")
    buffer, y = z(team, "buffer", 2 * N), z(team, "y")
    team.barrier()
    pool_of_buffers_k[(1,)](tokens, free, buffer, y, 3, N, f)


# == last_reader_refills
@tandem.jit
def last_reader_refills_k(buffer_ptr, left_ptr, version_ptr, y_ptr, VERSIONS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Whoever is the last to have read rank 0's buffer fills it with the next version."""
    n = dl.num_ranks()
    o = tl.arange(0, N)
    buffer, left, version = dl.symm_at(buffer_ptr, 0), dl.symm_at(left_ptr, 0), dl.symm_at(version_ptr, 0)
    for v in range(VERSIONS):
        while tl.atomic_add(version, 0, sem="acquire" if F != 4 else "relaxed", scope="sys") < v:  # !6
            pass
        tl.store(y_ptr + o, tl.load(buffer + o))  # !1 !2 !3 !4 !5
        if F != 5:
            __syncthreads()
        before = tl.atomic_add(left, -1, sem=("acq_rel" if F != 1 else "acquire") if F != 2 else "release", scope="sys")
        if before == 1:
            tl.store(buffer + o, v + 1)  # !1 !2 !3 !4 !5
            __syncthreads()
            if tid(0) == 0:
                if F != 6:
                    st(left, n, scope="sys", semantic="relaxed")
                st(version, v + 1, scope="sys", semantic="release" if F != 3 else "relaxed")
        __syncthreads()


@protocol({1: "race", 2: "race", 3: "race", 4: "race"}, ranks=(2, 3))
def last_reader_refills(team, f):
    left = team.full(1, team.size, "int32", name="left")
    team.barrier()
    last_reader_refills_k[(1,)](z(team, "buffer"), left, z(team, "version", 1), z(team, "y"), 4, N, f)


# == deque_of_jobs
@tandem.jit
def deque_of_jobs_k(job_ptr, ring_ptr, top_ptr, bottom_ptr, y_ptr, JOBS: tl.constexpr, F: tl.constexpr):
    """The owner pushes and takes at one end, others steal at the other (Chase and Lev). A job is one's who gets it."""
    me, n = dl.rank(), dl.num_ranks()
    if tid(0) == 0:
        for i in range(JOBS):
            st(job_ptr + i, me * JOBS + i + 1, semantic="weak")  # !1 !2
            st(ring_ptr + i, i, scope="sys", semantic="relaxed")
            st(bottom_ptr, i + 1, scope="sys", semantic="release" if F != 1 else "relaxed")
        bottom = tl.cast(JOBS, tl.int32)
        top = tl.cast(0, tl.int32)
        while (me % 2 == 0) & (top < bottom):  # the others' jobs are all stolen
            bottom -= 1
            st(bottom_ptr, bottom, scope="sys", semantic="relaxed")
            fence("sc", "sys")
            top = ld(top_ptr, scope="sys", semantic="acquire")
            if top <= bottom:
                at = ld(ring_ptr + bottom, scope="sys", semantic="relaxed")
                is_mine = True
                if top == bottom:
                    if F != 3:
                        is_mine = atomic_cas(top_ptr, top, top + 1, scope="sys", semantic="acq_rel") == top
                    st(bottom_ptr, bottom + 1, scope="sys", semantic="relaxed")
                if is_mine:
                    job = ld(job_ptr + at, semantic="weak")
                    st(job_ptr + at, 0, semantic="weak")  # !3
                    st(dl.symm_at(y_ptr, 0) + job, 1, semantic="weak")  # !3
            else:
                st(bottom_ptr, bottom + 1, scope="sys", semantic="relaxed")
        victim = (me + 1) % n
        jobs, ring = dl.symm_at(job_ptr, victim), dl.symm_at(ring_ptr, victim)
        for i in range(JOBS):
            top = ld(dl.symm_at(top_ptr, victim), scope="sys", semantic="acquire")
            fence("sc", "sys")
            if top < ld(dl.symm_at(bottom_ptr, victim), scope="sys", semantic="acquire" if F != 2 else "relaxed"):
                at = ld(ring + top, scope="sys", semantic="relaxed")
                if atomic_cas(dl.symm_at(top_ptr, victim), top, top + 1, scope="sys", semantic="acq_rel") == top:
                    job = ld(jobs + at, semantic="weak")  # !1 !2 !3
                    st(jobs + at, 0, semantic="weak")  # !3
                    st(dl.symm_at(y_ptr, 0) + job, 1, semantic="weak")  # !3


@protocol({1: "race", 2: "race", 3: "race"}, ranks=(2, 3), sometimes=(1, 2, 3))
def deque_of_jobs(team, f):
    words = [z(team, name, 1) for name in ("top", "bottom")]
    deque_of_jobs_k[(1,)](z(team, "job", 4), z(team, "ring", 4), *words, z(team, "y", 4 * team.size + 1), 4, f)


# == numbers_of_two_writers
@tandem.jit
def numbers_of_two_writers_k(number_ptr, a_ptr, y_ptr, TIMES: tl.constexpr, WORDS: tl.constexpr, F: tl.constexpr):
    """A sequence lock that several ranks write under: an odd number is a writer's. Readers never wait, and take what one even number
    encloses."""
    me = dl.rank()
    number, a = dl.symm_at(number_ptr, 0), dl.symm_at(a_ptr, 0)
    if tid(0) == 0:
        if me < 2:
            for i in range(TIMES):
                before = ld(number, scope="sys", semantic="relaxed")
                again = True
                while again:
                    if before % 2 == 0:
                        seen = atomic_cas(number, before, before + 1, scope="sys", semantic="acquire")
                        again = seen != before
                        before = seen
                    else:
                        before = ld(number, scope="sys", semantic="relaxed")
                fence("acq_rel", "sys")
                for k in range(WORDS):
                    if F == 2:
                        st(a + k, me * TIMES + i, semantic="weak")  # !2
                    else:
                        st(a + k, me * TIMES + i, scope="sys", semantic="relaxed")
                st(a + WORDS, me, semantic="weak")  # !1 !3
                st(number, before + 2, scope="sys", semantic="release" if F != 3 else "relaxed")
        first = tl.cast(1, tl.int32)
        last = tl.cast(0, tl.int32)
        total = tl.cast(0, tl.int32)
        while (first != last) | (first % 2 != 0):
            first = ld(number, scope="sys", semantic="acquire")
            total = tl.cast(0, tl.int32)
            for k in range(WORDS):
                if F == 4:
                    total += ld(a + k, semantic="weak")  # !4
                else:
                    total += ld(a + k, scope="sys", semantic="relaxed")  # !2
            fence("acq_rel", "sys")
            last = ld(number, scope="sys", semantic="relaxed")
        st(y_ptr, total, semantic="weak")


@protocol({2: "race", 3: "race", 4: "race"}, ranks=(2, 3), sometimes=(2, 3, 4))
def numbers_of_two_writers(team, f):
    y = z(team, "y", 1)
    numbers_of_two_writers_k[(1,)](z(team, "number", 1), z(team, "a", 4), y, 2, 3, f)
    if f == 0:
        assert np.asarray(y)[0] % 3 == 0
