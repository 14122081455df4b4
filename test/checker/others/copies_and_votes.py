"""Rings of threads' own copies and stores in bulk, votes of warps, flags in shared memory, locks by `sc` fences, barriers in two halves."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
from protocol import protocol
from tandem.dist import tma
from tandem.simt import (
    __ballot_sync,
    __shfl_sync_i32,
    __syncthreads,
    __syncwarp,
    atomic_add,
    cp_async,
    cp_async_commit_group,
    cp_async_wait_group,
    fence,
    ld,
    st,
    tid,
)

N = 32


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == ring_of_own_copies
@tandem.jit
def ring_of_own_copies_k(x_ptr, y_ptr, sent_ptr, read_ptr, CHUNKS: tl.constexpr, F: tl.constexpr):
    """Chunks go to the right in two slots of its memory; there each thread copies words of its own into a ring of two stages, a chunk ahead
    of what the threads add up. A slot is free when the copies out of it have come."""
    me, n = dl.rank(), dl.num_ranks()
    right, left = (me + 1) % n, (me + n - 1) % n
    ring = dl.allocate_smem(tl.int32, [2, 128])
    t = tid(0)
    total = t * 0
    for c in range(CHUNKS + 1):
        if c < CHUNKS:
            if t == 0:
                while ld(read_ptr, scope="sys", semantic="acquire") < c - 1:
                    pass
            __syncthreads()
            st(dl.symm_at(x_ptr, right) + c % 2 * 128 + t, c + t, semantic="weak")  # !3 !4
            __syncthreads()
            if t == 0:
                st(dl.symm_at(sent_ptr, right), c + 1, scope="sys", semantic="release")
                while ld(sent_ptr, scope="sys", semantic="acquire" if F != 3 else "relaxed") < c + 1:
                    pass
            __syncthreads()
            cp_async(dl.smem_get_ptr(ring, [c % 2, t]), x_ptr + c % 2 * 128 + t, 4)  # !1 !2 !3 !4 !5 !6
        if F != 5:
            cp_async_commit_group()
        if c > 0:
            if F == 4:
                st(dl.symm_at(read_ptr, left), c, scope="sys", semantic="release")
            cp_async_wait_group(1 if F != 1 else 2)
            if F != 2:
                __syncthreads()
            total += dl.smem_load(ring, [(c - 1) % 2, 127 - t])  # !1 !2 !5
            if t == (0 if F != 6 else 32):
                if F != 4:
                    st(dl.symm_at(read_ptr, left), c if F != 6 else c + 1, scope="sys", semantic="release")
    cp_async_wait_group(0)
    st(y_ptr + t, total, semantic="weak")


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "race"}, ranks=(2, 3))
def ring_of_own_copies(team, f):
    y = z(team, "y", 128)
    ring_of_own_copies_k[(1,)](z(team, "x", 256), y, z(team, "sent", 1), z(team, "read", 1), 5, f)
    if f == 0:
        assert (np.asarray(y) == 10 + 5 * (127 - np.arange(128))).all()


# == copies_for_consumers
@tandem.jit
def copies_for_consumers_k(x_ptr, y_ptr, CHUNKS: tl.constexpr, F: tl.constexpr):
    """Two warps copy into a ring of two stages, each thread its word, and arrive at a stage's mbarrier when the copy of the chunk before
    has come; two other warps read each other's words and give stages back by a second mbarrier."""
    ring = dl.allocate_smem(tl.int32, [2, 64])
    bars = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [4]))
    t = tid(0)
    if t < 4:
        tma.mbarrier_init(bars + t, 64 if F != 6 else 63)
    __syncthreads()
    if t < 64:
        for c in range(CHUNKS):
            if c > 1:
                if F != 2:
                    tma.mbarrier_wait_parity(bars + 2 + c % 2, (c // 2 - 1) % 2 if F != 3 else (c // 2) % 2)
            cp_async(dl.smem_get_ptr(ring, [c % 2, t]), x_ptr + c * 64 + t, 4)  # !1 !2 !3 !4 !5 !6
            cp_async_commit_group()
            if c > 0:
                cp_async_wait_group(1 if F != 1 else 2)
                tma.mbarrier_arrive(bars + (c - 1) % 2)
        if F != 4:
            cp_async_wait_group(0)
        tma.mbarrier_arrive(bars + (CHUNKS - 1) % 2)
        cp_async_wait_group(0)
    else:
        total = t * 0
        for c in range(CHUNKS):
            if F != 5:
                tma.mbarrier_wait_parity(bars + c % 2, c // 2 % 2)  # !2 !3
            total += dl.smem_load(ring, [c % 2, 127 - t])  # !1 !2 !3 !4 !5 !6
            tma.mbarrier_arrive(bars + 2 + c % 2)
        st(y_ptr + t - 64, total, semantic="weak")


@protocol({1: "race", 2: "race|deadlock", 3: "race|deadlock", 4: "race", 5: "race|uninitialised-read", 6: "race"}, ranks=(1, 2))
def copies_for_consumers(team, f):
    copies_for_consumers_k[(1,)](z(team, "x", 320), z(team, "y", 64), 5, f)


# == leaders_store
@tandem.jit
def leaders_store_k(x_ptr, y_ptr, sent_ptr, CHUNKS: tl.constexpr, F: tl.constexpr):
    """Each warp fills two buffers by turns; its first lane stores them to the right in bulk, in groups of its own, and tells at the end."""
    me, n = dl.rank(), dl.num_ranks()
    buffer = dl.allocate_smem(tl.int32, [8, 32])
    t = tid(0)
    warp, lane = t // 32, t % 32
    right = dl.symm_at(x_ptr, (me + 1) % n)
    for c in range(CHUNKS):
        if lane == (0 if F != 4 else 1):
            tma.cp_async_bulk_wait_group(1 if F != 1 else 2, read=True)
        __syncwarp()
        dl.smem_store(buffer, c + t, [warp * 2 + c % 2, lane])  # !1 !2 !4 !5
        if F != 2:
            tma.fence_async_shared()
        if F != 5:
            __syncwarp()
        if lane == 0:
            tma.cp_async_bulk_shared_to_global(
                right + (c * 4 + warp) * 32, dl.smem_get_ptr(buffer, [warp * 2 + c % 2, 0]), 128
            )  # !1 !2 !3 !4 !5 !6
            tma.cp_async_bulk_commit_group()
    if lane == 0:
        tma.cp_async_bulk_wait_group(0 if F != 6 else 1, read=F == 3)
        atomic_add(dl.symm_at(sent_ptr, (me + 1) % n), 1, scope="sys", semantic="release")
        while ld(sent_ptr, scope="sys", semantic="acquire") < 4:
            pass
    __syncthreads()
    for c in range(CHUNKS):
        st(y_ptr + c * 128 + t, ld(x_ptr + c * 128 + t, semantic="weak"), semantic="weak")  # !3 !6


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "race|unfinished-bulk-copy"}, ranks=(2, 3))
def leaders_store(team, f):
    leaders_store_k[(1,)](z(team, "x", 512), z(team, "y", 512), z(team, "sent", 1), 4, f)


# == votes
@tandem.jit
def votes_k(x_ptr, y_ptr, flag_ptr, ROUNDS: tl.constexpr, F: tl.constexpr):
    """Lane r looks at rank r's flag until the warp finds all of them up; its neighbour lane copies what rank r has put there."""
    me, n = dl.rank(), dl.num_ranks()
    t = tid(0)
    if t < 32:
        lane = t % n
        for k in range(1, ROUNDS + 1):
            if t < n:
                st(dl.symm_at(x_ptr, t) + k % 2 * n + me, k, semantic="weak")  # !1 !2 !3 !4 !5
                st(dl.symm_at(flag_ptr, t) + me, k, scope="sys", semantic="release" if F != 2 else "relaxed")
            missing = 1
            while missing != 0:
                seen = ld(flag_ptr + lane, scope="sys", semantic="acquire" if F != 1 else "relaxed")
                missing = __ballot_sync(0xFFFFFFFF, seen < (k if F != 3 else k - 1))
            if F != 4:
                __syncwarp()
            if t < n:
                st(y_ptr + k * n + t, ld(x_ptr + k % 2 * n + (t + 1) % n, semantic="weak"), semantic="weak")  # !1 !2 !3 !4 !5
            if F != 5:
                __syncwarp()


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(2, 4))
def votes(team, f):
    votes_k[(1,)](z(team, "x", 2 * team.size), z(team, "y", 8 * team.size), z(team, "flag", team.size), 6, f)


