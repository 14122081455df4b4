"""Wrong runs: each is reported once, of the right kind, at the marked line.

A kernel line that must be blamed ends in `# <-- NAME`; the case NAME gives the run, the report's kind and words it has.
"""

import pathlib
import re

import numpy as np
import pytest

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from tandem.simt import ld, st, tid


@tandem.jit
def copy_tail(x_ptr, y_ptr, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + o)  # <-- load without mask
    tl.store(y_ptr + o, x, mask=o < n)


@tandem.jit
def shifted(x_ptr, by, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B) + by, 1.0)  # <-- shifted store


@tandem.jit
def columns_masked(x_ptr, N, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(x_ptr + r[:, None] * N + r[None, :], 1.0, mask=(r < N)[None, :])  # <-- rows without mask


@tandem.jit
def element(x_ptr, y_ptr, i):
    tl.store(y_ptr, tl.load(x_ptr + i))  # <-- element


@tandem.jit
def pick(x_ptr, i):
    return tl.load(x_ptr + i)  # <-- nested load


@tandem.jit
def pick_nested(x_ptr, y_ptr, i):
    tl.store(y_ptr, pick(x_ptr, i))


@tandem.jit
def one_word(x_ptr, at):
    st(x_ptr, ld(x_ptr + at))  # <-- ld


@tandem.jit
def wide(x_ptr, at):
    tl.store((x_ptr + at).to(tl.pointer_type(tl.int64), bitcast=True), 1)  # <-- misaligned store


@tandem.jit
def to_peer(x_ptr, peer):
    tl.store(dl.symm_at(x_ptr, peer), 1.0)  # <-- symm_at


@tandem.jit
def await_one(s_ptr):
    dl.wait(s_ptr, 1, "sys", "acquire", waitValue=1)  # <-- wait


@tandem.jit
def ring(s_ptr):
    shmem.signal_wait_until(s_ptr, shmem.NVSHMEM_CMP_EQ, 1)  # <-- cyclic wait
    shmem.signal_op(s_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, (dl.rank() + 1) % dl.num_ranks())


@tandem.jit
def spin_load(s_ptr):
    while tl.load(s_ptr, volatile=True) != 1:  # <-- spin on a load
        pass


@tandem.jit
def spin_cas(s_ptr):
    while tl.atomic_cas(s_ptr, 1, 2) != 1:  # <-- spin on atomic_cas
        pass


@tandem.jit
def spin_ld(s_ptr):
    while ld(s_ptr, scope="sys", semantic="acquire") != 1:  # <-- spin on ld
        pass


@tandem.jit
def endless(x_ptr):
    x = tl.load(x_ptr)
    while x < 2:  # <-- endless loop
        x = x * 0 + 1
    tl.store(x_ptr, x)


@tandem.jit
def last_program_signals(s_ptr, programs):
    if tl.program_id(0) == programs - 1:
        tl.atomic_add(s_ptr, 1)
    else:
        while tl.load(s_ptr, volatile=True) != 1:  # <-- more programs than slots
            pass


@tandem.jit
def barrier_without(absent):
    if dl.rank() != absent:
        shmem.barrier_all_block()  # <-- barrier without a rank


@tandem.jit
def barrier_in_thread(x_ptr):
    if tid(0) == 0:
        shmem.barrier_all_block()  # <-- barrier of one thread


@tandem.jit
def checked(n):
    tl.device_assert(n == 4, "n must be four")  # <-- device_assert


@tandem.jit
def constant(B: tl.constexpr):
    assert B == 4, f"B is {B}"  # <-- constant assert


@tandem.jit
def signal(s_ptr):
    shmem.signal_op(s_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, 0)  # <-- signal


@tandem.jit
def put(d_ptr, s_ptr, size, peer):
    shmem.putmem_block(d_ptr, s_ptr, size, peer)  # <-- put


@tandem.jit
def get(d_ptr, s_ptr, size, peer):
    shmem.getmem_block(d_ptr, s_ptr, size, peer)  # <-- get


@tandem.jit
def forget(s_ptr, peer):
    dl.notify(s_ptr, peer, signal=1, sig_op="add", comm_scope="intra_node")  # <-- leftover signal


def flag(team):
    return team.zeros(1, "int64", name="flag")


def freed(team):
    tensor = team.zeros(8, name="gone")
    tensor.free()
    return tensor


def freed_while_queued(team):
    tensor, out = team.zeros(8, name="gone"), team.zeros(8)
    element[(1,)](tensor, out, 2)
    tensor.free()


def second_of_two(team):
    team.zeros(64, name="a")
    return team.zeros(64, name="b")


def overshot(team):
    signal_tensor = flag(team)
    signal_tensor[...] = 2
    ring[(1,)](signal_tensor)


def host_array():
    return np.zeros(8, np.float32)


OOB = "out-of-bounds"
CASES = [  # name of the mark, ranks, run, kind, words
    (
        "load without mask",
        1,
        lambda t: copy_tail[(2,)](np.zeros(100, "f4"), np.zeros(100, "f4"), 100, 64),
        OOB,
        "`host array`|has 400 bytes",
    ),
    (
        "load without mask",
        1,
        lambda t: copy_tail[(2,)](t.zeros(100), t.zeros(100), 100, 64),
        OOB,
        "byte offset 256|400 bytes|program (1,0,0)",
    ),
    ("shifted store", 1, lambda t: shifted[(1,)](t.zeros(64, name="a"), 1, 64), OOB, "byte offset 4 of `a`|has 256 bytes|allocated at"),
    ("shifted store", 1, lambda t: shifted[(1,)](second_of_two(t), -1, 64), OOB, "4 bytes before `b`"),
    ("shifted store", 1, lambda t: shifted[(1,)](t.zeros(64), 1 << 30, 64), OOB, "byte offset 4294967296"),
    ("shifted store", 1, lambda t: shifted[(1,)](t.zeros(64), -(1 << 30), 64), OOB, ""),
    ("shifted store", 1, lambda t: shifted[(1,)](t.zeros(0, name="none"), 0, 4), OOB, "`none`|has 0 bytes"),
    ("rows without mask", 1, lambda t: columns_masked[(1,)](t.zeros((10, 10), name="a"), 10, 16), OOB, "byte offset 400 of `a`"),
    ("nested load", 1, lambda t: pick_nested[(1,)](t.zeros(8), t.zeros(8), 8), OOB, "return tl.load(x_ptr + i)|called from here"),
    ("ld", 1, lambda t: one_word[(1,)](t.zeros(8, "int32"), 8), OOB, "byte offset 32"),
    ("misaligned store", 1, lambda t: wide[(1,)](t.zeros(8, "int32"), 1), "misaligned", "byte offset 4|not aligned to 8 bytes"),
    ("element", 1, lambda t: element[(1,)](t.empty(8, name="raw"), t.zeros(8), 2), "uninitialised-read", "`raw`[8..12)"),
    ("element", 1, lambda t: element[(1,)](freed(t), t.zeros(8), 2), "use-after-free", "`gone`|freed at"),
    ("element", 1, freed_while_queued, "use-after-free", "`gone`|freed at"),
    ("symm_at", 2, lambda t: to_peer[(1,)](t.local_empty(8, name="mine"), 0), OOB, "needs a symmetric address|`mine` of rank"),
    ("symm_at", 2, lambda t: to_peer[(1,)](host_array(), 0), OOB, "needs a symmetric address|`host array`"),
    ("symm_at", 2, lambda t: to_peer[(1,)](t.zeros(8), 2), "bad-rank", "peer 2 is outside 0..1"),
    ("symm_at", 2, lambda t: to_peer[(1,)](t.zeros(8), -1), "bad-rank", "peer -1 is outside 0..1"),
    ("signal", 2, lambda t: signal[(1,)](t.local_from_array(np.zeros(1, "i8"))), OOB, "a signal needs a symmetric address"),
    ("put", 2, lambda t: put[(1,)](t.zeros(8, name="d"), t.zeros(64), 256, 1), OOB, "write of 256 bytes|`d` on rank 1"),
    ("put", 2, lambda t: put[(1,)](t.local_from_array(host_array()), t.zeros(64), 16, 1), OOB, "`put` needs a symmetric address"),
    ("put", 2, lambda t: put[(1,)](t.zeros(8), t.zeros(64), 16, 7), "bad-rank", "peer 7 is outside 0..1"),
    ("put", 2, lambda t: put[(1,)](t.zeros(8), t.zeros(64), -16, 1), OOB, "-16 bytes"),
    ("get", 2, lambda t: get[(1,)](t.zeros(64), t.zeros(8, name="s"), 256, 1), OOB, "read of 256 bytes|`s` on rank 1"),
    ("get", 2, lambda t: get[(1,)](t.zeros(8), t.zeros(8), 16, -3), "bad-rank", "peer -3"),
    ("device_assert", 1, lambda t: checked[(1,)](5, debug=True), "assertion", "n must be four"),
    ("constant assert", 1, lambda t: constant[(1,)](3, debug=True), "assertion", "B is 3"),
    ("barrier of one thread", 2, lambda t: barrier_in_thread[(1,)](t.zeros(1)), "divergent-block-operation", "all 128 threads"),
    ("wait", 2, lambda t: await_one[(1,)](flag(t)), "deadlock", "`flag` + 0 of rank 1 == 1, sees 0; never written"),
    ("cyclic wait", 1, overshot, "deadlock", "== 1, sees 2"),
    ("cyclic wait", 3, lambda t: ring[(1,)](flag(t)), "deadlock", "3 programs wait|of rank 2 == 1, sees 0"),
    ("spin on a load", 2, lambda t: spin_load[(1,)](flag(t)), "livelock", "reads `flag` + 0 of rank 0, sees 0, never written"),
    ("spin on a load", 1, lambda t: spin_load[(1,)](np.zeros(1, "i8")), "livelock", "reads `host array`"),
    ("spin on atomic_cas", 2, lambda t: spin_cas[(1,)](flag(t)), "deadlock", "reads `flag`"),
    ("spin on ld", 2, lambda t: spin_ld[(1,)](flag(t)), "livelock", "reads `flag`"),
    ("endless loop", 1, lambda t: endless[(1,)](t.zeros(1)), "livelock", "loops without end"),
    ("barrier without a rank", 3, lambda t: barrier_without[(1,)](1), "deadlock", "not arrived: rank 1"),
    (
        "more programs than slots",
        1,
        lambda t: last_program_signals[(300,)](flag(t), 300),
        "livelock",
        "168 programs of `last_program_signals` on rank 0 have not started|128 programs more of rank 0 wait at",
    ),
]


def mark_line(name):
    lines = pathlib.Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# <-- {name}"))


def reports_of(main, ranks, seed=0):
    def run(team):
        main(team)
        team.synchronize()

    with pytest.raises(tandem.SimulationError) as failure:
        tandem.launch(run, ranks=ranks, seed=seed)
    return failure.value


@pytest.mark.parametrize("name, ranks, run, kind, words", CASES, ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)])
def test_wrong_run(name, ranks, run, kind, words):
    error = reports_of(run, ranks)
    (report,) = [r for r in error.reports if r["severity"] == "error"]
    line = mark_line(name)
    assert (report["kind"], report["file"], report["line"]) == (kind, __file__, line), error
    head, source, caret = str(error).strip().splitlines()[:3]
    assert head.startswith(f"{__file__}:{line}:") and source.endswith(f"# <-- {name}") and set(caret) <= set(" ^~")
    for word in words.split("|"):
        assert word in str(error), error
    assert len(str(error).splitlines()) < 40


