"""Wrong launches: the errors for wrong grids, arguments, ranks, threads and failing ranks."""

import base64
import gc
import os
import re
import signal
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import tandem
import tandem.language as tl
from tandem import ops


@tandem.jit
def one(x_ptr):
    tl.store(x_ptr, 1)


@tandem.jit
def put(x_ptr, value):
    tl.store(x_ptr, value)


@tandem.jit
def put_byte(x_ptr, value: tl.int8):
    tl.store(x_ptr, value)


@tandem.jit
def put_half(x_ptr, value: "float16"):  # noqa: F821
    tl.store(x_ptr, value)


@tandem.jit
def count(x_ptr, N: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, N), tl.arange(0, N))


@tandem.jit
def beyond(x_ptr):
    tl.store(x_ptr + 100, 1)


class Thing:
    pass


def zeros(n=4, dtype=np.float32):
    return np.zeros(n, dtype)


WRONG = {
    "negative grid": (lambda: one[(-1,)](zeros()), ValueError, "negative"),
    "grid of text": (lambda: one["a"](zeros()), TypeError, "one to three integers"),
    "no grid": (lambda: one[None](zeros()), TypeError, "one to three integers"),
    "grid of floats": (lambda: one[(1.5,)](zeros()), TypeError, "one to three integers"),
    "four sizes": (lambda: one[(1, 1, 1, 1)](zeros()), ValueError, "one to three sizes, not 4"),
    "empty grid": (lambda: one[()](zeros()), ValueError, "one to three sizes, not 0"),
    "huge grid": (lambda: one[(1 << 40,)](zeros()), ValueError, "too large"),
    "product of sizes beyond 64 bits": (lambda: one[(1 << 30, 1 << 30, 1 << 30)](zeros()), ValueError, "too large"),
    "grid beyond y": (
        lambda: one[(1, 65536)](zeros()),
        RuntimeError,
        "kernel `one`: the grid has size 65536 in dimension 1, at most 65535 is possible",
    ),
    "grid beyond z": (lambda: one[(1, 1, 65536)](zeros()), RuntimeError, "the grid has size 65536 in dimension 2, at most 65535"),
    "called without a grid": (lambda: one(zeros()), RuntimeError, r"`one\[grid\]\(...\)`"),
    "missing argument": (lambda: put[(1,)](zeros()), TypeError, "`put`: missing a required argument: 'value'"),
    "too many arguments": (lambda: one[(1,)](zeros(), 1), TypeError, "`one`: too many positional"),
    "unknown keyword": (lambda: one[(1,)](zeros(), foo=1), TypeError, "`one` has no parameter `foo`"),
    "option of Triton": (lambda: one[(1,)](zeros(), arch="sm80"), TypeError, "`one` has no parameter `arch`"),
    "argument twice": (lambda: one[(1,)](zeros(), x_ptr=zeros()), TypeError, "multiple values"),
    "constexpr of text": (lambda: count[(1,)](zeros(), "8"), tandem.CompileError, "must be an integer"),
    "constexpr object": (lambda: count[(1,)](zeros(), Thing()), tandem.CompileError, "`N` is a `Thing` object"),
    "complex array": (lambda: one[(1,)](zeros(4, complex)), TypeError, "`x_ptr` of kernel `one`: .*dtype `complex128`"),
    "array of objects": (lambda: one[(1,)](np.array([None, 1])), TypeError, "dtype `object`"),
    "array of text": (lambda: one[(1,)](np.array(["a"])), TypeError, "dtype `<U1`"),
    "big-endian array": (lambda: one[(1,)](zeros(2, ">f4")), TypeError, "dtype `>f4`"),
    "number for a pointer": (lambda: one[(1,)](3), tandem.CompileError, "needs a pointer"),
    "None for a pointer": (lambda: one[(1,)](None), tandem.CompileError, "needs a pointer"),
    "list": (lambda: one[(1,)]([1, 2]), TypeError, "`x_ptr` of kernel `one` has type `list`.* give it as `np.array"),
    "object": (lambda: one[(1,)](Thing()), TypeError, "has type `Thing`"),
    "complex number": (lambda: put[(1,)](zeros(), 1j), TypeError, "has type `complex`"),
    "bytes": (lambda: put[(1,)](zeros(), b"a"), TypeError, "has type `bytes`"),
    "huge integer": (lambda: put[(1,)](zeros(), 1 << 70), OverflowError, "does not fit 64 bits"),
    "huge negative integer": (lambda: put[(1,)](zeros(), -(1 << 63) - 1), OverflowError, "`value` of kernel `put`.* does not fit 64 bits"),
    "integer beyond its annotation": (lambda: put_byte[(1,)](zeros(), 1000), OverflowError, "1000 does not fit type `i8`"),
    "fraction for an integer": (lambda: put_byte[(1,)](zeros(), 1.5), OverflowError, "1.5 does not fit type `i8`"),
    "three warps": (lambda: one[(1,)](zeros(), num_warps=3), tandem.CompileError, "power of two"),
    "64 warps": (lambda: one[(1,)](zeros(), num_warps=64), tandem.CompileError, "a power of two between 1 and 32, but is 64"),
    "no stream": (lambda: one[(1,)](zeros(), stream=3), TypeError, "not a stream"),
    "no ranks": (lambda: tandem.launch(lambda t: 0, ranks=0), ValueError, "`ranks` must be 1 to 1024, not 0"),
    "ranks of text": (lambda: tandem.launch(lambda t: 0, ranks="2"), TypeError, "`ranks` must be an integer"),
    "fraction of a rank": (lambda: tandem.launch(lambda t: 0, ranks=1.5), TypeError, "`ranks` must be an integer"),
    "seed of text": (lambda: tandem.launch(lambda t: 0, seed="x"), TypeError, "`seed` must be an integer"),
    "no slots": (lambda: tandem.launch(lambda t: 0, slots_per_rank=0), ValueError, "at least 1"),
    "target": (lambda: tandem.launch(lambda t: 0, target="abacus"), ValueError, "`abacus` is not available"),
    "no main": (lambda: tandem.launch(None), TypeError, "not callable"),
    "main without a team": (lambda: tandem.launch(lambda: 0), TypeError, "takes 0 positional"),
}