# == flags_in_shared
@tandem.jit
def flags_in_shared_k(y_ptr, ROUNDS: tl.constexpr, F: tl.constexpr):
    """Warp 0 hands rows to warp 1 by flags of scope cta in shared memory, without a barrier of both."""
    row, flag = dl.allocate_smem(tl.int32, [2, 32]), dl.allocate_smem(tl.int32, [2])
    full, empty = dl.smem_get_ptr(flag, [0]), dl.smem_get_ptr(flag, [1])
    t = tid(0)
    lane = t % 32
    if t < 2:
        dl.smem_store(flag, 0, [t])
    __syncthreads()
    for k in range(1, ROUNDS + 1):
        if t < 32:
            if k > 2:
                if F != 4:
                    while ld(empty, scope="cta", semantic="acquire") < k - 2:
                        pass
            __syncwarp()
            dl.smem_store(row, k * lane, [k % 2, lane])  # !1 !2 !3 !4 !5
            if F != 3:
                __syncwarp()
            if lane == 0:
                st(full, k, scope="cta", semantic="release" if F != 1 else "relaxed")
        elif t < 64:
            while ld(full, scope="cta", semantic="acquire" if F != 2 else "relaxed") < k:
                pass
            st(y_ptr + k * 32 + lane, dl.smem_load(row, [k % 2, 31 - lane]), semantic="weak")  # !1 !2 !3 !4 !5
            if F != 5:
                __syncwarp()
            if lane == 0:
                st(empty, k, scope="cta", semantic="release")


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(1, 2))
def flags_in_shared(team, f):
    y = z(team, "y", 256)
    flags_in_shared_k[(1,)](y, 6, f)
    if f == 0:
        assert (np.asarray(y)[6 * 32 :].reshape(-1)[:32] == 6 * (31 - np.arange(32))).all()


