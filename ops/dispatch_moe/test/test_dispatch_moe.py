"""DispatchMoe and MoeCombine on simulated ranks, under the checker: any numbers of tokens, sizes, types, placement, fp8, calls.
What goes wrong in their kernels is planted in ops/ep_dispatch/test and ops/moe_mlp/test."""

import functools
import pathlib
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "ep_dispatch/test")]

from ep_reference import Layer
from fused_reference import Experts, run

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import DispatchMoe, EpDispatch, MoeCombine, route_parts

# The most tokens of a rank, columns, inner columns, experts for each rank, top_k, type. The first ones' columns are two parts.
SIZES = [
    (3, 128, 32, 3, 2, "fp32"),
    (9, 64, 16, 2, 4, "bf16"),
    (2, 40, 24, 1, 1, "fp16"),
    (4, 33, 7, 4, 6, "fp32"),
    (1, 8, 8, 2, 2, "fp32"),
]


def drawn(ranks, seed, calls, **more):
    most, columns, inner, each, top_k, dtype = SIZES[seed % len(SIZES)]
    experts, draw = max(each * ranks - seed % 2, 1), np.random.default_rng(seed)
    placed = {"placed": max(experts - 1, 1)} if seed % 4 == 3 else {}
    top_k = min(top_k, placed.get("placed", experts))
    layers = [
        Layer([int(n) for n in draw.integers(0, most + 1, ranks)], most, columns, experts, top_k, dtype, seed + 100 * i, **placed)
        for i in range(calls)
    ]
    for layer in layers:  # results of 16 bits are exact
        layer.x = [np.sign(x).astype(layer.dtype) for x in layer.x]
        layer.weights = [np.ones_like(w) for w in layer.weights]
    return layers, Experts(layers[0], inner, seed), inner


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_layers(ranks):
    """Ranks with any number of tokens, also none; dropped slots; tables of places."""
    for seed in range(20 if ranks < 8 else 8):
        layers, experts, inner = drawn(ranks, seed, 1 if ranks == 8 else 3)
        main = functools.partial(run, layers=layers, experts=experts, inner=inner, ordered=seed % 2)
        policy = "slowest-rank" if seed % 3 == 2 else "random"
        assert tandem.launch(main, ranks=ranks, seed=seed, check=True, policy=policy).reports == []


def test_all_for_one_rank():
    layers = [Layer([4, 4, 4], 4, 64, 9, 3, "fp32", owner=i, dropped=0) for i in (1, 2)]
    experts = Experts(layers[0], 16)
    assert tandem.launch(lambda team: run(team, layers, experts, 16), ranks=3, check=True).reports == []


def test_combine_takes_the_route_of_a_dispatch():
    layer = drawn(2, 0, 1)[0][0]
    experts = Experts(layer, 32)

    def main(team):
        rank, m, moved = team.rank, layer.counts[team.rank], team.local_from_array
        sizes = (layer.most, layer.columns, layer.experts, layer.top_k, layer.dtype)
        with EpDispatch(team, *sizes) as dispatch, MoeCombine(team, *sizes[:2], 32, *sizes[2:]) as down:
            _, route = dispatch(*(moved(a[rank]) for a in (layer.x, layer.ids, layer.weights)), m)
            h = np.zeros((layer.ranks * layer.most * layer.top_k, 32), layer.dtype)
            rows = experts.inner_rows(layer, rank, route)
            h[: len(rows)] = rows
            out = down(moved(h), moved(experts.of(experts.down, rank, layer)), route, m)
            if m:
                np.testing.assert_array_equal(np.array(out), experts.wanted(layer, rank))

    assert tandem.launch(main, ranks=2, check=True).reports == []


