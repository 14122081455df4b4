"""GEMM + ReduceScatter against float64 on simulated ranks: sizes, types, schedules, repeated calls, errors."""

import pathlib
import re

import numpy as np
import pytest

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import GemmReduceScatter, rows_of_rank

TOLERANCE = {"fp32": 2e-6, "fp16": 1e-3, "bf16": 8e-3, "fp8e4nv": 8e-3, "fp8e5": 8e-3}  # fp8: results are bf16


WAYS = [{"chunks": 0}, {"chunks": 1}, {"chunks": 3}]


def inputs(ranks, m, n, k, dtype, seed=0):
    """An A and a B a rank; k is a rank's share."""
    generator = np.random.default_rng(seed)
    pair = lambda: [generator.standard_normal(shape).astype(as_dtype(dtype)) for shape in ((m, k), (k, n))]
    return [pair() for _ in range(ranks)]


def check(values, pairs, m, dtype):
    """`values`: each rank's rows. All rows together are compared, so that a rank without rows counts too."""
    want = sum(a.astype(np.float64) @ b.astype(np.float64) for a, b in pairs)
    for rank, out in enumerate(values):
        assert len(out) == rows_of_rank(m, len(pairs), rank)
    got = np.concatenate(values).astype(np.float64)
    assert got.shape == want.shape
    assert np.linalg.norm(got - want) <= TOLERANCE[dtype] * np.linalg.norm(want)


def run(ranks, m, n, k, dtype, seed=0, slots=None, trace=False, **config):
    pairs = inputs(ranks, m, n, k, dtype)

    def main(team):
        op = GemmReduceScatter(team, m, n, k, dtype, **config)
        a, b = pairs[team.rank]
        out = np.array(op(a, np.ascontiguousarray(b.T) if config.get("b_transposed") else b, m))
        op.close()
        return out

    result = tandem.launch(main, ranks=ranks, seed=seed, slots_per_rank=slots, trace=trace, check=not trace)
    assert result.reports == []
    check(result.values, pairs, m, dtype)
    return result


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_sizes_that_divide(ranks, dtype):
    run(ranks, 128, 128, 64, dtype, seed=ranks)


@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (1, 65, 33), (3, 7, 5), (130, 67, 97), (257, 129, 31)])
@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_sizes_that_do_not_divide(ranks, m, n, k):
    run(ranks, m, n, k, "fp32", seed=m)


@pytest.mark.parametrize("m", [5, 100, 256])
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_parts_that_programs_store(ranks, m):
    run(ranks, m, 130, 300, "bf16", seed=m, chunks=0)
    run(ranks, m, 67, 40, "fp32", seed=m, chunks=0, slots=2)


@pytest.mark.parametrize("m", [5, 100, 257])
@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
@pytest.mark.parametrize("chunks", [1, 2, 5, 64])
def test_parts_in_copies(chunks, ranks, m):
    """Also more copies than tiles, and tiles that chunks do not divide."""
    run(ranks, m, 67, 40, "fp32", seed=m, block_m=16, block_n=16, block_k=16, programs=5, chunks=chunks)


@pytest.mark.parametrize("dtype", ["fp8e4nv", "fp8e5"])
@pytest.mark.parametrize("b_transposed", [False, True])
def test_fp8(dtype, b_transposed):
    run(2, 100, 64, 96, dtype, b_transposed=b_transposed)
    run(4, 33, 50, 45, dtype, b_transposed=b_transposed)


@pytest.mark.parametrize("m, n, k", [(64, 64, 32), (1, 3, 1), (130, 67, 97), (129, 40, 64)])
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_transposed_b(ranks, m, n, k):
    run(ranks, m, n, k, "bf16", seed=m, b_transposed=True)


def test_same_bits_whatever_the_schedule():
    results = [run(4, 100, 70, 50, "fp16", seed=seed).values for seed in range(6)]
    for other in results[1:]:
        for x, y in zip(results[0], other):
            assert x.tobytes() == y.tobytes()