# == filter_lock
@tandem.jit
def filter_lock_k(level_ptr, victim_ptr, x_ptr, TIMES: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Peterson's lock of many: at each of n - 1 levels one may be left behind, the last to come, while others stand there or above."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    level, victim, x = dl.symm_at(level_ptr, 0), dl.symm_at(victim_ptr, 0), dl.symm_at(x_ptr, 0)
    for _ in range(TIMES):
        if tid(0) == 0:
            for k in range(1, n - (1 if F == 4 else 0)):
                st(level + me, k, scope="sys", semantic="relaxed")
                fence("sc", "sys")  # whoever's store of the victim comes behind this rank's sees its level
                st(victim + k, me + 1, scope="sys", semantic="release")  # whom it lets in comes behind this rank's last turn
                fence("sc" if F != 1 else "acq_rel", "sys")
                for other in range(n):
                    if other != me:
                        waits = F != 3
                        while waits:
                            waits = ld(level + other, scope="sys", semantic="acquire" if F != 5 else "relaxed") >= k
                            if waits:
                                waits = ld(victim + k, scope="sys", semantic="acquire") == me + 1
        __syncthreads()
        tl.store(x + o, tl.load(x + o) + 1)  # !1 !2 !3 !4 !5
        __syncthreads()
        if tid(0) == 0:
            st(level + me, 0, scope="sys", semantic="release" if F != 2 else "relaxed")
        __syncthreads()


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(2, 3), sometimes=(1, 2, 4, 5))
def filter_lock(team, f):
    x = z(team, "x")
    filter_lock_k[(1,)](z(team, "level", team.size), z(team, "victim", team.size), x, 2, N, f)
    if f == 0:
        team.synchronize()
        team.barrier()
        assert team.rank or np.asarray(x)[0] == 2 * team.size


