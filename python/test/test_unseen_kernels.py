"""Plain kernels of forms that the compiler's authors had not looked at, the later half written as other libraries write theirs: most are
overlapped, and equal, bit by bit, to the run without overlap; the others are refused at their line. Runs are silent under the checker, and
each derived wait and signal is needed."""

import pathlib
import random

import foreign_consumers
import foreign_producers
import hostile_consumers
import hostile_producers
import late_consumers
import late_producers
import numpy as np
import others_consumers
import others_producers
import pytest
import strange_consumers
import strange_producers
import unseen_consumers
import unseen_producers

import tandem

CONSUMER_MODULES = [unseen_consumers, others_consumers, late_consumers, hostile_consumers, strange_consumers, foreign_consumers]
PRODUCER_MODULES = [unseen_producers, others_producers, late_producers, hostile_producers, strange_producers, foreign_producers]
derived = lambda modules: [(kernel, grid) for m in modules for kernel, grid in m.ALL if kernel.__name__ not in m.REFUSED]
CONSUMERS, PRODUCERS = derived(CONSUMER_MODULES), derived(PRODUCER_MODULES)
SIZES = [(32, 32, 48), (21, 20, 28), (7, 40, 16), (48, 48, 64)]  # rows of a rank, columns, inner size
names = lambda kernels: [kernel.__name__ for kernel, _ in kernels]


def test_most_are_derived():
    assert sum(len(m.ALL) for m in CONSUMER_MODULES + PRODUCER_MODULES) == 123
    assert len(CONSUMERS) + len(PRODUCERS) >= 109


def matrices(ranks, m, n, k, seed, calls):
    """For each rank and call: what its kernel reads."""
    numbers = np.random.default_rng(seed)
    whole = lambda *shape: numbers.integers(-2, 3, shape).astype(np.float32)
    return [[(whole(m, k), whole(k, n)) for _ in range(calls)] for _ in range(ranks)]