@pytest.mark.parametrize("slots", [1, 2, 5])
@pytest.mark.parametrize("ranks", [1, 4])
def test_few_resident_programs(ranks, slots):
    for seed in range(3):
        run(ranks, 200, 130, 40, "fp32", seed=seed, slots=slots)


def test_other_tiles_and_program_counts():
    run(3, 90, 100, 70, "fp32", block_m=16, block_n=32, block_k=16, programs=5, group=2, num_warps=8)
    run(2, 90, 100, 70, "fp32", programs=1, group=1)


@pytest.mark.parametrize("way", WAYS)
def test_the_same_call_again_and_again(way):
    """As a captured graph replays it: the same addresses, other data, one rank slower than the others."""
    data = [inputs(3, 50, 40, 24, "fp16", seed=i) for i in range(6)]

    def main(team):
        mine = rows_of_rank(50, 3, team.rank)
        op = GemmReduceScatter(team, 50, 40, 24, "fp16", block_m=16, block_n=16, block_k=16, programs=4, **way)
        given = [[team.local_from_array(x) for x in pairs[team.rank]] for pairs in data]
        a, b = (team.local_empty(x.shape, "fp16") for x in given[0])
        kept = [team.local_empty((mine, 40), "fp16") for _ in data]
        out = team.local_empty((mine, 40), "fp16")
        for (from_a, from_b), to in zip(given, kept):
            team.stream.copy(a, from_a)
            team.stream.copy(b, from_b)
            op(a, b, 50, out=out)
            team.stream.copy(to, out)
        return [np.array(x) for x in kept]

    for seed in range(4):
        values = tandem.launch(main, ranks=3, seed=seed, check=True, policy="slowest-rank" if seed % 2 else "random").values
        for i, pairs in enumerate(data):
            check([value[i] for value in values], pairs, 50, "fp16")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_many_calls_on_one_operator(ranks, way):
    """m and the inputs change from call to call, and nothing waits between the calls."""
    sizes = [64, 1, 64, 1, 1, 37, 64, 5, 50, 2, 64]
    data = [inputs(ranks, m, 40, 24, "fp32", seed=i) for i, m in enumerate(sizes)]

    def main(team):
        op = GemmReduceScatter(team, 64, 40, 24, "fp32", block_m=16, block_n=16, block_k=16, programs=6, **way)
        given = [[team.local_from_array(x) for x in pairs[team.rank]] for pairs in data]
        outs = [op(a, b, m) for m, (a, b) in zip(sizes, given)]
        return [np.array(o) for o in outs]

    for seed in range(8):
        result = tandem.launch(main, ranks=ranks, seed=seed, check=seed % 2 == 0)
        assert result.reports == []
        for i, (m, pairs) in enumerate(zip(sizes, data)):
            check([value[i] for value in result.values], pairs, m, "fp32")


def test_two_operators_on_two_streams():
    pairs = inputs(2, 48, 33, 20, "fp32")

    def main(team):
        ops = [GemmReduceScatter(team, 48, 33, 20, "fp32", programs=4) for _ in range(2)]
        streams = [team.stream, team.new_stream()]
        outs = [op(*pairs[team.rank], 48, stream=stream) for op, stream in zip(ops, streams)]
        return [np.array(o) for o in outs]

    for seed in range(4):
        values = tandem.launch(main, ranks=2, seed=seed).values
        for i in range(2):
            check([v[i] for v in values], pairs, 48, "fp32")


def test_output_of_another_type_and_given_tensors():
    pairs = inputs(2, 40, 24, 32, "fp16")

    def main(team):
        op = GemmReduceScatter(team, 40, 24, 32, "fp16")
        out = team.local_empty((20, 24), "float32")
        a, b = pairs[team.rank]
        assert op(team.from_array(a), team.local_from_array(b), 40, out=out) is out
        return np.array(out)

    values = tandem.launch(main, ranks=2).values
    assert values[0].dtype == np.float32
    check(values, pairs, 40, "fp16")  # the parts travel as fp16


