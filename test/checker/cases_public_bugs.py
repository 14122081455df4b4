"""Bug classes of published communication kernels, each rebuilt small."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair
from tandem.simt import __syncthreads, ld, st, tid

N = 32


def data(team, name="x", count=N):
    return team.zeros(count, "int32", name=name)


def flags(team, count=1, name="flag"):
    return team.zeros(count, "int64", name=name)


@tandem.jit
def init_and_go(flag_ptr, FIXED: tl.constexpr):
    """Each rank clears its own flag at the start; a fast peer may have advanced it already."""
    peer = (dl.rank() + 1) % dl.num_ranks()
    dl.notify(flag_ptr, dl.rank(), signal=0, sig_op="set", comm_scope="intra_node")  # <-- reset_erases_advance
    if FIXED:
        shmem.barrier_all_block()
    dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")  # <-- reset_erases_advance
    if FIXED:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)


@pair("signal-misuse", "M11")
def reset_erases_advance(team, fixed):
    init_and_go[(1,)](flags(team), fixed)


@tandem.jit
def all_to_all(x_ptr, y_ptr, z_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    """The signal of a put belongs to the slot of the sender at the receiver, not to the slot of the receiver."""
    rank = dl.rank()
    o = tl.arange(0, N)
    for peer in range(dl.num_ranks()):
        slot = rank if FIXED else peer
        shmem.putmem_signal_block(y_ptr + rank * N, x_ptr, N * 4, flag_ptr + slot, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
    for source in range(dl.num_ranks()):
        dl.wait(flag_ptr + source, 1, "sys", "acquire", waitValue=1)  # <-- signal_in_the_wrong_slot
        tl.store(z_ptr + source * N + o, tl.load(y_ptr + source * N + o))
    shmem.quiet()


@pair("deadlock", None)
def signal_in_the_wrong_slot(team, fixed):
    """Each rank's peers all tell the slot of the receiver, so the others stay zero."""
    all_to_all[(1,)](data(team), data(team, "y", team.size * N), data(team, "z", team.size * N), flags(team, team.size), N, fixed)


@tandem.jit
def two_chunks(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, CHECKED: tl.constexpr):
    """A token lies in two chunks with a signal each; the reader asks for the first only."""
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer) + o, 1)
    dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
    tl.store(dl.symm_at(x_ptr, peer) + N + o, 1)  # <-- only_the_first_chunk
    dl.notify(flag_ptr + 1, peer, signal=1, sig_op="set", comm_scope="intra_node")
    dl.wait(flag_ptr, CHECKED, "sys", "acquire", waitValue=1)
    tl.store(y_ptr + o, tl.load(x_ptr + o + N // 2))  # <-- only_the_first_chunk


@pair("race", "M15")
def only_the_first_chunk(team, fixed):
    two_chunks[(1,)](data(team, count=2 * N), data(team, "y"), flags(team, 2), N, 2 if fixed else 1)


@tandem.jit
def early_flag(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    if FIXED:
        tl.store(dl.symm_at(x_ptr, peer) + o, 1)
    dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
    if not FIXED:
        tl.store(dl.symm_at(x_ptr, peer) + o, 1)  # <-- flag_before_payload
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- flag_before_payload


@pair("race", "M15")
def flag_before_payload(team, fixed):
    early_flag[(1,)](data(team), data(team, "y"), flags(team), N, fixed)


@tandem.jit
def without_system_fence(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, SEM: tl.constexpr):
    """The payload of all threads, then a relaxed system-wide store by one of them."""
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer) + o, 1)  # <-- missing_system_fence
    __syncthreads()
    if tid(0) == 0:
        st(dl.symm_at(flag_ptr, peer), 1, scope="sys", semantic=SEM)
        while ld(flag_ptr, scope="sys", semantic="acquire") != 1:
            pass
    __syncthreads()
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- missing_system_fence


@pair("race", "M4")
def missing_system_fence(team, fixed):
    without_system_fence[(1,)](data(team), data(team, "y"), flags(team), N, "release" if fixed else "relaxed")


@tandem.jit
def group_arrives(flag_ptr, slot, leader, value, N: tl.constexpr):
    dl.notify(flag_ptr + slot, leader, signal=value, sig_op="set", comm_scope="intra_node")  # <-- slot_of_two_groups


@pair("signal-misuse", "M11", ranks=(4,))
def slot_of_two_groups(team, fixed):
    """Ranks 0, 1 and ranks 2, 3 are groups that both tell rank 0; a slot per group keeps them apart."""
    flag, group = flags(team, 2), team.rank // 2
    if team.rank % 2:
        group_arrives[(1,)](flag, group if fixed else 0, 0, group + 1, N)


@tandem.jit
def replay_step(x_ptr, y_ptr, flag_ptr, at, value, N: tl.constexpr):
    o = tl.arange(0, N)
    if dl.rank() == 0:
        tl.store(dl.symm_at(x_ptr, 1) + at + o, 1)  # <-- epoch_missing_under_replay
        dl.notify(flag_ptr, 1, signal=value, sig_op="set", comm_scope="intra_node")
    elif dl.rank() == 1:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=value, compare="ge")
        tl.store(y_ptr + o, tl.load(x_ptr + at + o))  # <-- epoch_missing_under_replay


@pair("race", "M15")
def epoch_missing_under_replay(team, fixed):
    """The same launch twice; the value that the second one waits for is there from the first."""
    x, y, flag = data(team, count=2 * N), data(team, "y"), flags(team)
    for step in range(2):
        replay_step[(1,)](x, y, flag, step * N, step + 1 if fixed else 1, N)


@tandem.jit
def sum_then_max(a_ptr, b_ptr, FIRST: tl.constexpr):
    """Two collectives with a flag each, in another order on one rank."""
    n = dl.num_ranks()
    peer = (dl.rank() + 1) % n
    swapped = dl.rank() == FIRST
    for i in range(2):
        one = (i == 0) != swapped
        if one:
            dl.notify(a_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
            dl.wait(a_ptr, 1, "sys", "acquire", waitValue=1)
        else:
            dl.notify(b_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
            dl.wait(b_ptr, 1, "sys", "acquire", waitValue=1)  # <-- collectives_in_another_order


@pair("deadlock", None, ranks=(2,))
def collectives_in_another_order(team, fixed):
    sum_then_max[(1,)](flags(team, name="a"), flags(team, name="b"), -1 if fixed else 0)


@tandem.jit
def unread_slot(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    """Each rank waits for its own slot, which it wrote itself, instead of its neighbour's."""
    o = tl.arange(0, N)
    rank = dl.rank()
    n = dl.num_ranks()
    for peer in range(n):
        tl.store(dl.symm_at(x_ptr, peer) + rank * N + o, rank)  # <-- waited_for_own_slot
        dl.notify(flag_ptr + rank, peer, signal=1, sig_op="set", comm_scope="intra_node")
    before = (rank + n - 1) % n
    dl.wait(flag_ptr + (before if FIXED else rank), 1, "sys", "acquire", waitValue=1)
    tl.store(y_ptr + o, tl.load(x_ptr + before * N + o))  # <-- waited_for_own_slot


@pair("race", "M5")
def waited_for_own_slot(team, fixed):
    unread_slot[(1,)](data(team, count=team.size * N), data(team, "y"), flags(team, team.size), N, fixed)