def test_gated_with_bias():
    layer = Layer([3, 2], 3, 40, 4, 2, "fp32")
    draw = np.random.default_rng(0)
    w = draw.normal(size=(4, 2 * 16, 40)).astype(np.float32)
    bias = draw.normal(size=(4, 2 * 16)).astype(np.float32)

    def main(team):
        rank, moved = team.rank, team.local_from_array
        with DispatchMoe(team, 3, 16, 40, 4, 2, "fp32", gated=True) as up:
            mine = slice(2 * rank, 2 * rank + 2)
            given = [moved(a[rank]) for a in (layer.x, layer.ids, layer.weights)]
            h, route = up(*given, moved(w[mine]), layer.counts[rank], bias=moved(bias[mine]))
            here = layer.here(rank).reshape(-1)
            for i, slot in enumerate(route_parts(route, 6, 2, 2).order):
                source, token = divmod(int(slot) // 2, 3)
                expert = here[slot] + 2 * rank
                both = w[expert] @ layer.x[source][token] + bias[expert]
                wanted = both[:16] / (1 + np.exp(-both[:16])) * both[16:]
                np.testing.assert_allclose(np.array(h[i]), wanted, rtol=1e-4, atol=1e-4)

    assert tandem.launch(main, ranks=2, check=True).reports == []


def test_rows_in_fp8():
    layer = Layer([3, 1], 3, 256, 4, 2, "fp32", seed=2)
    draw = np.random.default_rng(1)
    layer.x = [draw.integers(-3, 4, x.shape).astype(as_dtype("fp8e4nv")) for x in layer.x]
    of_x = [draw.choice([0.5, 1.0, 2.0], (len(x), 2)).astype(np.float32) for x in layer.x]
    w, of_w = draw.integers(-1, 2, (4, 128, 256)).astype(as_dtype("fp8e4nv")), draw.choice([1.0, 2.0], (4, 1, 2)).astype(np.float32)

    def main(team):
        rank, moved = team.rank, team.local_from_array
        with DispatchMoe(team, 3, 128, 256, 4, 2, "fp8e4nv") as up:
            mine = slice(2 * rank, 2 * rank + 2)
            given = [moved(a[rank]) for a in (layer.x, layer.ids, layer.weights)]
            for _ in range(2):
                h, route = up(*given, moved(w[mine]), layer.counts[rank], x_scales=moved(of_x[rank]), w_scales=moved(of_w[mine]))
            here = layer.here(rank).reshape(-1)
            for i, slot in enumerate(route_parts(route, 6, 2, 2).order):
                source, token = divmod(int(slot) // 2, 3)
                expert = here[slot] + 2 * rank
                x = layer.x[source][token].astype(np.float64) * np.repeat(of_x[source][token], 128)
                wanted = (w[expert].astype(np.float64) * np.repeat(of_w[expert], 128, 1)) @ x
                np.testing.assert_allclose(np.array(h[i]).astype(np.float64), wanted, rtol=1e-2)

    assert tandem.launch(main, ranks=2, check=True).reports == []


@pytest.mark.parametrize(
    "late, words",
    [
        ("dispatch", r"`ep_dispatch about rows` \+ \d+ of rank 0 \(the header of rank 1, which has experts 2 to 3\)"),
        ("combine", r"`moe_combine begun` \+ 8 of rank 0 \(the beginning of the call on rank 1, which has the experts from 2 on\)"),
    ],
)
def test_who_is_late_is_named(late, words):
    layer = drawn(2, 0, 1)[0][0]
    experts = Experts(layer, 32)

    def main(team):
        never, rank, moved = team.zeros(1, "int64"), team.rank, team.local_from_array
        sizes, m = (layer.most, 32, layer.columns, 4, 2, layer.dtype), 2
        x, ids, weights = np.ones((m, layer.columns), layer.dtype), np.array([[0, 3], [2, 1]], np.int32), np.ones((m, 2), np.float32)
        up, down = DispatchMoe(team, *sizes), MoeCombine(team, layer.most, layer.columns, 32, 4, 2, layer.dtype)

        def begin(call):
            if rank == 1 and call == late:
                team.stream.signal_wait(never, 1)

        begin("dispatch")
        h, route = up(x, ids, weights, moved(experts.up[:2]), m)
        begin("combine")
        down(h, moved(experts.down[:2]), route, m)
        team.synchronize()

    with pytest.raises(tandem.SimulationError, match=words):
        tandem.launch(main, ranks=2)


def test_memory():
    """The formulas of the READMEs."""

    def main(team):
        sizes = (3, 16, 40, 4, 2, "fp32")
        return DispatchMoe(team, *sizes).memory(), MoeCombine(team, *sizes).memory()

    up, down = tandem.launch(main, ranks=2).values[0]
    assert up["symmetric"] == 2 * 3 * 40 * 4 + 2 * 2 * 7 * 16 + 2 * (1 + 2) * 8 + 2 * 8 * (2 + 1)
    assert down["symmetric"] == 3 * 32 * 4 + 8 + 2 * 8 + 8 * 8


@pytest.mark.parametrize(
    "sizes, m, message",
    [
        ((4, 8, 8, 4, 2), 5, "`m` is 5, the operator was made for 0 to 4"),
        ((4, 8, 8, 4, 5), 1, "`dispatch_moe`: `top_k` is 5, 1 to 4 are possible"),
    ],
)
def test_errors(sizes, m, message):
    def main(team):
        op = DispatchMoe(team, *sizes, "fp32")
        zeros = lambda *shape: np.zeros(shape, np.float32)
        op(zeros(m, 8), np.zeros((m, 2), np.int32), zeros(m, 2), zeros(2, 8, 8), m)

    with pytest.raises(Exception, match=message):
        tandem.launch(main, ranks=2)