def launched(team, kernel, grid, inputs, m, n, k, place, seen):
    """The outputs of each call; `place(a, left)` fills A, and `seen` says which rows of C count."""
    a, b = team.zeros((m, k), "float32", name="a"), team.local_empty((k, n))
    c, results = team.zeros((m, n), "float32", name="c"), []
    for left, right in inputs:
        place(a, left)
        b[...] = right
        c[...] = 0
        d = team.local_from_array(np.zeros(m, np.float32))
        kernel[grid(-(-m // 16), -(-n // 16))](a, b, c, d, m, n, k, B=16)
        results.append((np.array(c)[seen], np.array(d)))
    return results


def alone(kernel, grid, inputs, m, n, k):
    whole = lambda team: launched(team, kernel, grid, inputs, m, n, k, lambda a, left: a.__setitem__(..., left), slice(None))
    return tandem.launch(whole).values[0]


def shares(m, ranks):
    share = -(-m // ranks)
    return [slice(min(rank * share, m), min(rank * share + share, m)) for rank in range(ranks)]


def check_consumer(kernel, grid, ranks, m, n, k, seed, bands, calls=2, path="copies"):
    inputs = matrices(1, m, n, k, seed, calls)[0]
    overlapped = tandem.overlap(collective="all_gather", consumer=kernel, over="a_ptr", bands=bands, path=path)

    def main(team):
        own = shares(m, ranks)[team.rank]
        return launched(team, overlapped, grid, inputs, m, n, k, lambda a, left: a.__setitem__(own, left[own]), slice(None))

    result = tandem.launch(main, ranks=ranks, seed=seed, check=True)
    assert result.reports == []
    plain = alone(kernel, grid, inputs, m, n, k)
    for values in result.values:
        assert all(np.array_equal(got, want) for call, wanted in zip(values, plain) for got, want in zip(call, wanted))


def check_producer(kernel, grid, ranks, m, n, k, seed, bands, collective, path, calls=2):
    inputs = matrices(ranks, m, n, k, seed, calls)
    plan = dict(bands=bands, path=path) if collective != "all_to_all" else dict(bands=bands)
    overlapped = tandem.overlap(collective=collective, producer=kernel, over="c_ptr", **plan)

    def main(team):
        seen = shares(m, ranks)[team.rank] if collective == "reduce_scatter" else slice(None)
        whole = lambda a, left: a.__setitem__(..., left)
        return launched(team, overlapped, grid, inputs[team.rank], m, n, k, whole, seen)

    result = tandem.launch(main, ranks=ranks, seed=seed, check=True)
    assert result.reports == []
    plain = [alone(kernel, grid, of_rank, m, n, k) for of_rank in inputs]
    for rank, values in enumerate(result.values):
        own = shares(m, ranks)[rank]
        for call, (c, d) in enumerate(values):
            parts = [of_rank[call][0] for of_rank in plain]
            if collective == "all_to_all":
                want = np.concatenate([part[own] for part in parts])
            else:
                want = np.zeros_like(parts[0])
                for part in parts:
                    want += part
                want = want[own] if collective == "reduce_scatter" else want
            assert np.array_equal(c, want) and np.array_equal(d, plain[rank][call][1])


@pytest.mark.parametrize("kernel, grid", CONSUMERS, ids=names(CONSUMERS))
def test_consumers(kernel, grid):
    draw = random.Random(kernel.__name__)
    for _ in range(2):
        ranks, (rows, n, k) = draw.choice([2, 3, 4]), draw.choice(SIZES)
        check_consumer(kernel, grid, ranks, ranks * rows - draw.randrange(3), n, k, draw.randrange(1000), draw.choice([1, 2, 4]))


@pytest.mark.parametrize("kernel, grid", PRODUCERS, ids=names(PRODUCERS))
@pytest.mark.parametrize(
    "collective, path", [("reduce_scatter", "copies"), ("all_reduce", "copies"), ("all_reduce", "loads"), ("all_to_all", "copies")]
)
def test_producers(kernel, grid, collective, path):
    draw = random.Random(kernel.__name__ + collective + path)
    ranks, (rows, n, k) = draw.choice([2, 3, 4]), draw.choice(SIZES)
    m = ranks * rows - (0 if collective == "all_to_all" else draw.randrange(3))
    check_producer(kernel, grid, ranks, m, n, k, draw.randrange(1000), draw.choice([1, 2, 4]), collective, path)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_on_many_schedules(ranks):
    """Kernels and seeds drawn: 20 for each number of ranks, fewer of many."""
    draw = random.Random(ranks)
    for _ in range({1: 4, 8: 4}.get(ranks, 10)):
        rows, n, k = draw.choice([(5, 20, 16), (16, 16, 16)])
        m, seed, bands = ranks * rows, draw.randrange(1000), draw.choice([1, 2, 4])
        check_consumer(*draw.choice(CONSUMERS), ranks, m, n, k, seed, bands)
        collective = draw.choice(["reduce_scatter", "all_reduce", "all_to_all"])
        check_producer(*draw.choice(PRODUCERS), ranks, m, n, k, seed, bands, collective, draw.choice(["copies", "loads"]))


@pytest.mark.parametrize("kernel, grid", CONSUMERS, ids=names(CONSUMERS))
def test_each_wait_is_needed(kernel, grid, monkeypatch):
    """The word of a peer's last chunk, behind which no other comes, is there before its rows: what reads them is a race."""
    draw = random.Random(kernel.__name__)
    send = tandem.overlapping.gathering.Gathering._send
    of, nth = draw.randrange(2), 1

    def early(gathering, beside, counts):
        if gathering.team.rank != of:
            gathering.words[0][2 * of + nth : 2 * of + nth + 1] = 1
        send(gathering, beside, counts)

    monkeypatch.setattr(tandem.overlapping.gathering.Gathering, "_send", early)
    with pytest.raises(tandem.SimulationError, match="(?s)race: .*`a`"):
        for seed in range(3):
            check_consumer(kernel, grid, 2, 64, 32, 48, seed, 2)


@pytest.mark.parametrize("missing, words", [(1, "race: .*`c`|signal-misuse: `told`"), (-1, "deadlock: ")])
@pytest.mark.parametrize("kernel, grid", PRODUCERS, ids=names(PRODUCERS))
def test_each_signal_is_needed(kernel, grid, missing, words, monkeypatch):
    """`missing` signals of a chunk, drawn, are not waited for, or do not come."""
    draw = random.Random(kernel.__name__ + words)
    whole, chunk = tandem.overlapping.telling.Telling.count, draw.randrange(4)

    def count(telling, *launch):
        counts, order = whole(telling, *launch)
        return [count - missing * (nth == chunk) for nth, count in enumerate(counts)], order

    monkeypatch.setattr(tandem.overlapping.telling.Telling, "count", count)
    with pytest.raises(tandem.SimulationError, match=f"(?s){words}"):
        check_producer(kernel, grid, 2, 64, 32, 16, 0, 2, "reduce_scatter", "copies")


@pytest.mark.parametrize("module", CONSUMER_MODULES + PRODUCER_MODULES, ids=lambda module: module.__name__)
def test_refused_at_the_line(module):
    text = pathlib.Path(module.__file__).read_text().split("\n")
    for kernel, grid in module.ALL:
        if kernel.__name__ not in module.REFUSED:
            continue
        first = text.index(next(line for line in text if line.startswith(f"def {kernel.__name__}(")))
        line = next(i for i, one in enumerate(text, 1) if i > first and one.endswith("# REFUSED"))
        with pytest.raises(tandem.CompileError, match=module.REFUSED[kernel.__name__]) as caught:
            if module in CONSUMER_MODULES:
                check_consumer(kernel, grid, 2, 64, 32, 48, 0, 2)
            else:
                check_producer(kernel, grid, 2, 64, 32, 48, 0, 2, "reduce_scatter", "copies")
        assert f"{module.__name__}.py:{line}:" in str(caught.value)


@pytest.mark.parametrize("ranks, m", [(2, 1), (3, 4), (4, 5)])
@pytest.mark.parametrize("path", ["copies", "loads"])
def test_ranks_without_rows(ranks, m, path):
    """The last ranks have none of the few rows; they take part all the same, also in calls that follow at once."""
    draw = random.Random(f"{ranks} {path}")
    for seed in range(6):
        check_consumer(*draw.choice(CONSUMERS), ranks, m, 32, 16, seed, 2, calls=4, path=path)
        producer = draw.choice(PRODUCERS)
        for collective in ("reduce_scatter", "all_reduce"):
            check_producer(*producer, ranks, m, 32, 16, seed, 2, collective, path, calls=4)
