"""Epochs kept by programs, zeroing accumulators, warps that put, gets, bulk stores to peers, teams, words of two sizes."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from protocol import protocol
from tandem.dist import tma
from tandem.simt import __syncthreads, __syncwarp, arrive_inc, atomic_add, fence, ld, red_release, st, tid, wait_eq

N = 64


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == epoch_of_programs
@tandem.jit
def epoch_k(got_ptr, y_ptr, sig_ptr, epoch_ptr, left_ptr, P: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """All programs read the epoch; the last one to leave advances it and puts the count back."""
    me, n = dl.rank(), dl.num_ranks()
    p = tl.program_id(0)
    o = tl.arange(0, N)
    e = tl.load(epoch_ptr) + 1  # !1 !2 !3
    for k in range(n):
        tl.store(dl.symm_at(got_ptr, k) + ((e % 2 * n + me) * P + p) * N + o, e)  # !4 !5
        dl.notify(sig_ptr + me * P + p, k, signal=e, sig_op="set", comm_scope="intra_node")
    acc = tl.zeros((N,), tl.int32)
    for k in range(n):
        dl.wait(sig_ptr + k * P + p, 1, "sys", "acquire", waitValue=e if F != 5 else 1, compare="ge")
        acc += tl.load(got_ptr + ((e % 2 * n + k) * P + (p if F != 4 else (p + 1) % P)) * N + o)  # !4 !5
    tl.store(y_ptr + p * N + o, acc)
    if F == 1:
        if p == 0:
            tl.store(epoch_ptr, e)  # !1
    else:
        last = tl.atomic_add(left_ptr, 1, sem="acq_rel" if F != 2 else "relaxed", scope="gpu")
        if last == (P - 1 if F != 3 else P - 2):
            tl.store(epoch_ptr, e)  # !2 !3
            tl.atomic_xchg(left_ptr, 0, sem="relaxed", scope="gpu")


@protocol({1: "race", 2: "race", 3: "race|signal-misuse", 4: "race", 5: "race"}, ranks=(2, 4))
def epoch_of_programs(team, f):
    n = team.size
    epoch = team.local_from_array(np.zeros(1, np.int64))
    given = z(team, "got", 2 * n * 3 * N), z(team, "y", 3 * N), z(team, "sig", n * 3, "int64")
    left = z(team, "left", 1)
    for call in range(3):
        epoch_k[(3,)](*given, epoch, left, 3, N, f)


# == zeroed_accumulator
@tandem.jit
def zeroed_k(acc_ptr, y_ptr, added_ptr, clear_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Everybody adds floats into everybody's accumulator; its owner takes the sum, zeroes it, and tells all that it is clear."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for r in range(1, ROUNDS + 1):
        for k in range(n):
            to = (me + k) % n
            before = r - 1 if F != 1 else r - 2
            dl.wait(clear_ptr + to, 1, "sys", "acquire" if F != 6 else "relaxed", waitValue=before, compare="ge")
            tl.atomic_add(dl.symm_at(acc_ptr, to) + o, 1.0, sem="relaxed", scope="sys" if F != 2 else "gpu")  # !1 !2 !3 !4 !5 !6
            dl.notify(added_ptr, to, signal=1, sig_op="add", comm_scope="intra_node")
        dl.wait(added_ptr, 1, "sys", "acquire", waitValue=n * r - (1 if F == 3 else 0), compare="ge")
        if F == 4:
            for k in range(n):
                dl.notify(clear_ptr + me, k, signal=r, sig_op="set", comm_scope="intra_node")
        tl.store(y_ptr + o, tl.load(acc_ptr + o))  # !1 !2 !3
        tl.store(acc_ptr + o, 0.0)  # !1 !4 !5 !6
        if F == 5:
            for k in range(n):
                tl.atomic_xchg(dl.symm_at(clear_ptr, k) + me, r, sem="relaxed", scope="sys")
        elif F != 4:
            for k in range(n):
                dl.notify(clear_ptr + me, k, signal=r, sig_op="set", comm_scope="intra_node")
    dl.wait(clear_ptr, n, "sys", "acquire", waitValue=ROUNDS)


@protocol({1: "race", 2: "scope|race", 3: "race", 4: "race", 5: "race", 6: "race"}, ranks=(2, 4))
def zeroed_accumulator(team, f):
    sums = z(team, "acc", N, "float32"), z(team, "y", N, "float32")
    zeroed_k[(1,)](*sums, z(team, "added", 1, "int64"), z(team, "clear", team.size, "int64"), 3, N, f)


# == warps_put
@tandem.jit
def warps_k(x_ptr, got_ptr, y_ptr, sig_ptr, F: tl.constexpr):
    """Each of four warps puts a quarter with a signal that adds; the receiver waits for four, and sends the same buffer once more."""
    me, n = dl.rank(), dl.num_ranks()
    t = tid(0)
    w = t // 32
    right = (me + 1) % n
    for r in range(2):
        st(x_ptr + t, me * 1000 + r, semantic="weak")  # !1
        there = got_ptr + r * 128 + w * 32
        shmem.putmem_signal_nbi_warp(there, x_ptr + w * 32, 128, sig_ptr + r, 1, shmem.NVSHMEM_SIGNAL_ADD, right)  # !1 !2 !3
        if F != 1:
            shmem.quiet()
            __syncwarp()
        if t == 0:
            shmem.signal_wait_until(sig_ptr + r, shmem.NVSHMEM_CMP_GE, 4 if F != 2 else 3)
        if F != 3:
            __syncthreads()
        st(y_ptr + t, ld(got_ptr + r * 128 + t, semantic="weak"), semantic="weak")  # !2 !3
    __syncthreads()
    shmem.quiet()


@protocol({1: "race", 2: "race", 3: "race"}, ranks=(2, 4))
def warps_put(team, f):
    warps_k[(1,)](z(team, "x", 128), z(team, "got", 256), z(team, "y", 128), z(team, "sig", 2, "uint64"), f, num_warps=4)


# == fetched
@tandem.jit
def fetched_k(x_ptr, got_ptr, y_ptr, ready_ptr, done_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """The right neighbour's buffer is fetched by a get that returns at once; its owner changes it when it has been fetched."""
    me, n = dl.rank(), dl.num_ranks()
    right, left = (me + 1) % n, (me + n - 1) % n
    o = tl.arange(0, N)
    for r in range(1, ROUNDS + 1):
        if F != 1:
            dl.wait(done_ptr, 1, "sys", "acquire", waitValue=r - 1)  # !4
        tl.store(x_ptr + o, r)  # !1 !2 !4
        dl.notify(ready_ptr, left, signal=r, sig_op="set", comm_scope="intra_node")
        dl.wait(ready_ptr, 1, "sys", "acquire", waitValue=r if F != 4 else r - 1, compare="ge")
        shmem.getmem_nbi_block(got_ptr, x_ptr, N * 4, right)  # !1 !2 !3 !4 !5
        if (F != 2) & (F != 3):
            shmem.quiet()
        if F == 5:
            shmem.getmem_nbi_block(got_ptr, x_ptr, N * 4, right)  # !5
        __syncthreads()
        if F != 3:
            dl.notify(done_ptr, right, signal=r, sig_op="set", comm_scope="intra_node")
        if F == 2:
            shmem.quiet()
        tl.store(y_ptr + o, tl.load(got_ptr + o))  # !3 !5
        if F == 3:
            shmem.quiet()
            dl.notify(done_ptr, right, signal=r, sig_op="set", comm_scope="intra_node")
    shmem.quiet()
    dl.wait(done_ptr, 1, "sys", "acquire", waitValue=ROUNDS)


