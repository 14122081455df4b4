"""AllReduce + residual + RMSNorm against NumPy on simulated ranks, under the checker: ways, sizes, types, scales, calls in a row."""

import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from norm_reference import EPS, Call

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import AllReduce, AllReduceNorm

WAYS = ["one_shot", "two_shot_packets", "two_shot"]
TYPES = ["bf16", "fp16", "fp32"]
SIZES = [(1, 1), (1, 4096), (5, 65), (9, 130), (17, 64)]
FORMS = [{}, {"quantised": True}, {"quantised": True, "row_scales": True}]


def run(team, op, call):
    moved = team.local_from_array
    residual = moved(call.residual)
    out = op(moved(call.xs[team.rank]), residual, moved(call.weight), call.m)
    return (residual, *out) if isinstance(out, tuple) else (residual, out)


def one_call(team, call, way, form):
    few = {"programs": 3, "num_warps": 1, "chunk_bytes": 256}
    with AllReduceNorm(team, call.m, call.columns, call.dtype, way=way, eps=EPS, **few, **form) as op:
        return [np.array(a) for a in run(team, op, call)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_sizes_types_and_scales(ranks, way):
    """Twenty seeds, dealt over the sizes; each has a type and a form of its own."""
    for seed in range(20):
        (m, columns), dtype, form = SIZES[seed % 5], TYPES[(seed + ranks) % 3], FORMS[(seed // 5 + ranks) % 3]
        call = Call(ranks, m, columns, dtype, seed, integers=seed % 2 == 0)

        result = tandem.launch(one_call, args=(call, way, form), ranks=ranks, seed=seed, slots_per_rank=[None, 1][seed % 2], check=True)
        assert result.reports == []
        for rank, value in enumerate(result.values):
            call.check(*value, name=f"seed {seed}, rank {rank}")
            assert [a.tobytes() for a in value] == [a.tobytes() for a in result.values[0]]


def calls_of_several_programs(team, calls, form):
    first = calls[0]
    with AllReduceNorm(team, 3, first.columns, first.dtype, way="one_shot", eps=EPS, programs=16, num_warps=2, **form) as op:
        return [[np.array(a) for a in run(team, op, call)] for call in calls]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_rows_of_several_programs(ranks, form):
    """Two rows have eight programs each, or seven where parts that share scales do not divide; of three rows each has five, or one where it
    is too short."""
    for seed, (columns, dtype) in enumerate([(4096, "bf16"), (4100, "fp16"), (2050, "fp32"), (6000, "bf16"), (13 * 512, "bf16")]):
        calls = [Call(ranks, m, columns, dtype, 10 * seed + m, integers=seed % 2 == 0) for m in (2, 1, 3, 2)]
        result = tandem.launch(calls_of_several_programs, args=(calls, form), ranks=ranks, seed=seed, check=True)
        assert result.reports == []
        for value in result.values:
            for call, found in zip(calls, value):
                call.check(*found, name=f"{call.m} rows of {columns}")


@pytest.mark.parametrize("way", [*WAYS, "auto"])
@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_many_calls_on_one_operator(ranks, way):
    """The rows change from call to call and nothing waits between them; the stream overwrites what a call has read."""
    calls = [Call(ranks, m, 72, "bf16", seed) for seed, m in enumerate([9, 1, 9, 3, 2, 9, 5, 1])]

    def main(team):
        op, found = AllReduceNorm(team, 9, 72, "bf16", way=way, eps=EPS, programs=3, num_warps=1), []
        given = [[team.local_from_array(a) for a in (c.xs[team.rank], c.residual, c.weight)] for c in calls]
        for call, (x, residual, weight) in zip(calls, given):
            out = op(x, residual, weight, call.m)
            kept = [team.local_empty((call.m, 72), as_dtype("bf16")) for _ in range(2)]
            for to, source in zip(kept, (residual, out)):
                team.stream.copy(to, source)
            for array in (x, residual, out):
                team.stream.memset(array, 255)
            found.append(kept)
        return [[np.array(a) for a in kept] for kept in found]

    for seed in range(5):
        result = tandem.launch(main, ranks=ranks, seed=seed, policy="slowest-rank" if seed % 2 else "random", check=True)
        assert result.reports == []
        for value in result.values:
            for call, kept in zip(calls, value):
                call.check(*kept)


def test_every_way_gives_the_bits_of_the_operators_that_it_joins():
    call = Call(4, 3, 300, "fp16", seed=5)

    def main(team):
        summed = AllReduce(team, 900, "fp16")(call.xs[team.rank])
        results = [np.array(summed)]
        for way in WAYS:
            residual, out = run(team, AllReduceNorm(team, 3, 300, "fp16", way=way, num_warps=4), call)
            results += [np.array(residual), np.array(out)]
        return results

    for summed, *results in tandem.launch(main, ranks=4, check=True).values:
        added = (summed.reshape(3, 300) + call.residual).astype(np.float16)
        assert all(residual.tobytes() == added.tobytes() for residual in results[::2])
        assert len({out.tobytes() for out in results[1::2]}) == 1


@pytest.mark.parametrize("way", WAYS)
def test_in_place_and_unaligned(way):
    """`out` is `x`; the second time x and residual begin where packets do not, though each program's elements are whole packets."""
    call = Call(2, 4, 102, "bf16", seed=1)

    def main(team):
        op, found = AllReduceNorm(team, 4, 102, "bf16", way=way, eps=EPS, programs=2), []
        weight = team.local_from_array(call.weight)
        for shift in (0, 1):
            x, residual = (team.local_empty((4 + shift, 102), as_dtype("bf16"))[shift:] for _ in range(2))
            x[...], residual[...] = call.xs[team.rank], call.residual
            op(x, residual, weight, 4, out=x)
            found.append((np.array(residual), np.array(x)))
        return found

    result = tandem.launch(main, ranks=2, check=True)
    assert result.reports == []
    for value in result.values:
        for found in value:
            call.check(*found)


@pytest.mark.parametrize(
    "way, rows, columns, packets_each",  # from one rank
    [("one_shot", 7, 100, 3 * 13), ("two_shot_packets", 7, 1000, 2 * 125), ("one_shot", 2, 8, 32)],
)
def test_memory_is_what_the_page_says(way, rows, columns, packets_each):
    """Two sets of 16 bytes from each rank for each 8 elements of bf16 in a row; at least one packet a thread."""

    def main(team):
        op = AllReduceNorm(team, rows, columns, "bf16", way=way, programs=3, num_warps=1)
        before = op.memory()
        op.close()
        return before

    programs = min(rows, 3)  # in two flights a set has a third of the packets from each rank, and the sums
    want = {"symmetric": 2 * 3 * programs * packets_each * 16, "local": 8 * programs}
    assert tandem.launch(main, ranks=3).values == [want] * 3


def test_memory_of_rows_of_several_programs():
    """For the rows that have eight programs each, two sets of their packets more, and two slots a program for each program of its row."""

    def main(team):
        return [AllReduceNorm(team, 5, 4096, "bf16", way="one_shot", programs=n, num_warps=1).memory()["symmetric"] for n in (7, 16)]

    sets = 2 * 2 * 512 * 16  # of a row
    assert tandem.launch(main, ranks=2).values == [[5 * sets, 5 * sets + 2 * sets + 16 * 2 * 8 * 16]] * 2


def test_memory_of_chunks():
    """AllReduce's, and the sums."""

    def main(team):
        op, reduced = AllReduceNorm(team, 5, 200, "fp32", way="two_shot"), AllReduce(team, 1000, "fp32", way="two_shot")
        return op.memory(), reduced.memory()

    op, reduced = tandem.launch(main, ranks=2).values[0]
    shard = 512  # of 1000 elements, in 64s
    signals = 4 * 1 * 2 * 8  # programs, chunks of one, ranks
    assert reduced == {"symmetric": 2 * (2 * shard * 4 + signals), "local": 4 * 8}
    assert op == {"symmetric": reduced["symmetric"], "local": reduced["local"] + 1000 * 4}


def test_rows_of_zeros_have_scales_of_zero():
    def main(team):
        op = AllReduceNorm(team, 2, 256, "fp32", quantised=True)
        residual, ones = (team.local_from_array(np.full(s, v, np.float32)) for s, v in (((2, 256), 0), ((256,), 1)))
        out, scales = op(np.zeros((2, 256), np.float32), residual, ones, 2)
        return np.array(out).astype(np.float32), np.array(scales)

    for out, scales in tandem.launch(main, ranks=2, check=True).values:
        assert not out.any() and not scales.any()


def failing(message, main, kind=(ValueError, TypeError, RuntimeError)):
    with pytest.raises(kind, match=message):
        tandem.launch(main, ranks=2)


def given(team, m=2, columns=8, dtype=np.float32, in_team=True):
    residual = np.zeros((m, columns), dtype)
    return np.zeros((m, columns), dtype), team.local_from_array(residual) if in_team else residual, np.ones(columns, dtype)


@pytest.mark.parametrize(
    "message, body",
    [
        ("`m` is 3, the operator was made for 1 to 2", lambda team: AllReduceNorm(team, 2, 8, "fp32")(*given(team, 3), 3)),
        (r"`x` has shape \[2, 8\], \[1, 8\] is needed", lambda team: AllReduceNorm(team, 2, 8, "fp32")(*given(team), 1)),
        ("`x` is fp16, the operator was made for fp32", lambda team: AllReduceNorm(team, 2, 8, "fp32")(*given(team, dtype=np.float16), 2)),
        (r"`weight` has shape \[9\]", lambda team: AllReduceNorm(team, 2, 8, "fp32")(*given(team)[:2], np.ones(9, np.float32), 2)),
        ("`residual` must be a tensor of the team", lambda team: AllReduceNorm(team, 2, 8, "fp32")(*given(team, in_team=False), 2)),
        ("fp16, bf16 or fp32 is needed, not fp64", lambda team: AllReduceNorm(team, 2, 8, "fp64")),
        ("`columns` is 0, at least 1 is needed", lambda team: AllReduceNorm(team, 2, 0, "fp32")),
        ("`row_scales` goes with `quantised` alone", lambda team: AllReduceNorm(team, 2, 8, "fp32", row_scales=True)),
        ("`eps` is -1.0, a number above 0 is needed", lambda team: AllReduceNorm(team, 2, 8, "fp32", eps=-1.0)),
        ("option `eps` is .*, a number is needed", lambda team: AllReduceNorm(team, 2, 8, "fp32", eps="small")),
        (
            "`out_scales` goes with `quantised` alone",
            lambda team: AllReduceNorm(team, 2, 8, "fp32")(*given(team), 2, out_scales=team.local_empty((2, 1), "float32")),
        ),
        (
            "rank 1's operator is `all_reduce_norm` of up to 2 x 8 fp32, way 0, eps 0.1, where rank 0's is .* eps 0.2",
            lambda team: AllReduceNorm(team, 2, 8, "fp32", eps=0.1 if team.rank else 0.2),
        ),
        (
            "rank 1's call 1 of an operator is .* with m 1, where rank 0's is .* with m 2",
            lambda team: AllReduceNorm(team, 2, 8, "fp32")(*given(team, 2 - team.rank), 2 - team.rank),
        ),
    ],
)
def test_wrong_arguments(message, body):
    failing(message, body)


def test_readme_example():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
