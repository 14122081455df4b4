"""Padded rows against NumPy on simulated ranks: sizes, kinds of routing, blocks, other routes, errors."""

import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "route/test"))

from moe_reference import drawn_ids, drawn_weights, padded_rows, same_lists

import tandem
from tandem.ops import Route, RouteAlign, RouteIds


@pytest.mark.parametrize("kind", ["uniform", "zipf", "one", "few", "dropped"])
@pytest.mark.parametrize("m, experts, top_k, align", [(1, 1, 1, 1), (37, 5, 2, 16), (130, 7, 3, 24), (60, 64, 8, 64), (9, 300, 2, 7)])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_against_numpy(ranks, m, experts, top_k, align, kind):
    ids, weights = drawn_ids(m, experts, top_k, kind, m + ranks), drawn_weights(m, top_k)

    def main(team):
        route = RouteIds(team, m, experts, top_k, "i32")(ids, weights, m)
        with RouteAlign(team, m, experts, top_k, align, "i32") as op:
            return [np.array(a) for a in op(route, m)]

    result = tandem.launch(main, ranks=ranks, seed=ranks, check=True)
    assert result.reports == []
    for rank, found in enumerate(result.values):
        same_lists(found, padded_rows(ids, experts, align, ranks, rank))


@pytest.mark.parametrize("align", [1, 16, 64, 128, 4096])
def test_blocks(align):
    """Calls in a row of one operator, with fewer tokens than it was made for, of routes by scores."""
    sizes, experts, top_k = [64, 3, 40], 12, 4
    logits = [np.random.default_rng(m).permutation(m * experts).reshape(m, experts).astype(np.float32) / 64 for m in sizes]

    def main(team):
        dealt, op = Route(team, 64, experts, top_k, "fp32"), RouteAlign(team, 64, experts, top_k, align, "i32")
        return [[np.array(a) for a in op(dealt(x, np.zeros(experts, np.float32), len(x)), len(x))] for x in logits]

    result = tandem.launch(main, ranks=1, check=True)
    assert result.reports == []
    for x, found in zip(logits, result.values[0]):
        ids = np.argsort(-x, axis=1, kind="stable")[:, :top_k].astype(np.int32)
        same_lists(found, padded_rows(ids, experts, align))


def test_a_route_of_another_number_of_experts():
    ids, weights = drawn_ids(12, 5, 2), drawn_weights(12, 2)

    def main(team):
        route = RouteIds(team, 12, 5, 2, "i32")(ids, weights, 12)
        route[4:5][...] = np.array([6], np.int32)
        RouteAlign(team, 12, 5, 2, 16, "i32")(route, 12)

    with pytest.raises(tandem.SimulationError, match="`route` is of another number of experts"):
        tandem.launch(main, ranks=1)


def test_wrong_arguments():
    def failing(message, make, words=200):
        with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
            tandem.launch(lambda team: make(team)(np.zeros(words, np.int32), 8), ranks=1)

    failing("`align` is 4097, 1 to 4096 are possible", lambda team: RouteAlign(team, 8, 4, 2, 4097, "i32"))
    failing("`experts` is 1025, 1 to 1024 are possible", lambda team: RouteAlign(team, 8, 1025, 2, 16, "i32"))
    failing("`route_align`: i32 is needed, not i64", lambda team: RouteAlign(team, 8, 4, 2, 16, "i64"))
    failing(r"`route` has shape \[160\], \[200\] is needed", lambda team: RouteAlign(team, 8, 4, 2, 16, "i32"), 160)


def test_readme_example():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
