"""Layers that share the memory of a call: right whatever the schedule, no larger than one layer, and reported on two streams at once."""

import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "route/test"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from moe_reference import rows_of
from test_moe import Case, made, rows_on

import tandem
from tandem.ops import AgMoe, MoeMlp, MoeRs, workspace

M = 26


def cases(ranks, layers):
    return [Case(ranks, M, 16, 12, 5, 2, ["uniform", "zipf", "dropped"][seed % 3], seed) for seed in range(layers)]


def operands(team, case):
    moved = team.local_from_array
    return [moved(rows_of(case.x, team)), moved(case.up[team.rank]), moved(case.down[team.rank])]


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_layers_one_after_the_other(ranks):
    given = cases(ranks, 4)

    def main(team):
        layers = [made(MoeMlp, team, case, swapped=True, shared=True) for case in given]
        routes = [case.route(team) for case in given]
        outs = []
        for turn in range(2):
            for layer, case, route in zip(layers, given, routes):
                outs.append(layer(*operands(team, case), route, M))
        found = [np.array(out) for out in outs], workspace(team)
        for layer in layers:
            layer.close()
        return *found, workspace(team)

    for seed in range(5):
        result = tandem.launch(main, ranks=ranks, seed=seed, policy="slowest-rank" if seed % 2 else "random", check=True)
        assert result.reports == []
        for rank, (outs, pieces, left) in enumerate(result.values):
            for out, case in zip(outs, given * 2):
                np.testing.assert_array_equal(out, rows_on(rank, M, ranks, case.result()))
            names = ["ag_moe gathered", "moe_mlp inner", "moe_rs parts", "moe_rs rows"]
            assert [piece["name"] for piece in pieces] == names and {piece["users"] for piece in pieces} == {4}
            shard, symmetric = -(-M // ranks), [piece["symmetric"] for piece in pieces]
            bytes_ = [ranks * shard * 16 * 4, M * 2 * 12 * 4, max((ranks - 1) * shard, 1) * 32 * 4, M * 2 * 32 * 4]
            assert [piece["bytes"] for piece in pieces] == bytes_ and symmetric == [True, False, True, False]
            assert left == []


def test_a_larger_layer_gets_more():
    small, large = Case(2, M, 16, 12, 5, 2), Case(2, 2 * M, 16, 12, 5, 2)

    def main(team):
        layers = [made(MoeRs, team, case, swapped=True, shared=True) for case in (small, large, small)]
        users = sorted((piece["name"], piece["bytes"], piece["users"]) for piece in workspace(team))
        layers[0].close()
        return users, len(workspace(team))

    for users, left in tandem.launch(main, ranks=2, check=True).values:
        rows = M * 2 * 32 * 4
        assert [u for u in users if "rows" in u[0]] == [("moe_rs rows", rows, 1), ("moe_rs rows", 2 * rows, 2)]
        assert left == 2


def test_layers_on_two_streams_are_reported():
    given = cases(2, 2)

    def main(team):
        layers = [made(AgMoe, team, case, shared=True) for case in given]
        routes = [case.route(team) for case in given]
        moved = [operands(team, case)[:2] for case in given]
        outs = [team.local_empty((2 * M, 12), "float32") for _ in given]
        team.stream.synchronize()
        for layer, arrays, route, out, stream in zip(layers, moved, routes, outs, (team.stream, team.new_stream())):
            layer(*arrays, route, M, out=out, stream=stream)

    reports = []
    for seed in range(8):
        try:
            reports += tandem.launch(main, ranks=2, seed=seed, check=True).reports
        except tandem.SimulationError as error:
            reports += error.reports
    assert any("race" in report["kind"] and "workspace ag_moe gathered" in report["text"] for report in reports), reports
