"""Experts, tiles and pipelines: channels with heads and tails, slots by counters, sums in a peer's memory, members that leave early."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from protocol import protocol
from tandem.simt import __syncthreads, ld, st, tid

N = 32


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == channels
@tandem.jit
def channels_k(x_ptr, ring_ptr, head_ptr, tail_ptr, count_ptr, y_ptr, ROOM: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """DeepEP's channel within a host: the sender tells how many rows come as -count - 1, then fills a ring by head and tail; even programs
    send to the right, odd ones take from the left. Rank r sends 3 + r % 3 rows."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    right, left = (me + 1) % n, (me + n - 1) % n
    if tl.program_id(0) == 0:
        rows = 3 + me % 3
        if tid(0) == 0:
            st(dl.symm_at(count_ptr, right), -rows - 1, scope="sys", semantic="relaxed")
        for i in range(rows):
            if F != 1:
                if tid(0) == 0:
                    while i - ld(head_ptr, scope="sys", semantic="acquire" if F != 4 else "relaxed") >= ROOM:  # !6
                        pass
                __syncthreads()
            tl.store(dl.symm_at(ring_ptr, right) + i % ROOM * N + o, tl.load(x_ptr + i * N + o))  # !1 !2 !3 !4 !5
            if F != 5:
                __syncthreads()
            if tid(0) == (0 if F != 5 else 96):
                st(dl.symm_at(tail_ptr, right), i + 1, scope="sys", semantic="release" if F != 2 else "relaxed")
    else:
        rows = tl.cast(0, tl.int32)
        while rows == 0:
            rows = ld(count_ptr, scope="sys", semantic="relaxed")
        rows = -rows - 1
        for i in range(rows):
            if F != 3:
                while ld(tail_ptr, scope="sys", semantic="acquire") <= i:
                    pass
            elif i > 0:
                while ld(tail_ptr, scope="sys", semantic="acquire") < i:
                    pass
            __syncthreads()
            tl.store(y_ptr + i * N + o, tl.load(ring_ptr + i % ROOM * N + o))  # !1 !2 !3 !4 !5
            __syncthreads()
            if tid(0) == 0:
                if F != 6:
                    st(dl.symm_at(head_ptr, left), i + 1, scope="sys", semantic="release")


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "livelock|deadlock"}, ranks=(2, 3))
def channels(team, f):
    x = team.full(8 * N, team.rank, "int32", name="x")
    channels_k[(2,)](x, z(team, "ring", 2 * N), z(team, "head", 1), z(team, "tail", 1), z(team, "count", 1), z(team, "y", 8 * N), 2, N, f)


