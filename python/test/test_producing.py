"""Kernels that write a matrix of parts, overlapped with its reduction: equal to the run before it, silent under the checker,
and each signal needed."""

import pathlib

import numpy as np
import plain_producers
import pytest

import tandem
import tandem.language as tl

NAMES = [kernel.__name__ for kernel, _ in plain_producers.ALL]


def operands(rank, calls, m, n, k, seed):
    random = np.random.default_rng(1000 * seed + rank)
    return [tuple(random.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n))) for _ in range(calls)]


def run(kernel, grid, collective, ranks, rows, n, k, seed, bands=3, calls=2, alone=None):
    """What each rank has after each call: its rows of the sum, or all, and the second output. With `alone`, a number of ranks: what
    each of their kernels writes by itself."""
    m = (alone or ranks) * rows
    kernel = kernel if alone else tandem.overlap(collective=collective, producer=kernel, over="c_ptr", bands=bands)

    def main(team):
        c, d = team.zeros((m, n), "float32", name="c"), team.local_empty(m, "float32")
        own = slice(team.rank * rows, (team.rank + 1) * rows) if collective == "reduce_scatter" else slice(0, m)
        results = []
        for of in range(alone or 1):
            for left, right in operands(of if alone else team.rank, calls, m, n, k, seed):
                d[:] = 0
                kernel[grid(-(-m // 16), -(-n // 16))](team.local_from_array(left), team.local_from_array(right), c, d, m, n, k, B=16)
                results.append((np.array(c)[own].copy() if not alone else np.array(c).copy(), np.array(d).copy()))
        return results

    return tandem.launch(main, ranks=1 if alone else ranks, seed=seed, check=True)


def expected(kernel, grid, ranks, rows, n, k, seed, calls=2):
    """The sums over the ranks, and the second output of each rank, for each call."""
    plain = run(kernel, grid, None, 1, rows, n, k, seed, calls=calls, alone=ranks).values[0]
    sums = []
    for call in range(calls):
        total = np.zeros((ranks * rows, n), np.float32)
        for rank in range(ranks):
            total += plain[rank * calls + call][0]
        sums.append(total)
    return sums, [[plain[rank * calls + call][1] for call in range(calls)] for rank in range(ranks)]


def check(kernel, grid, collective, ranks, seed, rows, n, k):
    if collective == "all_to_all":
        return check_exchange(kernel, grid, ranks, seed, rows, n, k)
    result = run(kernel, grid, collective, ranks, rows, n, k, seed)
    assert result.reports == []
    sums, others = expected(kernel, grid, ranks, rows, n, k, seed)
    for rank, values in enumerate(result.values):
        own = slice(rank * rows, (rank + 1) * rows) if collective == "reduce_scatter" else slice(None)
        for (value, other), want, want_other in zip(values, sums, others[rank]):
            assert (value == want[own]).all()
            assert (other == want_other).all()


def check_exchange(kernel, grid, ranks, seed, rows, n, k):
    result = run(kernel, grid, "all_to_all", ranks, rows, n, k, seed)
    assert result.reports == []
    plain = run(kernel, grid, None, 1, rows, n, k, seed, alone=ranks).values[0]
    for rank, values in enumerate(result.values):
        own = slice(rank * rows, (rank + 1) * rows)
        for call, (value, _) in enumerate(values):
            assert (value == np.concatenate([plain[source * 2 + call][0][own] for source in range(ranks)])).all()


@pytest.mark.parametrize("ranks, seed", [(2, 0), (3, 1)])
@pytest.mark.parametrize("collective", ["reduce_scatter", "all_reduce", "all_to_all"])
@pytest.mark.parametrize("kernel, grid", plain_producers.ALL, ids=NAMES)
def test_equal_to_the_run_before_the_reduction(kernel, grid, collective, ranks, seed):
    check(kernel, grid, collective, ranks, seed, *[(32, 32, 48), (21, 20, 28)][seed])


@pytest.mark.parametrize("ranks, seeds", [(1, 2), (2, 20), (3, 6), (4, 6), (8, 2)])
@pytest.mark.parametrize("collective", ["reduce_scatter", "all_reduce", "all_to_all"])
def test_on_many_schedules(collective, ranks, seeds):
    for seed in range(seeds):
        check(*plain_producers.ALL[seed % 8], collective, ranks, seed, 18, 20, 16)


@pytest.mark.parametrize("chunk", range(4))
@pytest.mark.parametrize("missing, words", [(1, "race: .*`c`"), (-1, "deadlock: ")])
@pytest.mark.parametrize("kernel, grid", plain_producers.ALL, ids=NAMES)
def test_each_signal_is_needed(kernel, grid, missing, words, chunk, monkeypatch):
    """`missing` signals of a chunk are not waited for, or do not come."""
    whole = tandem.overlapping.telling.Telling.count

    def count(sending, *launch):
        counts, order = whole(sending, *launch)
        return [count - missing * (nth == chunk) for nth, count in enumerate(counts)], order

    monkeypatch.setattr(tandem.overlapping.telling.Telling, "count", count)
    with pytest.raises(tandem.SimulationError, match=f"(?s){words}"):
        run(kernel, grid, "reduce_scatter", 2, 32, 32, 16, 0, bands=2, calls=1)


@tandem.jit
def exchanged(c_ptr, x_ptr):
    tl.atomic_cas(c_ptr.to(tl.pointer_type(tl.int32)) + tl.arange(0, 16), 0, 1)  # THE ATOMIC


@tandem.jit
def scattered(c_ptr, x_ptr):
    tl.store(c_ptr + tl.load(x_ptr + tl.arange(0, 16)).to(tl.int32), 1.0)  # THE SCATTERED


@tandem.jit
def from_a_table(c_ptr, x_ptr):
    tl.store(c_ptr + tl.load(x_ptr).to(tl.int32) * 16 + tl.arange(0, 16), 1.0)  # THE TABLE


@tandem.jit
def if_loaded(c_ptr, x_ptr):
    if tl.load(x_ptr) > 0:
        tl.store(c_ptr + tl.arange(0, 16), 1.0)  # THE CONDITION


@pytest.mark.parametrize(
    "kernel, words, mark",
    [
        (exchanged, "only loads, stores and atomic updates", "# THE ATOMIC"),
        (scattered, "not a box with sides affine", "# THE SCATTERED"),
        (from_a_table, "depends on what the kernel loads", "# THE TABLE"),
        (if_loaded, "depends on what the kernel loads", "# THE CONDITION"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_refused_at_the_line(kernel, words, mark):
    derived = tandem.overlap(collective="reduce_scatter", producer=kernel, over="c_ptr")

    def main(team):
        derived[(1,)](team.zeros((2, 16), "float32"), team.local_empty(32, "float32"))

    with pytest.raises(tandem.CompileError, match=words) as caught:
        tandem.launch(main, ranks=2)
    line = next(i for i, text in enumerate(pathlib.Path(__file__).read_text().split("\n"), 1) if text.endswith(mark))
    assert f"test_producing.py:{line}:" in str(caught.value)


def test_the_plan_is_explained():
    kernel, grid = plain_producers.ALL[0]
    scatters = tandem.overlap(collective="reduce_scatter", producer=kernel, over="c_ptr", bands=2)
    shares = tandem.overlap(collective="all_to_all", consumer=kernel, over="a_ptr", bands=1)

    def main(team):
        a, b = team.zeros((96, 16), "float32"), team.local_from_array(np.zeros((16, 32), np.float32))
        c, d = team.zeros((96, 32), "float32"), team.local_empty(96, "float32")
        return [f.explain(a, b, c, d, 96, 32, 16, B=16, grid=grid(6, 2)) for f in (scatters, shares)]

    ahead, behind = tandem.launch(main, ranks=3, check=True).values[1][::-1]
    plan, timeline = behind.split("\npredicted, in microseconds:\n")
    assert plan.split("\n") == [
        "reduce_scatter behind `bias_and_activation`: the 96 rows of `c_ptr` in chunks of 16, 2048 bytes",
        "rows 64 to 79 go to rank 2, behind 2 signals of programs",
        "rows 80 to 95 go to rank 2, behind 2 signals of programs",
        "rows 0 to 15 go to rank 0, behind 2 signals of programs",
        "rows 16 to 31 go to rank 0, behind 2 signals of programs",
        "the kernel itself, in its last stores, adds the parts of this rank's rows",
    ]
    spans = [line.split(maxsplit=2) for line in timeline.split("\n")]
    assert [what for _, _, what in spans[:2]] == ["the kernel", "chunk 1 for the peers leaves"] and spans[-1][1:] == ["in", "all"]
    assert all(float(begin) <= float(end) <= float(spans[-1][0]) for begin, end, _ in spans[:-1])
    assert ahead.split("\npredicted")[0].split("\n") == [
        "all_to_all ahead of `bias_and_activation`: the 96 rows of `a_ptr` in chunks of 32, 2048 bytes",
        "rows 32 to 63 go to rank 1",
        "rows 0 to 31 go to rank 0",
        "rows 64 to 95 go to rank 2",
    ]


def test_wrong_arguments():
    with pytest.raises(ValueError, match="a kernel is overlapped"):
        tandem.overlap(collective="all_to_all", over="c_ptr")
    with pytest.raises(ValueError, match="with a `consumer` it is one of 'all_gather', 'all_to_all'"):
        tandem.overlap(collective="reduce_scatter", consumer=scattered, over="c_ptr")
    with pytest.raises(TypeError, match="`producer` must be a kernel"):
        tandem.overlap(collective="all_reduce", producer=len, over="c_ptr")


@tandem.jit
def own_numbers(c_ptr, rank, count):
    places = tl.program_id(0) * 16 + tl.arange(0, 16)
    tl.store(c_ptr + places, places * (rank + 1), mask=places < count)


@pytest.mark.parametrize("dtype, how", [("float32", "AllReduce behind it"), ("int32", "one kernel behind it")])
def test_few_rows_of_any_type_are_added_behind(dtype, how):
    derived = tandem.overlap(collective="all_reduce", producer=own_numbers, over="c_ptr", path="loads")

    def main(team):
        c = team.zeros((6, 16), dtype, name="c")
        for _ in range(2):
            derived[(6,)](c, team.rank, 96)
        assert derived.explain(c, team.rank, 96, grid=(6,)).splitlines()[0].startswith(f"all_reduce behind `own_numbers`: {how}")
        return np.array_equal(np.array(c).reshape(-1), np.arange(96) * 6)

    result = tandem.launch(main, ranks=3, check=True)
    assert all(result.values) and result.reports == []


@pytest.mark.parametrize("path", ["copies", "loads"])
@pytest.mark.parametrize("collective", ["reduce_scatter", "all_reduce"])
def test_no_rows(collective, path):
    derived = tandem.overlap(collective=collective, producer=own_numbers, over="c_ptr", path=path)

    def main(team):
        c = team.zeros((0, 16), "float32", name="c")
        for _ in range(2):
            derived[(1,)](c, team.rank, 0)
        team.synchronize()

    assert tandem.launch(main, ranks=3, check=True).reports == []
