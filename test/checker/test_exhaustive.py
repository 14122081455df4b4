"""Every schedule of small programs: counts that are known by hand, a deadlock that seeds do not meet, proofs of right programs, replays."""

import json
import subprocess
import sys

import pytest
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from tandem.simt import fence, ld, st, tid


def every(main, ranks, **options):
    return tandem.explore(main, ranks=ranks, exhaustive=True, **options)


@tandem.jit
def count_up(c_ptr, TIMES: tl.constexpr, SHARED: tl.constexpr):
    for _ in tl.static_range(TIMES):
        tl.atomic_add(dl.symm_at(c_ptr, 0) if SHARED else c_ptr, 1, sem="relaxed", scope="sys")


def counting(times, shared):
    return lambda team: count_up[(1,)](team.zeros(1, "int32", name="count"), times, shared)


@tandem.jit
def exchange(flag_ptr):
    dl.notify(flag_ptr, (dl.rank() + 1) % dl.num_ranks(), signal=1, sig_op="set", comm_scope="intra_node")
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)


@tandem.jit
def arrive(flag_ptr):
    dl.notify(flag_ptr, 0, signal=1, sig_op="add", comm_scope="intra_node")
    if dl.rank() == 0:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=dl.num_ranks())


@tandem.jit
def meet_twice(flag_ptr):
    shmem.barrier_all()
    shmem.barrier_all()


def with_flag(kernel):
    return lambda team: kernel[(1,)](team.zeros(1, "int64", name="flag"))


@tandem.jit
def put_round(to_ptr, from_ptr, flag_ptr):
    shmem.putmem_signal_nbi_block(to_ptr, from_ptr, 64, flag_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, (dl.rank() + 1) % dl.num_ranks())
    shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 1)
    shmem.quiet()


def putting(team):
    put_round[(1,)](team.zeros(16, "int32", name="to"), team.zeros(16, "int32", name="from"), team.zeros(1, "int64", name="flag"))


@tandem.jit
def first_adds(c_ptr):
    tl.extra.cuda.gdc_launch_dependents()
    tl.atomic_add(c_ptr, 1, sem="relaxed", scope="sys")


@tandem.jit
def then_adds(c_ptr, WAITS: tl.constexpr):
    if WAITS:
        tl.extra.cuda.gdc_wait()
    tl.atomic_add(c_ptr, 1, sem="relaxed", scope="sys")


def depending(programs, waits):
    def main(team):
        count = team.zeros(1, "int32", name="count")
        first_adds[(programs,)](count)
        then_adds[(1,)](count, waits, launch_pdl=True)

    return main


@tandem.jit
def fence_once(SCOPE: tl.constexpr):
    fence("seq_cst", SCOPE)


@tandem.jit
def look_once(x_ptr, y_ptr):
    tl.store(y_ptr, tl.load(dl.symm_at(x_ptr, 0), volatile=True))


def looking(team):
    look_once[(1,)](team.zeros(1, "int32", name="x"), team.zeros(1, "int32", name="y"))