# == slots_of_experts
@tandem.jit
def slots_of_experts_k(buffer_ptr, slot_ptr, there_ptr, meta_ptr, y_ptr, ROWS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Rows go to slots that a counter of the receiver gives out; the receiver waits for as many as all ranks have said that they send."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for p in range(n):
        if tid(0) == 0:
            st(dl.symm_at(meta_ptr, p) + me, ROWS + 1, scope="sys", semantic="release")
    for i in range(ROWS):
        for d in range(n):
            p = (me + d) % n
            slot = tl.atomic_add(dl.symm_at(slot_ptr, p), 1, sem="relaxed", scope="sys" if F != 3 else "gpu")  # !3
            at = slot if F != 4 else slot // 2
            tl.store(dl.symm_at(buffer_ptr, p) + at * N + o, me)  # !1 !2 !4 !5
            if F != 5:
                __syncthreads()
            if tid(0) == (0 if F != 5 else 64):
                tl.atomic_add(dl.symm_at(there_ptr, p), 1, sem="release" if F != 1 else "relaxed", scope="sys")
    expected = tl.cast(0, tl.int32)
    for p in range(n):
        rows = tl.cast(0, tl.int32)
        while rows == 0:
            rows = ld(meta_ptr + p, scope="sys", semantic="acquire")
        expected += rows - 1
    while ld(there_ptr, scope="sys", semantic="acquire") < expected - (1 if F == 2 else 0):
        pass
    __syncthreads()
    for i in range(ROWS * n):
        tl.store(y_ptr + i * N + o, tl.load(buffer_ptr + i * N + o))  # !1 !2 !5


@protocol({1: "race", 2: "race", 3: "scope", 4: "race|uninitialised-read", 5: "race"}, ranks=(2, 4))
def slots_of_experts(team, f):
    buffer, y = z(team, "buffer", 3 * team.size * N), z(team, "y", 3 * team.size * N)
    slots_of_experts_k[(1,)](buffer, z(team, "slot", 1), z(team, "there", 1), z(team, "meta", team.size), y, 3, N, f)


# == sums_in_place
@tandem.jit
def sums_in_place_k(acc_ptr, y_ptr, count_ptr, free_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Each rank adds to all others' accumulators and counts; the owner takes the sum, clears it, and says that it is free again."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for r in range(ROUNDS):
        for p in range(n):
            if F != 1:
                if tid(0) == 0:
                    while ld(free_ptr + p, scope="sys", semantic="acquire" if F != 2 else "relaxed") < r:  # !6
                        pass
                __syncthreads()
            tl.atomic_add(dl.symm_at(acc_ptr, p) + o, me + 1, sem="relaxed", scope="sys" if F != 5 else "gpu")  # !1 !2 !4 !5 !7
            __syncthreads()
            if tid(0) == 0:
                tl.atomic_add(dl.symm_at(count_ptr, p), 1, sem="release" if F != 3 else "relaxed", scope="sys")
        if tid(0) == 0:
            while ld(count_ptr, scope="sys", semantic="acquire") < n * (r + 1) - (1 if F == 7 else 0):
                pass
        __syncthreads()
        tl.store(y_ptr + o, tl.load(acc_ptr + o))  # !1 !2 !3 !7
        if F != 4:
            tl.store(acc_ptr + o, 0)  # !1 !2 !3 !7
        __syncthreads()
        if tid(0) == 0:
            if (F != 6) | (me != 1):
                for p in range(n):
                    st(dl.symm_at(free_ptr, p) + me, r + 1, scope="sys", semantic="release")
        if F == 4:
            tl.store(acc_ptr + o, 0)  # !4


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "scope", 6: "livelock|deadlock", 7: "race"}, ranks=(2, 3))
def sums_in_place(team, f):
    sums_in_place_k[(1,)](z(team, "acc"), z(team, "y"), z(team, "count", 1), z(team, "free", team.size), 3, N, f)