def test_options_of_triton_that_are_not_set():
    x = zeros()
    one[(1,)](x, arch=None, ir_override=None)
    assert x[0] == 1


@pytest.mark.parametrize("run, kind, words", WRONG.values(), ids=WRONG.keys())
def test_wrong_launch(run, kind, words):
    with pytest.raises(kind, match=words):
        run()


TEAM = {
    "size not whole": (lambda t: t.zeros((2.5, 3)), TypeError, "integer"),
    "shape of a number": (lambda t: t.zeros(2.5), TypeError, "a shape is an integer or a tuple of integers, not 2.5"),
    "negative size": (lambda t: t.zeros(-4), ValueError, "negative size"),
    "uncountable size": (lambda t: t.empty((2**40, 2**40)), ValueError, "has more bytes than 64 bits can count"),
    "uncountable signal": (lambda t: t.stream.signal_write(t.zeros(1, "int64"), 2**70), OverflowError, "does not fit 64 bits"),
    "signal of many bits": (lambda t: t.stream.signal_write(t.zeros(1, "int64"), -(2**63) - 1), OverflowError, "does not fit 64 bits"),
    "unknown type": (lambda t: t.zeros(4, "float31"), TypeError, "`float31` is not an element type; did you mean `float32`?"),
    "array of objects": (lambda t: t.from_array(np.array([None, 1])), TypeError, "dtype `object`"),
    "peer outside": (lambda t: t.zeros(4).peer(2), IndexError, "rank 2 is not one of the team's 2 ranks"),
    "peer of local memory": (lambda t: t.local_empty(4).peer(1), ValueError, "only symmetric tensors have peers"),
    "peer freed": (lambda t: t.zeros(4).peer(1 - t.rank).free(), ValueError, "a view cannot be freed"),
    "columns of an array": (lambda t: t.stream.copy_columns(t.zeros(8), zeros(8), 0, 1), TypeError, "not `ndarray`"),
    "columns of other shapes": (
        lambda t: t.stream.copy_columns(t.zeros((2, 4)), t.zeros((2, 5)), 0, 1),
        ValueError,
        r"\[2, 5\] are copied into",
    ),
    "columns behind the last": (
        lambda t: t.stream.copy_columns(t.zeros((2, 4)), t.zeros((2, 4)), 2, 3),
        ValueError,
        "3 columns from column 2 of 4",
    ),
    "columns of a view": (lambda t: t.stream.copy_columns(t.zeros((4, 4)), t.zeros((4, 8))[:, :4], 0, 1), ValueError, "contiguous"),
    "copy of an array": (lambda t: t.stream.copy(t.zeros(8), zeros(8)), TypeError, "not `ndarray`"),
    "unknown event": (lambda t: t.stream.wait_event(77), RuntimeError, "event 77 was never recorded"),
    "team without its maker": (lambda t: t.split([1 - t.rank]), RuntimeError, "is not a member of the team"),
    "team with a rank twice": (lambda t: t.split([0, 0]), RuntimeError, "`members` has rank 0 twice"),
    "index outside": (lambda t: t.zeros(4).__setitem__(10, 1), IndexError, "out of bounds"),
    "shape that does not fit": (lambda t: t.zeros(4).__setitem__(..., zeros(5)), ValueError, "broadcast"),
}


