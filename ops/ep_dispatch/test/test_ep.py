"""EpDispatch and EpCombine on simulated ranks, under the checker: numbers of tokens, experts, types, calls in a row, errors."""

import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from ep_reference import Layer, run

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import EpCombine, EpDispatch

# The most tokens of a rank, columns, experts for each rank, top_k, type.
SIZES = [(3, 77, 3, 2, "bf16"), (5, 128, 1, 1, "fp16"), (2, 6, 2, 4, "fp32"), (4, 300, 4, 8, "bf16"), (1, 1, 2, 2, "fp32")]


def launched(layers, ranks, seed=0, **config):
    first = layers[0]

    def main(team):
        sizes = (first.most, first.columns, first.experts, first.top_k, first.dtype)
        with EpDispatch(team, *sizes, **config) as dispatch, EpCombine(team, *sizes, **config) as combine:
            for layer in layers:
                run(team, layer, dispatch, combine)

    policy = "slowest-rank" if seed % 3 == 2 else "random"
    return tandem.launch(main, ranks=ranks, seed=seed, check=True, policy=policy)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_layers(ranks):
    """Ranks with any number of tokens, also none; experts that do not divide."""
    for seed in range(20):
        most, columns, each, top_k, dtype = SIZES[seed % len(SIZES)]
        experts, draw = max(each * ranks - seed % 2, 1), np.random.default_rng(seed)
        layers = [
            Layer([int(n) for n in draw.integers(0, most + 1, ranks)], most, columns, experts, min(top_k, experts), dtype, seed + 100 * i)
            for i in range(1 if ranks == 8 else 2)
        ]
        assert launched(layers, ranks, seed).reports == []


def test_no_token_anywhere():
    layers = [Layer([0, 0], 2, 8, 4, 2), Layer([2, 0], 2, 8, 4, 2), Layer([0, 0], 2, 8, 4, 2)]
    assert launched(layers, 2).reports == []


def test_all_for_one_rank():
    assert launched([Layer([4, 4, 4], 4, 16, 9, 3, owner=i, dropped=0) for i in (1, 2)], 3).reports == []


@pytest.mark.parametrize("programs, num_warps", [(1, 1), (3, 4)])
def test_options(programs, num_warps):
    assert launched([Layer([3, 1], 3, 40, 4, 2, seed=i) for i in range(3)], 2, programs=programs, num_warps=num_warps).reports == []


@pytest.mark.parametrize("bad", [99, -7, 2**31 - 1, -(2**31)])
def test_ids_that_are_no_experts(bad):
    """They are counted in the route of the token's own rank, and nothing is sent for them."""

    def main(team):
        with EpDispatch(team, 2, 8, 4, 2, "fp32") as op:
            ids = np.array([[bad, 1], [2, 3]] if team.rank == 0 else [[0, 3], [1, 2]], np.int32)
            _, route = op(np.ones((2, 8), np.float32), ids, np.ones((2, 2), np.float32), 2)
            return np.array(route[:2]).tolist()

    result = tandem.launch(main, ranks=2, check=True)
    assert result.reports == [] and result.values[0] == [1, 0] and result.values[1][0] == 0


@pytest.mark.parametrize(
    "sizes, m, message",
    [
        ((4, 8, 4, 2), 5, "`m` is 5, the operator was made for 0 to 4"),
        ((4, 8, 4, 2), -1, "`m` is -1, the operator was made for 0 to 4"),
        ((4, 8, 4, 5), 1, "`ep_dispatch`: `top_k` is 5, 1 to 4 are possible"),
        ((4, 8, 2000, 2), 1, "`ep_dispatch`: `experts` is 2000, 1 to 1024 are possible"),
        ((0, 8, 4, 2), 1, "`max_m` is 0, at least 1 is needed"),
    ],
)
def test_errors(sizes, m, message):
    def main(team):
        op = EpDispatch(team, *sizes, "bf16")
        op(np.zeros((1, 8), as_dtype("bf16")), np.zeros((1, 2), np.int32), np.zeros((1, 2), np.float32), m)

    with pytest.raises(Exception, match=message):
        tandem.launch(main, ranks=2)


def test_memory():
    """The formula of the README."""

    def main(team):
        sizes = (3, 10, 4, 2, "bf16")
        return [op(team, *sizes).memory()["symmetric"] for op in (EpDispatch, EpCombine)]

    ranks, slots = 2, 32  # a row has 20 bytes
    assert tandem.launch(main, ranks=ranks).values == [[2 * ranks * (1 + 3 * (n + slots)) * 16 for n in (2, 0)]] * ranks
