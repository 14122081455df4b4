"""Reports that could name another missing edge: what else the two sides have read of each other does not mislead."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair
from tandem.simt import __syncthreads, fence, ld, st, tid

N = 32


def data(team, name, count=N):
    return team.zeros(count, "int32", name=name)


def word(team, name, dtype="int64"):
    return team.zeros(1, dtype, name=name)


@tandem.jit
def beside_a_ticket(x_ptr, y_ptr, ticket_ptr, count_ptr, N: tl.constexpr, SEM: tl.constexpr):
    """A relaxed ticket behind the store is not what the reader goes by: the count is, and does not release."""
    o = tl.arange(0, N)
    if dl.rank() == 0:
        tl.store(dl.symm_at(x_ptr, 1) + o, 1)  # <-- release_missing_beside_a_ticket
        tl.atomic_add(dl.symm_at(ticket_ptr, 1), 1, sem="relaxed", scope="sys")
        tl.atomic_add(dl.symm_at(count_ptr, 1), tl.cast(1, tl.int64), sem=SEM, scope="sys")
    elif dl.rank() == 1:
        while tl.atomic_add(ticket_ptr, 0, sem="relaxed", scope="sys") == 0:
            pass
        dl.wait(count_ptr, 1, "sys", "acquire", waitValue=1)
        tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- release_missing_beside_a_ticket


@pair("race", "M11")
def release_missing_beside_a_ticket(team, fixed):
    ticket, count = word(team, "ticket", "int32"), word(team, "count")
    beside_a_ticket[(1,)](data(team, "x"), data(team, "y"), ticket, count, N, "release" if fixed else "relaxed")


@tandem.jit
def fences_around(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    """The reader's fence is there, the writer's is not."""
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer) + o, 1)  # <-- writers_fence_missing
    __syncthreads()
    if tid(0) == 0:
        if FIXED:
            fence(semantic="acq_rel", scope="sys")
        st(dl.symm_at(flag_ptr, peer), 1, scope="sys", semantic="relaxed")
        while ld(flag_ptr, scope="sys", semantic="relaxed") == 0:
            pass
        fence(semantic="acq_rel", scope="sys")
    __syncthreads()
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- writers_fence_missing


@pair("race", "M11")
def writers_fence_missing(team, fixed):
    fences_around[(1,)](data(team, "x"), data(team, "y"), word(team, "flag", "int32"), N, fixed)


@tandem.jit
def trade(x_ptr, y_ptr, box_ptr, N: tl.constexpr, SEM: tl.constexpr):
    """Who comes second reads what the first has left, if the exchange releases and acquires."""
    o = tl.arange(0, N)
    me = dl.rank()
    x = dl.symm_at(x_ptr, 0)
    tl.store(x + me * N + o, me)  # <-- neither_releases_nor_acquires
    before = tl.atomic_xchg(dl.symm_at(box_ptr, 0), me + 1, sem=SEM, scope="sys")
    if before != 0:
        tl.store(y_ptr + o, tl.load(x + (before - 1) * N + o))  # <-- neither_releases_nor_acquires


@pair("race", "M14", ranks=(2,))
def neither_releases_nor_acquires(team, fixed):
    trade[(1,)](data(team, "x", 2 * N), data(team, "y"), word(team, "box", "int32"), N, "acq_rel" if fixed else "relaxed")


@tandem.jit
def read_copied(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, SEM: tl.constexpr):
    o = tl.arange(0, N)
    dl.wait(flag_ptr, 1, "sys", SEM, waitValue=1)
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- relaxed_wait_for_a_copy


@pair("race", "M6", ranks=(1, 2))
def relaxed_wait_for_a_copy(team, fixed):
    source, x, flag, copies = data(team, "source"), data(team, "x"), word(team, "flag"), team.new_stream()
    copies.copy(x, source)  # <-- relaxed_wait_for_a_copy
    copies.signal_write(flag, 1)
    read_copied[(1,)](x, data(team, "y"), flag, N, "acquire" if fixed else "relaxed")


@tandem.jit
def hand_on(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    """Rank 1 knows of rank 0's store, and tells rank 2 by a signal: that passes on nothing without a fence."""
    o = tl.arange(0, N)
    if dl.rank() == 0:
        tl.store(dl.symm_at(x_ptr, 2) + o, 1)  # <-- handed_on_without_a_fence
        dl.notify(flag_ptr, 1, signal=1, sig_op="set", comm_scope="intra_node")
    elif dl.rank() == 1:
        if tid(0) == 0:
            shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 1)
            if FIXED:
                shmem.fence()
            shmem.signal_op(flag_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, 2)
    elif dl.rank() == 2:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)
        tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- handed_on_without_a_fence


@pair("race", "M11", ranks=(3, 4))
def handed_on_without_a_fence(team, fixed):
    hand_on[(1,)](data(team, "x"), data(team, "y"), word(team, "flag"), N, fixed)
