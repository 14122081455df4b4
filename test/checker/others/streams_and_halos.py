"""Streams and events, barriers of ranks in kernels, halos in place, counts that are put back, addresses outside, collectives in order."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from protocol import protocol
from tandem.simt import __syncthreads, sync_grid

N = 64


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == copies_beside
@tandem.jit
def copies_k(x_ptr, got_ptr, y_ptr, call, N: tl.constexpr):
    o = tl.arange(0, N)
    tl.store(y_ptr + o, tl.load(got_ptr + o))  # !1 !2 !3 !4
    tl.store(x_ptr + o, call)  # !1 !2 !3 !5


@protocol({1: "race", 2: "race", 3: "race|signal-misuse", 4: "race|signal-misuse", 5: "race"}, ranks=(2, 4))
def copies_beside(team, f):
    """A stream for copies to the right and one for kernels. Events on the rank, a signal between ranks; acks by the kernel's stream."""
    n = team.size
    x, got, y = z(team, "x"), z(team, "got"), z(team, "y")
    sig, ack = z(team, "sig", 1, "int64"), z(team, "ack", 1, "int64")
    right, left = (team.rank + 1) % n, (team.rank - 1) % n
    copies = team.new_stream()
    for call in range(1, 5):
        if f != 5:
            copies.wait_event(team.stream.record_event())
        if call > 1 and f != 4:
            copies.signal_wait(ack, call - 1, "ge")
        if f == 3:
            copies.signal_write(sig.peer(right), call)
        copies.copy(got.peer(right), x)  # !1 !2 !3 !4 !5
        if f != 3:
            copies.signal_write(sig.peer(right), call)
        copied = copies.record_event()
        if f != 1:
            team.stream.wait_event(copied)
        if f != 2:
            team.stream.signal_wait(sig, call, "ge")
        copies_k[(1,)](x, got, y, call, N, stream=team.stream)
        team.stream.signal_write(ack.peer(left), call)
    team.stream.signal_wait(ack, 4, "ge")


