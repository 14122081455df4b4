"""Loops of programs that look for ever at words that nothing changes: the kind of the report, the line of the look, the value seen."""

import pathlib

import pytest

import tandem
import tandem.dist as dl
import tandem.language as tl
from tandem.simt import __syncthreads, atomic_cas, ld, named_barrier_sync, st, tid


def line_of(text):
    lines = pathlib.Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# <-- {text}"))


def error_of(main, ranks=1, **options):
    def run(team):
        main(team)
        team.synchronize()

    with pytest.raises(tandem.SimulationError) as error:
        tandem.launch(run, ranks=ranks, max_steps=200_000, **options)
    (report,) = [r for r in error.value.reports if r["severity"] == "error"]
    return report


@tandem.jit
def sleep(ns):
    tl.inline_asm_elementwise("nanosleep.u32 $1; mov.u32 $0, $1;", "=r,r", [ns], dtype=tl.int32, is_pure=False, pack=1)


@tandem.jit
def counts(f_ptr, out_ptr):
    tries = 0
    while tl.load(f_ptr, volatile=True) < 1:  # <-- counts
        tries += 1
    tl.store(out_ptr, tries)


@tandem.jit
def backs_off(f_ptr, out_ptr):
    if tid(0) == 0:
        ns = 8
        while ld(f_ptr, scope="gpu", semantic="acquire") < 1:  # <-- backs_off
            sleep(ns)
            if ns < 256:
                ns = ns * 2


@tandem.jit
def backs_off_without_end(f_ptr, out_ptr):
    if tid(0) == 0:
        ns = 8
        while ld(f_ptr, scope="gpu", semantic="acquire") < 1:  # <-- backs_off_without_end
            sleep(ns)
            ns = ns + 8


@tandem.jit
def either(f_ptr, out_ptr):
    if tid(0) == 0:
        while (ld(f_ptr, scope="gpu", semantic="acquire") < 1) and (  # <-- either
            ld(f_ptr + 1, scope="gpu", semantic="acquire") < 1
        ):
            pass


@tandem.jit
def in_turn(f_ptr, out_ptr):
    if tid(0) == 0:
        at = 0
        while ld(f_ptr + at, scope="gpu", semantic="acquire") < 1:  # <-- in_turn
            at = (at + 1) % 1000


@tandem.jit
def is_set(f_ptr):
    return ld(f_ptr, scope="gpu", semantic="acquire") == 1  # <-- by_a_function


@tandem.jit
def by_a_function(f_ptr, out_ptr):
    if tid(0) == 0:
        done = False
        while not done:
            done = is_set(f_ptr)


@tandem.jit
def where_data_say(f_ptr, out_ptr):
    if tid(0) == 0:
        at = 0
        while at >= 0:
            at = ld(f_ptr + at, scope="gpu", semantic="relaxed")  # <-- where_data_say


@tandem.jit
def by_adding_nothing(f_ptr, out_ptr):
    while tl.atomic_add(f_ptr, 0, sem="acquire", scope="gpu") < 1:  # <-- by_adding_nothing
        pass


@tandem.jit
def by_a_lane_each(f_ptr, out_ptr):
    t = tid(0)
    if t < 4:
        while ld(f_ptr + t, scope="gpu", semantic="acquire") < 1:  # <-- by_a_lane_each
            pass
    __syncthreads()


@tandem.jit
def in_a_for(f_ptr, out_ptr):
    for k in range(4):
        while tl.load(f_ptr + k, volatile=True) < 1:  # <-- in_a_for
            pass


SPINS = [
    counts,
    backs_off,
    backs_off_without_end,
    either,
    in_turn,
    by_a_function,
    where_data_say,
    by_adding_nothing,
    by_a_lane_each,
    in_a_for,
]


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("kernel", SPINS, ids=lambda k: k.__name__)
def test_a_loop_that_only_looks(kernel, check):
    for seed in range(3):
        report = error_of(lambda team: kernel[(2,)](team.zeros(1000, "int32", name="f"), team.zeros(1, "int32")), check=check, seed=seed)
        assert (report["kind"], report["line"]) == ("livelock", line_of(kernel.__name__)), report["text"]
        assert "livelock: 2 programs loop for ever, and nothing changes" in report["message"]
        assert "reads `f` + " in report["text"] and "sees 0, never written" in report["text"]


@tandem.jit
def gives_up(f_ptr, out_ptr, MOST: tl.constexpr):
    tries = 0
    while (tl.load(f_ptr, volatile=True) < 1) and (tries < MOST):
        tries += 1
    tl.store(out_ptr + tl.program_id(0), tries)


@tandem.jit
def gives_up_by_doubling(f_ptr, out_ptr, MOST: tl.constexpr):
    if tid(0) == 0:
        ns, tries = 1, 0
        while (ld(f_ptr, scope="gpu", semantic="acquire") < 1) and (ns < MOST):
            sleep(ns)
            ns = ns * 2
            tries += 1
        st(out_ptr + tl.program_id(0), tries, scope="gpu", semantic="weak")


