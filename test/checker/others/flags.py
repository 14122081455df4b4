"""Flags that are polled and put back, roles of warps, counters of many, and credits."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
from protocol import protocol
from tandem.simt import __syncthreads, __syncwarp, fence, ld, st, tid

N = 64


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == polled_reset
@tandem.jit
def polled_reset_k(x_ptr, y_ptr, flag_ptr, ack_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """A polled word is set to 1 by the left neighbour, put back by its owner, who then acks."""
    me, n = dl.rank(), dl.num_ranks()
    right, left = (me + 1) % n, (me + n - 1) % n
    o = tl.arange(0, N)
    for r in range(ROUNDS):
        tl.store(dl.symm_at(x_ptr, right) + r * N + o, r)
        __syncthreads()
        if tid(0) == 0:
            st(dl.symm_at(flag_ptr, right), 1, scope="sys", semantic="release")  # !1 !2 !3
            while ld(flag_ptr, scope="sys", semantic="acquire") != 1:  # !1 !2 !3
                pass
            if F != 2:
                st(flag_ptr, 0, scope="sys", semantic="relaxed")  # !1 !3
            st(dl.symm_at(ack_ptr, left), r + 1, scope="sys", semantic="release")
            if F == 2:
                st(flag_ptr, 0, scope="sys", semantic="relaxed")  # !2
            if F != 1:
                while ld(ack_ptr, scope="sys", semantic="acquire") < r + (1 if F != 3 else 0):
                    pass
        __syncthreads()
        tl.store(y_ptr + r * N + o, tl.load(x_ptr + r * N + o))


@protocol({1: "signal-misuse|race", 2: "signal-misuse|race", 3: "signal-misuse|race"}, ranks=(2, 4))
def polled_reset(team, f):
    polled_reset_k[(1,)](z(team, "x", 4 * N), z(team, "y", 4 * N), z(team, "flag", 1), z(team, "ack", 1), 4, N, f)


# == bounded_wait
@tandem.jit
def bounded_k(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, F: tl.constexpr):
    """A wait that gives up; right: reads only if it has seen the flag."""
    me, n = dl.rank(), dl.num_ranks()
    right = (me + 1) % n
    o = tl.arange(0, N)
    tl.store(dl.symm_at(x_ptr, right) + o, me)  # !1
    dl.notify(flag_ptr, right, signal=1, sig_op="set", comm_scope="intra_node")
    tries = 0
    seen = tl.atomic_add(flag_ptr, 0, sem="acquire", scope="sys")
    while (seen != 1) & (tries < 1000):
        seen = tl.atomic_add(flag_ptr, 0, sem="acquire", scope="sys")
        tries += 1
    if F == 0:
        if seen == 1:
            tl.store(y_ptr + o, tl.load(x_ptr + o))
    else:
        tl.store(y_ptr + o, tl.load(x_ptr + o))  # !1


@protocol({1: "race"}, ranks=(2, 4))
def bounded_wait(team, f):
    bounded_k[(1,)](z(team, "x"), z(team, "y"), z(team, "flag", 1, "int64"), N, f)


# == fence_sync_flag
@tandem.jit
def fence_sync_flag_k(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, F: tl.constexpr):
    """All threads fence, meet, and one sets a relaxed flag behind its own fence; faults leave a fence out."""
    me, n = dl.rank(), dl.num_ranks()
    right = (me + 1) % n
    o = tl.arange(0, N)
    tl.store(dl.symm_at(x_ptr, right) + o, me)  # !1 !2 !3
    if F != 1:
        fence("sc" if F != 2 else "acq_rel", "sys")
    __syncthreads()
    if tid(0) == 0:
        st(dl.symm_at(flag_ptr, right), 1, scope="sys", semantic="relaxed")
        while ld(flag_ptr, scope="sys", semantic="relaxed") != 1:
            pass
    __syncthreads()
    if F != 3:
        fence("sc", "sys")
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # !1 !2 !3


@protocol({1: "race", 2: "race", 3: "race"}, ranks=(2, 4))
def fence_sync_flag(team, f):
    fence_sync_flag_k[(1,)](z(team, "x"), z(team, "y"), z(team, "flag", 1), N, f)


# == ll128
@tandem.jit
def ll128_k(x_ptr, buf_ptr, y_ptr, F: tl.constexpr):
    """LL: data and flag in one word of 8 bytes; fault 1 is LL128: 15 words of data, then the flag, by a warp."""
    me, n = dl.rank(), dl.num_ranks()
    right = (me + 1) % n
    t = tid(0)
    v = ld(x_ptr + t, semantic="weak").to(tl.int64)
    for step in range(1, 4):
        if F == 1:
            lane = t % 16
            st(
                dl.symm_at(buf_ptr, right) + (step % 2) * 32 + t,
                v if lane < 15 else tl.cast(step, tl.int64),
                scope="sys",
                semantic="relaxed",
            )  # !1
            if lane == 15:
                while ld(buf_ptr + (step % 2) * 32 + t, scope="sys", semantic="relaxed") != step:  # !1
                    pass
            __syncwarp()
            got = ld(buf_ptr + (step % 2) * 32 + t, scope="sys", semantic="relaxed")
            v = got
        else:
            packet = (v << 32) | step
            at = (step % 2) if F != 3 else 0
            st(dl.symm_at(buf_ptr, right) + at * 32 + t, packet, scope="sys", semantic="relaxed" if F != 2 else "weak")  # !2 !3
            got = ld(buf_ptr + at * 32 + t, scope="sys", semantic="relaxed")
            while (got & 0xFFFFFFFF) != step:
                got = ld(buf_ptr + at * 32 + t, scope="sys", semantic="relaxed")  # !2 !3
            v = got >> 32
    st(y_ptr + t, v.to(tl.int32), semantic="weak")


@protocol({2: "race"}, ranks=(2,))
def ll128(team, f):
    ll128_k[(1,)](team.full(32, team.rank + 1, "int32"), z(team, "buf", 64, "int64"), z(team, "y", 32), f, num_warps=1)


# == warp_roles
@tandem.jit
def warp_roles_k(x_ptr, y_ptr, sig_ptr, ack_ptr, STEPS: tl.constexpr, F: tl.constexpr):
    """Warp 0 receives and hands on by shared memory to warps 1 to 3; named barriers 1 full, 2 empty."""
    me, n = dl.rank(), dl.num_ranks()
    right, left = (me + 1) % n, (me + n - 1) % n
    buf = dl.allocate_smem(tl.int32, [32])
    t = tid(0)
    warp = t // 32
    for s in range(1, STEPS + 1):
        if warp == 0:
            if s > 1:
                if F != 1:
                    tandem.simt.named_barrier_sync(2, 128)
            if t == 0:
                if s > 1:
                    while ld(ack_ptr, scope="sys", semantic="acquire") < s - 1:  # !6
                        pass
                for k in range(32):
                    st(dl.symm_at(x_ptr, right) + k, s * 32 + k, semantic="weak")  # !4 !5
                st(dl.symm_at(sig_ptr, right), s, scope="sys", semantic="release")
                while ld(sig_ptr, scope="sys", semantic="acquire" if F != 4 else "relaxed") < s:
                    pass
            if F != 5:
                __syncwarp()
            dl.smem_store(buf, ld(x_ptr + t, semantic="weak"), [t])  # !1 !2 !3 !4 !5
            if F != 5:
                __syncwarp()
            if t == 0:
                if F != 6:
                    st(dl.symm_at(ack_ptr, left), s, scope="sys", semantic="release")
            tandem.simt.named_barrier_arrive(1, 128)  # !2
        else:
            if F != 2:
                tandem.simt.named_barrier_sync(1, 128)  # !6 !2
            v = dl.smem_load(buf, [t % 32])  # !1 !2 !3
            st(y_ptr + t, v, semantic="weak")
            if s < STEPS:
                if F != 1:
                    tandem.simt.named_barrier_arrive(2, 128)


@protocol({1: "race", 2: "race|uninitialised-read|divergent-block-operation", 4: "race", 5: "race", 6: "livelock|deadlock"}, ranks=(2, 3))
def warp_roles(team, f):
    warp_roles_k[(1,)](z(team, "x", 32), z(team, "y", 128), z(team, "sig", 1), z(team, "ack", 1), 3, f, num_warps=4)


# == halving_reduce_scatter
@tandem.jit
def halving_k(x_ptr, in_ptr, sig_ptr, LOG: tl.constexpr, PART: tl.constexpr, F: tl.constexpr):
    """Recursive halving: each step sends the peer's half of what is left and adds what comes."""
    me, n = dl.rank(), dl.num_ranks()
    lo = tl.cast(0, tl.int32)
    size = n
    at = tl.cast(0, tl.int32)
    for s in tl.static_range(LOG):
        half = size // 2
        peer = me ^ half
        mine_low = (me & half) == 0
        send = lo + (half if mine_low else 0)
        keep = lo + (0 if mine_low else half)
        for k in range(half):
            o = tl.arange(0, PART)
            tl.store(dl.symm_at(in_ptr, peer) + (at + k if F != 1 else k) * PART + o, tl.load(x_ptr + (send + k) * PART + o))  # !1 !2 !3 !4
        if F != 5:
            dl.notify(sig_ptr + s, peer, signal=1, sig_op="set", comm_scope="intra_node" if F != 6 else "gpu")
        if F != 2:
            dl.wait(sig_ptr + (s if F != 4 else 0), 1, "sys", "acquire" if F != 3 else "relaxed", waitValue=1)  # !5 !6
        for k in range(half):
            o = tl.arange(0, PART)
            tl.store(
                x_ptr + (keep + k) * PART + o,
                tl.load(x_ptr + (keep + k) * PART + o) + tl.load(in_ptr + (at + k if F != 1 else k) * PART + o),
            )  # !1 !2 !3 !4
        at += half
        lo = keep
        size = half


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "deadlock", 6: "scope"}, ranks=(4, 8))
def halving_reduce_scatter(team, f):
    log = team.size.bit_length() - 1
    x = team.full(team.size * 16, 1, "int32")
    halving_k[(1,)](x, z(team, "in", team.size * 16), z(team, "sig", log, "int64"), log, 16, f)
    if f == 0:
        assert np.asarray(x)[team.rank * 16] == team.size