# == tiles_counted
@tandem.jit
def tiles_counted_k(x_ptr, y_ptr, there_ptr, PARTS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """FLUX: programs of a gather fill the parts of tiles and count them; the programs of the product wait for the tiles that they need."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    p = tl.program_id(0)
    if p < n * PARTS:
        source, part = (p // PARTS + me) % n, p % PARTS
        tile = source if F != 5 else (source + 1) % n
        tl.store(x_ptr + (source * PARTS + part) * N + o, source)  # !1 !2 !3 !4 !5
        if F != 4:
            __syncthreads()
        if tid(0) == (0 if F != 4 else 64):
            tl.atomic_add(there_ptr + tile, 1, sem="release" if F != 1 else "relaxed", scope="gpu")
    else:
        tile = p - n * PARTS
        if tid(0) == 0:
            while ld(there_ptr + tile, scope="gpu", semantic="acquire" if F != 3 else "relaxed") < PARTS - (1 if F == 2 else 0):
                pass
        __syncthreads()
        total = tl.zeros((N,), tl.int32)
        for part in range(PARTS):
            total += tl.load(x_ptr + (tile * PARTS + part) * N + o)  # !1 !2 !3 !4 !5
        tl.store(y_ptr + tile * N + o, total)


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(2, 4))
def tiles_counted(team, f):
    n = team.size
    tiles_counted_k[(4 * n,)](z(team, "x", 3 * n * N), z(team, "y", n * N), z(team, "there", n), 3, N, f)


# == stages
@tandem.jit
def stages_k(act_ptr, grad_ptr, y_ptr, sig_ptr, MICRO: tl.constexpr, ROOM: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """A pipeline over ranks, forward and back: stage r gets activations from r - 1 and gradients from r + 1; a gradient frees a slot.
    Signals: 0 activations, 1 gradients, both counted."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for m in range(MICRO + ROOM):
        b = m - ROOM
        if b >= 0:
            if me < n - 1:
                if F != 1:
                    least = b + 1 - (1 if F == 2 else 0)
                    dl.wait(sig_ptr + 1, 1, "sys", "acquire" if F != 3 else "relaxed", waitValue=least, compare="ge")  # !5
                tl.store(y_ptr + b * N + o, tl.load(grad_ptr + b * N + o))  # !1 !2 !3
            if (me > 0) & ((F != 5) | (b < 3)):
                tl.store(dl.symm_at(grad_ptr, me - 1) + b * N + o, b)  # !1 !2 !3
                dl.notify(sig_ptr + 1, me - 1, signal=1, sig_op="add", comm_scope="intra_node")
        if m < MICRO:
            value = tl.zeros((N,), tl.int32) + m
            if me > 0:
                if F != 4:
                    dl.wait(sig_ptr, 1, "sys", "acquire", waitValue=m + 1, compare="ge")
                value = tl.load(act_ptr + m % ROOM * N + o) + 1  # !1 !2 !3 !4
            if me < n - 1:
                tl.store(dl.symm_at(act_ptr, me + 1) + m % ROOM * N + o, value)  # !1 !2 !3 !4
                dl.notify(sig_ptr, me + 1, signal=1, sig_op="add", comm_scope="intra_node")


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "deadlock"}, ranks=(2, 4))
def stages(team, f):
    stages_k[(1,)](z(team, "act", 2 * N), z(team, "grad", 5 * N), z(team, "y", 5 * N), z(team, "sig", 2, "int64"), 5, 2, N, f)


# == early_leavers
@tandem.jit
def early_leavers_k(x_ptr, y_ptr, plan_ptr, sig_ptr, N: tl.constexpr, F: tl.constexpr):
    """Odd ranks that have no rows say so and leave; the others wait for those only that have said they send."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    rows = tl.where(me % 3 == 1, 0, me + 1)
    for p in range(n):
        if tid(0) == 0:
            st(dl.symm_at(plan_ptr, p) + me, rows + 1, scope="sys", semantic="release" if F != 5 else "relaxed")
    if rows > 0:
        for p in range(n):
            tl.store(dl.symm_at(x_ptr, p) + me * N + o, rows)  # !1 !2 !3
            __syncthreads()
            if tid(0) == 0:
                if (F != 4) | (me > 0):
                    st(dl.symm_at(sig_ptr, p) + me, 1, scope="sys", semantic="release" if F != 1 else "relaxed")
        for p in range(n):
            planned = tl.cast(0, tl.int32)
            while planned == 0:
                planned = ld(plan_ptr + p, scope="sys", semantic="acquire")
            if planned > (1 if F != 3 else 1000):
                while ld(sig_ptr + p, scope="sys", semantic="acquire" if F != 2 else "relaxed") == 0:  # !4
                    pass
            __syncthreads()
            if planned > 1:
                tl.store(y_ptr + p * N + o, tl.load(x_ptr + p * N + o))  # !1 !2 !3


@protocol({1: "race", 2: "race", 3: "race", 4: "livelock|deadlock"}, ranks=(3, 4))
def early_leavers(team, f):
    many = team.size * N
    early_leavers_k[(1,)](z(team, "x", many), z(team, "y", many), z(team, "plan", team.size), z(team, "sig", team.size), N, f)


# == combine_in_two_halves
@tandem.jit
def combine_k(buffer_ptr, flag_ptr, y_ptr, call, N: tl.constexpr, F: tl.constexpr):
    """DeepEP's low-latency combine: two halves by turns; a call clears the flags of the next one's half before it sends its own."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    half, other = (call % 2 if F != 5 else 0) * n, (call + 1) % 2 * n
    t = tid(0)
    if (t < n) & (F < 4):
        st(flag_ptr + other + t, 0, scope="sys", semantic="relaxed")
    __syncthreads()
    for p in range(n):
        tl.store(dl.symm_at(buffer_ptr, p) + (half + me) * N + o, call + me)  # !1 !2 !3 !5 !6
        __syncthreads()
        if t == 0:
            st(dl.symm_at(flag_ptr, p) + half + me, 1, scope="sys", semantic="release" if F != 1 else "relaxed")  # !4
    if t < n:
        while ld(flag_ptr + half + t, scope="sys", semantic="acquire" if F != 2 else "relaxed") == 0:  # !4 !5
            pass
        if F == 4:
            st(flag_ptr + other + t, 0, scope="sys", semantic="relaxed")  # !4
    if F != 3:
        __syncthreads()
    total = tl.zeros((N,), tl.int32)
    for p in range(n):
        total += tl.load(buffer_ptr + (half + p) * N + o)  # !1 !2 !3 !5 !6
    tl.store(y_ptr + o, total)


