"""Exchanges: halos, trees, recursive doubling, packets that are their own flags, mailboxes, and gradients on a server."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from protocol import protocol
from tandem.simt import __syncthreads, fence, ld, st, tid

N = 64


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == jacobi
@tandem.jit
def jacobi_k(a_ptr, b_ptr, sig_ptr, ITERS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Two grids by turns; borders by putmem_signal to both neighbours, a signal a side and parity of nothing: iteration numbers."""
    me, n = dl.rank(), dl.num_ranks()
    up, down = (me + n - 1) % n, (me + 1) % n
    o = tl.arange(0, N)
    for i in tl.static_range(ITERS):
        src = a_ptr if i % 2 == 0 else b_ptr
        dst = b_ptr if (i % 2 == 0 and F != 5) else a_ptr
        if i > 0:
            if F != 1:
                shmem.signal_wait_until(sig_ptr, shmem.NVSHMEM_CMP_GE, i if F != 2 else i - 1)
            shmem.signal_wait_until(sig_ptr + 1, shmem.NVSHMEM_CMP_GE, i)
        # rows: 0 halo above, 1..2 own, 3 halo below
        v = tl.load(src + o) + tl.load(src + 3 * N + o)  # !1 !2 !3 !4 !5 !6
        tl.store(dst + N + o, v)
        tl.store(dst + 2 * N + o, v)
        __syncthreads()
        if F == 3:
            if tid(0) == 0:
                shmem.signal_op(sig_ptr + 1, i + 1, shmem.NVSHMEM_SIGNAL_SET, up)
            shmem.putmem_nbi_block(dst + 3 * N, dst + N, N * 4, up)  # !3
        elif F == 4:
            shmem.putmem_nbi_block(dst + 3 * N, dst + N, N * 4, up)  # !4
            if tid(0) == 0:
                shmem.signal_op(sig_ptr + 1, i + 1, shmem.NVSHMEM_SIGNAL_SET, up)
        else:
            shmem.putmem_signal_nbi_block(dst + 3 * N, dst + N, N * 4, sig_ptr + 1, i + 1, shmem.NVSHMEM_SIGNAL_SET, up)  # !5 !6
        shmem.putmem_signal_nbi_block(dst, dst + 2 * N, N * 4, sig_ptr, i + 1, shmem.NVSHMEM_SIGNAL_SET, down)  # !1 !2 !5 !6
        if F != 6:
            shmem.quiet()
        __syncthreads()
    shmem.signal_wait_until(sig_ptr, shmem.NVSHMEM_CMP_GE, ITERS)
    shmem.signal_wait_until(sig_ptr + 1, shmem.NVSHMEM_CMP_GE, ITERS)


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(2, 3, 4, 8))
def jacobi(team, f):
    jacobi_k[(1,)](z(team, "a", 4 * N), z(team, "b", 4 * N), z(team, "sig", 2, "int64"), 5, N, f)


