"""Grouped outer products against float64 on a simulated rank: sizes, types, weights, skew, errors."""

import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "route/test"))

from moe_reference import drawn_ids, drawn_weights, integers

import tandem
from tandem.ops import GroupedOuter, RouteIds, route_parts

KINDS = ["uniform", "zipf", "one", "few", "dropped"]


def run(m, n, k, experts, top_k, dtype="fp32", kind="uniform", seed=0, **options):
    ids, weights = drawn_ids(m, experts, top_k, kind, seed), drawn_weights(m, top_k, seed)
    h, x = integers((m * top_k, n), dtype, seed, 1), integers((m, k), dtype, seed, 2)

    def main(team):
        route = RouteIds(team, m, experts, top_k, "i32")(ids, weights, m)
        with GroupedOuter(team, m, n, k, experts, top_k, dtype, **options) as op:
            return route_parts(route, m, experts, top_k), np.array(op(h, x, route, m))

    result = tandem.launch(main, ranks=1, seed=seed, check=True)
    assert result.reports == []
    parts, found = result.values[0]
    want = np.zeros((experts, n, k))
    for row, slot in enumerate(parts.order):
        weight = weights.ravel()[slot] if options.get("weighted") else 1
        want[ids.ravel()[slot]] += weight * np.outer(h[row].astype(np.float64), x[slot // top_k].astype(np.float64))
    np.testing.assert_allclose(found.astype(np.float64), want, rtol=8e-3 if dtype == "bf16" else 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m, n, k, experts, top_k", [(1, 1, 1, 1, 1), (37, 24, 40, 5, 2), (130, 70, 33, 7, 3), (20, 16, 16, 40, 4)])
def test_dealing(m, n, k, experts, top_k, kind):
    run(m, n, k, experts, top_k, kind=kind, seed=m, weighted=bool(m % 2))


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_types_and_tiles(dtype):
    run(50, 40, 48, 6, 2, dtype, "dropped", weighted=True)
    run(50, 40, 48, 6, 2, dtype, block_m=32, block_n=16, block_k=64, programs=3, num_warps=4)


def test_wrong_arguments():
    def main(team):
        GroupedOuter(team, 8, 8, 16, 4, 2, "fp32")(np.zeros((8, 8), np.float32), np.zeros((8, 16), np.float32), np.zeros(168, np.int32), 8)

    with pytest.raises(ValueError, match=r"`h` has shape \[8, 8\], \[16, 8\] is needed"):
        tandem.launch(main, ranks=1)


def test_readme_example():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
