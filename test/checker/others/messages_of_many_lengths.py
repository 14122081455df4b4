"""Messages of many lengths, transfers of nothing, sums of signals beyond 32 bits, relays, and looks at what may have come."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from protocol import protocol
from tandem.simt import __syncthreads, ld, st, tid

N = 32


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == lengths_in_the_ring
@tandem.jit
def lengths_in_the_ring_k(ring_ptr, tail_ptr, head_ptr, y_ptr, MESSAGES: tl.constexpr, ROOM: tl.constexpr, F: tl.constexpr):
    """A ring of words has messages of 1 to 5 words behind a word with their length; -1 says that the rest of a lap is left out. Counters
    are numbers of words that only grow."""
    me, n = dl.rank(), dl.num_ranks()
    right, left = (me + 1) % n, (me + n - 1) % n
    if tid(0) == 0:
        at = tl.cast(0, tl.int32)
        if tl.program_id(0) == 0:
            ring, tail = dl.symm_at(ring_ptr, right), dl.symm_at(tail_ptr, right)
            for m in range(MESSAGES):
                length = (m * 3 + me) % 5 + 1
                rest = ROOM - at % ROOM
                skipped = rest if rest < length + 1 else 0
                if F != 1:
                    while ld(head_ptr, scope="sys", semantic="acquire" if F != 2 else "relaxed") < at + skipped + length + 1 - ROOM:  # !7
                        pass
                if skipped > 0:
                    st(ring + at % ROOM, -1, semantic="weak")  # !1 !2 !3 !4 !5
                    at += skipped
                st(ring + at % ROOM, length, semantic="weak")  # !1 !2 !3 !4 !5
                for w in range(length):
                    st(ring + (at + 1 + w) % ROOM, m * 10 + w, semantic="weak")  # !1 !2 !3 !4 !5 !6
                at += length + 1
                st(tail, at, scope="sys", semantic="release" if F != 3 else "relaxed")
        else:
            for m in range(MESSAGES):
                while ld(tail_ptr, scope="sys", semantic="acquire" if F != 4 else "relaxed") <= at:
                    pass
                length = ld(ring_ptr + at % ROOM, semantic="weak")  # !1 !2 !3 !4 !5
                if length < 0:
                    at += ROOM - at % ROOM
                    length = ld(ring_ptr + at % ROOM, semantic="weak")  # !1 !2 !3 !4 !5
                total = tl.cast(0, tl.int32)
                if F == 5:
                    st(dl.symm_at(head_ptr, left), at + length + 1, scope="sys", semantic="release")
                for w in range(length + (1 if F == 6 else 0)):
                    total += ld(ring_ptr + (at + 1 + w) % ROOM, semantic="weak")  # !1 !2 !3 !4 !5 !6
                at += length + 1
                st(y_ptr + m, total, semantic="weak")
                if (F != 5) & ((F != 7) | (m < 2)):
                    st(dl.symm_at(head_ptr, left), at, scope="sys", semantic="release")


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "race", 7: "livelock|deadlock"}, ranks=(2, 3), sometimes=(6,))
def lengths_in_the_ring(team, f):
    y = z(team, "y", 9)
    lengths_in_the_ring_k[(2,)](z(team, "ring", 16), z(team, "tail", 1), z(team, "head", 1), y, 9, 16, f)
    if f == 0:
        lengths = [(m * 3 + (team.rank - 1) % team.size) % 5 + 1 for m in range(9)]
        assert (np.asarray(y) == [sum(m * 10 + w for w in range(length)) for m, length in enumerate(lengths)]).all()


# == counts_and_bytes
@tandem.jit
def counts_and_bytes_k(src_ptr, box_ptr, y_ptr, word_ptr, CALLS: tl.constexpr, MOST: tl.constexpr, F: tl.constexpr):
    """Each sender adds 2^40 and its number of elements to one signal; whoever sees the upper part full has all their data."""
    me, n = dl.rank(), dl.num_ranks()
    for call in range(1, CALLS + 1):
        for step in range(n):
            peer = (me + step) % n
            count = (me + peer + call) % MOST
            to = box_ptr + (call % 2 * n + me) * MOST
            if F == 1:
                shmem.putmem_nbi_block(to, src_ptr + call % 2 * MOST, count * 4, peer)  # !1
                shmem.signal_op(word_ptr, (1 << 40) + count.to(tl.int64), shmem.NVSHMEM_SIGNAL_ADD, peer)
            else:
                shmem.putmem_signal_nbi_block(
                    to, src_ptr + call % 2 * MOST, count * 4, word_ptr, (1 << 40) + count.to(tl.int64), shmem.NVSHMEM_SIGNAL_ADD, peer
                )  # !1 !2 !3 !5
        if F == 2:
            seen = shmem.signal_wait_until(word_ptr, shmem.NVSHMEM_CMP_GE, (call * n - 1).to(tl.int64) << 40)
        elif F == 3:
            seen = shmem.signal_wait_until(word_ptr, shmem.NVSHMEM_CMP_GE, (call * n).to(tl.int64) << 32)
        elif F == 4:
            seen = shmem.signal_wait_until(word_ptr, shmem.NVSHMEM_CMP_EQ, (call * n).to(tl.int64) << 40)  # !4
        else:
            seen = shmem.signal_wait_until(word_ptr, shmem.NVSHMEM_CMP_GE, (call * n).to(tl.int64) << 40)
        for p in range(n):
            count = (me + p + call) % MOST
            for i in range(count):
                tl.store(y_ptr + p * MOST + i, tl.load(box_ptr + (call % 2 * n + p) * MOST + i))  # !1 !2 !3 !5
        if F != 5:
            shmem.barrier_all_block()
        else:
            shmem.quiet()
        tl.store(y_ptr, (seen & (1 << 40) - 1).to(tl.int32))


@protocol({1: "race", 2: "race", 3: "race", 4: "deadlock"}, ranks=(3, 8))
def counts_and_bytes(team, f):
    most = 8
    words = z(team, "src", 2 * most), z(team, "box", 2 * team.size * most), z(team, "y", team.size * most)
    counts_and_bytes_k[(1,)](*words, z(team, "word", 1, "int64"), 3, most, f)


# == nothing_is_a_message
@tandem.jit
def nothing_is_a_message_k(src_ptr, box_ptr, y_ptr, sig_ptr, ack_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """In some rounds there is nothing to send: a put of no bytes with a signal, and one more as the answer."""
    me, n = dl.rank(), dl.num_ranks()
    right, left = (me + 1) % n, (me + n - 1) % n
    o = tl.arange(0, N)
    for r in range(1, ROUNDS + 1):
        rows = (me + r) % 3
        if r > 2:
            if F != 1:
                shmem.signal_wait_until(ack_ptr, shmem.NVSHMEM_CMP_GE, r - (2 if F != 2 else 3))
        for row in range(rows):
            tl.store(src_ptr + (r % 2 * 2 + row) * N + o, r)  # !1 !2 !5
        put = box_ptr + r % 2 * 2 * N
        shmem.putmem_signal_nbi_block(
            put, src_ptr + r % 2 * 2 * N, rows * N * 4, sig_ptr, r, shmem.NVSHMEM_SIGNAL_SET, right
        )  # !1 !2 !3 !4 !5 !6
        rows = (left + r) % 3
        if F != 3:
            shmem.signal_wait_until(sig_ptr, shmem.NVSHMEM_CMP_GE, r)
        if F == 4:
            shmem.putmem_signal_nbi_block(src_ptr, src_ptr, 0, ack_ptr, r, shmem.NVSHMEM_SIGNAL_SET, left)
        for row in range(rows):
            tl.store(y_ptr + o, tl.load(box_ptr + (r % 2 * 2 + row) * N + o))  # !1 !2 !3 !4
        if F != 4:
            shmem.putmem_signal_nbi_block(src_ptr, src_ptr, 0, ack_ptr, r, shmem.NVSHMEM_SIGNAL_SET, left)  # !5
        if F != 5:
            shmem.quiet()
    if F != 1:
        shmem.signal_wait_until(ack_ptr, shmem.NVSHMEM_CMP_GE, ROUNDS)


@protocol(
    {1: "race|signal-misuse", 2: "race|signal-misuse", 3: "race|signal-misuse", 4: "race|signal-misuse", 5: "race|signal-misuse"},
    ranks=(3, 4),
)
def nothing_is_a_message(team, f):
    words = z(team, "src", 4 * N), z(team, "box", 4 * N), z(team, "y"), z(team, "sig", 1, "int64"), z(team, "ack", 1, "int64")
    nothing_is_a_message_k[(1,)](*words, 7, N, f)


# == bruck
@tandem.jit
def bruck_k(work_ptr, in_ptr, y_ptr, sig_ptr, CALLS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """All to all in log n rounds: round k sends, 2^k ranks on, every block whose number has bit k. A round has a buffer and a signal that
    counts calls; a barrier ends each call."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for call in range(1, CALLS + 1):
        for b in range(n):
            tl.store(work_ptr + b * N + o, me * 100 + (me + b) % n)
        k = 0
        step = 1
        while step < n:
            to = (me + step) % n
            for b in range(n):
                if b & step:
                    tl.store(dl.symm_at(in_ptr, to) + (k * n + b) * N + o, tl.load(work_ptr + b * N + o))  # !1 !2 !3 !4 !5
            if F == 3:
                shmem.signal_op(sig_ptr + k, 1, shmem.NVSHMEM_SIGNAL_ADD, to)
            else:
                dl.notify(sig_ptr + (k if F != 2 else 0), to, signal=1, sig_op="add", comm_scope="intra_node")
            dl.wait(
                sig_ptr + (k if F != 2 else 0),
                1,
                "sys",
                "acquire" if F != 1 else "relaxed",
                waitValue=call - (1 if F == 4 else 0),
                compare="ge",
            )
            for b in range(n):
                if b & step:
                    tl.store(work_ptr + b * N + o, tl.load(in_ptr + (k * n + b) * N + o))  # !1 !2 !3 !4 !5
            step *= 2
            k += 1
        for b in range(n):
            tl.store(y_ptr + (me - b + n) % n * N + o, tl.load(work_ptr + b * N + o))
        if F != 5:
            shmem.barrier_all_block()


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(4, 8))
def bruck(team, f):
    n = team.size
    y = z(team, "y", n * N)
    bruck_k[(1,)](z(team, "work", n * N), z(team, "in", 4 * n * N), y, z(team, "sig", 4, "int64"), 3, N, f)
    if f == 0:
        assert (np.asarray(y).reshape(n, N)[:, 0] == np.arange(n) * 100 + team.rank).all()