def test_overlap_is_in_the_trace():
    summary = run(4, 512, 128, 128, "fp16", trace=True, chunks=0).summary
    assert len(summary["ranks"]) == 4
    for rank in summary["ranks"]:
        assert rank["bytes"] >= 3 * 128 * 128 * 2
        assert rank["overlapped_ns"] > 0.5 * rank["transfer_ns"]


def test_copies_are_beside_products_in_the_trace():
    for rank in run(4, 2048, 256, 64, "fp16", trace=True, programs=16, chunks=4).summary["ranks"]:
        assert rank["bytes"] >= 3 * 512 * 256 * 2
        assert rank["overlapped_ns"] > 0.5 * rank["transfer_ns"]


def failing(message, body, ranks=2):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
        tandem.launch(body, ranks=ranks)


@pytest.mark.parametrize(
    "a, b, m, dtype, message",
    [
        ((9, 16), (16, 8), 10, "fp32", r"`a` has shape \[9, 16\], \[10, 16\] is needed"),
        ((10, 16), (8, 16), 10, "fp32", r"`b` has shape \[8, 16\], \[16, 8\] is needed"),
        ((11, 16), (16, 8), 11, "fp32", r"`m` is 11, the operator was made for 1 to 10"),
        ((0, 16), (16, 8), 0, "fp32", r"`m` is 0, the operator was made for 1 to 10"),
        ((10, 16), (16, 8), 10, "fp16", r"`a` is fp16, the operator was made for fp32"),
    ],
)
def test_wrong_arguments(a, b, m, dtype, message):
    def main(team):
        GemmReduceScatter(team, 10, 8, 16, "fp32")(np.zeros(a, as_dtype(dtype)), np.zeros(b, np.float32), m)

    failing(message, main)


def test_wrong_output_shape():
    def main(team):
        op = GemmReduceScatter(team, 10, 8, 16, "fp32")
        op(np.zeros((10, 16), np.float32), np.zeros((16, 8), np.float32), 10, out=team.local_empty((8, 10)))

    failing(r"`out` has shape \[8, 10\], \[5, 8\] is needed", main)


@pytest.mark.parametrize(
    "sizes, config, message",
    [
        ((0, 8, 16, "fp32"), {}, "`max_m` is 0"),
        ((8, -1, 16, "fp32"), {}, "`n` is -1"),
        ((8, 8, 0, "fp32"), {}, "`k` is 0"),
        ((8, 8, 8, "i32"), {}, "i32"),
        ((8, 8, 8, "float7"), {}, "float7"),
        ((8, 8, 8, "fp32"), {"block_n": 24}, "`block_n` is 24"),
        ((8, 8, 8, "fp32"), {"programs": 0}, "`programs` is 0"),
        ((8, 8, 8, "fp32"), {"warps": 16}, "`warps`"),
        ((8, 8, 8, "fp32"), {"chunks": 65}, "`chunks` is 65, 0 to 64 are possible"),
    ],
)
def test_wrong_operators(sizes, config, message):
    failing(message, lambda team: GemmReduceScatter(team, *sizes, **config))


def test_closed_operators_refuse():
    def main(team):
        op = GemmReduceScatter(team, 8, 8, 8, "fp32")
        op.close()
        op.close()
        op(np.zeros((8, 8), np.float32), np.zeros((8, 8), np.float32), 8)

    failing("the operator is closed", main)


def test_memory_comes_back():
    def main(team):
        for _ in range(50):
            with GemmReduceScatter(team, 1 << 16, 1 << 12, 8, "fp32") as op:
                assert op.n == 1 << 12

    assert tandem.launch(main, ranks=2).reports == []


def test_readme_example():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
