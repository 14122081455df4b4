"""Data that has not arrived when it is looked for: late puts into memory that nobody has written, signals behind a wait, the host."""

import numpy
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair

N = 32


@tandem.jit
def send_into_empty(source_ptr, dest_ptr, out_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    """The destination holds nothing before the put: who reads it early reads bytes that nobody has written, because of the race."""
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    shmem.putmem_nbi_block(dest_ptr, source_ptr, 4 * N, peer)  # <-- put_into_empty_memory
    if FIXED:
        shmem.fence()
    shmem.signal_op(flag_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
    shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 1)
    tl.store(out_ptr + o, tl.load(dest_ptr + o))  # <-- put_into_empty_memory
    shmem.quiet()


@pair("race", "M9")
def put_into_empty_memory(team, fixed):
    source, flag = team.from_array(numpy.arange(N, dtype=numpy.int32)), team.zeros(1, "int64", name="flag")
    send_into_empty[(1,)](source, team.empty(N, "int32", name="dest"), team.zeros(N, "int32"), flag, N, fixed)


@tandem.jit
def tell_twice(flag_ptr, LEAST: tl.constexpr):
    """Two updates; a wait for one of them may be over before the other."""
    peer = (dl.rank() + 1) % dl.num_ranks()
    dl.notify(flag_ptr, peer, signal=1, sig_op="add", comm_scope="intra_node")  # <-- second_add_left
    dl.notify(flag_ptr, peer, signal=1, sig_op="add", comm_scope="intra_node")  # <-- second_add_left
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=LEAST, compare="ge")


@pair("leftover-signal", None)
def second_add_left(team, fixed):
    tell_twice[(1,)](team.zeros(1, "int64", name="flag"), 2 if fixed else 1)


@tandem.jit
def tell_epochs(flag_ptr):
    """The stream's wait is for the first of two epochs."""
    peer = (dl.rank() + 1) % dl.num_ranks()
    dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")  # <-- epoch_left_by_a_stream
    dl.notify(flag_ptr, peer, signal=2, sig_op="set", comm_scope="intra_node")  # <-- epoch_left_by_a_stream


@pair("leftover-signal", None)
def epoch_left_by_a_stream(team, fixed):
    flag, waits = team.zeros(1, "int64", name="flag"), team.new_stream()
    waits.signal_wait(flag, 2 if fixed else 1, compare="ge")
    tell_epochs[(1,)](flag)


@tandem.jit
def push_right(x_ptr, N: tl.constexpr):
    o = tl.arange(0, N)
    tl.store(dl.symm_at(x_ptr, (dl.rank() + 1) % dl.num_ranks()) + o, o)  # <-- numpy_before_the_barrier


@pair("race", "M12")
def numpy_before_the_barrier(team, fixed):
    x = team.zeros(N, "int32", name="x")
    push_right[(1,)](x, N)
    if fixed:
        team.barrier()
    assert len(x.numpy()) == N  # <-- numpy_before_the_barrier


@tandem.jit
def wait_and_reset(flag_ptr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")  # <-- host_resets_a_signal
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)


@pair("signal-misuse", None)
def host_resets_a_signal(team, fixed):
    flag = team.zeros(1, "int64", name="flag")
    for _ in range(2):
        wait_and_reset[(1,)](flag)
        if fixed:
            team.barrier()
        else:
            team.synchronize()
        flag[...] = 0  # <-- host_resets_a_signal
        if fixed:
            team.barrier()
