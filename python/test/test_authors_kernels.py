"""Kernels as authors write them, and of odd forms, at both ends of all collectives: derived, and equal, bit by bit, to the run without
overlap on 2, 3, 4 and 8 ranks, silent under the checker, each wait and signal needed; or refused at the line."""

import pathlib
import random
import re

import authors_kernels
import hard_kernels
import numpy as np
import odd_kernels
import pytest

import tandem
import tandem.language as tl
from tandem.kernel.element_types import as_dtype

TYPES = {"float32": np.dtype("float32"), "int8": np.dtype("int8"), "e4m3": as_dtype("fp8e4nv")}
SIZES = [(32, 32, 48), (22, 20, 28), (8, 40, 16), (16, 48, 64)]  # rows of a rank, columns, inner size
ENDS = [("consumer", "all_gather", "copies"), ("consumer", "all_gather", "loads"), ("consumer", "all_to_all", None)] + [
    ("producer", *way) for way in [("reduce_scatter", "copies"), ("all_reduce", "copies"), ("all_reduce", "loads"), ("all_to_all", None)]
]
CASES = [(kernel, *end) for kernel in authors_kernels.ALL for end in ENDS if end[0] not in kernel.case["refused"]]
named = lambda case: f"{case[0].__name__}-{'-'.join(filter(None, case[1:]))}"


def test_most_are_derived():
    kernels = authors_kernels.ALL
    assert len(kernels) >= 20 and sum(not kernel.case["refused"] for kernel in kernels) >= 0.8 * len(kernels)


def numbers(draw, shape, of):
    values = np.random.default_rng(draw.randrange(2**31)).integers(-2, 3, shape)
    return values.astype(np.float32).astype(TYPES[of]) if of == "e4m3" else values.astype(TYPES[of])


def run(kernel, team, launched, inputs, m, n, k, own):
    """What each call writes to C and D. A's rows `own` of an input are there before it."""
    case = kernel.case
    a = team.zeros((m, k), TYPES[case["a"]], name="a")
    b, c = team.local_empty((k, n), TYPES[case["b"]]), team.zeros((m, n), TYPES[case["c"]], name="c")
    results = []
    for left, right in inputs:
        a[own], b[...] = left[own], right
        c[...] = 0
        d = team.local_from_array(np.zeros(m, np.float32))
        launched[case["grid"](m, n, k)](a, b, c, d, m, n, k, B=16, **case["more"](m, n, k))
        results.append((np.array(c), np.array(d)))
    return results


def alone(kernel, inputs, m, n, k):
    return tandem.launch(lambda team: run(kernel, team, kernel, inputs, m, n, k, slice(None))).values[0]