@protocol({1: "race", 2: "race", 3: "race", 4: "race|deadlock", 5: "race"}, ranks=(2, 4))
def fetched(team, f):
    fetched_k[(1,)](z(team, "x"), z(team, "got"), z(team, "y"), z(team, "ready", 1, "int64"), z(team, "done", 1, "int64"), 3, N, f)


# == bulk_to_right
@tandem.jit
def bulk_k(inbox_ptr, y_ptr, sig_ptr, ack_ptr, ROUNDS: tl.constexpr, F: tl.constexpr):
    """A chunk is made in shared memory and goes to the right neighbour by a bulk copy; behind its completion a flag follows."""
    me, n = dl.rank(), dl.num_ranks()
    right, left = (me + 1) % n, (me + n - 1) % n
    t = tid(0)
    chunk = dl.allocate_smem(tl.int32, [128])
    for r in range(1, ROUNDS + 1):
        dl.smem_store(chunk, me * 100 + r, [t])  # !1 !5
        if F != 1:
            tma.fence_async_shared()
        __syncthreads()
        if t == 0:
            while ld(ack_ptr, scope="sys", semantic="acquire") != r - 1:
                pass
            tma.cp_async_bulk_shared_to_global(dl.symm_at(inbox_ptr, right), dl.smem_get_ptr(chunk), 512)  # !1 !2 !3 !4 !5
            tma.cp_async_bulk_commit_group()
            if F == 4:
                st(dl.symm_at(sig_ptr, right), r, scope="sys", semantic="release")
            if F == 5:
                tma.cp_async_bulk_wait_group(1)
            elif F == 2:
                tma.cp_async_bulk_wait_group(0, True)
            elif F == 3:
                fence("acq_rel", "sys")
            else:
                tma.cp_async_bulk_wait_group(0)
            if F != 4:
                st(dl.symm_at(sig_ptr, right), r, scope="sys", semantic="release")
            while ld(sig_ptr, scope="sys", semantic="acquire") < r:
                pass
            if (F == 2) | (F == 3):
                tma.cp_async_bulk_wait_group(0)
        __syncthreads()
        st(y_ptr + t, ld(inbox_ptr + t, semantic="weak"), semantic="weak")  # !2 !3 !4 !5
        __syncthreads()
        if t == 0:
            st(dl.symm_at(ack_ptr, left), r, scope="sys", semantic="release")
    if t == 0:
        tma.cp_async_bulk_wait_group(0)


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(2, 4))
def bulk_to_right(team, f):
    bulk_k[(1,)](z(team, "inbox", 128), z(team, "y", 128), z(team, "sig", 1), z(team, "ack", 1), 3, f)


