"""Streams and copy engines."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from case import pair

N = 256


@tandem.jit
def fill(x_ptr, value, N: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, N), value)  # <-- copy_without_event


@pair("race", "M13", ranks=(1, 2))
def copy_without_event(team, fixed):
    x, y, other = team.zeros(N, "int32", name="x"), team.zeros(N, "int32", name="y"), team.new_stream()
    fill[(1,)](x, 1, N)
    if fixed:
        other.wait_event(team.stream.record_event())
    other.copy(y, x)  # <-- copy_without_event


@tandem.jit
def read_shard(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    o = tl.arange(0, N)
    if FIXED:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- shard_without_signal


@pair("race", "M13", ranks=(1, 2))
def shard_without_signal(team, fixed):
    source, x, flag = team.zeros(N, "int32"), team.zeros(N, "int32", name="x"), team.zeros(1, "int64", name="flag")
    copies = team.new_stream()
    copies.copy(x, source)  # <-- shard_without_signal
    copies.signal_write(flag, 1)
    read_shard[(1,)](x, team.zeros(N, "int32"), flag, N, fixed)


@tandem.jit
def bring(out_ptr, brought_ptr, call):
    p = tl.program_id(0)
    tl.store(out_ptr + p, call)
    dl.notify(brought_ptr, dl.rank(), signal=1, sig_op="add", comm_scope="intra_node")  # <-- reset_before_the_last_add


@pair("signal-misuse", "M11", ranks=(1, 2))
def reset_before_the_last_add(team, fixed):
    """More additions than the checker keeps apart, counted anew in each call."""
    programs = 20
    out, brought = team.zeros(programs, "int32", name="out"), team.zeros(1, "int64", name="brought")
    copies, to = team.new_stream(), team.zeros(programs, "int32", name="to")
    for call in range(3):
        copies.wait_event(team.stream.record_event())
        bring[(programs,)](out, brought, call)
        copies.signal_wait(brought, programs if fixed else programs - 1, "ge")
        copies.signal_write(brought, 0)  # <-- reset_before_the_last_add
        copies.copy(to, out)
        team.stream.wait_event(copies.record_event())