@pytest.mark.parametrize("run, kind, words", TEAM.values(), ids=TEAM.keys())
def test_wrong_call_of_the_team(run, kind, words):
    with pytest.raises(kind, match=words):
        tandem.launch(run, ranks=2)


def test_double_free():
    def main(team):
        a = team.zeros(8)
        a.free()
        a.free()

    with pytest.raises(ValueError, match="freed already"):
        tandem.launch(main, ranks=2)


def test_values_by_annotation():
    x = zeros()
    put_byte[(1,)](x, -3)
    assert x[0] == -3
    put_half[(1,)](x, 2.5)
    assert x[0] == 2.5


def test_empty_grid_and_empty_arrays():
    x = zeros()
    one[(0,)](x)
    assert x[0] == 0
    put[(1,)](x, 5)
    empty = x[4:]
    with pytest.raises(tandem.SimulationError, match="which has 0 bytes"):
        one[(1,)](empty)


def test_an_exception_of_one_rank_releases_the_others():
    def main(team):
        if team.rank == 1:
            raise KeyError("mine")
        team.barrier()

    with pytest.raises(KeyError, match="mine") as failure:
        tandem.launch(main, ranks=3)
    assert failure.value.__notes__ == ["raised on rank 1 of 3"]
    assert failure.traceback[-1].name == "main"


@pytest.mark.parametrize(
    "run",
    [
        WRONG["huge integer"][0],
        WRONG["negative grid"][0],
        WRONG["list"][0],
        lambda: tandem.init().zeros(2.5),
        lambda: ops.AllReduce(tandem.init(), 8, "fp32", way="ring"),
    ],
)
def test_a_wrong_call_is_the_last_line_of_its_traceback(run):
    """Frames of the package say nothing to the caller; of the run around them only that of `launch` is left."""
    with pytest.raises(Exception) as failure:
        tandem.launch(lambda team: run(), ranks=2)
    assert [entry.name for entry in failure.traceback][1] == "launch" and len(failure.traceback) == 4
    assert all(str(entry.path) == __file__ for entry in failure.traceback[2:])


def test_a_fault_of_the_package_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(tandem.Team, "zeros", lambda team: tandem.jit(count.fn).specialize(None, None, 3))
    with pytest.raises(AttributeError) as failure:
        tandem.launch(lambda team: team.zeros())
    assert failure.traceback[-1].name == "specialize"


def test_reports_of_operators_name_the_callers_line():
    def main(team):
        ops.AllReduce(team, 2**37, "fp32")

    with pytest.raises(tandem.SimulationError, match=r"test_launch.py:\d+: note: the host of rank 0 is here") as failure:
        tandem.launch(main)
    assert f"tandem{os.sep}ops" not in str(failure.value)


def test_exit_of_one_rank():
    def main(team, code):
        if team.rank == 1:
            sys.exit(code)
        if code:
            team.barrier()
        return team.rank

    assert tandem.launch(main, ranks=3, args=(0,)).values == [0, None, 2]
    with pytest.raises(SystemExit) as leaving:
        tandem.launch(main, ranks=3, args=(3,))
    assert leaving.value.code == 3


def test_a_rank_that_exits_leaves_the_others_waiting():
    def main(team):
        if team.rank == 1:
            sys.exit(0)
        team.barrier()

    with pytest.raises(tandem.SimulationError, match="not arrived: rank 1"):
        tandem.launch(main, ranks=2)


def test_a_run_that_was_not_traced_has_no_timeline():
    result = tandem.launch(lambda team: team.barrier(), ranks=2)
    for ask in (lambda: result.summary, result.timeline, lambda: result.write_trace("/nowhere/x")):
        with pytest.raises(RuntimeError, match="the run was not traced: its session is made without `trace`"):
            ask()


def test_launches_nest():
    def inner(team):
        team.barrier()
        return team.size

    values = tandem.launch(lambda team: tandem.launch(inner, ranks=3).values, ranks=2).values
    assert values == [[3, 3, 3]] * 2


def test_kernels_after_a_failure():
    with pytest.raises(tandem.SimulationError, match="out-of-bounds"):
        beyond[(1,)](zeros())
    x = zeros()
    one[(1,)](x)
    assert x[0] == 1