# == many_adds
@tandem.jit
def many_adds_k(x_ptr, y_ptr, sig_ptr, TIMES: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Each program stores and adds to rank 0's word; rank 0's last program reads all."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    b, nb = tl.program_id(0), tl.num_programs(0)
    if b < nb - 1:
        tl.store(dl.symm_at(x_ptr, 0) + (me * (nb - 1) + b) * N + o, b)  # !1 !2 !3
        if F != 3:
            dl.notify(sig_ptr, 0, signal=1, sig_op="add", comm_scope="intra_node")
        else:
            tl.atomic_add(dl.symm_at(sig_ptr, 0), 1, sem="relaxed", scope="sys")
    elif me == 0:
        dl.wait(sig_ptr, 1, "sys", "acquire" if F != 2 else "relaxed", waitValue=n * (nb - 1) - (1 if F == 1 else 0), compare="ge")
        for k in range(n * (nb - 1)):
            tl.store(y_ptr + k * N + o, tl.load(x_ptr + k * N + o))  # !1 !2 !3


@protocol({1: "race", 2: "race", 3: "race"}, ranks=(2, 4))
def many_adds(team, f):
    many_adds_k[(151,)](z(team, "x", team.size * 150 * 16), z(team, "y", team.size * 150 * 16), z(team, "sig", 1, "int64"), 1, 16, f)


# == two_kernels_meet
@tandem.jit
def sender_k(x_ptr, sig_ptr, v, N: tl.constexpr, F: tl.constexpr):
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    right = (me + 1) % n
    tl.store(dl.symm_at(x_ptr, right) + v * N + o, v)  # !1 !3
    if F != 4:
        dl.notify(sig_ptr, right, signal=v + 1, sig_op="set", comm_scope="intra_node")


@tandem.jit
def receiver_k(x_ptr, y_ptr, sig_ptr, v, N: tl.constexpr, F: tl.constexpr):
    o = tl.arange(0, N)
    if F != 1:
        dl.wait(sig_ptr, 1, "sys", "acquire", waitValue=v + (1 if F != 3 else 0), compare="ge")  # !4
    tl.store(y_ptr + o, tl.load(x_ptr + v * N + o))  # !1 !3


@protocol({1: "race", 2: "deadlock", 3: "race", 4: "deadlock"}, ranks=(2, 4))
def two_kernels_meet(team, f):
    x, y, sig = z(team, "x", 4 * N), z(team, "y"), z(team, "sig", 1, "int64")
    s = team.new_stream() if f != 2 else team.stream
    r = team.new_stream() if f != 2 else team.stream
    team.barrier()
    for v in range(4):
        receiver_k[(1,)](x, y, sig, v, N, f, stream=r)
        sender_k[(1,)](x, sig, v, N, f, stream=s)


# == circular_credits
@tandem.jit
def circular_k(x_ptr, y_ptr, full_ptr, empty_ptr, STEPS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """All send before they receive: needs a slot free; fault 1 begins with none, fault 2 receives no last one, fault 3 waits twice."""
    me, n = dl.rank(), dl.num_ranks()
    right, left = (me + 1) % n, (me + n - 1) % n
    o = tl.arange(0, N)
    for s in range(STEPS):
        dl.wait(empty_ptr, 1, "sys", "acquire", waitValue=s if F != 1 else s + 1, compare="ge")  # !1 !2
        tl.store(dl.symm_at(x_ptr, right) + o, s)
        dl.notify(full_ptr, right, signal=1, sig_op="add", comm_scope="intra_node")
        dl.wait(full_ptr, 1, "sys", "acquire", waitValue=s + (1 if F != 3 else 2), compare="ge")  # !3 !2
        tl.store(y_ptr + o, tl.load(x_ptr + o))
        if (F != 2) | (s != 2) | (me != 0):
            dl.notify(empty_ptr, left, signal=1, sig_op="add", comm_scope="intra_node")
    if F != 2:
        dl.wait(empty_ptr, 1, "sys", "acquire", waitValue=STEPS, compare="ge")  # !1 !2


@protocol({1: "deadlock", 2: "deadlock", 3: "deadlock"}, ranks=(2, 4))
def circular_credits(team, f):
    circular_k[(1,)](z(team, "x"), z(team, "y"), z(team, "full", 1, "int64"), z(team, "empty", 1, "int64"), 5, N, f)