@protocol({1: "race", 2: "race", 3: "race", 4: "signal-misuse|race", 5: "race", 6: "race"}, ranks=(2, 4))
def combine_in_two_halves(team, f):
    many = 2 * team.size
    buffer, flag, y = z(team, "buffer", many * N), z(team, "flag", many), z(team, "y")
    for call in range(4):
        combine_k[(1,)](buffer, flag, y, call, N, f)


# == two_shots
@tandem.jit
def two_shots_k(x_ptr, part_ptr, y_ptr, sig_ptr, call, N: tl.constexpr, F: tl.constexpr):
    """All-reduce in two shots by puts with signals: each rank sums its part of all, then puts the sum to all. Signals count calls."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for d in range(n):
        p = (me + d) % n
        tl.store(x_ptr + p * N + o, me + call)
        if F != 1:
            shmem.putmem_signal_nbi_block(part_ptr + me * N, x_ptr + p * N, N * 4, sig_ptr + me, call, shmem.NVSHMEM_SIGNAL_SET, p)  # !4
        else:
            shmem.putmem_nbi_block(part_ptr + me * N, x_ptr + p * N, N * 4, p)  # !1
            shmem.signal_op(sig_ptr + me, call, shmem.NVSHMEM_SIGNAL_SET, p)
    if F == 4:
        tl.store(x_ptr + o, 0)  # !4
    total = tl.zeros((N,), tl.int32)
    for p in range(n):
        if F != 2:
            shmem.signal_wait_until(sig_ptr + p, shmem.NVSHMEM_CMP_GE, call if F != 5 else call - 1)
        total += tl.load(part_ptr + p * N + o)  # !1 !2 !5
    tl.store(part_ptr + (n + me) * N + o, total)
    for d in range(n):
        p = (me + d) % n
        shmem.putmem_signal_nbi_block(y_ptr + me * N, part_ptr + (n + me) * N, N * 4, sig_ptr + n + me, call, shmem.NVSHMEM_SIGNAL_SET, p)
    for p in range(n):
        if F != 3:
            shmem.signal_wait_until(sig_ptr + n + p, shmem.NVSHMEM_CMP_GE, call)
    total = tl.zeros((N,), tl.int32)
    for p in range(n):
        total += tl.load(y_ptr + p * N + o)  # !3
    tl.store(x_ptr + n * N + o, total)
    shmem.quiet()


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(2, 3))
def two_shots(team, f):
    n = team.size
    x, part, y, sig = z(team, "x", (n + 1) * N), z(team, "part", 2 * n * N), z(team, "y", n * N), z(team, "sig", 2 * n, "int64")
    for call in range(1, 4):
        two_shots_k[(1,)](x, part, y, sig, call, N, f)
