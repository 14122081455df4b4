"""Copy engines, streams, replayed launches, counts that travel, and a server."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from protocol import protocol
from tandem.simt import __syncthreads, ld, st, tid

N = 64


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == token_ring
@tandem.jit
def token_ring_k(data_ptr, token_ptr, LAPS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Who has the token changes rank 0's data. The token is a growing number."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    data = dl.symm_at(data_ptr, 0)
    for lap in range(LAPS):
        if (lap > 0) | (me > 0):
            if F != 1:
                shmem.signal_wait_until(token_ptr, shmem.NVSHMEM_CMP_GE, lap * n + me - (1 if F == 2 else 0))  # !5
        tl.store(data + o, tl.load(data + o) + 1)  # !1 !2 !3 !4
        if F != 4:
            __syncthreads()
        if F != 3:
            shmem.fence()
        if tid(0) == 0:
            if (lap < LAPS - 1) | (me < n - 1):
                shmem.signal_op(token_ptr, lap * n + me + 1, shmem.NVSHMEM_SIGNAL_SET, (me + 1) % n if F != 5 else me)


@protocol({1: "race", 3: "race", 4: "race", 5: "deadlock|signal-misuse"}, ranks=(2, 4))
def token_ring(team, f):
    token_ring_k[(1,)](z(team, "data"), z(team, "token", 1, "int64"), 3, N, f)


# == copy_engine_gather
@tandem.jit
def ce_consumer_k(a_ptr, y_ptr, flag_ptr, epoch, N: tl.constexpr, F: tl.constexpr):
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    p = (tl.program_id(0) + me) % n
    if F != 1:
        t = dl.wait(flag_ptr + p, 1, "sys" if F != 2 else "gpu", "acquire" if F != 3 else "relaxed", waitValue=epoch, compare="ge")  # !2
        a_ptr = dl.consume_token(a_ptr, t)
    tl.store(y_ptr + p * N + o, tl.load(a_ptr + p * N + o))  # !1 !3 !4 !5 !6


@protocol({1: "race", 2: "scope", 3: "race", 4: "race", 5: "race", 6: "race"}, ranks=(2, 4))
def copy_engine_gather(team, f):
    a, flag, y = z(team, "a", N * team.size), z(team, "flag", team.size, "int64"), z(team, "y", N * team.size)
    src = team.full(N, team.rank + 1, "int32")
    team.barrier()
    s = team.new_stream()
    for epoch in range(1, 4):
        for d in range(team.size):
            p = (team.rank + d) % team.size
            if f == 4:
                s.signal_write(flag.peer(p)[team.rank : team.rank + 1], epoch)
            s.copy(a.peer(p)[team.rank * N : (team.rank + 1) * N], src)  # !1 !3 !4 !5 !6
            if f != 4:
                s.signal_write(flag.peer(p)[team.rank : team.rank + 1], epoch)  # !2
        ce_consumer_k[(team.size,)](a, y, flag, epoch if f != 5 else 1, N, f)
        if f != 6:
            team.synchronize()
            team.barrier()


# == two_stream_events
@tandem.jit
def fill_k(x_ptr, v, N: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, N), v)  # !1 !2 !3 !4


@tandem.jit
def add_k(x_ptr, y_ptr, N: tl.constexpr):
    o = tl.arange(0, N)
    tl.store(y_ptr + o, tl.load(x_ptr + o) + 1)  # !1 !2 !3 !4


@protocol({1: "race", 2: "race", 3: "race", 4: "race"}, ranks=(1, 2))
def two_stream_events(team, f):
    a, b = team.new_stream(), team.new_stream()
    x, y, _w = z(team, "x"), z(team, "y"), z(team, "w")
    for i in range(4):
        if f == 3:
            e = a.record_event()
        fill_k[(1,)](x, i, N, stream=a)
        if f != 3:
            e = a.record_event()
        if f != 1:
            b.wait_event(e)
        add_k[(1,)](x, y, N, stream=b)
        e2 = b.record_event()
        if f != 2:
            a.wait_event(e2)
        if f == 4 and i == 3:
            fill_k[(1,)](y, 7, N, stream=team.new_stream())
    b.synchronize() if hasattr(b, "synchronize") else None


# == all_to_all_counts
@tandem.jit
def a2a_counts_k(send_ptr, recv_ptr, counts_ptr, rcount_ptr, y_ptr, flag_ptr, MOST: tl.constexpr, F: tl.constexpr):
    """Counts travel in flags (count + 1); then the rows; a receiver takes as many as said."""
    me, _n = dl.rank(), dl.num_ranks()
    p = tl.program_id(0)
    o = tl.arange(0, 16)
    count = tl.load(counts_ptr + p)
    for i in range(count):
        tl.store(dl.symm_at(recv_ptr, p) + (me * MOST + i) * 16 + o, tl.load(send_ptr + (p * MOST + i) * 16 + o))  # !1 !2 !3 !4
    if F != 3:
        __syncthreads()
    if tid(0) == (0 if F != 3 else 64):
        st(dl.symm_at(rcount_ptr, p) + me, count + (1 if F != 5 else 0), scope="sys", semantic="release" if F != 1 else "relaxed")
    got = tl.cast(0, tl.int32)
    if F != 4:
        while got == 0:
            got = ld(rcount_ptr + p, scope="sys", semantic="acquire" if F != 2 else "relaxed")  # !5
        __syncthreads()
    else:
        got = tl.cast(MOST, tl.int32)
    for i in range(got - 1):
        tl.store(y_ptr + (p * MOST + i) * 16 + o, tl.load(recv_ptr + (p * MOST + i) * 16 + o))  # !1 !2 !3 !4


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "livelock|deadlock"}, ranks=(2, 4))
def all_to_all_counts(team, f):
    n = team.size
    counts = team.from_array(np.array([(team.rank * 3 + p * 5) % 4 if f != 4 else 4 for p in range(n)], np.int32))
    if f == 5:
        counts = z(team, "counts0", n)
    send = team.full(n * 4 * 16, team.rank, "int32")
    a2a_counts_k[(n,)](send, z(team, "recv", n * 64), counts, z(team, "rcount", n), z(team, "y", n * 64), z(team, "flag", n), 4, f)


# == chain_broadcast
@tandem.jit
def chain_k(x_ptr, y_ptr, sig_ptr, CH: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Rank 0's chunks go from rank to rank; a signal that counts chunks by adds."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for c in range(CH):
        if me > 0:
            if F != 1:
                dl.wait(
                    sig_ptr,
                    1,
                    "sys",
                    "acquire" if F != 2 else "relaxed",
                    waitValue=c + 1 - (1 if F == 3 else 0),
                    compare="ge" if F != 4 else "eq",
                )  # !4
            v = tl.load(x_ptr + c * N + o)  # !1 !2 !3 !5 !6
        else:
            v = tl.full((N,), 5, tl.int32) + c
        if me < n - 1:
            if F == 5:
                dl.notify(sig_ptr, me + 1, signal=1, sig_op="add", comm_scope="intra_node")
            tl.store(dl.symm_at(x_ptr, me + 1) + c * N + o, v)  # !1 !2 !3 !5 !6
            if F != 5:
                if F == 6:
                    __syncthreads()
                    if tid(0) == 0:
                        shmem.signal_op(sig_ptr, 1, shmem.NVSHMEM_SIGNAL_ADD, me + 1)
                else:
                    dl.notify(sig_ptr, me + 1, signal=1, sig_op="add", comm_scope="intra_node")  # !4
        tl.store(y_ptr + c * N + o, v)


@protocol({1: "race", 2: "race", 3: "race", 4: "signal-misuse|deadlock", 5: "race", 6: "race"}, ranks=(2, 4, 8))
def chain_broadcast(team, f):
    chain_k[(1,)](z(team, "x", 4 * N), z(team, "y", 4 * N), z(team, "sig", 1, "int64"), 4, N, f)


# == fence_once_for_all
@tandem.jit
def fence_all_k(x_ptr, y_ptr, sig_ptr, N: tl.constexpr, F: tl.constexpr):
    """Puts to all peers, one fence, then the signals."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for p in range(n):
        shmem.putmem_nbi_block(y_ptr + me * N, x_ptr, N * 4, p)  # !1 !2 !3 !4
    if F == 2:
        shmem.fence_pe(0)
    elif F != 1:
        shmem.fence()
    __syncthreads()
    t = tid(0)
    if t < n:
        shmem.signal_op(sig_ptr, 1, shmem.NVSHMEM_SIGNAL_ADD, t)
    if t == 0:
        shmem.signal_wait_until(sig_ptr, shmem.NVSHMEM_CMP_GE, n - (1 if F == 3 else 0))
    __syncthreads()
    for p in range(n):
        tl.store(x_ptr + (1 + p) * N + o, tl.load(y_ptr + p * N + o))  # !1 !2 !3
    if F != 4:
        shmem.quiet()
        __syncthreads()
    tl.store(x_ptr + o, 0)  # !4


