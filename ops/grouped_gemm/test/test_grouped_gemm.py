"""Grouped products against float64 on a simulated rank: sizes, types, orders of rows, gates, weights, skew, errors."""

import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "route/test"))

from moe_reference import drawn_ids, drawn_weights, integers, up_projected

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import GroupedGemm, RouteIds, route_parts

TOLERANCE = {"fp32": 2e-6, "fp16": 1e-3, "bf16": 8e-3}


def run(m, n, k, experts, top_k, dtype="fp32", kind="uniform", seed=0, block_m=None, **options):
    ids, weights = drawn_ids(m, experts, top_k, kind, seed), drawn_weights(m, top_k, seed)
    gated, is_sorted = options.get("gated", False), options.get("sorted", False)
    x = integers((m, k), dtype, seed, 1)
    w = integers((experts, n * (1 + gated), k), dtype, seed, 2)
    if gated:
        x, w = (x.astype(np.float32) / 8).astype(as_dtype(dtype)), (w.astype(np.float32) / 8).astype(as_dtype(dtype))

    def main(team):
        route = RouteIds(team, m, experts, top_k, "i32", block_m=block_m)(ids, weights, m)
        parts, rows = route_parts(route, m, experts, top_k), x
        if is_sorted:
            rows = np.zeros((m * top_k, k), x.dtype)
            rows[: len(parts.order)] = x[parts.order // top_k]
        with GroupedGemm(team, m, n, k, experts, top_k, dtype, block_m=block_m, **options) as op:
            return parts, np.array(op(rows, w, route, m))

    result = tandem.launch(main, ranks=1, seed=seed, check=True)
    assert result.reports == []
    parts, found = result.values[0]
    want = up_projected(x, w, ids, gated)
    if options.get("weighted"):
        want = want * weights.reshape(-1, 1)
    if not options.get("scattered"):
        want = np.concatenate([want[parts.order], np.zeros((ids.size - len(parts.order), n))])
    assert np.linalg.norm(found.astype(np.float64) - want) <= TOLERANCE[dtype] * np.linalg.norm(want)
    assert (found[(want == 0).all(1)] == 0).all()


@pytest.mark.parametrize("kind", ["uniform", "zipf", "one", "few", "dropped"])
@pytest.mark.parametrize("m, n, k, experts, top_k", [(1, 1, 1, 1, 1), (37, 24, 40, 5, 2), (130, 70, 33, 7, 3), (64, 32, 32, 32, 4)])
@pytest.mark.parametrize("is_sorted", [False, True])
def test_dealing(is_sorted, m, n, k, experts, top_k, kind):
    run(m, n, k, experts, top_k, kind=kind, seed=m, sorted=is_sorted)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("options", [{}, {"gated": True}, {"scattered": True}, {"weighted": True, "scattered": True, "sorted": True}])
def test_types_and_results(options, dtype):
    run(50, 40, 48, 6, 2, dtype, "dropped", **options)
    run(50, 41, 47, 6, 2, dtype, "zipf", **options)


def test_tiles():
    run(300, 40, 48, 5, 2, kind="zipf", block_m=64, block_n=16, block_k=16, programs=3, num_warps=4)
    run(300, 40, 48, 5, 2, block_m=32, programs=1, sorted=True)


def test_routing_that_changes_between_calls():
    kinds = ["uniform", "one", "zipf", "few", "dropped", "uniform"]
    given = [(drawn_ids(40, 6, 2, kind, i), integers((40, 16), "fp32", i)) for i, kind in enumerate(kinds)]
    w = integers((6, 24, 16), "fp32", 9)

    def main(team):
        dealt, op = RouteIds(team, 40, 6, 2, "i32"), GroupedGemm(team, 40, 24, 16, 6, 2, "fp32", scattered=True)
        weights = team.local_from_array(drawn_weights(40, 2))
        given_w = team.local_from_array(w)
        return [np.array(op(team.local_from_array(x), given_w, dealt(team.local_from_array(ids), weights, 40), 40)) for ids, x in given]

    for seed in range(3):
        result = tandem.launch(main, ranks=1, seed=seed, check=True)
        assert result.reports == []
        for found, (ids, x) in zip(result.values[0], given):
            np.testing.assert_array_equal(found, up_projected(x, w, ids))


def test_wrong_arguments():
    def failing(message, *, x=(8, 16), w=(4, 8, 16), words=232, dtype="fp32", **options):
        def main(team):
            op = GroupedGemm(team, 8, 8, 16, 4, 2, dtype, **options)
            op(np.zeros(x, np.float32), np.zeros(w, np.float32), np.zeros(words, np.int32), 8)

        with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
            tandem.launch(main, ranks=1)

    failing(r"`x` has shape \[9, 16\], \[8, 16\] is needed", x=(9, 16))
    failing(r"`x` has shape \[8, 16\], \[16, 16\] is needed", sorted=True)
    failing(r"`w` has shape \[4, 8, 16\], \[4, 16, 16\] is needed", gated=True, words=168)
    failing(r"`route` has shape \[232\], \[168\] is needed")
    failing("`x` is fp32, the operator was made for bf16", dtype="bf16")
    failing("`grouped_gemm`: fp16, bf16 or fp32 is needed, not fp64", dtype="fp64")


def test_readme_example():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
