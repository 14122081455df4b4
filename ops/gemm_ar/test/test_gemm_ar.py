"""GEMM + AllReduce against float64 on simulated ranks, under the checker: sizes, types, ways, splits, repeated calls, errors."""

import pathlib
import re

import numpy as np
import pytest

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import GemmAllReduce

TOLERANCE = {"fp32": 2e-6, "fp16": 1e-3, "bf16": 8e-3, "fp8e4nv": 8e-3}
WAYS = [{"packets_bytes": 1 << 30}, {"packets_bytes": 0, "one_shot_bytes": 1 << 30}, {"packets_bytes": 0, "one_shot_bytes": 0}]


def inputs(ranks, m, n, k, dtype, seed=0):
    """An A and a B a rank; k is a rank's share."""
    generator = np.random.default_rng([seed, m, n, k])
    pair = lambda: [generator.standard_normal(shape).astype(as_dtype(dtype)) for shape in ((m, k), (k, n))]
    return [pair() for _ in range(ranks)]


def check(values, pairs, dtype):
    want = sum(a.astype(np.float64) @ b.astype(np.float64) for a, b in pairs)
    for value in values:
        assert value.shape == want.shape and value.tobytes() == values[0].tobytes()
        assert np.linalg.norm(value.astype(np.float64) - want) <= TOLERANCE[dtype] * np.linalg.norm(want)


def run(ranks, m, n, k, dtype, seed=0, slots=None, **config):
    pairs = inputs(ranks, m, n, k, dtype)

    def main(team):
        a, b = pairs[team.rank]
        with GemmAllReduce(team, m, n, k, dtype, **config) as op:
            return np.array(op(a, np.ascontiguousarray(b.T) if config.get("b_transposed") else b, m))

    result = tandem.launch(main, ranks=ranks, seed=seed, slots_per_rank=slots, check=True)
    assert result.reports == []
    check(result.values, pairs, dtype)
    return result.values[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_sizes_that_divide(ranks, dtype, way):
    run(ranks, 16, 128, 64, dtype, seed=ranks, b_transposed=dtype != "bf16", **way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (1, 65, 33), (3, 7, 5), (50, 67, 97)])
@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_sizes_that_do_not_divide(ranks, m, n, k, way):
    run(ranks, m, n, k, "fp32", seed=m, **way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("pieces", [1, 2, 5])
def test_tiles_cut_along_k(pieces, way):
    for seed, slots in enumerate([None, 1, 2]):
        run(3, 20, 70, 150, "fp16", seed=seed, slots=slots, pieces=pieces, **way)


@pytest.mark.parametrize("way", WAYS)
def test_rounds_of_tiles(way):
    """Sums some rounds behind the products, the last round cut or not."""
    for seed, (ranks, pieces) in enumerate(((2, 1), (3, 4), (4, 2))):
        run(ranks, 150, 200, 70, "bf16", seed=seed, pieces=pieces, programs=3 + seed, **way)


def test_fp8():
    for way in WAYS:
        run(2, 8, 64, 64, "fp8e4nv", b_transposed=True, **way)


def test_same_bits_whatever_the_schedule_and_the_way():
    results = [run(4, 20, 70, 50, "fp16", seed=seed, **WAYS[seed % 3]) for seed in range(6)]
    assert len({r.tobytes() for r in results}) == 1


def test_other_tiles_and_program_counts():
    run(3, 40, 100, 70, "fp32", block_m=32, block_n=16, block_k=16, programs=5, num_warps=8)
    run(2, 40, 100, 70, "fp32", programs=1)


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_many_calls_on_one_operator(ranks):
    """m, the inputs and with m the way change from call to call, and nothing waits between the calls."""
    sizes = [20, 1, 20, 1, 1, 17, 20, 5, 18, 2, 20]
    data = [inputs(ranks, m, 40, 24, "fp32", seed=i) for i, m in enumerate(sizes)]

    def main(team):
        op = GemmAllReduce(team, 20, 40, 24, "fp32", programs=3, one_shot_bytes=40 * 4 * 17, packets_bytes=40 * 4 * 4)
        given = [[team.local_from_array(x) for x in pairs[team.rank]] for pairs in data]
        outs = [op(a, b, m) for m, (a, b) in zip(sizes, given)]
        return [np.array(o) for o in outs]

    for seed in range(5):
        result = tandem.launch(main, ranks=ranks, seed=seed, check=True)
        assert result.reports == []
        for i, pairs in enumerate(data):
            check([value[i] for value in result.values], pairs, "fp32")


def test_operators_on_several_streams():
    pairs = inputs(2, 18, 33, 20, "fp32")

    def main(team):
        ops = [GemmAllReduce(team, 18, 33, 20, "fp32", programs=4, **way) for way in WAYS]
        streams = [team.stream, team.new_stream(), team.new_stream()]
        outs = [op(*pairs[team.rank], 18, stream=stream) for op, stream in zip(ops, streams)]
        return [np.array(o) for o in outs]

    for seed in range(4):
        values = tandem.launch(main, ranks=2, seed=seed, check=True).values
        for i in range(3):
            check([v[i] for v in values], pairs, "fp32")


@pytest.mark.parametrize(
    "sizes, config, message",
    [
        ((0, 8, 16, "fp32"), {}, "`max_m` is 0"),
        ((8, 8, 8, "int32"), {}, "i32"),
        ((8, 8, 8, "fp32"), {"block_m": 24}, "`block_m` is 24"),
        ((8, 8, 8, "fp32"), {"pieces": 9}, "`pieces` is 9"),
        ((8, 8, 8, "fp32"), {"blockm": 16}, "`blockm`"),
    ],
)
def test_wrong_operators(sizes, config, message):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
        tandem.launch(lambda team: GemmAllReduce(team, *sizes, **config), ranks=2)


def test_wrong_shapes():
    def main(team):
        GemmAllReduce(team, 8, 8, 16, "fp32")(np.zeros((8, 16), np.float32), np.zeros((8, 16), np.float32), 8)

    with pytest.raises((ValueError, RuntimeError), match=r"`b` has shape \[8, 16\], \[16, 8\] is needed"):
        tandem.launch(main, ranks=2)


def test_readme_example():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
