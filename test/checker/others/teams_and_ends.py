"""Teams, collectives, barriers of a grid, and programs that never end."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from protocol import protocol
from tandem.simt import __syncthreads, atomic_add, atomic_cas, ld, st, tid

N = 64


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == team_barriers
@tandem.jit
def team_k(x_ptr, y_ptr, team_no, N: tl.constexpr, F: tl.constexpr):
    """Even and odd ranks apart."""
    me = dl.rank()
    o = tl.arange(0, N)
    tl.store(x_ptr + o, me)  # !1 !2
    if F == 2:
        if me != 0:
            shmem.barrier_block(team_no)  # !2
    elif F == 3:
        if me % 4 == 0:
            shmem.barrier_all_block()  # !3
        else:
            shmem.barrier_block(team_no)  # !3
    elif F != 1:
        shmem.barrier_block(team_no)
    k = shmem.team_n_pes(team_no)
    for p in range(k):
        w = shmem.team_translate_pe(team_no, p, shmem.NVSHMEM_TEAM_WORLD)
        tl.store(y_ptr + p * N + o, tl.load(dl.symm_at(x_ptr, w) + o))  # !1 !2


@protocol({1: "race", 2: "deadlock|race", 3: "deadlock"}, ranks=(4, 8))
def team_barriers(team, f):
    part = team.split(list(range(team.rank % 2, team.size, 2)))
    team_k[(1,)](z(team, "x"), z(team, "y", N * team.size), part.id if hasattr(part, "id") else part, N, f)


# == collectives_chain
@tandem.jit
def coll_k(x_ptr, all_ptr, y_ptr, N: tl.constexpr, F: tl.constexpr):
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for i in range(3):
        tl.store(x_ptr + o, me + i)  # !1 !3
        if F != 1:
            shmem.sync_all_block()
        shmem.fcollectmem_block(shmem.NVSHMEM_TEAM_WORLD, all_ptr, x_ptr, N * 4)  # !1 !2 !3
        if F != 4:
            for p in range(n):
                tl.store(y_ptr + p * N + o, tl.load(all_ptr + p * N + o))  # !2
        if F == 4:
            tl.store(y_ptr + o, tl.load(dl.symm_at(all_ptr, (me + 1) % n) + o))  # !4
        if F != 2:
            shmem.sync_all_block()


@protocol({4: "race"}, ranks=(2, 4))
def collectives_chain(team, f):
    coll_k[(1,)](z(team, "x"), z(team, "all", N * team.size), z(team, "y", N * team.size), N, f)


# == half_rings
@tandem.jit
def half_rings_k(x_ptr, sig_ptr, H: tl.constexpr, F: tl.constexpr):
    """Two programs: one sends right, one left, half of each shard each; chunk numbers are signals of their own."""
    me, n = dl.rank(), dl.num_ranks()
    d = tl.program_id(0)
    nxt = (me + 1) % n if d == 0 else (me + n - 1) % n
    o = tl.arange(0, H)
    for s in range(n - 1):
        src = (me - s + n) % n if d == 0 else (me + s) % n
        if s > 0:
            if F != 1:
                dl.wait(sig_ptr + (d if F != 2 else 0) * n + src, 1, "sys", "acquire" if F != 3 else "relaxed", waitValue=1)  # !5
        v = tl.load(x_ptr + (src * 2 + d) * H + o)  # !1 !2 !3 !4
        if F == 4:
            dl.notify(sig_ptr + d * n + src, nxt, signal=1, sig_op="set", comm_scope="intra_node")
        tl.store(dl.symm_at(x_ptr, nxt) + (src * 2 + d) * H + o, v)  # !1 !2 !3 !4
        if F != 4:
            dl.notify(sig_ptr + d * n + src, nxt if F != 5 else me, signal=1, sig_op="set", comm_scope="intra_node")  # !5
    last = (me + 1) % n if d == 0 else (me + n - 1) % n
    dl.wait(sig_ptr + d * n + last, 1, "sys", "acquire", waitValue=1)  # !5


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "deadlock"}, ranks=(3, 4, 8))
def half_rings(team, f):
    x = z(team, "x", team.size * 2 * 16)
    x.numpy()[team.rank * 32 : (team.rank + 1) * 32] = team.rank + 1
    team.barrier()
    half_rings_k[(2,)](x, z(team, "sig", 2 * team.size, "int64"), 16, f)
    if f == 0:
        team.synchronize()
        assert (np.asarray(x).reshape(team.size, 32)[:, 0] == np.arange(team.size) + 1).all()


# == grid_barrier_and_rank
@tandem.jit
def grid_rank_k(x_ptr, y_ptr, count_ptr, sig_ptr, N: tl.constexpr, F: tl.constexpr):
    """A grid barrier by hand (count, then a generation), then program 0 meets the other ranks, then the grid again."""
    me, n = dl.rank(), dl.num_ranks()
    b, nb = tl.program_id(0), tl.num_programs(0)
    o = tl.arange(0, N)
    tl.store(x_ptr + b * N + o, me)  # !1 !2 !3 !4 !5
    for phase in tl.static_range(2):
        __syncthreads()
        if tid(0) == 0:
            atomic_add(count_ptr, 1, scope="gpu", semantic="release" if F != 1 else "relaxed")
            if F != 5 or phase == 0:
                while ld(count_ptr, scope="gpu", semantic="acquire" if F != 2 else "relaxed") < (phase + 1) * nb - (1 if F == 6 else 0):
                    pass
        __syncthreads()
        if phase == 0:
            if b == 0:
                t = tid(0)
                if t < n:
                    atomic_add(dl.symm_at(sig_ptr, t), 1, scope="sys", semantic="release" if F != 3 else "relaxed")
                if t == 0:
                    while ld(sig_ptr, scope="sys", semantic="acquire") < n - (1 if F == 4 else 0):
                        pass
                __syncthreads()
    for p in range(n):
        for k in range(nb):
            tl.store(y_ptr + ((b * n + p) * nb + k) * N + o, tl.load(dl.symm_at(x_ptr, p) + k * N + o))  # !1 !2 !3 !4 !5


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(2, 4))
def grid_barrier_and_rank(team, f):
    nb = 3
    grid_rank_k[(nb,)](z(team, "x", nb * 32), z(team, "y", nb * nb * team.size * 32), z(team, "count", 1), z(team, "sig", 1), 32, f)


# == deadlocks
@tandem.jit
def dead_k(a_ptr, b_ptr, F: tl.constexpr):
    me, n = dl.rank(), dl.num_ranks()
    peer = (me + 1) % n
    if F == 1:  # both wait first
        dl.wait(a_ptr, 1, "sys", "acquire", waitValue=1)  # !1
        dl.notify(a_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
    elif F == 2:  # order of two signals crossed
        if me % 2 == 0:
            dl.wait(a_ptr, 1, "sys", "acquire", waitValue=1)  # !2
            dl.notify(b_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
        else:
            dl.wait(b_ptr, 1, "sys", "acquire", waitValue=1)  # !2
            dl.notify(a_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
    elif F == 3:  # lock taken twice
        if tid(0) == 0:
            while atomic_cas(a_ptr, 0, 1, scope="gpu", semantic="acquire") != 0:
                pass
            while atomic_cas(a_ptr, 0, 1, scope="gpu", semantic="acquire") != 0:  # !3
                pass
    elif F == 4:  # the barrier of one rank too few
        if me != n - 1:
            shmem.barrier_all_block()  # !4
    elif F == 5:  # a thread's own flag behind the block's barrier
        if tid(0) == 0:
            while ld(a_ptr, scope="gpu", semantic="acquire") != 1:  # !5
                pass
        __syncthreads()
        if tid(0) == 32:
            st(a_ptr, 1, scope="gpu", semantic="release")
    elif F == 6:  # wrong compare
        dl.notify(a_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
        dl.wait(a_ptr, 1, "sys", "acquire", waitValue=1, compare="gt")  # !6
    elif F == 7:  # wait for several words of which one is not set
        dl.notify(a_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
        dl.wait(a_ptr, 2, "sys", "acquire", waitValue=1)  # !7
    elif F == 8:  # a signal of 1 added to 0 of another word
        dl.notify(a_ptr + me, peer, signal=1, sig_op="add", comm_scope="intra_node")
        dl.wait(a_ptr + me, 1, "sys", "acquire", waitValue=1)  # !8
    else:
        dl.notify(a_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
        dl.wait(a_ptr, 1, "sys", "acquire", waitValue=1)


@protocol({k: "deadlock|livelock" for k in range(1, 9)}, ranks=(2, 4, 8))
def deadlocks(team, f):
    dead_k[(1,)](z(team, "a", 8, "int64"), z(team, "b", 8, "int64"), f)


# == host_deadlocks
@tandem.jit
def wait_k(a_ptr, v):
    dl.wait(a_ptr, 1, "sys", "acquire", waitValue=v, compare="ge")  # !1 !2 !3


@tandem.jit
def tell_k(a_ptr, v):
    dl.notify(a_ptr, (dl.rank() + 1) % dl.num_ranks(), signal=v, sig_op="set", comm_scope="intra_node")


@protocol({1: "deadlock", 2: "deadlock", 3: "deadlock", 4: "deadlock"}, ranks=(2, 4))
def host_deadlocks(team, f):
    a = z(team, "a", 1, "int64")
    s = team.new_stream()
    if f == 1:
        wait_k[(1,)](a, 1)
        team.synchronize()  # !1
        tell_k[(1,)](a, 1)
    elif f == 2:
        wait_k[(1,)](a, 1, stream=s)
        e = s.record_event()
        team.stream.wait_event(e)  # !2
        tell_k[(1,)](a, 1)
    elif f == 3:
        wait_k[(1,)](a, 1)
        s.signal_write(a.peer((team.rank + 1) % team.size), 0)  # !3
    elif f == 4:
        if team.rank == 0:
            team.barrier()  # !4
    else:
        wait_k[(1,)](a, 1, stream=s)
        tell_k[(1,)](a, 1)
