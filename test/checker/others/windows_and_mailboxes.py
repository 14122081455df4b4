"""A ring with several readers, indices that are kept, windows, rows that claim their place, mailboxes, and a proxy that puts for others."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from protocol import protocol
from tandem.simt import __syncthreads, atomic_cas, ld, st, tid

N = 32


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == gated_ring
@tandem.jit
def gated_ring_k(ring_ptr, cursor_ptr, gate_ptr, y_ptr, ITEMS: tl.constexpr, ROOM: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Rank 0 fills a ring that all others read, each at a pace of its own: it waits for the slowest one's gate."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    if me == 0:
        for s in range(1, ITEMS + 1):
            if F != 1:
                for c in range(1 if F != 2 else 2, n):
                    while tl.atomic_add(gate_ptr + c, 0, sem="acquire" if F != 3 else "relaxed", scope="sys") < s - ROOM:  # !7
                        pass
            tl.store(ring_ptr + s % ROOM * N + o, s)  # !1 !2 !3 !4 !5 !6
            if F != 6:
                __syncthreads()
            if tid(0) == (0 if F != 6 else 96):
                st(cursor_ptr, s, scope="sys", semantic="release" if F != 4 else "relaxed")
            __syncthreads()
    else:
        seen = tl.cast(0, tl.int32)
        while seen < ITEMS:
            until = tl.atomic_add(dl.symm_at(cursor_ptr, 0), 0, sem="acquire", scope="sys")  # !7
            for s in range(seen + 1, until + 1):
                tl.store(y_ptr + s * N + o, tl.load(dl.symm_at(ring_ptr, 0) + s % ROOM * N + o))  # !1 !2 !3 !4 !5 !6
            __syncthreads()
            if (tid(0) == 0) & (until > seen):
                if (F != 7) | (me > 1):
                    st(dl.symm_at(gate_ptr, 0) + me, until if F != 5 else until + 1, scope="sys", semantic="release")
            __syncthreads()
            seen = until


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "race", 7: "livelock|deadlock"}, ranks=(2, 3), sometimes=(1, 2, 5))
def gated_ring(team, f):
    y = z(team, "y", 12 * N)
    gated_ring_k[(1,)](z(team, "ring", 3 * N), z(team, "cursor", 1), z(team, "gate", team.size), y, 10, 3, N, f)
    if f == 0 and team.rank:
        assert (np.asarray(y).reshape(12, N)[1:11, 0] == np.arange(1, 11)).all()


# == kept_indices
@tandem.jit
def kept_indices_k(ring_ptr, tail_ptr, head_ptr, y_ptr, ITEMS: tl.constexpr, ROOM: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Both sides keep the other's index and look again only when it does not let them go on."""
    me, n = dl.rank(), dl.num_ranks()
    right, left = (me + 1) % n, (me + n - 1) % n
    o = tl.arange(0, N)
    known = tl.cast(0, tl.int64)
    if tl.program_id(0) == 0:
        for s in range(ITEMS):
            if s - known >= ROOM + (1 if F == 1 else 0):
                known = shmem.signal_wait_until(head_ptr, shmem.NVSHMEM_CMP_GE, s - ROOM + 1)
                if F == 2:
                    known += 1
            tl.store(dl.symm_at(ring_ptr, right) + s % ROOM * N + o, s)  # !1 !2 !3 !4 !5
            dl.notify(tail_ptr, right, signal=s + 1, sig_op="set", comm_scope="intra_node")
        shmem.signal_wait_until(head_ptr, shmem.NVSHMEM_CMP_GE, ITEMS)
    else:
        for s in range(ITEMS):
            if s >= known:
                known = shmem.signal_wait_until(tail_ptr, shmem.NVSHMEM_CMP_GE, s + 1 if F != 4 else s)
                if F == 4:
                    known = tl.maximum(known, s + 1)
            if F == 3:
                dl.notify(head_ptr, left, signal=s + 1, sig_op="set", comm_scope="intra_node")
            tl.store(y_ptr + s * N + o, tl.load(ring_ptr + s % ROOM * N + o))  # !1 !2 !3 !4 !5
            if F != 3:
                dl.notify(head_ptr, left, signal=s + 1, sig_op="set", comm_scope="intra_node")