# == tree_reduce_broadcast
@tandem.jit
def tree_k(part_ptr, res_ptr, y_ptr, up_ptr, down_ptr, call, N: tl.constexpr, F: tl.constexpr):
    """A binary tree: children store their sum at the parent's slot, the root's result goes back. Epochs are calls."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    acc = tl.full((N,), 1, tl.int32) * (me + 1)
    for c in tl.static_range(2):
        child = 2 * me + 1 + c
        if child < n:
            if F != 1:
                dl.wait(up_ptr + (c if F != 4 else 0), 1, "sys", "acquire", waitValue=call if F != 2 else call - 1, compare="ge")  # !2
            acc += tl.load(part_ptr + c * N + o)  # !1 !2 !4 !3 !5 !7
    if me > 0:
        parent = (me - 1) // 2
        slot = (me - 1) % 2
        if F == 3:
            dl.notify(up_ptr + slot, parent, signal=call, sig_op="set", comm_scope="intra_node")
        tl.store(dl.symm_at(part_ptr, parent) + slot * N + o, acc)  # !1 !2 !3 !4 !5 !7
        if F != 3:
            dl.notify(up_ptr + slot, parent, signal=call, sig_op="set", comm_scope="intra_node")
        if F != 5:
            dl.wait(down_ptr, 1, "sys", "acquire", waitValue=call, compare="ge" if F != 6 else "gt")  # !6
        acc = tl.load(res_ptr + o)  # !5 !7
    tl.store(y_ptr + o, acc)
    for c in tl.static_range(2):
        child = 2 * me + 1 + c
        if child < n:
            tl.store(dl.symm_at(res_ptr, child) + o, acc)  # !5 !7
            if F != 7:
                dl.notify(down_ptr, child, signal=call, sig_op="set", comm_scope="intra_node")
            else:
                dl.notify(down_ptr, child, signal=call + 1, sig_op="set", comm_scope="intra_node")


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "deadlock", 7: "race"}, ranks=(3, 4, 7, 8))
def tree_reduce_broadcast(team, f):
    part, res, up, down = z(team, "part", 2 * N), z(team, "res"), z(team, "up", 2, "int64"), z(team, "down", 1, "int64")
    for call in range(1, 4):
        y = z(team, "y")
        tree_k[(1,)](part, res, y, up, down, call, N, f)
        if f == 0:
            assert (np.asarray(y) == team.size * (team.size + 1) // 2).all()


# == recursive_doubling
@tandem.jit
def doubling_k(buf_ptr, y_ptr, sig_ptr, ack_ptr, LOG: tl.constexpr, CALLS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """One buffer a step, credits between calls."""
    me = dl.rank()
    o = tl.arange(0, N)
    for call in range(1, CALLS + 1):
        acc = tl.full((N,), 1, tl.int32)
        for s in tl.static_range(LOG):
            peer = me ^ (1 << s)
            if F != 1:
                dl.wait(ack_ptr + s, 1, "sys", "acquire", waitValue=call - 1, compare="ge")
            tl.store(dl.symm_at(buf_ptr, peer) + (s if F != 2 else 0) * N + o, acc)  # !1 !2 !3 !4 !5 !6
            dl.notify(sig_ptr + s, peer if F != 4 else (me ^ 1), signal=call, sig_op="set", comm_scope="intra_node")  # !4
            dl.wait(sig_ptr + s, 1, "sys", "acquire", waitValue=call if F != 3 else 1, compare="ge" if F != 3 else "ge")  # !4
            if F == 5:
                dl.notify(ack_ptr + s, peer, signal=call, sig_op="set", comm_scope="intra_node")
            acc += tl.load(buf_ptr + (s if F != 2 else 0) * N + o)  # !1 !2 !3 !4 !5 !6
            if F != 5:
                dl.notify(ack_ptr + s, peer, signal=call if F != 6 else call + 1, sig_op="set", comm_scope="intra_node")
        tl.store(y_ptr + o, acc)
    for s in tl.static_range(LOG):
        dl.wait(ack_ptr + s, 1, "sys", "acquire", waitValue=CALLS, compare="ge")


@protocol({1: "race", 2: "race", 3: "race", 4: "deadlock|race", 5: "race", 6: "race"}, ranks=(4, 8))
def recursive_doubling(team, f):
    log = team.size.bit_length() - 1
    doubling_k[(1,)](z(team, "buf", log * N), z(team, "y"), z(team, "sig", log, "int64"), z(team, "ack", log, "int64"), log, 3, N, f)


# == hierarchical
@tandem.jit
def hier_k(x_ptr, part_ptr, lead_ptr, y_ptr, s1_ptr, s2_ptr, s3_ptr, call, N: tl.constexpr, F: tl.constexpr):
    """Pairs: the odd one gives to the even one; even ones exchange all with all; then back."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    leader = me // 2 * 2
    if me % 2 == 1:
        tl.store(dl.symm_at(part_ptr, leader) + o, tl.load(x_ptr + o))  # !1 !2
        dl.notify(s1_ptr, leader, signal=call, sig_op="set", comm_scope="intra_node" if F != 2 else "gpu")
        dl.wait(s3_ptr, 1, "sys" if F != 5 else "gpu", "acquire", waitValue=call, compare="ge")  # !5
        tl.store(y_ptr + o, tl.load(lead_ptr + o))  # !4
    else:
        if F != 1:
            dl.wait(s1_ptr, 1, "sys", "acquire", waitValue=call, compare="ge")  # !2
        mine = tl.load(x_ptr + o) + tl.load(part_ptr + o)  # !1 !2
        for d in range(0, n // 2):
            peer = 2 * d
            tl.store(dl.symm_at(lead_ptr, peer) + (1 + me // 2) * N + o, mine)  # !3
            dl.notify(s2_ptr, peer, signal=1, sig_op="add", comm_scope="intra_node")
        dl.wait(s2_ptr, 1, "sys", "acquire", waitValue=call * (n // 2) if F != 3 else call * (n // 2) - 1, compare="ge")  # !3
        acc = tl.zeros((N,), tl.int32)
        for d in range(0, n // 2):
            acc += tl.load(lead_ptr + (1 + d) * N + o)  # !3
        tl.store(y_ptr + o, acc)
        if F == 4:
            dl.notify(s3_ptr, me + 1, signal=call, sig_op="set", comm_scope="intra_node")
        tl.store(dl.symm_at(lead_ptr, me + 1) + o, acc)  # !4
        if F != 4:
            dl.notify(s3_ptr, me + 1, signal=call, sig_op="set", comm_scope="intra_node")  # !5


@protocol({1: "race", 2: "scope", 3: "race", 4: "race", 5: "scope"}, ranks=(4, 8))
def hierarchical(team, f):
    lead = z(team, "lead", N * (1 + team.size // 2))
    s = [z(team, f"s{k}", 1, "int64") for k in range(3)]
    x = team.full(N, 1, "int32")
    part = z(team, "part")
    y = z(team, "y")
    hier_k[(1,)](x, part, lead, y, *s, 1, N, f)
    if f == 0:
        assert (np.asarray(y) == team.size).all()


# == lamport
@tandem.jit
def lamport_k(x_ptr, buf_ptr, y_ptr, call, T: tl.constexpr, F: tl.constexpr):
    """Data are their own flag (0 is empty); three buffers by turns: the call writes one and clears the next but one."""
    me, n = dl.rank(), dl.num_ranks()
    t = tid(0)
    cur, clear = call % 3, (call + (2 if F != 1 else 1)) % 3
    if F == 5:
        cur = 0
    if t < T:
        v = ld(x_ptr + t, semantic="weak") + call
        for p in range(n):
            st(
                dl.symm_at(buf_ptr, p) + (cur * n + me) * T + t,
                v,
                scope="sys" if F != 4 else "gpu",
                semantic="relaxed" if F != 2 else "weak",
            )  # !2 !4
        acc = 0
        for p in range(n):
            got = ld(buf_ptr + (cur * n + p) * T + t, scope="sys", semantic="relaxed")
            if F != 3:
                while got == 0:
                    got = ld(buf_ptr + (cur * n + p) * T + t, scope="sys", semantic="relaxed" if F != 6 else "weak")  # !2 !4 !6
            acc += got
        for p in range(n):
            st(buf_ptr + (clear * n + p) * T + t, 0, scope="sys", semantic="relaxed")
        st(y_ptr + t, acc, semantic="weak")


@protocol({2: "race", 4: "scope", 6: "race"}, ranks=(2, 4), sometimes=(6,))
def lamport(team, f):
    x = team.full(32, team.rank + 1, "int32")
    buf = z(team, "buf", 3 * team.size * 32)
    for call in range(6):
        y = z(team, "y", 32)
        lamport_k[(1,)](x, buf, y, call, 32, f, num_warps=1)
        if f == 0:
            assert (np.asarray(y) == team.size * (team.size + 1) // 2 + team.size * call).all()


# == nccl_simple
@tandem.jit
def nccl_simple_k(x_ptr, fifo_ptr, y_ptr, head_ptr, tail_ptr, STEPS: tl.constexpr, SLOTS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """tail counts what was sent (at the receiver), head what was taken (at the sender); program 0 sends, program 1 receives."""
    me, n = dl.rank(), dl.num_ranks()
    right, left = (me + 1) % n, (me + n - 1) % n
    o = tl.arange(0, N)
    if tl.program_id(0) == 0:
        for s in range(STEPS):
            if F != 1:
                if tid(0) == 0:
                    while ld(head_ptr, scope="sys", semantic="acquire" if F != 2 else "relaxed") + SLOTS + (1 if F == 3 else 0) <= s:  # !8
                        pass
                __syncthreads()
            tl.store(dl.symm_at(fifo_ptr, right) + s % SLOTS * N + o, tl.load(x_ptr + o) + s)  # !1 !2 !3 !4 !5 !6 !7
            if F != 4:
                __syncthreads()
            if tid(0) == (0 if F != 4 else 96):
                fence("acq_rel" if F != 5 else "acquire", "sys")
                st(dl.symm_at(tail_ptr, right), s + 1, scope="sys", semantic="relaxed")
    else:
        for s in range(STEPS):
            if tid(0) == 0:
                while ld(tail_ptr, scope="sys", semantic="acquire") <= s - (1 if F == 6 else 0):  # !8
                    pass
            __syncthreads()
            tl.store(y_ptr + s * N + o, tl.load(fifo_ptr + s % SLOTS * N + o))  # !1 !2 !3 !4 !5 !6 !7
            if F != 7:
                __syncthreads()
            if tid(0) == (0 if F != 7 else 96):
                if F != 8:
                    st(dl.symm_at(head_ptr, left), s + 1, scope="sys", semantic="release")
                else:
                    if s % 2 == 0:
                        st(dl.symm_at(head_ptr, left), s // 2, scope="sys", semantic="release")


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "race", 7: "race", 8: "livelock|deadlock"}, ranks=(2, 4, 8))
def nccl_simple(team, f):
    y = z(team, "y", 7 * N)
    nccl_simple_k[(2,)](
        team.full(N, team.rank, "int32"), z(team, "fifo", 2 * N), y, z(team, "head", 1, "int64"), z(team, "tail", 1, "int64"), 7, 2, N, f
    )
    if f == 0:
        assert np.asarray(y)[6 * N] == (team.rank - 1) % team.size + 6


# == get_pipeline
@tandem.jit
def get_pipeline_k(x_ptr, a_ptr, y_ptr, ready_ptr, done_ptr, CH: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Chunks of the right neighbour are fetched into two buffers by turns, then the neighbour is told that it may change them."""
    me, n = dl.rank(), dl.num_ranks()
    right, left = (me + 1) % n, (me + n - 1) % n
    o = tl.arange(0, N)
    for c in range(CH):
        tl.store(x_ptr + c * N + o, me + c)  # !1 !7
    dl.notify(ready_ptr, left, signal=1, sig_op="set", comm_scope="intra_node")
    if F != 1:
        dl.wait(ready_ptr, 1, "sys", "acquire", waitValue=1)
    shmem.getmem_nbi_block(a_ptr, x_ptr, N * 4, right)  # !1 !3
    for c in range(CH):
        if F != 2:
            shmem.quiet()
            __syncthreads()
        if c + 1 < CH:
            shmem.getmem_nbi_block(a_ptr + (c + 1) % (2 if F != 3 else 1) * N, x_ptr + (c + 1) * N, N * 4, right)  # !1 !2 !3 !4 !5
        tl.store(y_ptr + c * N + o, tl.load(a_ptr + c % (2 if F != 3 else 1) * N + o))  # !2 !3 !4
        if F != 4:
            __syncthreads()
        if F == 5:
            if c == CH - 2:
                dl.notify(done_ptr, right, signal=1, sig_op="set", comm_scope="intra_node")
    shmem.quiet()
    if F != 5:
        dl.notify(done_ptr, right, signal=1, sig_op="set", comm_scope="intra_node")
    if F != 6:
        dl.wait(done_ptr, 1, "sys", "acquire" if F != 7 else "relaxed", waitValue=1)
    for c in range(CH):
        tl.store(x_ptr + c * N + o, 0)  # !5 !6 !7


@protocol({1: "race", 2: "race", 3: "race", 5: "race", 6: "race", 7: "race"}, ranks=(2, 4))
def get_pipeline(team, f):
    get_pipeline_k[(1,)](
        z(team, "x", 4 * N), z(team, "a", 2 * N), z(team, "y", 4 * N), z(team, "ready", 1, "int64"), z(team, "done", 1, "int64"), 4, N, f
    )


# == rpc
@tandem.jit
def rpc_k(req_ptr, ans_ptr, y_ptr, CALLS: tl.constexpr, F: tl.constexpr):
    """Rank 0 serves: a request is number and argument in one word; so is the answer."""
    me, n = dl.rank(), dl.num_ranks()
    if me == 0:
        t = tid(0) + 1
        if t < n:
            for i in range(1, CALLS + 1 - (1 if F == 2 else 0)):
                q = ld(req_ptr + t, scope="sys", semantic="relaxed")
                while (q >> 32) != i:  # !3
                    q = ld(req_ptr + t, scope="sys", semantic="relaxed" if F != 4 else "weak")  # !3 !4
                arg = q & 0xFFFFFFFF
                st(
                    dl.symm_at(ans_ptr, t), (tl.cast(i, tl.int64) << 32) | (arg + 1), scope="sys" if F != 1 else "gpu", semantic="relaxed"
                )  # !1
    else:
        if tid(0) == 0:
            v = tl.cast(0, tl.int64)
            for i in range(1, CALLS + 1):
                st(
                    dl.symm_at(req_ptr, 0) + me, (tl.cast(i + (1 if F == 3 else 0), tl.int64) << 32) | v, scope="sys", semantic="relaxed"
                )  # !4
                a = ld(ans_ptr, scope="sys", semantic="relaxed")  # !1
                while (a >> 32) != i:
                    a = ld(ans_ptr, scope="sys", semantic="relaxed")  # !2 !3 !1
                v = a & 0xFFFFFFFF
            st(y_ptr, v, semantic="weak")


@protocol({1: "scope", 2: "livelock|deadlock", 3: "livelock|deadlock", 4: "race|signal-misuse"}, ranks=(2, 4, 8))
def rpc(team, f):
    y = z(team, "y", 1, "int64")
    rpc_k[(1,)](z(team, "req", team.size, "int64"), z(team, "ans", 1, "int64"), y, 5, f)
    if f == 0 and team.rank:
        assert np.asarray(y)[0] == 5


# == bitmask
@tandem.jit
def bitmask_k(x_ptr, y_ptr, mask_ptr, N: tl.constexpr, F: tl.constexpr):
    """Everyone's bit in a word of each rank."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for p in range(n):
        tl.store(dl.symm_at(x_ptr, p) + me * N + o, me)  # !1 !2 !3 !5
    __syncthreads()
    t = tid(0)
    if t < n:
        tl.atomic_or(
            dl.symm_at(mask_ptr, t),
            1 << (me if F != 4 else me // 2 * 2),
            sem="release" if F != 1 else "relaxed",
            scope="sys" if F != 6 else "gpu",
        )  # !6
    if t == 0:
        while ld(mask_ptr, scope="sys", semantic="acquire" if F != 2 else "relaxed") < (1 << n) - 1 - (1 if F == 3 else 0):  # !4 !6
            pass
    if F != 5:
        __syncthreads()
    for p in range(n):
        tl.store(y_ptr + p * N + o, tl.load(x_ptr + p * N + o))  # !1 !2 !3 !5


@protocol({1: "race", 2: "race", 3: "race", 4: "livelock|deadlock", 5: "race", 6: "scope"}, ranks=(2, 4, 8))
def bitmask(team, f):
    bitmask_k[(1,)](z(team, "x", N * team.size), z(team, "y", N * team.size), z(team, "mask", 1), N, f)


# == parameter_server
@tandem.jit
def ps_k(w_ptr, grad_ptr, y_ptr, count_ptr, version_ptr, STEPS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Workers add gradients by atomics at rank 0, which applies them and raises the version."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    w, grad, count = dl.symm_at(w_ptr, 0), dl.symm_at(grad_ptr, 0), dl.symm_at(count_ptr, 0)
    for s in range(1, STEPS + 1):
        if F == 4:
            tl.store(grad + o, tl.load(grad + o) + 1.0)  # !4
        else:
            tl.atomic_add(grad + o, 1.0, sem="relaxed", scope="sys")
        __syncthreads()
        if tid(0) == 0:
            tl.atomic_add(count, 1, sem="release" if F != 1 else "relaxed", scope="sys")
        if me == 0:
            if tid(0) == 0:
                while ld(count_ptr, scope="sys", semantic="acquire") < n * s - (1 if F == 2 else 0):  # !7
                    pass
            __syncthreads()
            tl.store(w_ptr + o, tl.load(w_ptr + o) + tl.load(grad_ptr + o))  # !1 !2 !3 !4 !5 !6
            tl.store(grad_ptr + o, 0.0)  # !1 !2 !4 !6
            __syncthreads()
            t = tid(0)
            if t < n:
                st(dl.symm_at(version_ptr, t), s if F != 7 else s - 1, scope="sys", semantic="release" if F != 3 else "relaxed")
        if tid(0) == 0:
            while ld(version_ptr, scope="sys", semantic="acquire" if F != 6 else "relaxed") < s - (1 if F == 5 else 0):  # !7
                pass
        __syncthreads()
        tl.store(y_ptr + o, tl.load(w + o))  # !3 !5 !6


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "race", 7: "livelock|deadlock"}, ranks=(2, 4))
def parameter_server(team, f):
    ps_k[(1,)](
        z(team, "w", N, "float32"),
        z(team, "grad", N, "float32"),
        z(team, "y", N, "float32"),
        z(team, "count", 1),
        z(team, "version", 1),
        3,
        N,
        f,
    )