# == barrier_of_one_program
@tandem.jit
def barrier_k(x_ptr, y_ptr, P: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """All programs write to the right; program 0 meets the other ranks when the grid has met, and the grid meets again."""
    me, n = dl.rank(), dl.num_ranks()
    p = tl.program_id(0)
    o = tl.arange(0, N)
    right = (me + 1) % n
    tl.store(dl.symm_at(x_ptr, right) + p * N + o, me * 10 + p)  # !1 !2 !3
    if F != 1:
        sync_grid()
    if p == 0:
        shmem.barrier_all_block()
    if F != 2:
        sync_grid()
    tl.store(y_ptr + p * N + o, tl.load(x_ptr + (P - 1 - p) * N + o))  # !1 !2 !3
    if F == 3:
        tl.store(dl.symm_at(x_ptr, right) + p * N + o, 0)  # !3


@protocol({1: "race", 2: "race", 3: "race"}, ranks=(2, 4))
def barrier_of_one_program(team, f):
    barrier_k[(3,)](z(team, "x", 3 * N), z(team, "y", 3 * N), 3, N, f, launch_cooperative_grid=True)


# == shifted_halos
@tandem.jit
def halos_k(a_ptr, sig_ptr, STEPS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """A rod in place: its ends go to both neighbours' halos of the step's parity; the next but one needs no ack, as both sides trade."""
    me, n = dl.rank(), dl.num_ranks()
    left, right = (me + n - 1) % n, (me + 1) % n
    o = tl.arange(0, N)
    for s in range(1, STEPS + 1):
        h = s % 2 if F != 1 else 0
        edge = tl.load(a_ptr + o)
        tl.store(dl.symm_at(a_ptr, right) + (1 + 2 * h) * N + o, edge)  # !1 !2 !3 !4
        if F != 4:
            tl.store(dl.symm_at(a_ptr, left) + (2 + 2 * h) * N + o, edge)  # !1 !2 !3
        dl.notify(sig_ptr, right, signal=s, sig_op="set", comm_scope="intra_node")
        dl.notify(sig_ptr + 1, left, signal=s, sig_op="set", comm_scope="intra_node")
        if F == 4:
            tl.store(dl.symm_at(a_ptr, left) + (2 + 2 * h) * N + o, edge)  # !4
        dl.wait(sig_ptr, 1 if F == 2 else 2, "sys", "acquire" if F != 3 else "relaxed", waitValue=s, compare="ge")
        v = tl.load(a_ptr + (1 + 2 * h) * N + o) + tl.load(a_ptr + (2 + 2 * h) * N + o)  # !1 !2 !3 !4
        tl.store(a_ptr + o, v + edge)
        if F == 2:
            dl.wait(sig_ptr + 1, 1, "sys", "acquire", waitValue=s, compare="ge")


@protocol({1: "race", 2: "race", 3: "race", 4: "race"}, ranks=(3, 4))
def shifted_halos(team, f):
    halos_k[(1,)](z(team, "a", 5 * N), z(team, "sig", 2, "int64"), 4, N, f)


# == equal_to_a_count
@tandem.jit
def count_k(x_ptr, y_ptr, count_ptr, back_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Everybody adds one at rank 0, which waits for n and puts the count back. Fault 1 waits for a number that is passed over, fault 2 adds
    twice, fault 3 puts back before it waits, fault 4 does not put back, fault 5 tells one rank less."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for r in range(1, ROUNDS + 1):
        tl.store(dl.symm_at(x_ptr, 0) + me * N + o, r)  # !1 !2
        dl.notify(count_ptr, 0, signal=2 if F == 2 else 1, sig_op="add", comm_scope="intra_node")  # !1 !2 !3 !4 !5
        if me == 0:
            if F == 3:
                dl.notify(count_ptr, 0, signal=0, sig_op="set", comm_scope="gpu")  # !3
            dl.wait(count_ptr, 1, "sys", "acquire", waitValue=n if F != 1 else n - 1)  # !1 !2 !3 !4
            acc = tl.zeros((N,), tl.int32)
            for k in range(n):
                acc += tl.load(x_ptr + k * N + o)  # !1 !2
            tl.store(y_ptr + o, acc)
            if (F != 3) & (F != 4):
                dl.notify(count_ptr, 0, signal=0, sig_op="set", comm_scope="gpu")
            for k in range(n if F != 5 else n - 1):
                dl.notify(back_ptr, k, signal=r, sig_op="set", comm_scope="intra_node")
        dl.wait(back_ptr, 1, "sys", "acquire", waitValue=r)  # !3 !4 !5


BAD = "race|signal-misuse|deadlock"


@protocol({1: BAD, 2: BAD, 3: BAD, 4: BAD, 5: "deadlock"}, ranks=(2, 4))
def equal_to_a_count(team, f):
    count_k[(1,)](z(team, "x", team.size * N), z(team, "y"), z(team, "count", 1, "int64"), z(team, "back", 1, "int64"), 3, N, f)


# == outside
@tandem.jit
def outside_k(x_ptr, flag_ptr, N: tl.constexpr, F: tl.constexpr):
    """The last rank has no right neighbour; fault 1 forgets it, fault 2 writes behind the buffer, fault 3 says bytes for elements."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    right = me + 1
    if (right < n) | (F == 1):
        tl.store(dl.symm_at(x_ptr, right) + o + (N * (me + 1) if F == 2 else 0), me)  # !1 !2
        if F == 3:
            shmem.putmem_block(x_ptr, x_ptr + N, N * 4 * 4, right)  # !3
        dl.notify(flag_ptr, right, signal=1, sig_op="set", comm_scope="intra_node")
    if me > 0:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)


@protocol({1: "bad-rank", 2: "out-of-bounds", 3: "out-of-bounds"}, ranks=(3, 4))
def outside(team, f):
    outside_k[(1,)](z(team, "x", 2 * N), z(team, "flag", 1, "int64"), N, f)


# == lists_in_order
@tandem.jit
def collect_k(x_ptr, y_ptr, z_ptr, N: tl.constexpr, F: tl.constexpr):
    """Two collectives and what lies between: fault 1 takes them in another order on one rank, 2 another root, 3 reads others' `dest`,
    4 reuses `dest` at once, 5 meets in a branch."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    w = shmem.NVSHMEM_TEAM_WORLD
    tl.store(x_ptr + o, me)
    __syncthreads()
    if (F == 1) & (me == 1):
        shmem.broadcast_block(w, z_ptr, x_ptr, N, 0)  # !1
        shmem.fcollect_block(w, y_ptr, x_ptr, N)
    else:
        shmem.fcollect_block(w, y_ptr, x_ptr, N)  # !1 !4
        shmem.broadcast_block(w, z_ptr, x_ptr, N, 0 if F != 2 else me % 2)  # !2
    if F != 3:
        shmem.sync_all_block()
    if F == 3:
        tl.store(dl.symm_at(y_ptr, (me + 1) % n) + o, 0)  # !3
    if F == 4:
        shmem.fcollect_block(w, y_ptr, x_ptr, N)  # !4
        shmem.fcollect_block(w, y_ptr, x_ptr, N)  # !4
    if (F == 5) & (me == 0):
        shmem.barrier_all_block()  # !5
    __syncthreads()


MIXED = "collective-mismatch|deadlock"


@protocol({1: MIXED, 2: "collective-mismatch", 3: "race", 4: "race", 5: MIXED}, ranks=(2, 4))
def lists_in_order(team, f):
    collect_k[(1,)](z(team, "x"), z(team, "y", team.size * N), z(team, "z"), N, f)