# == words_of_two_sizes
@tandem.jit
def sizes_k(box_ptr, y_ptr, F: tl.constexpr):
    """A value of 32 bits with its number beside it, in one word of 64 bits; whoever reads halves sees no one word."""
    me, n = dl.rank(), dl.num_ranks()
    right = (me + 1) % n
    if tid(0) == 0:
        for r in range(1, 4):
            word = r.to(tl.int64) * 65536 * 65536 + me * 10 + r
            if F == 3:
                st((dl.symm_at(box_ptr, right) + 2 * r).to(tl.pointer_type(tl.int32)) + 1, r, scope="sys", semantic="relaxed")  # !3
                st((dl.symm_at(box_ptr, right) + 2 * r).to(tl.pointer_type(tl.int32)), me * 10 + r, scope="sys", semantic="relaxed")  # !3
            elif F == 2:
                st(dl.symm_at(box_ptr, right) + 2 * r, word, semantic="weak")  # !2
            else:
                st(dl.symm_at(box_ptr, right) + 2 * r, word, scope="sys" if F != 4 else "gpu", semantic="relaxed")  # !1 !4
            if F == 1:
                while ld((box_ptr + 2 * r).to(tl.pointer_type(tl.int32)) + 1, scope="sys", semantic="relaxed") != r:  # !1
                    pass
                got = ld((box_ptr + 2 * r).to(tl.pointer_type(tl.int32)), scope="sys", semantic="relaxed").to(tl.int64)  # !1
            else:
                got = ld(box_ptr + 2 * r, scope="sys", semantic="relaxed")  # !2 !3 !4
                while got // 65536 // 65536 != r:
                    got = ld(box_ptr + 2 * r, scope="sys", semantic="relaxed")  # !2 !3 !4
            st(y_ptr + r, got, semantic="weak")


@protocol({1: "race", 2: "race", 3: "race", 4: "scope|race"}, ranks=(2, 4))
def words_of_two_sizes(team, f):
    box = z(team, "box", 8, "int64")
    sizes_k[(1,)](box, z(team, "y", 4, "int64"), f)


