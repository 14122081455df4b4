"""Grouped products against float64 on a simulated rank: sizes, types, orders of rows, gates, weights, skew, errors."""

import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "route/test"))

from moe_reference import drawn_ids, drawn_weights, integers, scaled_matrices, scaled_rows, scales, silu, up_projected

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
    run(50, 40, 48, 6, 2, dtype, "dropped", block_m=64, **options)
    run(50, 41, 47, 6, 2, dtype, "zipf", **options)


def run_more(m, n, k, experts, top_k, dtype, kind="dropped", seed=0, bias=True, quantised=False, block_m=None, **options):
    """With a bias, and what fp8 needs."""
    ids, weights = drawn_ids(m, experts, top_k, kind, seed), drawn_weights(m, top_k, seed)
    gated, is_sorted = options.get("gated", False), options.get("sorted", False)
    x, w = integers((m * top_k if is_sorted else m, k), dtype, seed, 1), integers((experts, n * (1 + gated), k), dtype, seed, 2)
    parts, fp8 = 1 + gated, dtype == "fp8e4nv"
    more = {"bias": integers((experts, n * parts), "fp32", seed, 3).astype(np.float32)} if bias else {}
    blocks = -(-k // 128)
    if fp8:
        more |= {"x_scales": scales(len(x), blocks, seed=seed), "w_scales": scales(experts, parts * -(-n // 128), blocks, seed=seed + 1)}

    def main(team):
        route = RouteIds(team, m, experts, top_k, "i32", block_m=block_m)(ids, weights, m)
        with GroupedGemm(team, m, n, k, experts, top_k, dtype, block_m=block_m, quantised=quantised, **options) as op:
            found = op(x, w, route, m, **more)
            return route_parts(route, m, experts, top_k), *(np.array(a) for a in (found if quantised else (found,)))

    result = tandem.launch(main, ranks=1, seed=seed, check=True)
    assert result.reports == []
    route, found, *out_scales = result.values[0]
    exact_x = scaled_rows(x, more["x_scales"]) if fp8 else x.astype(np.float64)
    exact_w = scaled_matrices(w, more["w_scales"], parts) if fp8 else w.astype(np.float64)
    want = np.zeros((m * top_k, n))
    for row, slot in enumerate(route.order):
        expert = ids.ravel()[slot]
        y = exact_w[expert] @ exact_x[row if is_sorted else slot // top_k] + (more["bias"][expert] if bias else 0)
        y = silu(y[:n]) * y[n:] if gated else y
        want[slot if options.get("scattered") else row] = y * (weights.ravel()[slot] if options.get("weighted") else 1)
    if quantised:
        largest = np.stack([np.abs(want[:, at : at + 128]).max(1) for at in range(0, n, 128)], axis=1)
        np.testing.assert_allclose(out_scales[0], largest / 448, rtol=1e-5, atol=1e-30)
        assert found.dtype == as_dtype("fp8e4nv") and np.abs(found.astype(np.float64)).max() == 448
        found = scaled_rows(found, out_scales[0])
    assert np.isfinite(found.astype(np.float64)).all()
    tolerance = 4e-2 if quantised else 8e-3 if fp8 else TOLERANCE[dtype]
    assert np.linalg.norm(found.astype(np.float64) - want) <= tolerance * np.linalg.norm(want)
    assert (found[(want == 0).all(1)] == 0).all()


MORE = [{}, {"gated": True}, {"scattered": True, "weighted": True}, {"sorted": True}, {"sorted": True, "gated": True, "scattered": True}]


@pytest.mark.parametrize("options", MORE)
@pytest.mark.parametrize("n, k", [(24, 40), (200, 300), (130, 256), (128, 16)])
def test_fp8(n, k, options):
    run_more(30, n, k, 5, 2, "fp8e4nv", seed=n, **options)
    run_more(30, n, k, 5, 2, "fp8e4nv", seed=n, block_m=64, **options)
    run_more(30, n, k, 5, 2, "fp8e4nv", "zipf", seed=n, bias=False, quantised=True, **options)


@pytest.mark.parametrize("options", [o for o in MORE if "gated" not in o])
@pytest.mark.parametrize("n, k", [(100, 300), (390, 256)])
def test_fp8_columns_of_two_scales(n, k, options):
    run_more(30, n, k, 5, 2, "fp8e4nv", seed=n, block_n=256, **options)
    run_more(30, n, k, 5, 2, "fp8e4nv", seed=n, block_n=256, block_m=64, **options)


@pytest.mark.parametrize("options", MORE)
@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_bias_and_quantised_results(dtype, options):
    run_more(30, 41, 47, 5, 2, dtype, seed=1, **options)
    run_more(30, 41, 48, 5, 2, dtype, seed=1, quantised=True, **options)
    run_more(20, 200, 32, 3, 2, dtype, seed=2, quantised=True, **options)


HALVES = [{}, {"gated": True}, {"sorted": True}, {"sorted": True, "gated": True, "scattered": True}, {"weighted": True, "scattered": True}]
HALVED = [(130, 100, 40, 3, 2), (300, 48, 32, 5, 2), (300, 33, 24, 4, 1), (64, 16, 32, 2, 1), (700, 64, 16, 4, 2)]


@pytest.mark.parametrize("options", HALVES)
@pytest.mark.parametrize("m, n, k, experts, top_k", HALVED)
def test_tiles_of_two_halves(m, n, k, experts, top_k, options):
    """The last columns of a block and the tiles of the last round of eight programs may have one half alone."""
    for kind in ("uniform", "dropped", "one"):
        run(m, n, k, experts, top_k, "bf16", kind, seed=m, block_m=64, block_n=32, **options)


@pytest.mark.parametrize("options", [{}, {"sorted": True}, {"weighted": True, "scattered": True}])
def test_fp8_tiles_of_two_halves(options):
    for m, n, k in ((130, 400, 256), (300, 640, 130)):
        run_more(m, n, k, 5, 2, "fp8e4nv", "zipf", seed=m, block_m=64, block_n=256, **options)


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
    failing(r"`w` has shape \[4, 8, 16\], \[4, 16, 16\] is needed", gated=True, words=200)
    failing(r"`route` has shape \[232\], \[200\] is needed")
    failing("`x` is fp32, the operator was made for bf16", dtype="bf16")
    failing("`grouped_gemm`: fp16, bf16, fp32 or fp8e4nv is needed, not fp64", dtype="fp64")


def test_wrong_scales_and_biases():
    def failing(message, dtype="fp32", given=(), **options):
        shapes = {"bias": (4, 8), "x_scales": (8, 1), "w_scales": (4, 1, 1)}

        def main(team):
            op = GroupedGemm(team, 8, 8, 16, 4, 2, dtype, **options)
            x, w = np.zeros((8, 16), as_dtype(dtype)), np.zeros((4, 8, 16), as_dtype(dtype))
            op(x, w, np.zeros(200, np.int32), 8, **{name: np.zeros(shape or shapes[name], np.float32) for name, shape in given})

        with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
            tandem.launch(main, ranks=1)

    failing("`grouped_gemm`: `x_scales` is needed with fp8e4nv", "fp8e4nv")
    failing("`grouped_gemm`: `w_scales` is needed with fp8e4nv", "fp8e4nv", [("x_scales", ())])
    failing("`grouped_gemm`: `x_scales` goes with fp8 alone, not with fp32", given=[("x_scales", ())])
    failing(r"`w_scales` has shape \[4, 2, 1\], \[4, 1, 1\] is needed", "fp8e4nv", [("x_scales", ()), ("w_scales", (4, 2, 1))])
    failing(r"`bias` has shape \[4, 16\], \[4, 8\] is needed", given=[("bias", (4, 16))])
    failing("`out_scales` goes with `quantised` alone", given=[("out_scales", (16, 1))])
    failing("`grouped_gemm`: `block_k` is 64, fp8 needs 128, which share a scale", "fp8e4nv", block_k=64)
    failing("`grouped_gemm`: `block_n` is 512, fp8 needs at most 128, which share a scale, or 256", "fp8e4nv", block_n=512)
    failing("`grouped_gemm`: `block_n` is 256, fp8 needs at most 128, which share a scale", "fp8e4nv", gated=True, block_n=256)
    failing("`grouped_gemm`: `block_n` is 64, `quantised` needs 128, which share a scale", quantised=True, block_n=64)


def test_readme_example():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
