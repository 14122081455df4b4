"""Routes that are not the call's: a report on simulated ranks. Without it, as on a GPU, the host is told, and nothing is computed."""

import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "route/test"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import protocol
from moe_reference import drawn_ids, drawn_weights, rows_of
from test_moe import Case, made

import tandem
from tandem.ops import AgMoe, GroupedGemm, GroupedOuter, MoeAr, MoeMlp, MoeRs, RouteIds, route_words

# Words of a route's header, and what is said of another value there.
WORDS = {
    2: "`route` is of another number of tokens",
    3: "`route` has another number of experts of a token",
    4: "`route` is of another number of experts",
    5: "`route` has blocks of another number of rows",
    8: "`route` is of a team of another size",
    9: "`route` is another rank's",
}
CASE = Case(2, 12, 32, 16, 3, 2)


def called(team, op, route):
    m, hidden, inner, experts, top_k = CASE.sizes
    x, up, down = rows_of(CASE.x, team), CASE.up[team.rank], CASE.down[team.rank]
    h = np.ones((m * top_k, inner), np.float32)
    if op is AgMoe:
        made(AgMoe, team, CASE)(x, up, route, m)
    elif op is MoeMlp:
        made(MoeMlp, team, CASE, swapped=True)(x, up, down, route, m)
    elif op is GroupedGemm:
        made(GroupedGemm, team, CASE)(CASE.x, up, route, m)
    elif op is GroupedOuter:
        made(GroupedOuter, team, CASE)(h, CASE.x, route, m)
    else:
        made(op, team, CASE, swapped=True)(h, down, route, m)


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("op", [AgMoe, MoeRs, MoeAr, MoeMlp, GroupedGemm, GroupedOuter])
def test_reports(op, word):
    def main(team):
        route = CASE.route(team)
        seen = route[word : word + 1]
        seen[...] = np.array(seen) + (1 if word != 9 else 1 - 2 * team.rank)
        called(team, op, route)

    if (op, word) == (GroupedOuter, 5):  # it looks at no block
        assert tandem.launch(main, ranks=2).reports == []
        return
    with pytest.raises(tandem.SimulationError, match=WORDS[word]) as found:
        tandem.launch(main, ranks=2)
    assert "routes.py" in found.value.reports[0]["text"], found.value.reports[0]["text"]


def test_a_route_of_as_many_words():
    """24 tokens of one expert have as many slots as 12 of two."""

    def main(team):
        ids, weights = drawn_ids(24, 3, 1), drawn_weights(24, 1)
        called(team, AgMoe, RouteIds(team, 24, 3, 1, "i32")(ids, weights, 24))

    with pytest.raises(tandem.SimulationError, match=WORDS[2]):
        tandem.launch(main, ranks=2)


def test_another_block_m():
    def main(team):
        m, _, _, experts, top_k = CASE.sizes
        called(team, AgMoe, RouteIds(team, m, experts, top_k, "i32", block_m=32)(CASE.ids, CASE.weights, m))

    with pytest.raises(tandem.SimulationError, match=WORDS[5]):
        tandem.launch(main, ranks=2)


UNREPORTED = ("device/routes.py", "    expect(seen == needed, WHAT)\n", "")


@pytest.mark.parametrize("kind", ["random words", "another number of tokens", "another rank"])
@pytest.mark.parametrize("half", ["gather", "scatter", "reduce"])
def test_nothing_is_computed(tmp_path, half, kind):
    """Whatever the words are, nothing is read or written outside of the tensors, and all ranks come to an end."""
    kernels = protocol.kernels(tmp_path, UNREPORTED)

    def main(team):
        m, hidden, inner, experts, top_k = CASE.sizes
        layer, moved = protocol.Layer(team, CASE, kernels), team.local_from_array
        x, up, down = moved(rows_of(CASE.x, team)), moved(CASE.up[team.rank]), moved(CASE.down[team.rank])
        layer.deal(moved(CASE.ids), moved(CASE.weights))
        words = np.array(layer.route)
        if kind == "random words":
            words = np.random.default_rng(team.rank).integers(-(2**31), 2**31, route_words(m, experts, top_k)).astype(np.int32)
        elif kind == "another number of tokens":
            words[2] = 24
        else:
            words[9] = 1 - team.rank
        layer.route[...] = words
        out = team.local_from_array(np.full(CASE.x.shape if half == "reduce" else x.shape, np.nan, np.float32))
        layer.h[...] = np.full(layer.h.shape, np.nan if half == "gather" else 1, np.float32)
        if half == "gather":
            layer.gather(x, up)
            result = layer.h
        else:
            (layer.reduce if half == "reduce" else layer.scatter)(down, out)
            result = out
        return np.array(result), np.array(layer.findings), words

    for rank, (result, findings, words) in enumerate(tandem.launch(main, ranks=2).values):
        assert not result.any()
        word = 9 if kind == "another rank" else 2
        assert findings[:3].tolist() == [word + 1, words[word], rank if word == 9 else CASE.sizes[0]]