@protocol({1: "race", 2: "race", 3: "race", 4: "race"}, ranks=(2, 3), sometimes=(2,))
def kept_indices(team, f):
    y = z(team, "y", 9 * N)
    kept_indices_k[(2,)](z(team, "ring", 3 * N), z(team, "tail", 1, "int64"), z(team, "head", 1, "int64"), y, 9, 3, N, f)
    if f == 0:
        assert (np.asarray(y).reshape(9, N)[:, 0] == np.arange(9)).all()


# == sliding_window
@tandem.jit
def sliding_window_k(
    src_ptr, ring_ptr, y_ptr, sig_ptr, ack_ptr, ITEMS: tl.constexpr, W: tl.constexpr, EVERY: tl.constexpr, N: tl.constexpr, F: tl.constexpr
):
    """Puts with a signal for each slot of the window; the receiver acks several items at once, by adding."""
    me, n = dl.rank(), dl.num_ranks()
    right, left = (me + 1) % n, (me + n - 1) % n
    o = tl.arange(0, N)
    if tl.program_id(0) == 0:
        for s in range(ITEMS):
            if F != 1:
                dl.wait(ack_ptr, 1, "sys", "acquire", waitValue=(s - W) // EVERY * EVERY + EVERY - (EVERY if F == 2 else 0), compare="ge")
            shmem.putmem_signal_nbi_block(
                ring_ptr + s % W * N, src_ptr + s * N, N * 4, sig_ptr + s % W, s // W + 1, shmem.NVSHMEM_SIGNAL_SET, right
            )  # !1 !2 !3 !4 !5
        shmem.quiet()
        dl.wait(ack_ptr, 1, "sys", "acquire", waitValue=ITEMS, compare="ge")
    else:
        for s in range(ITEMS):
            if F != 4:
                shmem.signal_wait_until(sig_ptr + s % W, shmem.NVSHMEM_CMP_GE, s // W + 1 - (1 if F == 5 else 0))
            if F == 3 and s % EVERY == EVERY - 1:
                dl.notify(ack_ptr, left, signal=EVERY, sig_op="add", comm_scope="intra_node")
            tl.store(y_ptr + s * N + o, tl.load(ring_ptr + s % W * N + o))  # !1 !2 !3 !4 !5
            if F != 3 and s % EVERY == EVERY - 1:
                dl.notify(ack_ptr, left, signal=EVERY, sig_op="add", comm_scope="intra_node")


@protocol({1: "race|signal-misuse", 2: "race|signal-misuse", 3: "race|signal-misuse", 4: "race|signal-misuse", 5: "race"}, ranks=(2, 3))
def sliding_window(team, f):
    items, w, every = 12, 4, 2
    src = team.from_array(np.arange(items * N, dtype=np.int32), name="src")
    y, sig = z(team, "y", items * N), z(team, "sig", w, "int64")
    sliding_window_k[(2,)](src, z(team, "ring", w * N), y, sig, z(team, "ack", 1, "int64"), items, w, every, N, f)
    if f == 0:
        assert (np.asarray(y) == np.arange(items * N)).all()


# == claimed_rows
@tandem.jit
def claimed_rows_k(box_ptr, next_ptr, done_ptr, y_ptr, EACH: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Ranks claim rows in each other's boxes by an atomic, fill them, and count what they have filled."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for d in range(n):
        p = (me + d) % n
        first = tl.atomic_add(dl.symm_at(next_ptr, p), EACH - (1 if F == 3 else 0), sem="relaxed", scope="sys" if F != 5 else "gpu")  # !5
        if F == 2:
            tl.atomic_add(dl.symm_at(done_ptr, p), EACH, sem="release", scope="sys")
        for i in range(EACH):
            tl.store(dl.symm_at(box_ptr, p) + (first + i) * N + o, me + 1)  # !1 !2 !3 !4 !6
        if F != 2:
            tl.atomic_add(dl.symm_at(done_ptr, p), EACH, sem="release" if F != 1 else "relaxed", scope="sys")
    while tl.atomic_add(done_ptr, 0, sem="acquire" if F != 6 else "relaxed", scope="sys") < EACH * n - (EACH if F == 4 else 0):
        pass
    for i in range(EACH * n):
        tl.store(y_ptr + i * N + o, tl.load(box_ptr + i * N + o))  # !1 !2 !3 !4 !6


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "scope", 6: "race"}, ranks=(2, 3))
def claimed_rows(team, f):
    y = z(team, "y", 3 * team.size * N)
    claimed_rows_k[(1,)](z(team, "box", 3 * team.size * N), z(team, "next", 1), z(team, "done", 1), y, 3, N, f)
    if f == 0:
        assert np.asarray(y).reshape(-1, N)[:, 0].sum() == 3 * sum(range(1, team.size + 1))


# == scanned_mailboxes
@tandem.jit
def scanned_mailboxes_k(
    mail_ptr, asked_ptr, answer_ptr, told_ptr, served_ptr, y_ptr, CALLS: tl.constexpr, N: tl.constexpr, F: tl.constexpr
):
    """Rank 0 goes round all mailboxes and answers where something new lies."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    if me == 0:
        left = (n - 1) * CALLS
        while left > 0:
            for c in range(1, n):
                number = tl.atomic_add(asked_ptr + c, 0, sem="acquire" if F != 2 else "relaxed", scope="sys")  # !6
                if number > tl.load(served_ptr + c):
                    if F == 3:
                        dl.notify(told_ptr, c, signal=number, sig_op="set", comm_scope="intra_node")
                    tl.store(dl.symm_at(answer_ptr, c) + o, tl.load(mail_ptr + c * N + o) * 2)  # !1 !2 !3 !4 !5
                    if F != 3:
                        dl.notify(told_ptr, c, signal=number, sig_op="set", comm_scope="intra_node")
                    tl.store(served_ptr + c, number)
                    left -= 1
    else:
        for i in range(1, CALLS + 1):
            if F == 1:
                if tid(0) == 0:
                    st(dl.symm_at(asked_ptr, 0) + me, i, scope="sys", semantic="release")
            tl.store(dl.symm_at(mail_ptr, 0) + me * N + o, me * 16 + i)  # !1 !2 !4
            __syncthreads()
            if F != 1:
                if (tid(0) == 0) & ((F != 6) | (i < CALLS)):
                    st(dl.symm_at(asked_ptr, 0) + me, i, scope="sys", semantic="release")
            if F != 4:
                dl.wait(told_ptr, 1, "sys", "acquire" if F != 5 else "relaxed", waitValue=i, compare="ge")  # !6
            tl.store(y_ptr + i * N + o, tl.load(answer_ptr + o))  # !3 !4 !5
            __syncthreads()


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "deadlock|livelock"}, ranks=(2, 3))
def scanned_mailboxes(team, f):
    n, y = team.size, z(team, "y", 5 * N)
    words = z(team, "asked", n, "int64"), z(team, "answer"), z(team, "told", 1, "int64"), z(team, "served", n, "int64")
    scanned_mailboxes_k[(1,)](z(team, "mail", n * N), *words, y, 4, N, f)
    if f == 0 and team.rank:
        assert (np.asarray(y).reshape(5, N)[1:, 0] == 2 * (team.rank * 16 + np.arange(1, 5))).all()


# == combining
@tandem.jit
def combining_k(lock_ptr, slot_ptr, asked_ptr, result_ptr, sum_ptr, y_ptr, CALLS: tl.constexpr, F: tl.constexpr):
    """Who gets the lock carries out what all have asked for; the others wait for their slot or for the lock. All of it lies on rank 0."""
    me, n = dl.rank(), dl.num_ranks()
    lock, slot, asked = dl.symm_at(lock_ptr, 0), dl.symm_at(slot_ptr, 0), dl.symm_at(asked_ptr, 0)
    result, total = dl.symm_at(result_ptr, 0), dl.symm_at(sum_ptr, 0)
    if tid(0) == 0:
        for i in range(CALLS):
            st(asked + me, me + 1, semantic="weak")  # !2 !3
            st(slot + me, 1, scope="sys", semantic="release" if F != 3 else "relaxed")
            waits = True
            while waits:
                if ld(slot + me, scope="sys", semantic="acquire" if F != 6 else "relaxed") == 0:
                    waits = False
                elif atomic_cas(lock, 0, 1, scope="sys", semantic="acquire" if F != 5 else "relaxed") == 0:
                    for c in range(n):
                        if ld(slot + c, scope="sys", semantic="acquire" if F != 2 else "relaxed") == 1:
                            now = ld(total, semantic="weak") + ld(asked + c, semantic="weak")  # !2 !3 !4 !5
                            st(total, now, semantic="weak")  # !4 !5
                            if F == 1:
                                st(slot + c, 0, scope="sys", semantic="release")
                            st(result + c, now, semantic="weak")  # !1 !4 !5 !6
                            if F != 1:
                                st(slot + c, 0, scope="sys", semantic="release")
                    st(lock, 0, scope="sys", semantic="release" if F != 4 else "relaxed")
            st(y_ptr + i, ld(result + me, semantic="weak"), semantic="weak")  # !1 !6


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "race"}, ranks=(2, 3), sometimes=(1, 2, 3, 4, 5, 6))
def combining(team, f):
    n, total = team.size, z(team, "sum", 1)
    words = z(team, "lock", 1), z(team, "slot", n), z(team, "asked", n), z(team, "result", n)
    combining_k[(1,)](*words, total, z(team, "y", 4), 3, f)
    team.synchronize()
    team.barrier()
    if f == 0 and team.rank == 0:
        assert np.asarray(total)[0] == 3 * n * (n + 1) // 2


# == proxy_of_puts
@tandem.jit
def proxy_of_puts_k(
    src_ptr,
    dst_ptr,
    y_ptr,
    post_ptr,
    tail_ptr,
    posted_ptr,
    done_ptr,
    sig_ptr,
    WORKERS: tl.constexpr,
    EACH: tl.constexpr,
    N: tl.constexpr,
    F: tl.constexpr,
):
    """Programs post what is to be put in a queue of their rank; program 0 puts it, and tells who posted when the source is free again."""
    me, n = dl.rank(), dl.num_ranks()
    right = (me + 1) % n
    o = tl.arange(0, N)
    pid = tl.program_id(0)
    if pid == 0:
        for s in range(WORKERS * EACH):
            while tl.atomic_add(posted_ptr + s, 0, sem="acquire", scope="gpu") == 0:  # !6
                pass
            post = tl.load(post_ptr + s)  # !2
            w, i = post // EACH, post % EACH
            if F == 3:
                shmem.putmem_nbi_block(dst_ptr + post * N, src_ptr + w * N, N * 4, right)  # !3
                if tid(0) == 0:
                    shmem.signal_op(sig_ptr + w, (i + 1).to(tl.int64), shmem.NVSHMEM_SIGNAL_SET, right)
            else:
                shmem.putmem_signal_nbi_block(
                    dst_ptr + post * N, src_ptr + w * N, N * 4, sig_ptr + w, (i + 1).to(tl.int64), shmem.NVSHMEM_SIGNAL_SET, right
                )  # !1 !4 !5
            if F != 1:
                shmem.quiet()
            __syncthreads()
            if tid(0) == 0:
                st(done_ptr + w, i + 1, scope="gpu", semantic="release")
            __syncthreads()
        shmem.quiet()
    elif pid <= WORKERS:
        w = pid - 1
        for i in range(EACH):
            if F != 4:
                while tl.atomic_add(done_ptr + w, 0, sem="acquire", scope="gpu") < i:  # !6
                    pass
            tl.store(src_ptr + w * N + o, w * EACH + i)  # !1 !4
            __syncthreads()
            if tid(0) == 0:
                s = tl.atomic_add(tail_ptr, 1, sem="relaxed", scope="gpu")
                st(post_ptr + s, w * EACH + i, semantic="weak")  # !2
                if (F != 6) | (i < EACH - 1) | (w > 0):
                    st(posted_ptr + s, 1, scope="gpu", semantic="release" if F != 2 else "relaxed")
            __syncthreads()
    else:
        for w in range(WORKERS):
            for i in range(EACH):
                if F != 5:
                    shmem.signal_wait_until(sig_ptr + w, shmem.NVSHMEM_CMP_GE, i + 1)  # !6
                tl.store(y_ptr + (w * EACH + i) * N + o, tl.load(dst_ptr + (w * EACH + i) * N + o))  # !3 !5


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "deadlock|livelock"}, ranks=(2, 3))
def proxy_of_puts(team, f):
    workers, each = 2, 3
    count, y = workers * each, z(team, "y", workers * each * N)
    words = z(team, "post", count), z(team, "tail", 1), z(team, "posted", count), z(team, "done", workers), z(team, "sig", workers, "int64")
    proxy_of_puts_k[(workers + 2,)](z(team, "src", workers * N), z(team, "dst", count * N), y, *words, workers, each, N, f)
    if f == 0:
        assert (np.asarray(y).reshape(count, N)[:, 0] == np.arange(count)).all()
