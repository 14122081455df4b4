"""Ranks: scopes, puts and gets, signals and waits, barriers."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair
from tandem.simt import __syncthreads, ld, st, tid

N = 64


def flag(team):
    return team.zeros(1, "int64", name="flag")


def words(team, name="x"):
    return team.zeros(N, "int32", name=name)


@tandem.jit
def publish(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, SCOPE: tl.constexpr):
    o = tl.arange(0, N)
    rank = dl.rank()
    peer = (rank + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer) + o, rank)
    __syncthreads()
    if tid(0) == 0:
        st(dl.symm_at(flag_ptr, peer), 1, scope=SCOPE, semantic="release")  # <-- narrow_scope
        while ld(flag_ptr, scope="sys", semantic="acquire") != 1:  # <-- narrow_scope
            pass
    __syncthreads()
    tl.store(y_ptr + o, tl.load(x_ptr + o))


@pair("scope", "M14")
def narrow_scope(team, fixed):
    publish[(1,)](words(team), words(team, "y"), flag(team), N, "sys" if fixed else "gpu")


@tandem.jit
def put_and_signal(x_ptr, y_ptr, z_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    shmem.putmem_nbi_block(y_ptr, x_ptr, N * 4, peer)  # <-- signal_without_fence
    if FIXED:
        shmem.fence()
    if tid(0) == 0:
        shmem.signal_op(flag_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
        shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 1)
    __syncthreads()
    o = tl.arange(0, N)
    tl.store(z_ptr + o, tl.load(y_ptr + o))  # <-- signal_without_fence
    shmem.quiet()


@pair("race", "M9")
def signal_without_fence(team, fixed):
    put_and_signal[(1,)](words(team), words(team, "y"), words(team, "z"), flag(team), N, fixed)


@tandem.jit
def reuse_source(x_ptr, y_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    shmem.putmem_nbi_block(y_ptr, x_ptr, N * 4, peer)  # <-- source_reused
    if FIXED:
        shmem.quiet()
    tl.store(x_ptr + tl.arange(0, N), 1)  # <-- source_reused
    shmem.quiet()


@pair("race", "M9")
def source_reused(team, fixed):
    reuse_source[(1,)](words(team), words(team, "y"), N, fixed)


@tandem.jit
def put_and_flag(x_ptr, y_ptr, z_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    shmem.putmem_block(y_ptr, x_ptr, N * 4, peer)  # <-- put_then_flag
    if FIXED:
        shmem.quiet()
    if tid(0) == 0:
        st(dl.symm_at(flag_ptr, peer), 1, scope="sys", semantic="release")
        while ld(flag_ptr, scope="sys", semantic="acquire") != 1:
            pass
    __syncthreads()
    o = tl.arange(0, N)
    tl.store(z_ptr + o, tl.load(y_ptr + o))  # <-- put_then_flag


@pair("race", "M9")
def put_then_flag(team, fixed):
    put_and_flag[(1,)](words(team), words(team, "y"), words(team, "z"), flag(team), N, fixed)


@tandem.jit
def put_and_meet(x_ptr, y_ptr, z_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    shmem.putmem_nbi_block(y_ptr, x_ptr, N * 4, peer)  # <-- sync_does_not_quiet
    if FIXED:
        shmem.barrier_all_block()
    else:
        shmem.sync_all_block()
    o = tl.arange(0, N)
    tl.store(z_ptr + o, tl.load(y_ptr + o))  # <-- sync_does_not_quiet
    shmem.quiet()


@pair("race", "M12")
def sync_does_not_quiet(team, fixed):
    put_and_meet[(1,)](words(team), words(team, "y"), words(team, "z"), N, fixed)


@tandem.jit
def wait_and_read(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, SEM: tl.constexpr):
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer) + o, 4)  # <-- relaxed_wait
    dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
    token = dl.wait(flag_ptr, 1, "sys", SEM, waitValue=1)
    x = tl.load(dl.consume_token(x_ptr, token) + o)  # <-- relaxed_wait
    tl.store(y_ptr + o, x)


@pair("race", "M6")
def relaxed_wait(team, fixed):
    wait_and_read[(1,)](words(team), words(team, "y"), flag(team), N, "acquire" if fixed else "relaxed")


@tandem.jit
def read_peer(x_ptr, y_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(x_ptr + o, dl.rank())  # <-- get_too_early
    if FIXED:
        shmem.barrier_all_block()
    shmem.getmem_block(y_ptr, x_ptr, N * 4, peer)  # <-- get_too_early


@pair("race", "M5")
def get_too_early(team, fixed):
    read_peer[(1,)](words(team), words(team, "y"), N, fixed)


@tandem.jit
def store_to_peer(x_ptr, N: tl.constexpr):
    o = tl.arange(0, N)
    tl.store(dl.symm_at(x_ptr, (dl.rank() + 1) % dl.num_ranks()) + o, 9)  # <-- host_reads_too_early


@pair("race", "M12")
def host_reads_too_early(team, fixed):
    x = words(team)
    store_to_peer[(1,)](x, N)
    if fixed:
        team.barrier()
    np.asarray(x)  # <-- host_reads_too_early


@tandem.jit
def store_at_the_next(x_ptr, N: tl.constexpr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer) + tl.arange(0, N), dl.rank())  # <-- gather_before_the_stream_ends


@tandem.jit
def load_own(x_ptr, y_ptr, N: tl.constexpr):
    o = tl.arange(0, N)
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- gather_before_the_stream_ends


@pair("race", "M12")
def gather_before_the_stream_ends(team, fixed):
    x, y = words(team), words(team, "y")
    store_at_the_next[(1,)](x, N)
    if fixed:
        team.synchronize()
    team.gather("done")
    load_own[(1,)](x, y, N)
