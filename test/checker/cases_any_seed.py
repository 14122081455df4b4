"""Defects that do harm under few schedules only, and are found under each: late waits, stale values, orders of locks."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair
from tandem.simt import atomic_cas, ld, st, tid

N = 32


def data(team, name="x", count=N):
    return team.zeros(count, "int32", name=name)


def flags(team, count=1, name="flag"):
    return team.zeros(count, "int64", name=name)


@tandem.jit
def ring_of_slots(x_ptr, y_ptr, ready_ptr, credit_ptr, N: tl.constexpr, SLOTS: tl.constexpr, LATE: tl.constexpr):
    """Rank 0 sends six messages through two slots; the credit that it waits for is one message too old."""
    o = tl.arange(0, N)
    for i in range(6):
        slot = i % SLOTS
        if dl.rank() == 0:
            if i >= SLOTS + LATE:
                dl.wait(credit_ptr, 1, "sys", "acquire", waitValue=(i - SLOTS - LATE + 1).to(tl.int64), compare="ge")
            tl.store(dl.symm_at(x_ptr, 1) + slot * N + o, i)  # <-- credit_one_too_early
            dl.notify(ready_ptr, 1, signal=1, sig_op="add", comm_scope="intra_node")
        elif dl.rank() == 1:
            dl.wait(ready_ptr, 1, "sys", "acquire", waitValue=(i + 1).to(tl.int64), compare="ge")
            tl.store(y_ptr + o, tl.load(x_ptr + slot * N + o))  # <-- credit_one_too_early
            dl.notify(credit_ptr, 0, signal=1, sig_op="add", comm_scope="intra_node")


@pair("race", None)
def credit_one_too_early(team, fixed):
    ring_of_slots[(1,)](data(team, count=2 * N), data(team, "y"), flags(team), flags(team, 1, "credit"), N, 2, 0 if fixed else 1)


@tandem.jit
def count_arrivals(x_ptr, y_ptr, count_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    """Rank 0 adds, too, so its wait is over before the last of the others has added."""
    o = tl.arange(0, N)
    rank, n = dl.rank(), dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, 0) + rank * N + o, rank)  # <-- one_arrival_too_few
    dl.notify(count_ptr, 0, signal=1, sig_op="add", comm_scope="intra_node")
    if rank == 0:
        dl.wait(count_ptr, 1, "sys", "acquire", waitValue=n if FIXED else n - 1, compare="ge")
        for other in range(n):
            tl.store(y_ptr + other * N + o, tl.load(x_ptr + other * N + o))  # <-- one_arrival_too_few


@pair("race", None)
def one_arrival_too_few(team, fixed):
    count_arrivals[(1,)](data(team, count=team.size * N), data(team, "y", team.size * N), flags(team, 1, "count"), N, fixed)


@tandem.jit
def count_by_atomics(x_ptr, y_ptr, count_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    """One of two arrivals is enough for the wait, and no order says that it is rank 0's."""
    o = tl.arange(0, N)
    rank = dl.rank()
    tl.store(dl.symm_at(x_ptr, 1) + rank * N + o, rank)  # <-- the_others_arrival
    tl.atomic_add(dl.symm_at(count_ptr, 1), 1, sem="release", scope="sys")
    if rank == 1:
        while tl.atomic_add(count_ptr, 0, sem="acquire", scope="sys") < (2 if FIXED else 1):
            pass
        tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- the_others_arrival


@pair("race", None, ranks=(2,))
def the_others_arrival(team, fixed):
    count_by_atomics[(1,)](data(team, count=2 * N), data(team, "y"), team.zeros(1, "int32", name="count"), N, fixed)


@tandem.jit
def add_in_turn(x_ptr, y_ptr, count_ptr, N: tl.constexpr, NOTIFY: tl.constexpr, FIXED: tl.constexpr):
    """Rank 1 looks for rank 0's arrival before its own, if only relaxed: then the first of the two is rank 0's."""
    o = tl.arange(0, N)
    rank = dl.rank()
    count = dl.symm_at(count_ptr, 2)
    if rank == 2:
        while ld(count_ptr, scope="sys", semantic="acquire") < 1:
            pass
        tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- an_add_without_a_look
    else:
        if rank == 0:
            tl.store(dl.symm_at(x_ptr, 2) + o, 1)  # <-- an_add_without_a_look
        elif FIXED:
            while ld(count, scope="sys", semantic="relaxed") < 1:
                pass
        if NOTIFY:
            dl.notify(count_ptr, 2, signal=1, sig_op="add", comm_scope="intra_node")
        else:
            tl.atomic_add(count, 1, sem="release", scope="sys")


@pair("race", None, ranks=(3,))
def an_add_without_a_look(team, fixed):
    add_in_turn[(1,)](data(team), data(team, "y"), team.zeros(1, "int32", name="count"), N, False, fixed)
    add_in_turn[(1,)](data(team), data(team, "y"), flags(team, 1, "count"), N, True, fixed)


@tandem.jit
def step_of_a_graph(x_ptr, y_ptr, flag_ptr, epoch_ptr, step, N: tl.constexpr, FIXED: tl.constexpr):
    """The epoch is a constant of the recorded call: the second replay's wait is over before it begins."""
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    epoch = tl.load(epoch_ptr) + 1 if FIXED else tl.load(epoch_ptr) * 0 + 1
    tl.store(dl.symm_at(x_ptr, peer) + step * N + o, 1)  # <-- frozen_epoch
    dl.notify(flag_ptr, peer, signal=epoch, sig_op="set", comm_scope="intra_node")
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=epoch, compare="ge")
    tl.store(y_ptr + o, tl.load(x_ptr + step * N + o))  # <-- frozen_epoch
    tl.store(epoch_ptr, epoch)


