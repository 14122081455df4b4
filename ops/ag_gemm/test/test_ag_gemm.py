"""AllGather + GEMM against float64 on simulated ranks: sizes, types, schedules, repeated calls, errors."""

import pathlib
import re

import numpy as np
import pytest

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import AllGatherGemm, rows_of_rank, shard_rows

TOLERANCE = {"fp32": 2e-6, "fp16": 1e-3, "bf16": 8e-3, "fp8e4nv": 8e-3, "fp8e5": 8e-3}  # fp8: results are bf16


def inputs(ranks, m, n, k, dtype, seed=0):
    """A whole A, and one B a rank."""
    generator = np.random.default_rng(seed)
    a = generator.standard_normal((m, k)).astype(as_dtype(dtype))
    return a, [generator.standard_normal((k, n)).astype(as_dtype(dtype)) for _ in range(ranks)]


def rows(a, m, team):
    first = team.rank * shard_rows(m, team.size)
    return a[first : first + rows_of_rank(m, team.size, team.rank)]


def check(values, a, bs, dtype):
    for c, b in zip(values, bs):
        want = a.astype(np.float64) @ b.astype(np.float64)
        assert c.shape == want.shape
        assert np.linalg.norm(c.astype(np.float64) - want) <= TOLERANCE[dtype] * np.linalg.norm(want)


def run(ranks, m, n, k, dtype, seed=0, slots=None, trace=False, **config):
    a, bs = inputs(ranks, m, n, k, dtype)

    def main(team):
        op = AllGatherGemm(team, m, n, k, dtype, **config)
        b = bs[team.rank]
        out = np.array(op(rows(a, m, team), np.ascontiguousarray(b.T) if config.get("b_transposed") else b, m))
        op.close()
        return out

    result = tandem.launch(main, ranks=ranks, seed=seed, slots_per_rank=slots, trace=trace, check=not trace)
    assert result.reports == []
    check(result.values, a, bs, dtype)
    return result


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_sizes_that_divide(ranks, dtype):
    run(ranks, 128, 128, 64, dtype, seed=ranks)


@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (1, 65, 33), (3, 7, 5), (130, 67, 97), (257, 129, 31)])
@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_sizes_that_do_not_divide(ranks, m, n, k):
    run(ranks, m, n, k, "fp32", seed=m)


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


@pytest.mark.parametrize("m", [70, 128, 257])
@pytest.mark.parametrize("ranks", [2, 3, 8])
@pytest.mark.parametrize("slices", [1, 2, 3, 100])
def test_slices(slices, ranks, m):
    run(ranks, m, 48, 72, "fp16", seed=m + slices, block_m=16, block_n=16, block_k=16, programs=5, group=2, slices=slices)


@pytest.mark.parametrize("m", [5, 300, 517])
@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("bands", [1, 2, 8])
def test_bands(bands, ranks, m):
    """Also bands without rows, and a last one of fewer."""
    tiles = {"block_m": 16, "block_n": 16, "block_k": 16, "programs": 5, "group": 3}
    run(ranks, m, 48, 72, "fp16", seed=m + bands, bands=bands, **tiles)
    run(ranks, m, 19, 41, "fp32", seed=m, bands=bands, slices=2, **tiles)


@pytest.mark.parametrize("m, n, k", [(70, 96, 72), (257, 67, 97), (257, 200, 40), (5, 16, 8)])
@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("block_n", [48, 80, 112])
@pytest.mark.parametrize("b_transposed", [False, True])
def test_widths_that_are_no_power_of_two(b_transposed, block_n, ranks, m, n, k):
    """Also where the last tile's last parts are outside, and by pointers, which take the largest part alone."""
    run(ranks, m, n, k, "fp32", seed=m, block_m=16, block_n=block_n, block_k=16, programs=7, group=2, b_transposed=b_transposed)


@pytest.mark.parametrize("m, n, k", [(70, 48, 72), (257, 67, 97), (5, 16, 8)])
@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("pieces", [1, 2, 3, 8])
def test_tiles_left_over_in_pieces(pieces, ranks, m, n, k):
    """Blocks and pointers, fewer steps of K than pieces, no tile left over."""
    for seed in range(2):
        run(ranks, m, n, k, "fp32", seed=seed, block_m=16, block_n=16, block_k=16, programs=7, group=2, pieces=pieces)


