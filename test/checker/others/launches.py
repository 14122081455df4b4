"""Several rounds and launches: numbers that grow or wrap around, counters of arrivals, tiles that are handed on."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
from protocol import protocol
from tandem.simt import __syncthreads, atomic_cas, ld, st, tid

N = 64


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == td_cas_barrier
@tandem.jit
def td_cas_barrier_k(x_ptr, y_ptr, bar_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Triton-distributed's: thread i takes the peer's word from 0 to 1, then its own from 1 to 0."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for r in range(ROUNDS):
        tl.store(x_ptr + o, me + r)  # !1 !2 !3 !5
        for half in tl.static_range(2):
            if F != 3:
                __syncthreads()
            t = tid(0)
            if t < n:
                while (
                    atomic_cas(
                        dl.symm_at(bar_ptr, t) + (me if F != 4 else 0), 0, 1, scope="sys", semantic="release" if F != 1 else "relaxed"
                    )
                    != 0
                ):  # !4
                    pass
                while (
                    atomic_cas(bar_ptr + t, 1, 0, scope="sys" if F != 6 else "gpu", semantic="acquire" if F != 2 else "relaxed") != 1
                ):  # !4 !6
                    pass
            if F != 5:
                __syncthreads()
            if half == 0:
                for p in range(n):
                    tl.store(y_ptr + p * N + o, tl.load(dl.symm_at(x_ptr, p) + o))  # !1 !2 !3 !5


@protocol({1: "race", 2: "race", 3: "race", 4: "deadlock|livelock", 5: "race", 6: "scope"}, ranks=(2, 4, 8))
def td_cas_barrier(team, f):
    td_cas_barrier_k[(1,)](z(team, "x"), z(team, "y", N * team.size), z(team, "bar", team.size), 3, N, f)


# == tournament
@tandem.jit
def tournament_k(x_ptr, y_ptr, arrive_ptr, leave_ptr, LOG: tl.constexpr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Losers tell winners, the champion lets all go down the tree."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for r in range(1, ROUNDS + 1):
        tl.store(x_ptr + o, me + r)  # !1 !2 !4
        for half in tl.static_range(2):
            e = 2 * r - 1 + half
            level = 0
            playing = True
            while playing & (level < LOG):
                if me % (2 << level) == 0:
                    if me + (1 << level) < n:
                        if F != 1:
                            dl.wait(arrive_ptr + level, 1, "sys", "acquire", waitValue=e if F != 5 else e + 1, compare="ge")  # !5
                    level += 1
                else:
                    dl.notify(arrive_ptr + level, me - (1 << level), signal=e, sig_op="set", comm_scope="intra_node")
                    playing = False
            if me > 0:
                dl.wait(leave_ptr, 1, "sys", "acquire" if F != 2 else "relaxed", waitValue=e, compare="ge")  # !3
            while level > 0:
                level -= 1
                if me + (1 << level) < n:
                    dl.notify(leave_ptr, me + (1 << level) if F != 3 else me + 1, signal=e, sig_op="set", comm_scope="intra_node")
            if half == 0 or F != 4:
                if half == 0:
                    for p in range(n):
                        tl.store(y_ptr + p * N + o, tl.load(dl.symm_at(x_ptr, p) + o))  # !1 !2 !4


@protocol({1: "race", 2: "race", 3: "deadlock", 5: "deadlock"}, ranks=(4, 8))
def tournament(team, f):
    log = (team.size - 1).bit_length()
    tournament_k[(1,)](
        z(team, "x"), z(team, "y", N * team.size), z(team, "arrive", log, "int64"), z(team, "leave", 1, "int64"), log, 3, N, f
    )


# == ping_pong_30
@tandem.jit
def ping_pong_k(x_ptr, sig_ptr, TIMES: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """One signal a side that is set to 1 and put back to 0 by its reader, thirty times."""
    me = dl.rank()
    o = tl.arange(0, N)
    peer = 1 - me
    for i in range(TIMES):
        if me == 0:
            tl.store(dl.symm_at(x_ptr, peer) + o, i)  # !1 !2 !5
            dl.notify(sig_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")  # !3
            dl.wait(sig_ptr, 1, "sys", "acquire", waitValue=1)  # !4
            dl.notify(sig_ptr, me, signal=0, sig_op="set", comm_scope="intra_node")  # !5
        else:
            if F != 1:
                dl.wait(sig_ptr, 1, "sys", "acquire" if F != 2 else "relaxed", waitValue=1)
            tl.store(x_ptr + N + o, tl.load(x_ptr + o))  # !1 !2 !5
            if F == 3:
                dl.notify(sig_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
                dl.notify(sig_ptr, me, signal=0, sig_op="set", comm_scope="intra_node")  # !3
            elif F == 4:
                dl.notify(sig_ptr, me, signal=0, sig_op="set", comm_scope="intra_node")
                if i != 17:
                    dl.notify(sig_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
            elif F == 5:
                if i != 17:
                    dl.notify(sig_ptr, me, signal=0, sig_op="set", comm_scope="intra_node")
                dl.notify(sig_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")  # !5
            else:
                dl.notify(sig_ptr, me, signal=0, sig_op="set", comm_scope="intra_node")
                dl.notify(sig_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")


@protocol({1: "race|signal-misuse", 2: "race", 3: "signal-misuse", 4: "deadlock", 5: "race|signal-misuse"}, ranks=(2,))
def ping_pong_30(team, f):
    ping_pong_k[(1,)](z(team, "x", 2 * N), z(team, "sig", 1, "int64"), 30, N, f)


# == wrap_around
@tandem.jit
def wrap_k(x_ptr, y_ptr, sig_ptr, ack_ptr, TIMES: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Numbers modulo 4, compared for equality; two slots; acks modulo 4."""
    me, n = dl.rank(), dl.num_ranks()
    right, left = (me + 1) % n, (me + n - 1) % n
    o = tl.arange(0, N)
    for i in range(TIMES):
        if i > 0:
            if F != 1:
                dl.wait(ack_ptr, 1, "sys", "acquire", waitValue=i % 4 if F != 2 else (i - 1) % 4, compare="eq")  # !4
        tl.store(dl.symm_at(x_ptr, right) + i % 2 * N + o, i)  # !1 !3 !4
        dl.notify(sig_ptr, right, signal=(i + 1) % 4, sig_op="set", comm_scope="intra_node")  # !1
        dl.wait(sig_ptr, 1, "sys", "acquire", waitValue=(i + 1) % 4 if F != 3 else i % 4, compare="eq" if F != 4 else "ge")
        tl.store(y_ptr + i * N + o, tl.load(x_ptr + i % 2 * N + o))  # !1 !3 !4
        dl.notify(ack_ptr, left, signal=(i + 1) % 4, sig_op="set", comm_scope="intra_node")  # !4
    dl.wait(ack_ptr, 1, "sys", "acquire", waitValue=TIMES % 4, compare="eq")


