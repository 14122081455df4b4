"""Signals and their slots: shared by two operations, reset too early, counted in one cell, told by the wrong rank or of the wrong size."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair
from tandem.simt import __syncthreads, st, tid

N = 32


def flags(team, count=1, name="flag"):
    return team.zeros(count, "int64", name=name)


def data(team, name="x", count=N):
    return team.zeros(count, "int32", name=name)


@tandem.jit
def two_operations(a_ptr, b_ptr, y_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    """Two operations tell rank 1 through one slot: the first one's signal releases the second one's reader."""
    o = tl.arange(0, N)
    second = 1 if FIXED else 0
    if dl.rank() == 0:
        tl.store(dl.symm_at(a_ptr, 1) + o, 1)
        dl.notify(flag_ptr, 1, signal=1, sig_op="set", comm_scope="intra_node")
        for i in range(100):
            tl.store(y_ptr, i)
        tl.store(dl.symm_at(b_ptr, 1) + o, 2)  # <-- slot_of_two_operations
        dl.notify(flag_ptr + second, 1, signal=1, sig_op="set", comm_scope="intra_node")
    elif dl.rank() == 1:
        dl.wait(flag_ptr + second, 1, "sys", "acquire", waitValue=1)
        tl.store(y_ptr + o, tl.load(b_ptr + o))  # <-- slot_of_two_operations


@pair("race", "M15")
def slot_of_two_operations(team, fixed):
    two_operations[(1,)](data(team, "a"), data(team, "b"), data(team, "y"), flags(team, 2), N, fixed)


@tandem.jit
def tell_before_writing(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    """Rank 0 sends, but the flag of the receiver is set by rank 2, who knows nothing of it."""
    o = tl.arange(0, N)
    rank = dl.rank()
    if rank == 0:
        tl.store(dl.symm_at(x_ptr, 1) + o, 1)  # <-- told_by_the_wrong_rank
    if rank == (0 if FIXED else 2):
        dl.notify(flag_ptr, 1, signal=1, sig_op="set", comm_scope="intra_node")
    if rank == 1:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)
        tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- told_by_the_wrong_rank


@pair("race", "M5", ranks=(3, 4))
def told_by_the_wrong_rank(team, fixed):
    tell_before_writing[(1,)](data(team), data(team, "y"), flags(team), N, fixed)


@tandem.jit
def wait_less(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, VALUE: tl.constexpr):
    """Two chunks, counted; the reader of the second goes on after the first."""
    o = tl.arange(0, N)
    if dl.rank() == 0:
        for i in range(2):
            tl.store(dl.symm_at(x_ptr, 1) + i * N + o, i)  # <-- waits_for_too_few
            dl.notify(flag_ptr, 1, signal=1, sig_op="add", comm_scope="intra_node")
    elif dl.rank() == 1:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=VALUE, compare="ge")
        tl.store(y_ptr + o, tl.load(x_ptr + N + o))  # <-- waits_for_too_few


@pair("race", "M15")
def waits_for_too_few(team, fixed):
    wait_less[(1,)](data(team, count=2 * N), data(team, "y"), flags(team), N, 2 if fixed else 1)


@tandem.jit
def not_equal(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, COMPARE: tl.constexpr):
    """The comparison holds for the value that is there from the start."""
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer) + o, 1)  # <-- comparison_always_true
    dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1, compare=COMPARE)
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- comparison_always_true


@pair("race", "M5")
def comparison_always_true(team, fixed):
    not_equal[(1,)](data(team), data(team, "y"), flags(team), N, "ge" if fixed else "le")


@tandem.jit
def set_or_add(flag_ptr, OP: tl.constexpr):
    """Everybody counts at rank 0; one who sets instead may erase the others."""
    if dl.rank() == 1:
        dl.notify(flag_ptr, 0, signal=1, sig_op=OP, comm_scope="intra_node")  # <-- set_among_adds
    else:
        dl.notify(flag_ptr, 0, signal=1, sig_op="add", comm_scope="intra_node")  # <-- set_among_adds


@pair("signal-misuse", "M11")
def set_among_adds(team, fixed):
    set_or_add[(1,)](flags(team), "add" if fixed else "set")


@tandem.jit
def clear_signal(flag_ptr, FIXED: tl.constexpr):
    """A signal cleared by an ordinary store instead of a signal operation."""
    peer = (dl.rank() + 1) % dl.num_ranks()
    dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")  # <-- signal_cleared_plain
    if FIXED:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)
        dl.notify(flag_ptr, dl.rank(), signal=0, sig_op="set", comm_scope="gpu")
    else:
        tl.store(flag_ptr, 0)  # <-- signal_cleared_plain


@pair("signal-misuse", "M15")
def signal_cleared_plain(team, fixed):
    clear_signal[(1,)](flags(team), fixed)


@tandem.jit
def team_signals(flag_ptr, value, peer):
    dl.notify(flag_ptr, peer, signal=value, sig_op="set", comm_scope="intra_node")  # <-- slot_of_two_teams


@pair("signal-misuse", "M11", ranks=(3, 4))
def slot_of_two_teams(team, fixed):
    """Rank 1 is a member of both teams; each has its own messenger."""
    flag = flags(team, 2)
    if team.rank in (0, 2):
        slot = team.rank // 2 if fixed else 0
        team_signals[(1,)](flag[slot : slot + 1], team.rank + 1, 1)


@tandem.jit
def thread_before_barrier(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    """A thread sends its word; thread 0 signals with a fence of its own, which covers thread 0 only."""
    t = tid(0)
    peer = (dl.rank() + 1) % dl.num_ranks()
    if t < N:
        st(dl.symm_at(x_ptr, peer) + t, t, semantic="weak")  # <-- signal_without_syncthreads
    if FIXED:
        __syncthreads()
    if t == 0:
        shmem.fence()
        shmem.signal_op(flag_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
        shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 1)
    __syncthreads()
    tl.store(y_ptr + tl.arange(0, N), tl.load(x_ptr + tl.arange(0, N)))  # <-- signal_without_syncthreads


@pair("race", "M3")
def signal_without_syncthreads(team, fixed):
    thread_before_barrier[(1,)](data(team), data(team, "y"), flags(team), N, fixed)