# (main, ranks, all orders, orders of dependent steps)
COUNTS = {
    "apart": (counting(2, False), 2, 6, 1),  # 4! / (2! 2!); no step concerns the other rank
    "one counter": (counting(1, True), 2, 2, 2),
    "one counter, twice": (counting(2, True), 2, 6, 6),
    "one counter, 3 ranks": (counting(1, True), 3, 6, 6),
    "exchange": (with_flag(exchange), 2, 4, 1),  # both notifies, then both waits: 2 * 2
    "ring of 3": (with_flag(exchange), 3, 48, 1),  # each wait after two of the notifies
    "arrivals": (with_flag(arrive), 3, 6, 1),  # 3! orders of additions, which commute
    "barriers": (with_flag(meet_twice), 3, 36, 1),  # 3! arrivals, twice
    "a dependent launch": (depending(1, False), 1, 2, 2),
    "a dependent launch that waits": (depending(1, True), 1, 1, 1),
    "a dependent launch of two programs": (depending(2, False), 1, 6, 6),
    "one that waits for two programs": (depending(2, True), 1, 2, 2),
    "a dependent launch on each rank": (depending(1, False), 2, 24, 4),  # 4! / (1! 1! 1! 1!)
    "sc fences": (lambda team: fence_once[(1,)]("sys"), 2, 2, 2),
    "sc fences of each rank": (lambda team: fence_once[(1,)]("gpu"), 2, 2, 1),
    "volatile looks": (looking, 2, 2, 1),
    "late puts": (putting, 2, 6, 1),  # two deliveries, each before one of the waits: 4! / 4
    "late puts, 3 ranks": (putting, 3, 90, 1),  # 6! / 2^3
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    main, ranks, orders, reduced = COUNTS[name]
    for reduction, runs in ((False, orders), (True, reduced)):
        proof = every(main, ranks, reduction=reduction)
        assert (proof.runs, proof.complete, proof.findings) == (runs, True, [])
        assert proof.proven and str(proof).endswith("all there are: nothing found")


@tandem.jit
def seen_before_the_fence(x_ptr, flag_ptr, y_ptr, FIXED: tl.constexpr):
    """The flag may be seen before its writer's fence: then the reader's own comes first, too."""
    if tid(0) == 0:
        if dl.rank() == 0:
            st(dl.symm_at(x_ptr, 1), 1, semantic="weak")
            if FIXED:
                fence("seq_cst", "sys")
            st(dl.symm_at(flag_ptr, 1), 1, scope="sys", semantic="relaxed")
            fence("seq_cst", "sys")
        elif ld(flag_ptr, scope="sys", semantic="relaxed") == 1:
            fence("seq_cst", "sys")
            st(y_ptr, ld(x_ptr, semantic="weak"), semantic="weak")


@tandem.jit
def seen_between(x_ptr, flag_ptr, y_ptr, FIXED: tl.constexpr):
    """Only a volatile look that comes between the two stores of the flag goes wrong."""
    if dl.rank() == 0:
        if tid(0) == 0:
            st(dl.symm_at(x_ptr, 1), 1, semantic="weak")
            st(dl.symm_at(flag_ptr, 1), 1, scope="sys", semantic="release" if FIXED else "relaxed")
            st(dl.symm_at(flag_ptr, 1), 2, scope="sys", semantic="release")
    else:
        seen = tl.load(flag_ptr, volatile=True)
        fence("acq_rel", "sys")
        if seen == 1:
            tl.store(y_ptr, tl.load(x_ptr))


@pytest.mark.parametrize("kernel", [seen_before_the_fence, seen_between], ids=["fences", "volatile looks"])
@pytest.mark.parametrize("fixed", [False, True], ids=["wrong", "right"])
def test_steps_at_fences_and_volatile_looks(kernel, fixed):
    def main(team):
        kernel[(1,)](team.zeros(1, "int32", name="x"), team.zeros(1, "int32", name="flag"), team.zeros(1, "int32", name="y"), fixed)

    proof = every(main, 2)
    assert proof.complete and ("race" in {f.kind for f in proof.findings}) is not fixed


@tandem.jit
def enter_if_alone(flag_ptr, x_ptr, BETWEEN: tl.constexpr, FENCE: tl.constexpr, ORDER: tl.constexpr):
    """Dekker: each raises its own flag and goes in if the other one's is down. `BETWEEN`: stores of other words behind that of the flag."""
    me = dl.rank()
    if tid(0) == 0:
        st(dl.symm_at(flag_ptr, 0) + me, 1, scope="sys", semantic=ORDER)
        for i in tl.static_range(BETWEEN):
            st(flag_ptr + 2 + i, 1, scope="sys", semantic=ORDER)
        if FENCE != "":
            fence(FENCE, "sys")
        if ld(dl.symm_at(flag_ptr, 0) + 1 - me, scope="sys", semantic="acquire") == 0:
            st(dl.symm_at(x_ptr, 0), me, semantic="weak")


@pytest.mark.parametrize("order", ["relaxed", "release"])
@pytest.mark.parametrize("between", [0, 1, 3])
@pytest.mark.parametrize("fenced", ["", "acq_rel", "sc"])
def test_stores_that_are_late(fenced, between, order):
    """Others may see a store behind later looks of its thread, unless an `sc` fence lies between."""

    def main(team):
        enter_if_alone[(1,)](team.zeros(8, "int32", name="flag"), team.zeros(1, "int32", name="x"), between, fenced, order)

    proof = every(main, 2)
    assert (proof.runs, proof.complete) == (4, True)  # either store comes before the other's look, or behind it; or orders of the fences
    races = [f for f in proof.findings if f.kind == "race"]
    assert bool(races) is (fenced != "sc")
    for finding in races:
        assert "the others saw this store late, as a GPU may let them" in finding.text
        for _, schedule in finding.runs:
            with pytest.raises(tandem.SimulationError, match="race"):
                tandem.launch(main, ranks=2, schedule=schedule, check=True)


@tandem.jit
def peterson(flag_ptr, turn_ptr, x_ptr, ROUNDS: tl.constexpr, FIXED: tl.constexpr):
    """The store of the turn that comes last says nothing of the other flag to its own thread: that takes an `sc` fence between the two."""
    me = dl.rank()
    flag, turn = dl.symm_at(flag_ptr, 0), dl.symm_at(turn_ptr, 0)
    if tid(0) == 0:
        for _ in tl.static_range(ROUNDS):
            st(flag + me, 1, scope="sys", semantic="relaxed")
            if FIXED:
                fence("sc", "sys")
            st(turn, me + 1, scope="sys", semantic="release")
            fence("sc", "sys")
            if ld(flag + 1 - me, scope="sys", semantic="acquire") == 1:
                while (ld(turn, scope="sys", semantic="acquire") == me + 1) & (ld(flag + 1 - me, scope="sys", semantic="acquire") == 1):
                    pass
            st(dl.symm_at(x_ptr, 0), me, semantic="weak")
            st(flag + me, 0, scope="sys", semantic="release")


@pytest.mark.parametrize("fixed", [False, True], ids=["wrong", "right"])
def test_a_lock_by_turns(fixed):
    def main(team):
        peterson[(1,)](team.zeros(2, "int32", name="flag"), team.zeros(1, "int32", name="turn"), team.zeros(1, "int32", name="x"), 1, fixed)

    proof = every(main, 2)
    assert proof.complete and any(f.kind == "race" for f in proof.findings) is not fixed


@tandem.jit
def look_between(a_ptr, b_ptr, c_ptr, y_ptr):
    if tid(0) == 0:
        if dl.rank() == 0:
            st(dl.symm_at(a_ptr, 0), 1, scope="sys", semantic="relaxed")
            st(y_ptr, ld(dl.symm_at(b_ptr, 0), scope="sys", semantic="relaxed"), semantic="weak")
            st(dl.symm_at(c_ptr, 0), 1, scope="sys", semantic="relaxed")
        else:
            st(dl.symm_at(b_ptr, 0), 1, scope="sys", semantic="relaxed")
            fence("seq_cst", "sys")
            st(y_ptr, ld(dl.symm_at(c_ptr, 0), scope="sys", semantic="relaxed"), semantic="weak")
            st(y_ptr + 1, ld(dl.symm_at(a_ptr, 0), scope="sys", semantic="relaxed"), semantic="weak")


def test_reduction_leaves_out_no_end_of_late_stores():
    """Both searches meet the same ends, and who sees the later store sees the earlier one."""
    ends = []
    for reduction in (True, False):
        found = set()

        def main(team):
            words = [team.zeros(1, "int32", name=name) for name in "abc"]
            y = team.zeros(2, "int32", name="y")
            look_between[(1,)](*words, y)
            found.add((team.rank, *y.numpy().tolist()))

        proof = every(main, 2, reduction=reduction)
        assert proof.complete
        ends.append((proof.runs, found))
    assert ends[0][1] == ends[1][1] and (1, 1, 0) not in ends[0][1] and ends[0][0] < ends[1][0]


@tandem.jit
def polite(turn_ptr, flag_ptr, ROUNDS: tl.constexpr):
    """Whoever meets the other at every single turn waits for a sign that nobody gives."""
    met = 0
    for i in tl.static_range(ROUNDS):
        if tl.atomic_add(dl.symm_at(turn_ptr, 0), 1, sem="acq_rel", scope="sys") == 2 * i:
            met += 1
    if met == ROUNDS:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)