def shares(m, ranks):
    share = -(-m // ranks)
    return [slice(min(rank * share, m), min(rank * share + share, m)) for rank in range(ranks)]


def check(kernel, end, collective, path, ranks, rows, n, k, seed, bands, calls=2):
    case, draw, m = kernel.case, random.Random(seed), ranks * rows
    each = [[(numbers(draw, (m, k), case["a"]), numbers(draw, (k, n), case["b"])) for _ in range(calls)] for _ in range(ranks)]
    if end == "consumer":
        each = [[(of_rank[call][0], each[0][call][1]) for call in range(calls)] for of_rank in each]
    over = {"consumer": "a_ptr", "producer": "c_ptr"}[end]
    launched = tandem.overlap(collective=collective, over=over, bands=bands, **{end: kernel}, **({"path": path} if path else {}))
    own = shares(m, ranks)

    def main(team):
        seen = own[team.rank] if collective == "all_gather" else slice(None)
        return run(kernel, team, launched, each[0] if collective == "all_gather" else each[team.rank], m, n, k, seen)

    result = tandem.launch(main, ranks=ranks, seed=seed, check=True)
    assert result.reports == []
    if end == "consumer":
        exchanged = lambda rank, call: np.concatenate([of_rank[call][0][own[rank]] for of_rank in each])
        for rank, values in enumerate(result.values):
            inputs = each[0]
            if collective == "all_to_all":
                inputs = [(exchanged(rank, call), each[0][call][1]) for call in range(calls)]
            for got, want in zip(values, alone(kernel, inputs, m, n, k)):
                assert all(np.array_equal(x, y) for x, y in zip(got, want))
        return
    plain = [alone(kernel, of_rank, m, n, k) for of_rank in each]
    for rank, values in enumerate(result.values):
        for call, (c, d) in enumerate(values):
            parts = [of_rank[call][0] for of_rank in plain]
            seen = own[rank] if collective == "reduce_scatter" else slice(None)
            if collective == "all_to_all":
                want = np.concatenate([part[own[rank]] for part in parts])
            else:
                want = np.zeros_like(parts[0])
                for part in parts:
                    want += part
            assert np.array_equal(c[seen], want[seen]) and np.array_equal(d, plain[rank][call][1])


@pytest.mark.parametrize("case", CASES, ids=map(named, CASES))
def test_equal_to_the_run_without_overlap(case):
    draw = random.Random(named(case))
    rows, n, k = draw.choice([size for size in SIZES if size[0] % case[0].case["multiple"] == 0])
    check(*case, draw.choice([2, 3, 4]), rows, n, k, draw.randrange(1000), draw.choice([1, 2, 4]))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_on_many_schedules(ranks):
    """Kernels, ends and seeds drawn."""
    draw = random.Random(ranks)
    for _ in range(4 if ranks in (1, 8) else 8):
        rows, n, k = draw.choice([(6, 20, 16), (16, 16, 16)])
        case = draw.choice(CASES)
        check(*case, ranks, 16 if rows % case[0].case["multiple"] else rows, n, k, draw.randrange(1000), draw.choice([1, 2, 4]))


@pytest.mark.parametrize("kernel", authors_kernels.ALL, ids=lambda kernel: kernel.__name__)
def test_each_wait_is_needed(kernel, monkeypatch):
    """The word of a peer's last chunk is there before its rows."""
    if "consumer" in kernel.case["refused"]:
        return
    draw = random.Random(kernel.__name__)
    send, of = tandem.overlapping.gathering.Gathering._send, draw.randrange(2)

    def early(gathering, beside, counts):
        if gathering.team.rank != of:
            gathering.words[0][2 * of + 1 : 2 * of + 2] = 1
        send(gathering, beside, counts)

    monkeypatch.setattr(tandem.overlapping.gathering.Gathering, "_send", early)
    with pytest.raises(tandem.SimulationError, match="(?s)race: .*`a`"):
        for seed in range(3):
            check(kernel, "consumer", "all_gather", "copies", 2, 32, 32, 48, seed, 2)


@pytest.mark.parametrize("missing, words", [(1, "race: .*`c`|signal-misuse: `told`"), (-1, "deadlock: ")])
@pytest.mark.parametrize("kernel", authors_kernels.ALL, ids=lambda kernel: kernel.__name__)
def test_each_signal_is_needed(kernel, missing, words, monkeypatch):
    if "producer" in kernel.case["refused"]:
        return
    whole, chunk = tandem.overlapping.telling.Telling.count, random.Random(kernel.__name__ + words).randrange(4)

    def count(telling, *launch):
        counts, order = whole(telling, *launch)
        return [count - missing * (nth == chunk) for nth, count in enumerate(counts)], order

    monkeypatch.setattr(tandem.overlapping.telling.Telling, "count", count)
    with pytest.raises(tandem.SimulationError, match=f"(?s){words}"):
        check(kernel, "producer", "reduce_scatter", "copies", 2, 32, 32, 16, 0, 2)


@tandem.jit
def nobody(words_ptr, call):
    return call.to(tl.int32)


@pytest.mark.parametrize("end, collective, memory", [("consumer", "all_gather", "a"), ("producer", "reduce_scatter", "c")])
def test_loads_wait_for_the_peers(end, collective, memory, monkeypatch):
    monkeypatch.setattr(tandem.overlapping.sums, "await_peers", nobody)
    with pytest.raises(tandem.SimulationError, match=f"(?s)race: .*`{memory}`"):
        check(authors_kernels.rounded, end, collective, "loads", 2, 32, 32, 16, 0, None)


REFUSALS = [(kernel, end) for kernel in authors_kernels.ALL for end in kernel.case["refused"]]


@pytest.mark.parametrize("kernel, end", REFUSALS, ids=[f"{kernel.__name__}-{end}" for kernel, end in REFUSALS])
def test_refused_at_the_line(kernel, end):
    other = [module for module, kernels in [(odd_kernels, odd_kernels.ODD), (hard_kernels, hard_kernels.HARD)] if kernel in kernels]
    file = pathlib.Path((other or [authors_kernels])[0].__file__)
    text = file.read_text().split("\n")
    first = next(i for i, line in enumerate(text) if line.startswith(f"def {kernel.__name__}("))
    line = next(i for i, one in enumerate(text, 1) if i > first and one.endswith(f"# REFUSED {end}"))
    collective, path = {"consumer": ("all_gather", "copies"), "producer": ("reduce_scatter", "copies")}[end]
    with pytest.raises(tandem.CompileError, match=kernel.case["refused"][end]) as caught:
        check(kernel, end, collective, path, 2, 32, 32, 48, 0, 2)
    assert f"{file.name}:{line}:" in str(caught.value) and "operation" not in str(caught.value)
    if "not a box" in kernel.case["refused"][end]:
        place = next(i for i, one in enumerate(text, 1) if i > first and one.endswith("# THE TABLE"))
        assert re.search(rf"{file.name}:{place}:\d+: note: its places cannot be followed beyond this", str(caught.value))
