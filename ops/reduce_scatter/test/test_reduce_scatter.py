"""ReduceScatter against a sum in rank order on simulated ranks, under the checker."""

import pathlib
import re

import numpy as np
import pytest

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import ReduceScatter, rows_of_rank


def inputs(ranks, m, columns, dtype, seed=0):
    generator = np.random.default_rng([seed, m, columns])
    return [generator.standard_normal((m, columns)).astype(as_dtype(dtype)) for _ in range(ranks)]


def check(values, xs):
    total = np.zeros(xs[0].shape, np.float32)
    for x in xs:
        total = total + x.astype(np.float32)
    for rank, value in enumerate(values):
        assert len(value) == rows_of_rank(len(total), len(xs), rank)
    assert np.concatenate(values).tobytes() == total.astype(xs[0].dtype).tobytes()


WAYS = [{}, {"packets_bytes": 0, "chunk_bytes": 512}, {"packets_bytes": 2000}]


@pytest.mark.parametrize("way", [*WAYS, {"programs": 2, "num_warps": 1}])
@pytest.mark.parametrize("m, columns", [(1, 1), (3, 7), (16, 64), (130, 33), (257, 40), (515, 64)])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_sizes(ranks, m, columns, way):
    dtype = ["fp16", "bf16", "fp32"][(m + ranks) % 3]
    xs = inputs(ranks, m, columns, dtype)

    def main(team):
        with ReduceScatter(team, m, columns, dtype, **way) as op:
            return np.array(op(xs[team.rank], m))

    for seed, slots in enumerate([None, 1]):
        result = tandem.launch(main, ranks=ranks, seed=seed, slots_per_rank=slots, check=True)
        assert result.reports == []
        check(result.values, xs)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_many_calls_on_one_operator(ranks, way):
    """Also calls in which some ranks have no rows, and by turns in both ways."""
    sizes = [64, 1, 64, 1, 1, 37, 64, 5, 50, 2, 64]
    data = [inputs(ranks, m, 24, "fp16", seed=i) for i, m in enumerate(sizes)]

    def main(team):
        op = ReduceScatter(team, 64, 24, "fp16", programs=3, num_warps=1, **way)
        given = [team.local_from_array(xs[team.rank]) for xs in data]
        outs = [op(x, m) for m, x in zip(sizes, given)]
        return [np.array(o) for o in outs]

    for seed in range(6):
        result = tandem.launch(main, ranks=ranks, seed=seed, check=True)
        assert result.reports == []
        for i, xs in enumerate(data):
            check([value[i] for value in result.values], xs)


@pytest.mark.parametrize(
    "body, message",
    [
        (lambda team: ReduceScatter(team, 8, 4, "fp32")(np.zeros((9, 4), np.float32), 9), "`m` is 9, the operator was made for 1 to 8"),
        (lambda team: ReduceScatter(team, 8, 4, "fp32")(np.zeros((8, 5), np.float32), 8), r"`x` has shape \[8, 5\], \[8, 4\] is needed"),
        (lambda team: ReduceScatter(team, 8, 4, "fp32")(np.zeros((8, 4), np.float16), 8), "`x` is fp16"),
        (lambda team: ReduceScatter(team, 8, 0, "fp32"), "`columns` is 0"),
        (lambda team: ReduceScatter(team, 8, 4, "int8"), "not i8"),
        (lambda team: ReduceScatter(team, 8, 4, "fp32", programs=-1), "`programs` is -1"),
    ],
)
def test_wrong_arguments(body, message):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
        tandem.launch(body, ranks=2)


def test_readme_example():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