def politely(team):
    polite[(1,)](team.zeros(1, "int32", name="turn"), team.zeros(1, "int64", name="flag"), 4)


def test_a_deadlock_that_seeds_do_not_meet():
    for seed in range(300):
        tandem.launch(politely, ranks=2, seed=seed)
    proof = every(politely, 2)
    assert (proof.runs, proof.complete, proof.proven) == (70, True, False)  # 8! / (4! 4!)
    (finding,) = proof.findings
    assert finding.kind == "deadlock"
    assert len(finding.runs) == 2  # strictly in turns, from either rank
    for _, schedule in finding.runs:
        with pytest.raises(tandem.SimulationError, match="deadlock"):
            tandem.launch(politely, ranks=2, schedule=schedule)


def test_the_limit():
    proof = every(politely, 2, limit=10)
    assert (proof.runs, proof.complete, proof.proven) == (10, False, False)
    with pytest.raises(ValueError, match="limit"):
        every(politely, 2, limit=0)


@tandem.jit
def first_come(turn_ptr, out_ptr):
    tl.store(out_ptr, tl.atomic_add(dl.symm_at(turn_ptr, 0), 1, sem="acq_rel", scope="sys"))


def test_results_that_depend_on_the_schedule():
    proof = every(lambda team: first_come[(1,)](team.zeros(1, "int32", name="turn"), team.zeros(1, "int32", name="out")), 2)
    assert proof.runs == 2 and [f.kind for f in proof.findings] == ["schedule-dependent"]