@protocol(
    {1: "race|signal-misuse", 2: "race|signal-misuse|deadlock", 3: "race|signal-misuse|deadlock", 4: "race|signal-misuse"},
    ranks=(2, 4),
    sometimes=(3,),
)
def wrap_around(team, f):
    wrap_k[(1,)](z(team, "x", 2 * N), z(team, "y", 9 * N), z(team, "sig", 1, "int64"), z(team, "ack", 1, "int64"), 9, N, f)


# == wrap_int32
@tandem.jit
def wrap32_k(x_ptr, y_ptr, flag_ptr, FIRST: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """32-bit generations that pass 2^31: compared by their difference."""
    me, n = dl.rank(), dl.num_ranks()
    right = (me + 1) % n
    o = tl.arange(0, N)
    for i in range(6):
        g = tl.cast(FIRST + i + 1, tl.uint32).to(tl.int32, bitcast=True)
        tl.store(dl.symm_at(x_ptr, right) + i * N + o, i)  # !1 !2 !3
        __syncthreads()
        if tid(0) == 0:
            st(dl.symm_at(flag_ptr, right), g, scope="sys", semantic="release" if F != 1 else "relaxed")
            if F == 2:
                while ld(flag_ptr, scope="sys", semantic="acquire") < g:  # !2
                    pass
            else:
                while ld(flag_ptr, scope="sys", semantic="acquire") - g < (0 if F != 3 else -1):
                    pass
        __syncthreads()
        tl.store(y_ptr + i * N + o, tl.load(x_ptr + i * N + o))  # !1 !2 !3


@protocol({1: "race", 2: "race|livelock", 3: "race"}, ranks=(2, 4))
def wrap_int32(team, f):
    first = 2**31 - 4
    flag = team.full(1, first, "int32", name="flag")
    team.barrier()
    wrap32_k[(1,)](z(team, "x", 6 * N), z(team, "y", 6 * N), flag, first, N, f)


# == pull_gather
@tandem.jit
def pull_k(x_ptr, y_ptr, ready_ptr, done_ptr, call, N: tl.constexpr, F: tl.constexpr):
    """Owner fills and says ready to all; all pull and say done; the owner may fill again."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    if F != 1:
        dl.wait(done_ptr, 1, "sys", "acquire", waitValue=(call - 1) * n - (1 if F == 2 else 0), compare="ge")
    tl.store(x_ptr + o, me + call)  # !1 !2 !3 !4 !5
    for d in range(n):
        dl.notify(ready_ptr + (me if F != 6 else 0), (me + d) % n, signal=call, sig_op="set", comm_scope="intra_node")  # !6
    for d in range(n):
        p = (me + d) % n
        if F == 5:
            dl.notify(done_ptr, p, signal=1, sig_op="add", comm_scope="intra_node")
        t = dl.wait(
            ready_ptr + p if F != 3 else ready_ptr + me, 1, "sys", "acquire" if F != 4 else "relaxed", waitValue=call, compare="ge"
        )  # !6
        tl.store(y_ptr + p * N + o, tl.load(dl.consume_token(dl.symm_at(x_ptr, p), t) + o))  # !1 !2 !3 !4 !5
        if F != 5:
            dl.notify(done_ptr, p, signal=1, sig_op="add", comm_scope="intra_node")
    if call == 3:
        dl.wait(done_ptr, 1, "sys", "acquire", waitValue=call * n, compare="ge")


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "deadlock|race|signal-misuse"}, ranks=(2, 4, 8))
def pull_gather(team, f):
    x, y, ready, done = z(team, "x"), z(team, "y", N * team.size), z(team, "ready", team.size, "int64"), z(team, "done", 1, "int64")
    for call in range(1, 4):
        pull_k[(1,)](x, y, ready, done, call, N, f)
        if f == 0:
            assert (np.asarray(y)[::N] == np.arange(team.size) + call).all()


# == last_block_then_rank
@tandem.jit
def last_block_k(x_ptr, y_ptr, count_ptr, sig_ptr, call, N: tl.constexpr, F: tl.constexpr):
    """Programs count in an atomic; the last of them tells the right neighbour, which adds up all."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    b, nb = tl.program_id(0), tl.num_programs(0)
    right = (me + 1) % n
    tl.store(dl.symm_at(x_ptr, right) + b * N + o, b + call)  # !1 !2 !3 !4
    old = tl.atomic_add(count_ptr, 1, sem="acq_rel" if F not in (1, 2) else ("release" if F == 1 else "acquire"), scope="gpu")
    if old == call * nb - (1 if F != 3 else 2):
        dl.notify(sig_ptr, right, signal=call, sig_op="set", comm_scope="intra_node")
    if b == 0:
        dl.wait(sig_ptr, 1, "sys", "acquire" if F != 4 else "relaxed", waitValue=call if F != 5 else call + 1, compare="ge")  # !5
        acc = tl.zeros((N,), tl.int32)
        for k in range(nb):
            acc += tl.load(x_ptr + k * N + o)  # !1 !2 !3 !4
        tl.store(y_ptr + o, acc)


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "deadlock"}, ranks=(2, 4))
def last_block_then_rank(team, f):
    x, y, count, sig = [z(team, f"x{k}", 5 * N) for k in range(3)], z(team, "y"), z(team, "count", 1), z(team, "sig", 1, "int64")
    for call in range(1, 3):
        last_block_k[(5,)](x[call], y, count, sig, call, N, f)


