"""Kernels in the manner of libraries at both ends of all collectives: derived, and equal, bit by bit, to the run without overlap, silent
under the checker; or refused at the line."""

import pathlib
import random
import re

import library_attention  # noqa: F401  its kernels are among all
import library_kernels
import library_rows  # noqa: F401
import numpy as np
import pytest

import tandem

SIZES = [(32, 32, 48), (20, 24, 40), (8, 40, 16), (16, 16, 32)]  # rows of a rank, columns, inner size
WAYS = {
    "consumer": [("all_gather", "copies"), ("all_gather", "loads"), ("all_to_all", None)],
    "producer": [("reduce_scatter", "copies"), ("all_reduce", "copies"), ("all_reduce", "loads"), ("all_to_all", None)],
}
ENDS = [
    (kernel, end, *way)
    for kernel in library_kernels.ALL
    for end, ways in WAYS.items()
    for way in ways
    if (kernel.case["reads"] if end == "consumer" else kernel.case["writes"])
]
CASES = [case for case in ENDS if case[1] not in case[0].case["refused"]]
named = lambda case: f"{case[0].__name__}-{'-'.join(filter(None, case[1:]))}"


def test_most_are_derived():
    ends = {(kernel, end) for kernel, end, *_ in ENDS}
    assert len(library_kernels.ALL) >= 30 and sum(end in kernel.case["refused"] for kernel, end in ends) <= 0.1 * len(ends)


def contents(draw, arrays, m, n, k):
    """What is in a kernel's arrays before a call, by name."""

    def made(shape, dtype, what=None):
        values = np.random.default_rng(draw.randrange(2**31))
        match what:
            case "bits":
                return values.integers(-(2**31), 2**31, shape, dtype=np.int32)
            case "zeros":
                return np.zeros(shape, dtype)
            case "labels":
                return values.integers(0, n, shape).astype(dtype)
            case "rows":
                return values.permutation(m).astype(dtype)
            case None:
                return values.integers(-2, 3, shape).astype(dtype)
        return np.array(what(m, n, k), dtype)

    return {name: made(*told) for name, told in arrays.items()}


def run(kernel, team, launched, calls, travelling, own, m, n, k):
    """What each call leaves in all arrays. Of those that are gathered this rank's rows `own` are there before it."""
    arrays = {name: team.zeros(value.shape, value.dtype, name=name) for name, value in calls[0].items() if name in travelling}
    arrays |= {name: team.local_empty(value.shape, value.dtype) for name, value in calls[0].items() if name not in travelling}
    results = []
    for call in calls:
        for name, value in call.items():
            rows = own if name in travelling else slice(None)
            arrays[name][rows] = value[rows]
        launched[kernel.case["grid"](m, n, k)](**arrays, **kernel.case["numbers"](m, n, k))
        results.append({name: np.array(array) for name, array in arrays.items()})
    return results


def alone(kernel, calls, m, n, k):
    return tandem.launch(lambda team: run(kernel, team, kernel, calls, (), slice(None), m, n, k)).values[0]


def shares(m, ranks):
    share = -(-m // ranks)
    return [slice(min(rank * share, m), min(rank * share + share, m)) for rank in range(ranks)]


def check(kernel, end, collective, path, ranks, rows, n, k, seed, bands):
    case, draw, m, calls = kernel.case, random.Random(seed), ranks * rows, 2
    each = [[contents(draw, case["arrays"](m, n, k), m, n, k) for _ in range(calls)] for _ in range(ranks)]
    over = case["reads"] if end == "consumer" else (case["writes"],)
    if collective == "all_gather":
        for of_rank in each:
            for call, first in zip(of_rank, each[0]):
                call |= {name: first[name] for name in over}
    if collective == "all_to_all" and end == "consumer":
        over = over[:1]
    launched = tandem.overlap(collective=collective, over=over, bands=bands, **{end: kernel}, **({"path": path} if path else {}))
    own = shares(m, ranks)

    def main(team):
        return run(kernel, team, launched, each[team.rank], over, own[team.rank] if collective == "all_gather" else slice(None), m, n, k)

    result = tandem.launch(main, ranks=ranks, seed=seed, check=True)
    assert result.reports == []
    inputs = each
    if collective == "all_to_all" and end == "consumer":
        exchanged = lambda name, rank, call: np.concatenate([of_rank[call][name][own[rank]] for of_rank in each])
        inputs = [
            [each[rank][call] | {name: exchanged(name, rank, call) for name in over} for call in range(calls)] for rank in range(ranks)
        ]
    plain = [alone(kernel, of_rank, m, n, k) for of_rank in inputs]
    for rank, values in enumerate(result.values):
        for call, got in enumerate(values):
            want = dict(plain[rank][call])
            if end == "consumer":
                want |= {name: got[name] for name in over if collective == "all_to_all"}
            else:
                parts = [of_rank[call][over[0]] for of_rank in plain]
                if collective == "all_to_all":
                    want[over[0]] = np.concatenate([part[own[rank]] for part in parts])
                else:
                    total = sum(part.astype(np.float32) for part in parts).astype(parts[0].dtype)
                    seen = own[rank] if collective == "reduce_scatter" else slice(None)
                    want[over[0]] = got[over[0]].copy()
                    want[over[0]][seen] = total[seen]
            for name, value in want.items():
                np.testing.assert_array_equal(got[name], value, err_msg=name)


def drawn(case, draw):
    rows, n, k = draw.choice([size for size in SIZES if size[0] % case[0].case["multiple"] == 0])
    return draw.choice([2, 3, 4]), rows, n, k, draw.randrange(1000), draw.choice([1, 2, 4])


@pytest.mark.parametrize("case", CASES, ids=map(named, CASES))
def test_equal_to_the_run_without_overlap(case):
    check(*case, *drawn(case, random.Random(named(case))))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_on_many_schedules(ranks):
    """Kernels, ends and seeds drawn."""
    draw = random.Random(ranks)
    for _ in range(6):
        case = draw.choice(CASES)
        _, *more = drawn(case, draw)
        check(*case, ranks, 8, *more[1:])


REFUSED = [case for case in ENDS if case[1] in case[0].case["refused"]]


@pytest.mark.parametrize("case", REFUSED, ids=map(named, REFUSED))
def test_refused_at_the_line(case):
    kernel, end = case[:2]
    with pytest.raises(tandem.CompileError) as error:
        check(*case, 2, 16, 16, 16, 0, 1)
    lines = pathlib.Path(kernel.file).read_text().splitlines()
    at = int(re.search(r"library_\w+\.py:(\d+)", str(error.value))[1])
    assert re.search(kernel.case["refused"][end], str(error.value)) and f"# REFUSED {end}" in lines[at - 1]
