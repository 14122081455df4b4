"""Rings and barriers in the manner of DeepEP, vLLM, MSCCL++ and ParallelKittens."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from protocol import protocol
from tandem.simt import __syncthreads, atomic_add, fence, ld, st, tid

N = 64


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == ring_all_reduce
@tandem.jit
def ring_all_reduce_k(x_ptr, inbox_ptr, y_ptr, sig_ptr, credit_ptr, N: tl.constexpr, F: tl.constexpr):
    """Whole vectors go round; one inbox slot, guarded by credits."""
    me, n = dl.rank(), dl.num_ranks()
    right, left = (me + 1) % n, (me + n - 1) % n
    o = tl.arange(0, N)
    acc = tl.load(x_ptr + o)
    cur = acc
    for step in range(1, n):
        if F != 1:
            if step > 1:
                dl.wait(credit_ptr, 1, "sys", "acquire", waitValue=step - 1, compare="ge")
        if F == 2:
            dl.notify(sig_ptr, right, signal=step, sig_op="set", comm_scope="intra_node")  # !2
        tl.store(dl.symm_at(inbox_ptr, right) + o, cur)  # !1 !2 !3 !4 !5
        if F != 2 and F != 6:
            dl.notify(sig_ptr, right if F != 7 else left, signal=step, sig_op="set", comm_scope="intra_node")  # !7 !3
        t = dl.wait(sig_ptr, 1, "sys", "relaxed" if F == 4 else "acquire", waitValue=step - (1 if F == 3 else 0), compare="ge")  # !6 !7
        p = dl.consume_token(inbox_ptr, t)
        if F == 5:
            dl.notify(credit_ptr, left, signal=step, sig_op="set", comm_scope="intra_node")
        cur = tl.load(p + o)  # !1 !2 !3 !4 !5 !7
        if F != 5:
            if step < n - 1:
                dl.notify(credit_ptr, left, signal=step, sig_op="set", comm_scope="intra_node")
        acc += cur
    tl.store(y_ptr + o, acc)


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "deadlock", 7: "race|deadlock"}, ranks=(3, 4, 8))
def ring_all_reduce(team, f):
    y = z(team, "y")
    ring_all_reduce_k[(1,)](
        team.full(N, team.rank + 1, "int32"), z(team, "inbox"), y, z(team, "sig", 1, "int64"), z(team, "credit", 1, "int64"), N, f
    )
    if f == 0:
        assert (np.asarray(y) == team.size * (team.size + 1) // 2).all()


# == ll_dispatch
@tandem.jit
def ll_dispatch_k(tokens_ptr, recv_ptr, count_ptr, next_count_ptr, y_ptr, T: tl.constexpr, F: tl.constexpr):
    """DeepEP low latency: tokens by block puts, then -count - 1 as a flag; the other phase's flags are cleaned."""
    me, _n = dl.rank(), dl.num_ranks()
    peer = tl.program_id(0)
    if F == 1:
        if tid(0) == 0:
            st(dl.symm_at(count_ptr, peer) + me, -T - 1, scope="sys", semantic="release")  # !1
    for i in range(T):
        shmem.putmem_block(recv_ptr + (me * T + i) * 32, tokens_ptr + i * 32, 32 * 4, peer)  # !1 !2 !3 !4
    if F != 2:
        shmem.fence()
    if F != 3:
        __syncthreads()
    if F != 1:
        if tid(0) == (0 if F != 3 else 96):
            st(dl.symm_at(count_ptr, peer) + me, -T - 1, scope="gpu" if F == 5 else "sys", semantic="release")  # !5
    if F != 6:
        if tid(0) == 0:
            st(next_count_ptr + peer, 0, scope="sys", semantic="relaxed")
    seen = ld(count_ptr + peer, scope="sys", semantic="relaxed" if F == 4 else "acquire")
    while seen == 0:
        seen = ld(count_ptr + peer, scope="sys", semantic="relaxed" if F == 4 else "acquire")  # !5
    __syncthreads()
    -seen - 1
    for i in range(T):
        o = tl.arange(0, 32)
        tl.store(y_ptr + (peer * T + i) * 32 + o, tl.load(recv_ptr + (peer * T + i) * 32 + o))  # !1 !2 !3 !4