# == counted_by_helpers
@tandem.jit
def helpers_k(part_ptr, y_ptr, count_ptr, P: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Programs write parts and count by `arrive_inc`; program 0 waits by `wait_eq` and adds up; rank 0 has the count of all."""
    me, n = dl.rank(), dl.num_ranks()
    p = tl.program_id(0)
    o = tl.arange(0, N)
    tl.store(dl.symm_at(part_ptr, 0) + (me * P + p) * N + o, me + p)  # !1 !2
    if F == 1:
        if tid(0) == 0:
            red_release(dl.symm_at(count_ptr, 0), 1, scope="sys")
    elif F == 2:
        if tid(0) == 0:
            atomic_add(dl.symm_at(count_ptr, 0), 1, scope="sys", semantic="relaxed")
    else:
        arrive_inc(dl.symm_at(count_ptr, 0), tid(0), 1, "sys" if F != 3 else "gpu")  # !3
    if (me == 0) & (p == 0):
        wait_eq(count_ptr, tid(0), n * P, "sys")
        acc = tl.zeros((N,), tl.int32)
        for k in range(n * P):
            acc += tl.load(part_ptr + k * N + o)  # !1 !2
        tl.store(y_ptr + o, acc)


@protocol({1: "race", 2: "race", 3: "scope"}, ranks=(2, 4))
def counted_by_helpers(team, f):
    helpers_k[(3,)](z(team, "part", team.size * 3 * N), z(team, "y"), z(team, "count", 1), 3, N, f)


# == pairs_in_teams
@tandem.jit
def pairs_k(x_ptr, y_ptr, sig_ptr, team, N: tl.constexpr, F: tl.constexpr):
    """Ranks of a team pass on to the next of the team; numbers of the team and of the run are not the same."""
    me, n = dl.rank(team), dl.num_ranks(team)
    o = tl.arange(0, N)
    to = (me + 1) % n
    tl.store(dl.symm_at(x_ptr, to, team) + o, me)  # !1 !2
    told = to if F != 1 else (me + n - 1) % n
    if F != 2:
        told = shmem.team_translate_pe(team, told, shmem.NVSHMEM_TEAM_WORLD)
    dl.notify(sig_ptr, told, signal=1, sig_op="set", comm_scope="intra_node")
    dl.wait(sig_ptr, 1, "sys", "acquire", waitValue=1)
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # !1 !2


@protocol({1: "race", 2: "race|deadlock|signal-misuse"}, ranks=(6,))
def pairs_in_teams(team, f):
    given = z(team, "x"), z(team, "y"), z(team, "sig", 1, "int64")
    half = [r for r in range(team.size) if r % 2 == team.rank % 2]
    part = team.split(half)
    pairs_k[(1,)](*given, part.id, N, f)


# == cleared_by_and
@tandem.jit
def and_k(word_ptr, data_ptr, y_ptr, go_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Members turn their bits on at rank 0, which waits for all, clears the word and lets them go on. The word is cleared by an `and`."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    word = dl.symm_at(word_ptr, 0)
    for r in range(1, ROUNDS + 1):
        tl.store(dl.symm_at(data_ptr, 0) + me * N + o, r)  # !3 !4
        tl.atomic_or(word, 1 << me, sem="release" if F != 3 else "relaxed", scope="sys")  # !1 !2
        if me == 0:
            if tid(0) == 0:
                seen = ld(word_ptr, scope="sys", semantic="acquire" if F != 4 else "relaxed")
                while seen != (1 << n) - 1:
                    seen = ld(word_ptr, scope="sys", semantic="acquire" if F != 4 else "relaxed")  # !1 !2
            __syncthreads()
            for k in range(n):
                tl.store(y_ptr + o, tl.load(data_ptr + k * N + o))  # !3 !4
            if (F != 1) & (F != 2):
                tl.atomic_and(word, 0, sem="relaxed", scope="sys")
            for k in range(n):
                dl.notify(go_ptr, k, signal=r, sig_op="set", comm_scope="intra_node")
            if F == 1:
                tl.atomic_and(word, 0, sem="relaxed", scope="sys")  # !1
            if F == 2:
                tl.atomic_xchg(word, 0, sem="relaxed", scope="sys")  # !2
        dl.wait(go_ptr, 1, "sys", "acquire", waitValue=r)


@protocol({1: "signal-misuse|deadlock", 2: "signal-misuse|deadlock", 3: "race", 4: "race"}, ranks=(2, 4))
def cleared_by_and(team, f):
    and_k[(1,)](z(team, "word", 1), z(team, "data", team.size * N), z(team, "y"), z(team, "go", 1, "int64"), 3, N, f)