# == scattered_then_gathered
@tandem.jit
def scattered_then_gathered_k(x_ptr, part_ptr, ring_ptr, call, N: tl.constexpr, F: tl.constexpr):
    """A broadcast of much: the root puts a part to each rank with a signal, then parts go round by get: a rank says that it has part p,
    and its right neighbour fetches it."""
    me, n = dl.rank(), dl.num_ranks()
    right, left = (me + 1) % n, (me + n - 1) % n
    if me == 0:
        for p in range(1, n):
            at = x_ptr + p * N
            if F == 1:
                shmem.putmem_nbi_block(at, at, N * 4, p)  # !1
                shmem.signal_op(part_ptr, call, shmem.NVSHMEM_SIGNAL_SET, p)
            else:
                shmem.putmem_signal_nbi_block(at, at, N * 4, part_ptr, call, shmem.NVSHMEM_SIGNAL_SET, p)  # !1 !2 !3 !4 !5
    else:
        shmem.signal_wait_until(part_ptr, shmem.NVSHMEM_CMP_GE, call if F != 2 else call - 1)
    dl.notify(ring_ptr + me, right, signal=call, sig_op="set", comm_scope="intra_node")
    for s in range(1, n):
        part = (me - s + n) % n
        dl.wait(ring_ptr + part, 1, "sys", "acquire" if F != 3 else "relaxed", waitValue=call, compare="ge")
        if me != 0:
            shmem.getmem_nbi_block(x_ptr + part * N, x_ptr + part * N, N * 4, left)  # !1 !2 !3 !4 !5 !6
            if F != 4:
                shmem.quiet()
        if s < n - 1:
            dl.notify(ring_ptr + part, right, signal=call, sig_op="set", comm_scope="intra_node")
    shmem.barrier_all_block() if F != 6 else shmem.quiet()