@protocol({1: "race", 2: "race", 4: "race", 5: "scope"}, ranks=(2, 4))
def ll_dispatch(team, f):
    T = 3
    tokens = team.full(T * 32, team.rank, "int32")
    recv = z(team, "recv", team.size * T * 32)
    counts = [z(team, f"count{k}", team.size) for k in range(2)]
    ll_dispatch_k[(team.size,)](tokens, recv, counts[0], counts[1], z(team, "y", team.size * T * 32), T, f)


# == notify_barrier_tag
@tandem.jit
def notify_barrier_tag_k(x_ptr, y_ptr, bar_ptr, N: tl.constexpr, F: tl.constexpr):
    """DeepEP's barrier_block: thread t adds a tag at peer t and takes it from its own word; then waits for all at most 0."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    tl.store(x_ptr + o, me)  # !1 !2 !4
    for round in range(3):
        if F != 1:
            fence("acq_rel", "gpu" if F == 5 else "sys")
        __syncthreads()
        t = tid(0)
        if t < n:
            if F != 3:
                atomic_add(dl.symm_at(bar_ptr, me) + t, 1, scope="sys", semantic="relaxed")
            atomic_add(dl.symm_at(bar_ptr, t) + me, -1, scope="sys", semantic="release" if F != 1 else "relaxed")
            while ld(bar_ptr + t, scope="sys", semantic="acquire") > 0:
                pass
        __syncthreads()
    for p in range(n):
        tl.store(y_ptr + p * N + o, tl.load(dl.symm_at(x_ptr, p) + o))  # !1 !2


@protocol({1: "race"}, ranks=(2, 4, 8))
def notify_barrier_tag(team, f):
    notify_barrier_tag_k[(1,)](z(team, "x"), z(team, "y", team.size * N), z(team, "bar", team.size), N, f)


# == vllm_custom_ar
@tandem.jit
def vllm_sync(sig_ptr, self_ptr, blocks, slot, at_end: tl.constexpr, F: tl.constexpr):
    """Counters of a block, by parity of the flag; start is relaxed, end releases."""
    me, n = dl.rank(), dl.num_ranks()
    b = tl.program_id(0)
    if at_end:
        __syncthreads()
    t = tid(0)
    if t < n:
        val = ld(self_ptr + b * n + t, scope="gpu", semantic="relaxed") + 1
        st(self_ptr + b * n + t, val, scope="gpu", semantic="relaxed")
        place = ((val % (1 if F == 3 else 2)) * blocks + b) * n
        if at_end:
            st(dl.symm_at(sig_ptr, t) + place + me, val, scope="sys", semantic="release" if F != 1 else "relaxed")
            while ld(sig_ptr + place + t, scope="sys", semantic="acquire" if F != 2 else "relaxed") != val:  # !3
                pass
        else:
            st(dl.symm_at(sig_ptr, t) + place + me, val, scope="sys", semantic="relaxed" if F != 5 else "release")  # !3
            while ld(sig_ptr + place + t, scope="sys", semantic="relaxed") != val:  # !3
                pass
    __syncthreads()


@tandem.jit
def vllm_ar_k(x_ptr, tmp_ptr, y_ptr, sig_ptr, self_ptr, blocks, N: tl.constexpr, F: tl.constexpr):
    """Two shots: each rank sums its part into tmp, then all read it."""
    me, n = dl.rank(), dl.num_ranks()
    b = tl.program_id(0)
    o = b * N + tl.arange(0, N)
    vllm_sync(sig_ptr, self_ptr, blocks, 0, False, F)
    acc = tl.zeros((N,), tl.int32)
    size = blocks * N
    for p in range(n):
        acc += tl.load(dl.symm_at(x_ptr, p) + me * size + o)
    tl.store(tmp_ptr + o, acc)  # !1 !2 !4
    if F != 4:
        vllm_sync(sig_ptr, self_ptr, blocks, 0, True, F)
    for p in range(n):
        tl.store(y_ptr + p * size + o, tl.load(dl.symm_at(tmp_ptr, p) + o))  # !1 !2 !4


@protocol({1: "race", 2: "race", 4: "race"}, ranks=(2, 4, 8))
def vllm_custom_ar(team, f):
    B = 2
    x = team.full(team.size * B * N, team.rank + 1, "int32")
    team.barrier()
    tmp, y = [z(team, f"tmp{k}", B * N) for k in range(3)], z(team, "y", team.size * B * N)
    sig, own = z(team, "sig", 2 * B * team.size), z(team, "self", B * team.size)
    for call in range(3):
        vllm_ar_k[(B,)](x, tmp[call], y, sig, own, B, N, f)


# == mscclpp_memory_channel
@tandem.jit
def mscclpp_k(src_ptr, dst_ptr, y_ptr, sem_ptr, expect_ptr, N: tl.constexpr, ROUNDS: tl.constexpr, F: tl.constexpr):
    """Each pair of ranks has semaphores: signal adds one to the peer's inbound, wait compares with a count of its own."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for r in range(ROUNDS):
        for d in range(1, n):
            peer = (me + d) % n
            tl.store(dl.symm_at(dst_ptr, peer) + (me * 2 + (r % 2 if F != 1 else 0)) * N + o, tl.load(src_ptr + o) + r)  # !1 !2 !3 !4 !5
        if F != 2:
            __syncthreads()
        t = tid(0)
        if (t < n) & (t != me):
            atomic_add(dl.symm_at(sem_ptr, t) + me, 1, scope="sys", semantic="release" if F != 3 else "relaxed")
            e = ld(expect_ptr + t, scope="gpu", semantic="relaxed") + (1 if F != 5 else 0)
            st(expect_ptr + t, e + (0 if F != 5 else 1), scope="gpu", semantic="relaxed")
            while ld(sem_ptr + t, scope="sys", semantic="acquire") < e:
                pass
        if F != 4:
            __syncthreads()
        for d in range(1, n):
            peer = (me + d) % n
            tl.store(y_ptr + peer * N + o, tl.load(dst_ptr + (peer * 2 + (r % 2 if F != 1 else 0)) * N + o))  # !1 !2 !3 !4 !5


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(2, 4))
def mscclpp_memory_channel(team, f):
    mscclpp_k[(1,)](
        team.full(N, team.rank, "int32"),
        z(team, "dst", team.size * 2 * N),
        z(team, "y", team.size * N),
        z(team, "sem", team.size, "int64"),
        z(team, "expect", team.size, "int64"),
        N,
        5,
        f,
    )