def test_the_same_call_again_and_again():
    """As a captured graph replays it: the same addresses, other data, one rank slower than the others."""
    data = [inputs(3, 50, 40, 24, "fp16", seed=i) for i in range(6)]

    def main(team):
        op = AllGatherGemm(team, 50, 40, 24, "fp16", block_m=16, block_n=16, block_k=16, programs=4, slices=2)
        given = [(team.local_from_array(rows(a, 50, team)), team.local_from_array(bs[team.rank])) for a, bs in data]
        a, b = (team.local_empty(x.shape, "fp16") for x in given[0])
        kept = [team.local_empty((50, 40), "fp16") for _ in data]
        out = team.local_empty((50, 40), "fp16")
        for (from_a, from_b), to in zip(given, kept):
            team.stream.copy(a, from_a)
            team.stream.copy(b, from_b)
            op(a, b, 50, out=out)
            team.stream.copy(to, out)
        return [np.array(x) for x in kept]

    for seed in range(4):
        values = tandem.launch(main, ranks=3, seed=seed, check=True, policy="slowest-rank" if seed % 2 else "random").values
        for i, (a, bs) in enumerate(data):
            check([value[i] for value in values], a, bs, "fp16")


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_many_calls_on_one_operator(ranks):
    """m and the inputs change from call to call, and nothing waits between the calls."""
    sizes = [64, 1, 64, 1, 1, 37, 64, 5, 50, 2, 64]
    data = [inputs(ranks, m, 40, 24, "fp32", seed=i) for i, m in enumerate(sizes)]

    def main(team):
        op = AllGatherGemm(team, 64, 40, 24, "fp32", block_m=16, block_n=16, block_k=16, programs=6)
        move = team.local_from_array
        given = [(move(rows(a, m, team)), move(bs[team.rank])) for m, (a, bs) in zip(sizes, data)]
        outs = [op(a, b, m) for m, (a, b) in zip(sizes, given)]
        return [np.array(o) for o in outs]

    for seed in range(8):
        result = tandem.launch(main, ranks=ranks, seed=seed, check=seed % 2 == 0)
        assert result.reports == []
        for i, (a, bs) in enumerate(data):
            check([value[i] for value in result.values], a, bs, "fp32")


def test_more_ranks_than_threads():
    """A thread ends the call for several peers. Each call's data are other ones."""
    ranks, sizes = 34, [34, 20, 34]
    data = [inputs(1, m, 16, 16, "fp32", seed=i) for i, m in enumerate(sizes)]

    def main(team):
        op = AllGatherGemm(team, 34, 16, 16, "fp32", block_m=16, block_n=16, block_k=16, programs=2, num_warps=1, pieces=1)
        given = [[team.local_from_array(x) for x in (rows(a, m, team), bs[0])] for m, (a, bs) in zip(sizes, data)]
        outs = [op(*pair, m) for m, pair in zip(sizes, given)]
        return [np.array(o) for o in outs]

    values = tandem.launch(main, ranks=ranks, check=True, policy="slowest-rank").values
    for i, (a, bs) in enumerate(data):
        check([value[i] for value in values], a, bs * ranks, "fp32")


def test_a_may_be_overwritten_by_the_next_item_of_the_stream():
    a, bs = inputs(4, 64, 16, 48, "fp32")

    def main(team):
        op = AllGatherGemm(team, 64, 16, 48, "fp32", block_m=16, block_n=16, block_k=16)
        shard = team.local_from_array(rows(a, 64, team))
        b = team.local_from_array(bs[team.rank])
        out = op(shard, b, 64)
        team.stream.memset(shard, 255)
        return np.array(out)

    for seed in range(10):
        check(tandem.launch(main, ranks=4, seed=seed).values, a, bs, "fp32")


def test_two_operators_on_two_streams():
    a, bs = inputs(2, 48, 33, 20, "fp32")

    def main(team):
        ops = [AllGatherGemm(team, 48, 33, 20, "fp32", programs=4) for _ in range(2)]
        streams = [team.stream, team.new_stream()]
        outs = [op(rows(a, 48, team), bs[team.rank], 48, stream=stream) for op, stream in zip(ops, streams)]
        return [np.array(o) for o in outs]

    for seed in range(4):
        values = tandem.launch(main, ranks=2, seed=seed).values
        for i in range(2):
            check([v[i] for v in values], a, bs, "fp32")