@tandem.jit
def fill_parts_k(x_ptr, call, n, N: tl.constexpr):
    for p in range(n):
        tl.store(x_ptr + p * N + tl.arange(0, N), call * 10 + p)  # !6


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 6: "race"}, ranks=(3, 4))
def scattered_then_gathered(team, f):
    x = z(team, "x", team.size * N)
    words = z(team, "part", 1, "int64"), z(team, "ring", team.size, "int64")
    for call in range(1, 4):
        if team.rank == 0:
            fill_parts_k[(1,)](x, call, team.size, N)
        scattered_then_gathered_k[(1,)](x, *words, call, N, f)
    if f == 0:
        assert (np.asarray(x).reshape(team.size, N)[:, 0] == 30 + np.arange(team.size)).all()


# == any_of_them
@tandem.jit
def any_of_them_k(box_ptr, sig_ptr, y_ptr, call, N: tl.constexpr, F: tl.constexpr):
    """Messages of all ranks are taken in the order in which they come: a thread goes round the signals of those that it has not had yet."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for step in range(n):
        peer = (me + step) % n
        tl.store(dl.symm_at(box_ptr, peer) + (call % 2 * n + me) * N + o, call)  # !1 !2 !3 !4 !5
        if F == 5:
            shmem.signal_op(sig_ptr + me, call, shmem.NVSHMEM_SIGNAL_SET, peer)
        else:
            dl.notify(sig_ptr + me, peer, signal=call, sig_op="set", comm_scope="intra_node")
    left = (1 << n) - 1 if F != 6 else (1 << n + 1) - 1
    found = dl.allocate_smem(tl.int32, [1])
    while left != 0:
        if tid(0) == 0:
            at = tl.cast(-1, tl.int32)
            p = tl.cast(0, tl.int32)
            while at < 0:
                if (left >> p) & 1:
                    seen = ld(sig_ptr + p, scope="sys", semantic="acquire" if F != 1 else "relaxed")  # !6
                    if seen >= call - (1 if F == 2 else 0):
                        at = p
                p = (p + 1) % (n if F != 6 else n + 1)
            dl.smem_store(found, at, 0)  # !4
        __syncthreads()
        at = dl.smem_load(found, 0)
        if F != 4:
            __syncthreads()
        left = left & ~(1 << at)
        if F == 3:
            at = (at + 1) % n
        tl.store(y_ptr + at * N + o, tl.load(box_ptr + (call % 2 * n + at) * N + o))  # !1 !2 !3 !5


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "livelock|deadlock"}, ranks=(2, 8), sometimes=(2, 3))
def any_of_them(team, f):
    words = z(team, "box", 2 * team.size * N), z(team, "sig", team.size + 1, "int64"), z(team, "y", team.size * N)
    for call in range(1, 4):
        any_of_them_k[(1,)](*words, call, N, f)


# == looks_between_work
@tandem.jit
def looks_between_work_k(x_ptr, box_ptr, sig_ptr, y_ptr, w_ptr, PIECES: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """A rank works on its own pieces, looks between two of them whether its neighbour's message has come, and takes it at once; at the end
    it waits for it if it has not."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    tl.store(dl.symm_at(box_ptr, (me + 1) % n) + o, me + 1)  # !1 !2 !3 !4
    if F == 4:
        shmem.signal_op(sig_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, (me + 1) % n)
    else:
        dl.notify(sig_ptr, (me + 1) % n, signal=1, sig_op="set", comm_scope="intra_node")
    had = tl.cast(0, tl.int32)
    look = dl.allocate_smem(tl.int32, [1])
    for piece in range(PIECES):
        tl.store(w_ptr + piece * N + o, tl.load(x_ptr + piece * N + o) * 2)
        if had == 0:
            if tid(0) == 0:
                dl.smem_store(look, ld(sig_ptr, scope="sys", semantic="acquire" if F != 1 else "relaxed").to(tl.int32), 0)  # !5
            __syncthreads()
            if (dl.smem_load(look, 0) == 1) | (F == 2):
                tl.store(y_ptr + o, tl.load(box_ptr + o))  # !1 !2 !4
                had = tl.cast(1, tl.int32)
            if F != 5:
                __syncthreads()
    if had == 0:
        if F != 3:
            dl.wait(sig_ptr, 1, "sys", "acquire", waitValue=1)
        tl.store(y_ptr + o, tl.load(box_ptr + o))  # !3


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(2, 4), sometimes=(1, 2, 3, 5))
def looks_between_work(team, f):
    words = z(team, "x", 6 * N), z(team, "box"), z(team, "sig", 1, "int64"), z(team, "y"), z(team, "w", 6 * N)
    looks_between_work_k[(1,)](*words, 6, N, f)