# == pk_all
@tandem.jit
def pk_barrier(bar_ptr, times, F: tl.constexpr):
    """signal_all: adds one at every rank, then waits for n * times."""
    n = dl.num_ranks()
    __syncthreads()
    t = tid(0)
    if t < n:
        atomic_add(dl.symm_at(bar_ptr, t), 1, scope="sys" if F != 4 else "gpu", semantic="release" if F != 1 else "relaxed")  # !4
    if t == 0:
        while ld(bar_ptr, scope="sys", semantic="acquire") < n * times - (1 if F == 2 else 0):  # !4 !3
            pass
    if F != 5:
        __syncthreads()


@tandem.jit
def pk_k(x_ptr, y_ptr, bar_ptr, N: tl.constexpr, F: tl.constexpr):
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for i in range(1, 4):
        tl.store(x_ptr + o, me + i)  # !1 !2 !5 !6
        pk_barrier(bar_ptr, 2 * i - 1 if F != 3 else 2 * i, F)
        acc = tl.zeros((N,), tl.int32)
        for p in range(n):
            acc += tl.load(dl.symm_at(x_ptr, p) + o)  # !1 !2 !5 !6
        tl.store(y_ptr + o, acc)
        if F != 6:
            pk_barrier(bar_ptr, 2 * i, F)
        else:
            if tid(0) < n:
                atomic_add(dl.symm_at(bar_ptr, tid(0)), 1, scope="sys", semantic="relaxed")


@protocol({1: "race", 2: "race", 3: "livelock|deadlock", 4: "scope", 5: "race", 6: "race"}, ranks=(2, 4, 8))
def pk_all(team, f):
    pk_k[(1,)](z(team, "x"), z(team, "y"), z(team, "bar", 1, "int64"), N, f)


pk_all.__name__ = "pk_all"
