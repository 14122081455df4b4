"""Collectives that members call differently, warps for a block, launches repeated without an epoch."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair
from tandem.simt import __syncthreads, __syncwarp, ld, st, tid

N = 32


def data(team, name="x", count=N):
    return team.zeros(count, "int32", name=name)


def flag(team):
    return team.zeros(1, "int64", name="flag")


@tandem.jit
def broadcast_from(x_ptr, y_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    shmem.broadcastmem_block(0, y_ptr, x_ptr, N * 4, 0 if FIXED else dl.rank())  # <-- roots_differ


@pair("collective-mismatch", None)
def roots_differ(team, fixed):
    broadcast_from[(1,)](data(team), data(team, "y"), N, fixed)


@tandem.jit
def read_across_warps(x_ptr, y_ptr, FIXED: tl.constexpr):
    t = tid(0)
    st(x_ptr + t, t, semantic="weak")  # <-- warp_barrier_for_a_block
    if FIXED:
        __syncthreads()
    else:
        __syncwarp()
    st(y_ptr + t, ld(x_ptr + (t ^ 32), semantic="weak"), semantic="weak")  # <-- warp_barrier_for_a_block


@pair("race", "M3", ranks=(1, 2))
def warp_barrier_for_a_block(team, fixed):
    read_across_warps[(1,)](data(team, count=128), data(team, "y", 128), fixed)


@tandem.jit
def exchange(x_ptr, y_ptr, flag_ptr, value, N: tl.constexpr):
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer) + o, 1)  # <-- launched_again
    dl.notify(flag_ptr, peer, signal=value, sig_op="set", comm_scope="intra_node")
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=value)
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- launched_again


@pair("race", None)
def launched_again(team, fixed):
    """The second launch overwrites what a slower peer still reads in its first."""
    x, y, ready = data(team), data(team, "y"), flag(team)
    for step in range(2):
        exchange[(1,)](x, y, ready, step + 1, N)
        if fixed:
            team.stream.barrier()


@tandem.jit
def look_at_signal(flag_ptr, y_ptr, FIXED: tl.constexpr):
    dl.notify(flag_ptr, (dl.rank() + 1) % dl.num_ranks(), signal=1, sig_op="set", comm_scope="intra_node")  # <-- signal_read_plain
    if FIXED:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)
    tl.store(y_ptr, tl.load(flag_ptr))  # <-- signal_read_plain


@pair("signal-misuse", "M15")
def signal_read_plain(team, fixed):
    look_at_signal[(1,)](flag(team), team.zeros(1, "int64", name="y"), fixed)


@tandem.jit
def put_and_end(x_ptr, y_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    shmem.putmem_nbi_block(y_ptr, x_ptr, N * 4, (dl.rank() + 1) % dl.num_ranks())  # <-- end_does_not_quiet
    if FIXED:
        shmem.quiet()


@pair("race", "M8")
def end_does_not_quiet(team, fixed):
    """The host writes the source of a put whose kernel has ended."""
    x = data(team)
    put_and_end[(1,)](x, data(team, "y"), N, fixed)
    team.synchronize()
    x[...] = 1  # <-- end_does_not_quiet
