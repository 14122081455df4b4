"""Calls for one peer only: `fence_pe`, and an atomic fetch of a peer's word."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair
from tandem.simt import __syncthreads, tid

N = 32


def words(team, name="x", count=N):
    return team.zeros(count, "int32", name=name)


def flags(team, count=1, name="flag"):
    return team.zeros(count, "int64", name=name)


@tandem.jit
def put_and_signal(x_ptr, y_ptr, s_ptr, flag_ptr, N: tl.constexpr, FENCED: tl.constexpr):
    """The right peer's fence stays although another peer is quieted behind it."""
    rank = dl.rank()
    n = dl.num_ranks()
    peer = (rank + 1) % n
    shmem.putmem_nbi_block(x_ptr, s_ptr, N * 4, peer)  # <-- fence_of_another_peer
    shmem.fence_pe((rank + FENCED) % n)
    shmem.quiet_pe(rank)
    shmem.signal_op(flag_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
    shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 1)
    tl.store(y_ptr + tl.arange(0, N), tl.load(x_ptr + tl.arange(0, N)))  # <-- fence_of_another_peer
    shmem.quiet()


@pair("race", "M9")
def fence_of_another_peer(team, fixed):
    put_and_signal[(1,)](words(team), words(team, "y"), words(team, "s"), flags(team), N, 1 if fixed else 0)


@tandem.jit
def each_thread_a_peer(x_ptr, y_ptr, s_ptr, flag_ptr, RANKS: tl.constexpr, N: tl.constexpr, FENCED: tl.constexpr):
    rank = dl.rank()
    t = tid(0)
    if t < RANKS:
        shmem.putmem_nbi(x_ptr + rank * N, s_ptr, N * 4, t)  # <-- fence_of_another_thread_s_peer
        shmem.fence_pe((t + FENCED) % RANKS)
        shmem.signal_op(flag_ptr + rank, 1, shmem.NVSHMEM_SIGNAL_SET, t)
        shmem.signal_wait_until(flag_ptr + t, shmem.NVSHMEM_CMP_EQ, 1)
    __syncthreads()
    o = tl.arange(0, N)
    for peer in range(RANKS):
        tl.store(y_ptr + peer * N + o, tl.load(x_ptr + peer * N + o))  # <-- fence_of_another_thread_s_peer
    if t < RANKS:
        shmem.quiet_pe(t)


@pair("race", "M9")
def fence_of_another_thread_s_peer(team, fixed):
    n = team.size
    each_thread_a_peer[(1,)](words(team, count=n * N), words(team, "y", n * N), words(team, "s"), flags(team, n), n, N, 0 if fixed else 1)


@tandem.jit
def store_and_signal(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, FENCED: tl.constexpr):
    """A store at a peer, too, comes before a signal to it only by a fence for this peer."""
    rank = dl.rank()
    n = dl.num_ranks()
    o = tl.arange(0, N)
    tl.store(dl.symm_at(x_ptr, (rank + 1) % n) + o, 3)  # <-- store_before_the_fence_of_another_peer
    shmem.fence_pe((rank + FENCED) % n)
    shmem.signal_op(flag_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, (rank + 1) % n)
    shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 1)
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- store_before_the_fence_of_another_peer


@pair("race", "M11")
def store_before_the_fence_of_another_peer(team, fixed):
    store_and_signal[(1,)](words(team), words(team, "y"), flags(team), N, 1 if fixed else 0)


@tandem.jit
def fetch(count_ptr, y_ptr, AMO: tl.constexpr):
    if tl.program_id(0) == 0:
        shmem.atomic_uint64_fetch(count_ptr, 0, 0, AMO, dl.rank())  # <-- fetch_by_adding_nothing
    else:
        tl.store(y_ptr, tl.load(count_ptr))  # <-- fetch_by_adding_nothing


@pair("race", None)
def fetch_by_adding_nothing(team, fixed):
    fetch[(2,)](team.zeros(1, "uint64", name="count"), team.zeros(1, "uint64"), shmem.MORI_AMO_FETCH if fixed else shmem.MORI_AMO_FETCH_ADD)