def test_a_program_that_does_not_repeat():
    times = iter([2, 1, 1, 2, 2, 1, 2, 1])
    lock = {}

    def main(team):
        count = lock.setdefault(id(team._session), None) or next(times)
        lock[id(team._session)] = count
        count_up[(1,)](team.zeros(1, "int32", name="count"), count, True)

    with pytest.raises(ValueError, match="same schedule"):
        every(main, 2)


@pytest.mark.parametrize("text", ["", "x", "1..2"])
def test_a_schedule_that_is_no_schedule(text):
    with pytest.raises(ValueError, match="numbers with dots"):
        tandem.launch(politely, ranks=2, schedule=text)


SCRIPT = """
import tandem
import tandem.dist as dl
import tandem.language as tl


@tandem.jit
def polite(turn_ptr, flag_ptr, ROUNDS: tl.constexpr):
    met = 0
    for i in tl.static_range(ROUNDS):
        if tl.atomic_add(dl.symm_at(turn_ptr, 0), 1, sem="acq_rel", scope="sys") == 2 * i:
            met += 1
    if met == ROUNDS:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)


def main(team):
    polite[(1,)](team.zeros(1, "int32", name="turn"), team.zeros(1, "int64", name="flag"), 3)
"""


def command(*words, cwd):
    return subprocess.run([sys.executable, "-m", "tandem", *words], cwd=cwd, capture_output=True, text=True, timeout=120)


def test_the_command(tmp_path):
    (tmp_path / "polite.py").write_text(SCRIPT)
    done = command("check", "--exhaustive", "--ranks", "2", "--json", "f.json", "polite.py", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "1 finding, 0 suppressed; 2 ranks: 20 schedules, all there are" in done.stdout
    (found,) = json.loads((tmp_path / "f.json").read_text())
    assert found["replay"].startswith("tandem run --check --ranks 2 --schedule ") and f"replay: {found['replay']}" in done.stdout
    again = command(*found["replay"].split()[1:], cwd=tmp_path)
    assert again.returncode == 1 and "deadlock" in again.stderr and "--schedule" in again.stderr
    ended = command("check", "--exhaustive", "--ranks", "2", "--limit", "5", "polite.py", cwd=tmp_path)
    assert "not all: `--limit 5` ended it" in ended.stdout


def runs_of_pairs():
    from test_checker import PAIRS

    return [pair for pair in PAIRS if 2 in pair.ranks]


@pytest.mark.parametrize("fixed", [False, True], ids=["wrong", "right"])
@pytest.mark.parametrize("pair", runs_of_pairs(), ids=lambda pair: pair.name)
def test_pairs(pair, fixed):
    """Every schedule, or 200 of them. A right run may store what depends on the schedule, as the value of a counter."""

    def main(team):
        pair.main(team, fixed)
        team.synchronize()

    proof = every(main, 2, limit=200, **({"slots_per_rank": pair.slots} if pair.slots else {}))
    errors = {f.kind for f in proof.findings if f.severity == "error" or f.kind == pair.kind}
    assert errors <= {"schedule-dependent"} if fixed else errors
