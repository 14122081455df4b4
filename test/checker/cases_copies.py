"""Copy engines, events, signals of streams, the host: one stream's order says nothing about another's."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from case import pair

N = 64


def data(team, name="x"):
    return team.zeros(N, "int32", name=name)


def flag(team):
    return team.zeros(1, "int64", name="flag")


@tandem.jit
def fill(x_ptr, value, N: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, N), value)  # <-- kernels_of_two_streams


@pair("race", "M13", ranks=(1, 2))
def kernels_of_two_streams(team, fixed):
    x, other = data(team), team.new_stream()
    fill[(1,)](x, 1, N)
    if fixed:
        other.wait_event(team.stream.record_event())
    fill[(1,)](x, 2, N, stream=other)


@tandem.jit
def fill_after_event(x_ptr, value, N: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, N), value)  # <-- event_recorded_too_early


@pair("race", "M13", ranks=(1, 2))
def event_recorded_too_early(team, fixed):
    x, y, other = data(team), data(team, "y"), team.new_stream()
    event = None if fixed else team.stream.record_event()
    fill_after_event[(1,)](x, 1, N)
    other.wait_event(team.stream.record_event() if fixed else event)
    other.copy(y, x)  # <-- event_recorded_too_early


@tandem.jit
def fill_cleared(x_ptr, value, N: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, N), value)  # <-- memset_on_another_stream


@pair("race", "M13", ranks=(1, 2))
def memset_on_another_stream(team, fixed):
    x, other = data(team), team.new_stream()
    other.memset(x)  # <-- memset_on_another_stream
    if fixed:
        team.stream.wait_event(other.record_event())
    fill_cleared[(1,)](x, 1, N)


@tandem.jit
def read_after_signal(x_ptr, y_ptr, flag_ptr, N: tl.constexpr):
    o = tl.arange(0, N)
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- signal_before_copy


@pair("race", "M13", ranks=(1, 2))
def signal_before_copy(team, fixed):
    source, x, y, ready, copies = data(team, "source"), data(team), data(team, "y"), flag(team), team.new_stream()
    if fixed:
        copies.copy(x, source)
    copies.signal_write(ready, 1)
    if not fixed:
        copies.copy(x, source)  # <-- signal_before_copy
    read_after_signal[(1,)](x, y, ready, N)


@tandem.jit
def read_other_stream(x_ptr, y_ptr, flag_ptr, N: tl.constexpr):
    o = tl.arange(0, N)
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- signal_on_another_stream


@pair("race", "M13", ranks=(1, 2))
def signal_on_another_stream(team, fixed):
    source, x, y, ready = data(team, "source"), data(team), data(team, "y"), flag(team)
    copies, signals = team.new_stream(), team.new_stream()
    copies.copy(x, source)  # <-- signal_on_another_stream
    (copies if fixed else signals).signal_write(ready, 1)
    read_other_stream[(1,)](x, y, ready, N)


@tandem.jit
def produce_and_tell(x_ptr, flag_ptr, N: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, N), 3)  # <-- copy_without_signal_wait
    dl.notify(flag_ptr, dl.rank(), signal=1, sig_op="set", comm_scope="intra_node")


@pair("race", "M13", ranks=(1, 2))
def copy_without_signal_wait(team, fixed):
    x, y, ready, copies = data(team), data(team, "y"), flag(team), team.new_stream()
    produce_and_tell[(1,)](x, ready, N)
    if fixed:
        copies.signal_wait(ready, 1)
    copies.copy(y, x)  # <-- copy_without_signal_wait


@tandem.jit
def fill_own(x_ptr, N: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, N), dl.rank())  # <-- copy_from_a_peer_too_early


@pair("race", "M12")
def copy_from_a_peer_too_early(team, fixed):
    x, y = data(team), data(team, "y")
    fill_own[(1,)](x, N)
    if fixed:
        team.stream.barrier()
    team.stream.copy(y, x.peer((team.rank + 1) % team.size))  # <-- copy_from_a_peer_too_early


@tandem.jit
def read_pushed(x_ptr, y_ptr, N: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, N), tl.load(x_ptr + tl.arange(0, N)))  # <-- push_without_barrier


@pair("race", "M12")
def push_without_barrier(team, fixed):
    source, x, y = data(team, "source"), data(team), data(team, "y")
    team.stream.copy(x.peer((team.rank + 1) % team.size), source)  # <-- push_without_barrier
    if fixed:
        team.stream.barrier()
    read_pushed[(1,)](x, y, N)


@tandem.jit
def put_ring(x_ptr, N: tl.constexpr):
    tl.store(dl.symm_at(x_ptr, (dl.rank() + 1) % dl.num_ranks()) + tl.arange(0, N), 9)  # <-- host_writes_too_early


@pair("race", "M12")
def host_writes_too_early(team, fixed):
    x = data(team)
    put_ring[(1,)](x, N)
    if fixed:
        team.barrier()
    x[...] = 1  # <-- host_writes_too_early


@tandem.jit
def read_local(x_ptr, y_ptr, N: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, N), tl.load(x_ptr + tl.arange(0, N)))  # <-- reused_under_a_kernel


@pair("race", "M13", ranks=(1, 2))
def reused_under_a_kernel(team, fixed):
    """The next step's copy into a buffer that the last step's kernel reads."""
    source, x, y, copies = data(team, "source"), data(team), data(team, "y"), team.new_stream()
    copies.copy(x, source)
    team.stream.wait_event(copies.record_event())
    read_local[(1,)](x, y, N)
    if fixed:
        copies.wait_event(team.stream.record_event())
    copies.copy(x, source)  # <-- reused_under_a_kernel