@pair("race", None)
def frozen_epoch(team, fixed):
    x, y, flag, epoch = data(team, count=3 * N), data(team, "y"), flags(team), team.zeros(1, "int64", name="epoch")
    for step in range(3):
        step_of_a_graph[(1,)](x, y, flag, epoch, step, N, fixed)


@tandem.jit
def take_two(lock_ptr, COUNT: tl.constexpr, FIXED: tl.constexpr):
    """Each program takes its own lock and then the next one's: a circle of three."""
    if tid(0) == 0:
        mine = tl.program_id(0)
        other = (mine + 1) % COUNT
        first = tl.minimum(mine, other) if FIXED else mine
        second = tl.maximum(mine, other) if FIXED else other
        while atomic_cas(lock_ptr + first, 0, 1, scope="gpu", semantic="acquire") != 0:
            pass
        while atomic_cas(lock_ptr + second, 0, 1, scope="gpu", semantic="acquire") != 0:  # <-- circle_of_locks
            pass
        st(lock_ptr + second, 0, scope="gpu", semantic="release")
        st(lock_ptr + first, 0, scope="gpu", semantic="release")


@pair("deadlock", None, ranks=(1, 2, 4))
def circle_of_locks(team, fixed):
    take_two[(3,)](data(team, "lock", 3), 3, fixed)


@tandem.jit
def lock_two_ranks(lock_ptr, FIXED: tl.constexpr):
    """Ranks 0 and 1 lock the rows of both, each its own first."""
    if tid(0) == 0:
        if dl.rank() < 2:
            mine = 0 if FIXED else dl.rank()
            first = dl.symm_at(lock_ptr, mine)
            second = dl.symm_at(lock_ptr, 1 - mine)
            while atomic_cas(first, 0, 1, scope="sys", semantic="acquire") != 0:
                pass
            while atomic_cas(second, 0, 1, scope="sys", semantic="acquire") != 0:  # <-- locks_of_two_ranks
                pass
            st(second, 0, scope="sys", semantic="release")
            st(first, 0, scope="sys", semantic="release")


@pair("deadlock", None)
def locks_of_two_ranks(team, fixed):
    lock_two_ranks[(1,)](data(team, "lock", 1), fixed)


@tandem.jit
def not_yet_all(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, MISSING: tl.constexpr):
    """Everybody counts at everybody; the reader goes on when one is still missing."""
    o = tl.arange(0, N)
    rank = dl.rank()
    n = dl.num_ranks()
    for k in range(n):
        peer = (rank + k) % n
        tl.store(dl.symm_at(x_ptr, peer) + rank * N + o, rank)  # <-- one_rank_not_waited_for
        dl.notify(flag_ptr, peer, signal=1, sig_op="add", comm_scope="intra_node")
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=(n - MISSING).to(tl.int64), compare="ge")
    for k in range(n):
        tl.store(y_ptr + o, tl.load(x_ptr + k * N + o))  # <-- one_rank_not_waited_for


@pair("race", None)
def one_rank_not_waited_for(team, fixed):
    not_yet_all[(1,)](data(team, count=team.size * N), data(team, "y"), flags(team), N, 0 if fixed else 1)


@tandem.jit
def produce_narrowly(x_ptr, flag_ptr, N: tl.constexpr, SCOPE: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, N), 3)
    dl.notify(flag_ptr, dl.rank(), signal=1, sig_op="set", comm_scope=SCOPE)  # <-- notify_for_a_stream


@pair("scope", "M14", ranks=(1, 2, 4))
def notify_for_a_stream(team, fixed):
    """A copy engine is outside scope `gpu`."""
    x, y, ready, copies = data(team), data(team, "y"), flags(team), team.new_stream()
    produce_narrowly[(1,)](x, ready, N, "intra_node" if fixed else "gpu")
    copies.signal_wait(ready, 1)  # <-- notify_for_a_stream
    copies.copy(y, x)


@tandem.jit
def meet_unlike(x_ptr, y_ptr, z_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    """Rank 0 only synchronises where the others complete their puts."""
    o = tl.arange(0, N)
    shmem.putmem_nbi_block(y_ptr, x_ptr, N * 4, (dl.rank() + 1) % dl.num_ranks())  # <-- sync_where_others_complete
    if dl.rank() == 0 and not FIXED:
        shmem.sync_all_block()
    else:
        shmem.barrier_all_block()
    tl.store(z_ptr + o, tl.load(y_ptr + o))  # <-- sync_where_others_complete
    shmem.quiet()


@pair("race", "M12")
def sync_where_others_complete(team, fixed):
    meet_unlike[(1,)](data(team), data(team, "y"), data(team, "z"), N, fixed)


@tandem.jit
def gather_or_broadcast(x_ptr, y_ptr, z_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    if dl.rank() == 0 and not FIXED:
        shmem.broadcastmem_block(0, z_ptr, x_ptr, N * 4, 0)  # <-- collectives_swapped
        shmem.fcollectmem_block(0, y_ptr, x_ptr, N * 4)
    else:
        shmem.fcollectmem_block(0, y_ptr, x_ptr, N * 4)  # <-- collectives_swapped
        shmem.broadcastmem_block(0, z_ptr, x_ptr, N * 4, 0)


@pair("collective-mismatch", None)
def collectives_swapped(team, fixed):
    gather_or_broadcast[(1,)](data(team), data(team, "y", team.size * N), data(team, "z"), N, fixed)