def alone_in_barrier(team):
    if team.rank:
        team.barrier()  # <-- a barrier alone


def another_collective(team):
    if team.rank:
        team.zeros(8)  # <-- an allocation alone
    else:
        team.barrier()


def stream_waits(team):
    team.stream.signal_wait(flag(team), 1)
    team.synchronize()  # <-- a stream that waits


def allocates_alone(team):
    if team.rank == 1:
        team.zeros(8)  # <-- allocation of one rank


def team_barrier_alone(team):
    part = team.split([0, 1])
    if team.rank == 1:
        part.barrier()  # <-- a barrier of a team


HOSTS = [
    (alone_in_barrier, "a barrier alone", "not arrived: rank 0"),
    (another_collective, "an allocation alone", "waits for the other ranks to allocate symmetric memory"),
    (stream_waits, "a stream that waits", "signal wait expects `flag` + 0 of rank 0 == 1, sees 0; never written"),
    (allocates_alone, "allocation of one rank", "waits for the other ranks to allocate"),
    (team_barrier_alone, "a barrier of a team", "not arrived: rank 0"),
]


@pytest.mark.parametrize("run, name, words", HOSTS, ids=[h[1] for h in HOSTS])
def test_hosts_that_wait_for_ever(run, name, words):
    text = str(reports_of(run, 2))
    assert words in text
    assert re.search(rf"{re.escape(__file__)}:{mark_line(name)}: note: the host of ranks? [01, ]*1 is here\n", text), text
    assert "0 programs" not in text