def test_output_of_another_type_and_given_tensors():
    a, bs = inputs(2, 40, 24, 32, "fp16")

    def main(team):
        op = AllGatherGemm(team, 40, 24, 32, "fp16")
        out = team.local_empty((40, 24), "float32")
        assert op(team.from_array(rows(a, 40, team)), team.local_from_array(bs[team.rank]), 40, out=out) is out
        return np.array(out)

    values = tandem.launch(main, ranks=2).values
    assert values[0].dtype == np.float32
    check(values, a, bs, "fp32")


def test_overlap_is_in_the_trace():
    """Shards move while own rows are multiplied, and in slices nearly all of it is hidden."""
    waits = {}
    for slices in (1, 4):
        ranks = run(4, 4096, 64, 1024, "fp16", trace=True, slices=slices).summary["ranks"]
        assert len(ranks) == 4
        assert all(rank["bytes"] >= 3 * 1024 * 1024 * 2 and rank["overlapped_ns"] > 0 for rank in ranks)
        waits[slices] = sum(rank["wait_ns"] for rank in ranks)
    assert waits[4] < 0.3 * waits[1]


def failing(message, body, ranks=2):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
        tandem.launch(body, ranks=ranks)


@pytest.mark.parametrize(
    "a, b, m, dtype, message",
    [
        ((4, 16), (16, 8), 10, "fp32", r"`a` has shape \[4, 16\], \[5, 16\] is needed"),
        ((5, 16), (8, 16), 10, "fp32", r"`b` has shape \[8, 16\], \[16, 8\] is needed"),
        ((5, 16), (16, 8), 11, "fp32", r"`m` is 11, the operator was made for 1 to 10"),
        ((0, 16), (16, 8), 0, "fp32", r"`m` is 0, the operator was made for 1 to 10"),
        ((5, 16), (16, 8), 10, "fp16", r"`a` is fp16, the operator was made for fp32"),
    ],
)
def test_wrong_arguments(a, b, m, dtype, message):
    def main(team):
        AllGatherGemm(team, 10, 8, 16, "fp32")(np.zeros(a, as_dtype(dtype)), np.zeros(b, np.float32), m)

    failing(message, main)


def test_wrong_output_shape():
    def main(team):
        op = AllGatherGemm(team, 10, 8, 16, "fp32")
        op(np.zeros((5, 16), np.float32), np.zeros((16, 8), np.float32), 10, out=team.local_empty((8, 10)))

    failing(r"`out` has shape \[8, 10\], \[10, 8\] is needed", main)


@pytest.mark.parametrize(
    "sizes, config, message",
    [
        ((0, 8, 16, "fp32"), {}, "`max_m` is 0"),
        ((8, -1, 16, "fp32"), {}, "`n` is -1"),
        ((8, 8, 0, "fp32"), {}, "`k` is 0"),
        ((8, 8, 8, "i32"), {}, "i32"),
        ((8, 8, 8, "float7"), {}, "float7"),
        ((8, 8, 8, "fp32"), {"block_m": 24}, "`block_m` is 24"),
        ((8, 8, 8, "fp32"), {"programs": 0}, "`programs` is 0"),
        ((8, 8, 8, "fp32"), {"blockm": 16}, "`blockm`"),
        ((8, 8, 8, "fp32"), {"block_n": 40}, "`block_n` is 40, a sum of up to 3 powers of two from 16 is needed"),
        ((8, 8, 8, "fp32"), {"block_n": 240}, "`block_n` is 240, a sum of up to 3"),
        (
            (8, 8, 8, "fp32"),
            {"block_n": 48, "pieces": 2},
            "`pieces` is 2, but tiles are cut only where `block_n` is a power of two, which 48",
        ),
    ],
)
def test_wrong_operators(sizes, config, message):
    failing(message, lambda team: AllGatherGemm(team, *sizes, **config))


def test_closed_operators_refuse():
    def main(team):
        op = AllGatherGemm(team, 8, 8, 8, "fp32")
        op.close()
        op.close()
        op(np.zeros((4, 8), np.float32), np.zeros((8, 8), np.float32), 8)

    failing("the operator is closed", main)


def test_memory_comes_back():
    def main(team):
        for _ in range(50):
            with AllGatherGemm(team, 1 << 16, 8, 1 << 12, "fp32") as op:
                assert op.n == 8

    assert tandem.launch(main, ranks=2).reports == []


def test_readme_example():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