@protocol({1: "race", 2: "race", 3: "race", 4: "race"}, ranks=(2, 4))
def fence_once_for_all(team, f):
    fence_all_k[(1,)](z(team, "x", N * (1 + team.size)), z(team, "y", N * team.size), z(team, "sig", 1, "int64"), N, f)


# == epochs_on_device
@tandem.jit
def epochs_k(x_ptr, y_ptr, sig_ptr, epoch_ptr, N: tl.constexpr, F: tl.constexpr):
    """The kernel of a graph: the epoch is read and advanced on the device; data go in the epoch's half."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    e = tl.load(epoch_ptr) + 1
    half = (e % 2 if F != 1 else 0).to(tl.int32) if F != 1 else 0
    for d in range(n):
        p = (me + d) % n
        tl.store(dl.symm_at(x_ptr, p) + (half * n + me) * N + o, e.to(tl.int32))  # !1 !2 !3 !4 !5
        dl.notify(sig_ptr + me, p, signal=e if F != 2 else 1, sig_op="set", comm_scope="intra_node")
    for p in range(n):
        dl.wait(sig_ptr + p, 1, "sys", "acquire", waitValue=e if F != 2 else 1, compare="ge" if F != 4 else "ne")  # !4
        tl.store(y_ptr + p * N + o, tl.load(x_ptr + (half * n + p) * N + o))  # !1 !2 !3 !4
    if F != 3:
        tl.store(epoch_ptr, e)


@protocol({1: "race", 2: "race", 3: "race", 4: "race|deadlock|signal-misuse"}, ranks=(2, 4))
def epochs_on_device(team, f):
    x, y, sig, epoch = (
        z(team, "x", 2 * N * team.size),
        z(team, "y", N * team.size),
        z(team, "sig", team.size, "int64"),
        z(team, "epoch", 1, "int64"),
    )
    for replay in range(5):
        epochs_k[(1,)](x, y, sig, epoch, N, f)


# == server_with_stop
@tandem.jit
def server_k(cmd_ptr, data_ptr, ack_ptr, out_ptr, JOBS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Rank 0 gives numbered commands to all; -1 stops them. Acks are counted."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    if me == 0:
        for j in range(1, JOBS + 1):
            for p in range(1, n):
                tl.store(dl.symm_at(data_ptr, p) + o, j)  # !1 !2 !3 !4 !6
            for p in range(1, n):
                dl.notify(cmd_ptr, p, signal=j, sig_op="set", comm_scope="intra_node")  # !7
            if F != 1:
                dl.wait(
                    ack_ptr, 1, "sys", "acquire" if F != 2 else "relaxed", waitValue=j * (n - 1) - (1 if F == 3 else 0), compare="ge"
                )  # !5
        if F != 8:
            for p in range(1, n):
                dl.notify(cmd_ptr, p, signal=-1, sig_op="set", comm_scope="intra_node")  # !7
    else:
        last = tl.cast(0, tl.int64)
        seen = tl.cast(0, tl.int64)
        while seen != -1:
            if tid(0) == 0:
                pass
            seen = shmem.signal_wait_until(cmd_ptr, shmem.NVSHMEM_CMP_NE, last)  # !8
            if seen != -1:
                if F == 4:
                    dl.notify(ack_ptr, 0, signal=1, sig_op="add", comm_scope="intra_node")
                tl.store(out_ptr + o, tl.load(data_ptr + o))  # !1 !2 !3 !4 !6
                if F != 4 and F != 5:
                    dl.notify(ack_ptr, 0, signal=1, sig_op="add", comm_scope="intra_node")
                if F == 5:
                    if me != 1:
                        dl.notify(ack_ptr, 0, signal=1, sig_op="add", comm_scope="intra_node")
                last = seen


@protocol(
    {1: "race|signal-misuse", 2: "race|signal-misuse", 3: "race|signal-misuse", 4: "race", 5: "deadlock", 8: "deadlock"},
    ranks=(3, 4),
    sometimes=(1, 3),
)
def server_with_stop(team, f):
    server_k[(1,)](z(team, "cmd", 1, "int64"), z(team, "data"), z(team, "ack", 1, "int64"), z(team, "out"), 4, N, f)


# == latest_by_max
@tandem.jit
def max_k(x_ptr, y_ptr, latest_ptr, STEPS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Each rank writes blocks of its own at rank 0 and raises the rank's word by atomic_max."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for s in range(STEPS):
        tl.store(dl.symm_at(x_ptr, 0) + (me * STEPS + s) * N + o, s)  # !1 !2 !3 !4
        tl.atomic_max(dl.symm_at(latest_ptr, 0) + me, s + 1, sem="release" if F != 1 else "relaxed", scope="sys" if F != 5 else "gpu")  # !5
    if me == 0:
        for p in range(n):
            for s in range(STEPS):
                if F != 4:
                    while tl.atomic_max(latest_ptr + p, 0, sem="acquire" if F != 2 else "relaxed", scope="sys") < s + 1 - (
                        1 if F == 3 else 0
                    ):  # !5
                        pass
                tl.store(y_ptr + (p * STEPS + s) * N + o, tl.load(x_ptr + (p * STEPS + s) * N + o))  # !1 !2 !3 !4


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "scope"}, ranks=(2, 4))
def latest_by_max(team, f):
    max_k[(1,)](z(team, "x", 3 * N * team.size), z(team, "y", 3 * N * team.size), z(team, "latest", team.size), 3, N, f)