@pytest.mark.parametrize("kernel, most, tries", [(gives_up, 3000, 3000), (gives_up_by_doubling, 1 << 20, 20)])
def test_a_loop_that_gives_up(kernel, most, tries):
    def main(team):
        out = team.zeros(2, "int32")
        kernel[(2,)](team.zeros(4, "int32"), out, most)
        team.synchronize()
        return out.numpy().tolist()

    for seed in range(3):
        assert tandem.launch(main, ranks=1, seed=seed, check=True).values == [[tries, tries]]


@tandem.jit
def found_late(f_ptr, go_ptr, out_ptr):
    """Program 0 looks at a thousand words in turn, and sleeps long before program 1 sets one of them."""
    if tid(0) == 0:
        if tl.program_id(0) == 0:
            at = 0
            while ld(f_ptr + at, scope="gpu", semantic="acquire") < 1:
                at = (at + 1) % 1000
            st(out_ptr, at, scope="gpu", semantic="weak")
        else:
            while ld(go_ptr, scope="sys", semantic="acquire") < 1:
                pass
            st(f_ptr + 700, 1, scope="gpu", semantic="release")


def test_a_sleeping_loop_wakes():
    def main(team):
        out, go = team.zeros(1, "int32"), team.zeros(1, "int64")
        found_late[(2,)](team.zeros(1000, "int32"), go, out)
        team.new_stream().signal_write(go, 1)
        team.synchronize()
        return int(out[0])

    for seed in range(6):
        assert tandem.launch(main, ranks=1, seed=seed, check=True).values == [700]


@tandem.jit
def looks_or_waits(f_ptr, flag_ptr):
    if tl.program_id(0) == 0:
        while tl.load(f_ptr, volatile=True) < 1:
            pass
    else:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)


@tandem.jit
def tries_to_take(lock_ptr):
    if tid(0) == 0:
        while atomic_cas(lock_ptr, 0, 1, scope="gpu", semantic="acquire") != 0:
            pass


@tandem.jit
def looks_before_it_tries(lock_ptr):
    if tid(0) == 0:
        while (ld(lock_ptr, scope="gpu", semantic="relaxed") != 0) or (atomic_cas(lock_ptr, 0, 1, scope="gpu", semantic="acquire") != 0):
            pass


@tandem.jit
def looks_then_tries(lock_ptr):
    if tid(0) == 0:
        got = False
        while not got:
            if ld(lock_ptr, scope="gpu", semantic="relaxed") == 0:
                got = atomic_cas(lock_ptr, 0, 1, scope="gpu", semantic="acquire") == 0


@tandem.jit
def groups_look_and_meet(f_ptr):
    """Threads of one program: some look, some wait for a barrier that too few reach."""
    t = tid(0)
    if t < 32:
        while ld(f_ptr, scope="gpu", semantic="acquire") < 1:
            pass
    else:
        named_barrier_sync(1, 128)


def test_who_waits_is_in_a_deadlock():
    """A wait, and a lock that its holder does not give back."""
    assert error_of(lambda team: looks_before_it_tries[(2,)](team.zeros(1, "int32")))["kind"] == "deadlock"
    apart = error_of(lambda team: looks_then_tries[(2,)](team.zeros(1, "int32")), ranks=2)
    assert apart["kind"] == "deadlock" and "wait for each other" not in apart["text"]  # what the loop tries itself is not behind it
    assert error_of(lambda team: groups_look_and_meet[(1,)](team.zeros(1, "int32")))["kind"] == "deadlock"
    both = error_of(lambda team: looks_or_waits[(2,)](team.zeros(1, "int32", name="f"), team.zeros(1, "int64", name="flag")))
    assert both["kind"] == "deadlock" and "reads `f` + 0" in both["text"] and "expects `flag` + 0" in both["text"]
    assert error_of(lambda team: tries_to_take[(2,)](team.zeros(1, "int32")))["kind"] == "deadlock"


@tandem.jit
def both_or_none(a_ptr, b_ptr):
    """Each of two programs takes one lock, and gives it back when it does not get the other. Nobody has given back the second pair."""
    first = a_ptr if tl.program_id(0) == 0 else b_ptr
    second = b_ptr if tl.program_id(0) == 0 else a_ptr
    done = 0
    while done == 0:
        if tl.atomic_cas(first, 0, 1) == 0:  # <-- takes the first
            if tl.atomic_cas(second + 1, 0, 1) == 0:  # <-- takes the second
                done = 1
            else:
                tl.atomic_xchg(first, 0)  # <-- gives back


def test_a_loop_that_changes_memory_is_named_by_the_limit():
    def main(team):
        both_or_none[(2,)](team.full(2, 1, "int32", name="a"), team.full(2, 1, "int32", name="b"))

    def half_free(team):
        a, b = team.zeros(2, "int32", name="a"), team.zeros(2, "int32", name="b")
        a[1] = b[1] = 1
        both_or_none[(2,)](a, b)

    assert error_of(main)["kind"] == "deadlock"
    for seed in range(3):
        report = error_of(half_free, seed=seed)
        assert report["kind"] == "limit-exceeded" and " of a loop" in report["text"], report["text"]
        for name in ("takes the first", "takes the second"):
            assert f"{__file__}:{line_of(name)}:" in report["text"], report["text"]
        assert "the loop reads `b` + 4 of rank 0, sees 1" in report["text"] or "the loop reads `a` + 4 of rank 0, sees 1" in report["text"]