def test_sizes_that_differ_by_rank():
    error = reports_of(lambda team: team.zeros(8 + team.rank, name="a"), 2)
    assert [r["kind"] for r in error.reports] == ["asymmetric-allocation"]
    assert re.search(r"`a` has 36 bytes on rank 1, but 32 on another rank", str(error))
    assert f"called at {__file__}:" in str(error)


def test_heap_that_is_full():
    error = reports_of(lambda team: team.empty(1 << 50, name="big"), 2)
    assert "out-of-memory: no room for `big`" in str(error)


def test_leftover_signals_are_warned_of():
    def main(team):
        signal_tensor = flag(team)
        team.barrier()
        forget[(1,)](signal_tensor, 1 - team.rank)
        team.barrier()

    with pytest.warns(tandem.SimulationWarning, match=rf"{re.escape(__file__)}:{mark_line('leftover signal')}:.*leftover-signal.*`flag`"):
        tandem.launch(main, ranks=2)


@pytest.mark.parametrize("seed", range(5))
def test_enough_slots_for_programs_that_wait(seed):
    def main(team):
        last_program_signals[(300,)](flag(team), 300)
        team.synchronize()

    tandem.launch(main, slots_per_rank=300, seed=seed)


def test_a_caught_report_is_raised_again_at_the_end():
    def main(team):
        with pytest.raises(tandem.SimulationError):
            await_one[(1,)](flag(team))
            team.synchronize()

    assert "deadlock" in str(reports_of(lambda team: main(team), 2))


def test_a_line_of_the_host_is_marked_as_a_whole():
    def main(team):
        if team.rank == 0:
            team.barrier()  # the other rank does not come

    with pytest.raises(tandem.SimulationError) as caught:
        tandem.launch(main, ranks=2)
    line = "            team.barrier()  # the other rank does not come"
    assert f"    {line}\n    {' ' * 12}^{'~' * (len(line) - 13)}\n" in str(caught.value)