# == halves_of_a_barrier
@tandem.jit
def halves_k(x_ptr, y_ptr, count_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Whoever is done with a round says so, works on its own meanwhile, and waits for the others before it reads theirs."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for k in range(ROUNDS):
        tl.store(x_ptr + k % 2 * N + o, me + k)  # !1 !2 !3 !4 !5
        __syncthreads()
        if tid(0) == 0:
            for p in range(n):
                atomic_add(dl.symm_at(count_ptr, p), 1, scope="sys", semantic="release" if F != 1 else "relaxed")
        if F == 5:
            tl.store(x_ptr + k % 2 * N + o, me + k + 1)  # !5
        tl.store(y_ptr + N + o, k)
        if tid(0) == 0:
            while ld(count_ptr, scope="sys", semantic="acquire" if F != 2 else "relaxed") < n * (k + 1) - (1 if F == 3 else 0):
                pass
        if F != 4:
            __syncthreads()
        tl.store(y_ptr + o, tl.load(dl.symm_at(x_ptr, (me + 1) % n) + k % 2 * N + o))  # !1 !2 !3 !4 !5


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(2, 4))
def halves_of_a_barrier(team, f):
    halves_k[(1,)](z(team, "x", 2 * N), z(team, "y", 2 * N), z(team, "count", 1), 4, N, f)


# == tickets_of_a_warp
@tandem.jit
def tickets_of_a_warp_k(box_ptr, ticket_ptr, full_ptr, y_ptr, TIMES: tl.constexpr, F: tl.constexpr):
    """One lane draws a ticket for its warp and shuffles it to the others; the warp fills the ticket's row of the right neighbour's box."""
    me, n = dl.rank(), dl.num_ranks()
    right = (me + 1) % n
    t = tid(0)
    lane = t % 32
    for k in range(TIMES):
        ticket = t * 0
        if lane == 0:
            ticket = atomic_add(dl.symm_at(ticket_ptr, right), 1, scope="sys", semantic="relaxed")
        ticket = __shfl_sync_i32(0xFFFFFFFF, ticket, 0)
        st(dl.symm_at(box_ptr, right) + (ticket if F != 1 else k) * 32 + lane, me, semantic="weak")  # !1 !2 !3 !4 !5
        if F != 2:
            __syncwarp()
        if lane == 0:
            st(dl.symm_at(full_ptr, right) + ticket, 1, scope="sys", semantic="release" if F != 3 else "relaxed")
    for k in range(TIMES):
        row = k * 4 + t // 32
        if lane == 0:
            while ld(full_ptr + row, scope="sys", semantic="acquire" if F != 4 else "relaxed") != 1:
                pass
        if F != 5:
            __syncwarp()
        st(y_ptr + row * 32 + lane, ld(box_ptr + row * 32 + lane, semantic="weak"), semantic="weak")  # !2 !3 !4 !5


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(2, 3))
def tickets_of_a_warp(team, f):
    tickets_of_a_warp_k[(1,)](z(team, "box", 384), z(team, "ticket", 1), z(team, "full", 12), z(team, "y", 384), 3, f)


# == hosts_and_streams
@tandem.jit
def take_from_left(x_ptr, y_ptr, N: tl.constexpr):
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    tl.store(y_ptr + o, tl.load(dl.symm_at(x_ptr, (me + n - 1) % n) + o) + 1)  # !1 !2 !3 !4


@protocol({1: "race", 2: "race", 3: "race", 4: "race"}, ranks=(2, 3))
def hosts_and_streams(team, f):
    """The hosts write; kernels on a stream beside take what the left host has written; the team's own stream copies what they have made."""
    x, y, copy, beside = z(team, "x"), z(team, "y"), z(team, "copy"), team.new_stream()
    for k in range(3):
        x[...] = k  # !1 !4
        if f != 1:
            team.barrier()
        before = beside.record_event()
        take_from_left[(1,)](x, y, N, stream=beside)
        if f != 2:
            team.stream.wait_event(before if f == 3 else beside.record_event())
        team.stream.copy(copy, y)  # !2 !3
        assert f or np.asarray(copy)[0] == k + 1
        if f != 4:
            team.barrier()