# == stream_k_fixup
@tandem.jit
def stream_k_k(part_ptr, y_ptr, sem_ptr, N: tl.constexpr, F: tl.constexpr):
    """Programs of one tile hand their sum on: the k-th waits for semaphore k, adds, gives k + 1; the first is reset by the last."""
    o = tl.arange(0, N)
    k, nb = tl.program_id(0), tl.num_programs(0)
    if tid(0) == 0:
        if F != 1:
            while ld(sem_ptr, scope="gpu", semantic="acquire" if F != 2 else "relaxed") != k:  # !5
                pass
    __syncthreads()
    if k == 0:
        tl.store(part_ptr + o, 1)  # !1 !2 !3 !4
    else:
        tl.store(part_ptr + o, tl.load(part_ptr + o) + 1)  # !1 !2 !3 !4
    if F != 4:
        __syncthreads()
    if tid(0) == (0 if F != 4 else 96):
        nxt = k + 1 if F != 5 else k + 2
        st(sem_ptr, 0 if k == nb - 1 else nxt, scope="gpu", semantic="release" if F != 3 else "relaxed")


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "livelock|deadlock"}, ranks=(1, 2))
def stream_k_fixup(team, f):
    part, sem = z(team, "part"), z(team, "sem", 1)
    for call in range(2):
        stream_k_k[(6,)](part, z(team, "y"), sem, N, f)
        if f == 0:
            assert (np.asarray(part) == 6).all()
