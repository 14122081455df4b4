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


@tandem.jit
def lets_go(x_ptr, told_ptr, N: tl.constexpr):
    tl.extra.cuda.gdc_launch_dependents()
    o = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(x_ptr + o, o)  # <-- dependent_too_early
    dl.notify(told_ptr, dl.rank(), signal=1, sig_op="add", comm_scope="intra_node")


@tandem.jit
def depends(x_ptr, y_ptr, told_ptr, awaited, N: tl.constexpr, WAITS: tl.constexpr):
    if WAITS:
        tl.extra.cuda.gdc_wait()
    token = dl.wait(told_ptr, 1, "gpu", "acquire", waitValue=awaited, compare="ge")
    o = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y_ptr + o, tl.load(dl.consume_token(x_ptr, token) + o))  # <-- dependent_too_early
    tl.extra.cuda.gdc_wait()


@pair("race", "M13", ranks=(1, 2))
def dependent_too_early(team, fixed):
    """It waits for the launch before it, or for all that this tells."""
    x, y, told = team.zeros(4 * N, "int32", name="x"), team.zeros(4 * N, "int32"), team.zeros(1, "int64", name="told")
    for call in range(2):
        lets_go[(4,)](x, told, N)
        waits = fixed and call == 0
        depends[(4,)](x, y, told, 4 * (call + 1) if fixed and not waits else 0, N, waits, launch_pdl=True)


@tandem.jit
def lets_go_late(x_ptr):
    tl.store(x_ptr + tl.program_id(0), 1)  # <-- dependent_of_many
    tl.extra.cuda.gdc_launch_dependents()


@tandem.jit
def reads_all(x_ptr, y_ptr, WAITS: tl.constexpr):
    if WAITS:
        tl.extra.cuda.gdc_wait()
    o = tl.arange(0, 8)
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- dependent_of_many


@pair("race", "M13", ranks=(1, 2), slots=3)
def dependent_of_many(team, fixed):
    """More programs than a rank has at once, on two streams: each that ends counts for its own launch."""
    other = team.new_stream()
    for stream in (team.stream, other):
        x, y = team.zeros(8, "int32", name="x"), team.zeros(8, "int32")
        lets_go_late[(8,)](x, stream=stream)
        reads_all[(1,)](x, y, fixed, launch_pdl=True, stream=stream)


@tandem.jit
def adds_in_turn(x_ptr, N: tl.constexpr, WAITS: tl.constexpr):
    tl.extra.cuda.gdc_launch_dependents()
    if WAITS:
        tl.extra.cuda.gdc_wait()
    o = tl.arange(0, N)
    tl.store(x_ptr + o, tl.load(x_ptr + o) + 1)  # <-- dependent_of_a_dependent


@pair("race", "M13", ranks=(1, 2))
def dependent_of_a_dependent(team, fixed):
    """Each of seven launches depends on the one before; the last one does not wait for it."""
    x = team.zeros(N, "int32", name="x")
    for launch in range(7):
        adds_in_turn[(1,)](x, N, fixed or launch < 6, launch_pdl=launch > 0)


@tandem.jit
def lets_nobody_go(x_ptr):
    tl.store(x_ptr + tl.program_id(0), 1)  # <-- dependent_of_what_lets_nobody_go


@tandem.jit
def reads_all_of_it(x_ptr, y_ptr, WAITS: tl.constexpr):
    if WAITS:
        tl.extra.cuda.gdc_wait()
    o = tl.arange(0, 4)
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- dependent_of_what_lets_nobody_go


@pair("race", "M13", ranks=(1, 2))
def dependent_of_what_lets_nobody_go(team, fixed):
    """It starts when the launch before has ended, but only its wait makes it see what that has done."""
    x, y = team.zeros(4, "int32", name="x"), team.zeros(4, "int32")
    lets_nobody_go[(4,)](x)
    reads_all_of_it[(1,)](x, y, fixed, launch_pdl=True)


@tandem.jit
def waits_for_host(flag_ptr):
    tl.extra.cuda.gdc_launch_dependents()
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)  # <-- dependent_of_what_never_ends


@tandem.jit
def waits_for_launch():
    tl.extra.cuda.gdc_wait()


@pair("deadlock", None, ranks=(1, 2))
def dependent_of_what_never_ends(team, fixed):
    flag, other = team.zeros(1, "int64", name="flag"), team.new_stream()
    waits_for_host[(1,)](flag)
    waits_for_launch[(2,)](launch_pdl=True)
    if fixed:
        other.signal_write(flag, 1)