def test_tensor_of_another_run():
    tensor = tandem.launch(lambda team: team.zeros(4)).values[0]
    assert (np.asarray(tensor) == 0).all()
    with pytest.raises(ValueError, match="tensor of another run"):
        one[(1,)](tensor)


def test_launches_on_threads():
    seen = []

    def body():
        for _ in range(10):
            x = zeros()
            one[(1,)](x)
            seen.append(x[0])

    threads = [threading.Thread(target=body) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [1] * 40


def test_the_team_of_a_rank_belongs_to_its_thread():
    def main(team):
        caught = []

        def body():
            with pytest.raises(RuntimeError, match="from another thread"):
                team.zeros(4)
            caught.append(True)

        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
        return caught

    assert tandem.launch(main, ranks=2).values == [[True], [True]]


def test_host_memory_lives_until_a_queued_launch_is_done():
    def main(team):
        stream = team.new_stream()
        kept = []
        for i in range(50):
            x = np.zeros(1 << 12, np.float32)
            put[(1,)](x, float(i + 2), stream=stream)
            kept.append(x if i % 2 else None)
            del x
        team.synchronize()
        return [float(x[0]) for x in kept if x is not None]

    assert tandem.launch(main).values[0] == [float(i + 2) for i in range(50) if i % 2]


def test_host_memory_lives_when_the_launch_is_refused():
    def main(team):
        for _ in range(3):
            with pytest.raises(RuntimeError, match="a cooperative launch of 200 programs on a rank that has room for 132"):
                put[(200,)](np.zeros(1 << 16, np.float32), 1.0, launch_cooperative_grid=True)
        gc.collect()
        team.synchronize()  # copies what the refused launches had queued
        x = np.zeros(16, np.float32)
        put[(1,)](x, 2.0, launch_cooperative_grid=True)
        return float(x[0])

    assert tandem.launch(main).values == [2.0]


def test_little_address_space():
    limit = "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))"
    code = f"import resource, tandem\n{limit}\ntandem.launch(lambda t: t.size)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1 and "address space" in done.stderr and "ulimit -v" in done.stderr


@tandem.jit
def goes_round(x_ptr):
    x = tl.load(x_ptr)
    while x >= 0:
        x = tl.where(x > 1000000000, 0, x + 1)
    tl.store(x_ptr, x)


def test_an_interrupt_that_does_not_wake_the_main_thread():
    def main(team):
        goes_round[(1,)](team.zeros(1, "int32"))
        if team.rank == 0:
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        team.synchronize()

    with pytest.raises(KeyboardInterrupt):
        tandem.launch(main, ranks=2)


def test_result_shows_itself():
    result = tandem.launch(lambda team: team.barrier(), ranks=2, trace=True)
    assert repr(result) == "<tandem.Result of 2 ranks: no reports>"
    assert "switches" in result._repr_html_()
    (image,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', result._repr_html_())
    assert ">rank 1<" in base64.b64decode(image).decode()
    assert "<img" not in tandem.launch(lambda team: team.barrier(), ranks=2)._repr_html_()


def test_hooks_before_a_launch():
    """Hooks get the arguments of each launch before it."""

    @tandem.jit
    def add(x_ptr, step):
        tl.store(x_ptr, tl.load(x_ptr) + step)

    x = zeros(1)
    add.add_pre_run_hook(lambda array, step: array.fill(step * 10))
    for step in (1, 2):
        add[(1,)](x, step)
        assert x[0] == step * 11
    tandem.launch(lambda team: add[(1,)](x, 3), ranks=1)
    assert x[0] == 33


def test_the_stream_of_a_part_of_the_ranks_that_nobody_keeps():
    def main(team):
        stream = (
            team.split([2, 0]).split([1]).stream if team.rank == 0 else team.split([2, 0]).stream if team.rank == 2 else team.new_stream()
        )
        x = team.full(4, 7, "int32")
        stream.memset(x)
        stream.synchronize()
        return x.numpy().tolist(), stream.team.size

    assert tandem.launch(main, ranks=3).values == [([0] * 4, 1), ([0] * 4, 3), ([0] * 4, 2)]


def test_a_runs_memory_goes_with_its_last_user():
    """Not with a collection of reference cycles, before which the memory of many runs may have come together."""
    teams = []

    def main(team):
        teams.append(weakref.ref(team))
        team.new_stream().copy(team.zeros(4, "int32"), team.full(4, 1, "int32"))
        return team.stream

    gc.disable()
    try:
        result = tandem.launch(main, ranks=2)
        with pytest.raises(RuntimeError, match="the stream's team is no longer there"):
            result.values[0].synchronize()
        assert [team() for team in teams] == [None, None]
    finally:
        gc.enable()
