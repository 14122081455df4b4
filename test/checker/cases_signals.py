"""Signals: used again without a reset, updated from two sides, reset while somebody waits, counted past a wait."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair

N = 32


@tandem.jit
def two_rounds(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    """Rank 0 sends two messages to rank 1, each into its own half."""
    o = tl.arange(0, N)
    for i in range(2):
        value = i + 1 if FIXED else 1
        if dl.rank() == 0:
            tl.store(dl.symm_at(x_ptr, 1) + i * N + o, i)  # <-- signal_never_reset
            dl.notify(flag_ptr, 1, signal=value.to(tl.int64) if FIXED else 1, sig_op="set", comm_scope="intra_node")
        elif dl.rank() == 1:
            dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=value.to(tl.int64) if FIXED else 1, compare="ge")
            tl.store(y_ptr + i * N + o, tl.load(x_ptr + i * N + o))  # <-- signal_never_reset


@pair("race", "M15")
def signal_never_reset(team, fixed):
    two_rounds[(1,)](team.zeros(2 * N, "int32", name="x"), team.zeros(2 * N, "int32"), team.zeros(1, "int64", name="flag"), N, fixed)


@tandem.jit
def report_to_first(flag_ptr, FIXED: tl.constexpr):
    rank = dl.rank()
    slot = rank if FIXED else 0
    dl.notify(flag_ptr + slot, 0, signal=(rank + 1).to(tl.int64), sig_op="set", comm_scope="intra_node")  # <-- shared_slot
    if rank == 0:
        for i in range(dl.num_ranks()):
            dl.wait(flag_ptr + (i if FIXED else 0), 1, "sys", "acquire", waitValue=1, compare="ge")


@pair("signal-misuse", "M11")
def shared_slot(team, fixed):
    report_to_first[(1,)](team.zeros(team.size, "int64", name="flag"), fixed)


@tandem.jit
def reset_by_waiter(flag_ptr, ack_ptr, work_ptr, FIXED: tl.constexpr):
    """Rank 0 sets, rank 1 waits and resets, twice; without the acknowledgement the second set may come before the reset."""
    rank = dl.rank()
    if rank == 0:
        dl.notify(flag_ptr, 1, signal=1, sig_op="set", comm_scope="intra_node")
        if FIXED:
            dl.wait(ack_ptr, 1, "sys", "acquire", waitValue=1)
        for i in range(100):
            tl.store(work_ptr, i)
        dl.notify(flag_ptr, 1, signal=2, sig_op="set", comm_scope="intra_node")  # <-- reset_race
    elif rank == 1:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1, compare="ge")
        dl.notify(flag_ptr, 1, signal=0, sig_op="set", comm_scope="intra_node")  # <-- reset_race
        if FIXED:
            dl.notify(ack_ptr, 0, signal=1, sig_op="set", comm_scope="intra_node")
            dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=2)


@pair("signal-misuse", "M11")
def reset_race(team, fixed):
    reset_by_waiter[(1,)](team.zeros(1, "int64", name="flag"), team.zeros(1, "int64", name="ack"), team.zeros(1, "int32"), fixed)


@tandem.jit
def count_ranks(flag_ptr, EXPECTED: tl.constexpr):
    dl.notify(flag_ptr, 0, signal=1, sig_op="add", comm_scope="intra_node")  # <-- overshoot
    if dl.rank() == 0:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=EXPECTED)  # <-- overshoot


@pair("signal-misuse", "M15")
def overshoot(team, fixed):
    count_ranks[(1,)](team.zeros(1, "int64", name="flag"), team.size if fixed else team.size - 1)


@tandem.jit
def two_waiters(flag_ptr, done_ptr, FIXED: tl.constexpr):
    """Program 0 sends to itself and to program 1, which both wait on one signal; program 0 resets it."""
    pid = tl.program_id(0)
    if pid == 0:
        dl.notify(flag_ptr, dl.rank(), signal=1, sig_op="set", comm_scope="intra_node")
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)  # <-- reset_while_waiting
    if pid == 1:
        if FIXED:
            dl.notify(done_ptr, dl.rank(), signal=1, sig_op="set", comm_scope="intra_node")
    else:
        if FIXED:
            dl.wait(done_ptr, 1, "sys", "acquire", waitValue=1)
        dl.notify(flag_ptr, dl.rank(), signal=0, sig_op="set", comm_scope="intra_node")  # <-- reset_while_waiting


@pair("signal-misuse", "M15", ranks=(1, 2))
def reset_while_waiting(team, fixed):
    two_waiters[(2,)](team.zeros(1, "int64", name="flag"), team.zeros(1, "int64", name="done"), fixed)


@tandem.jit
def signal_and_wait(flag_ptr, WAITED: tl.constexpr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    shmem.signal_op(flag_ptr, 3, shmem.NVSHMEM_SIGNAL_SET, peer)  # <-- host_reads_a_signal
    if WAITED:
        shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 3)


@pair("signal-misuse", "M15")
def host_reads_a_signal(team, fixed):
    """A program that has acquired a relaxed update comes after it, and so do later operations of its stream and host."""
    flag = team.zeros(1, "int64", name="flag")
    signal_and_wait[(1,)](flag, fixed)
    team.synchronize()
    assert np.asarray(flag)[0] in (0, 3)  # <-- host_reads_a_signal
    if fixed:
        flag[...] = 0


@tandem.jit
def look_by_adding_nothing(flag_ptr, y_ptr, FIXED: tl.constexpr):
    """An atomic that changes nothing is no update of the signal; one that does is."""
    if dl.rank() == 0:
        dl.notify(flag_ptr, 1, signal=1, sig_op="set", comm_scope="intra_node")  # <-- polled_by_an_update
    elif dl.rank() == 1:
        tl.store(y_ptr, tl.atomic_add(flag_ptr, 0 if FIXED else 1, sem="relaxed", scope="sys"))  # <-- polled_by_an_update
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1, compare="ge")


@pair("signal-misuse", "M11")
def polled_by_an_update(team, fixed):
    look_by_adding_nothing[(1,)](team.zeros(1, "int64", name="flag"), team.zeros(1, "int64"), fixed)
