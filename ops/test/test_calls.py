"""Ranks that call an operator unlike one another: told with both lines, whatever the schedule."""

import pathlib
import re

import numpy as np
import pytest

import tandem
from tandem.ops import AllGather, AllGatherGemm, AllReduce, GemmAllReduce, GemmReduceScatter, ReduceScatter, rows_of_rank

N, M, K = 64, 32, 64


def fails(main, message, marker, ranks):
    lines = pathlib.Path(__file__).read_text().splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith(f"# <-- {marker}")}
    for seed in range(3):
        with pytest.raises(tandem.SimulationError) as caught:
            tandem.launch(main, ranks=ranks, seed=seed, check=True)
        report = caught.value.reports[0]
        assert report["kind"] == "collective-mismatch" and re.search(message, report["text"]), report["text"]
        assert set(map(int, re.findall(rf"{re.escape(__file__)}:(\d+):", report["text"]))) == marked, report["text"]


@pytest.mark.parametrize("ranks", [2, 4])
def test_sizes(ranks):
    def main(team):
        op = AllReduce(team, 1024, "fp32")
        small, large = team.zeros(N, "fp32"), team.zeros(2 * N, "fp32")
        for _ in range(3):
            op(small)
        if team.rank == 1:
            op(large)  # <-- sizes
        else:
            op(small)  # <-- sizes
        team.synchronize()

    fails(
        main,
        r"rank 1's call 4 of an operator is `all_reduce` of up to 1024 fp32, way 0 with elements 128, symmetric_out 0, "
        r"where rank 0's is .* with elements 64",
        "sizes",
        ranks,
    )


OPERATORS = {
    "all_gather": AllGather,
    "reduce_scatter": ReduceScatter,
    "ag_gemm": AllGatherGemm,
    "gemm_rs": GemmReduceScatter,
    "gemm_ar": GemmAllReduce,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_rows(name):
    def main(team):
        op = OPERATORS[name](team, M, N, *([K] if "gemm" in name else []), "fp32")
        m = M - team.rank
        sharded = name in ("all_gather", "ag_gemm")
        x = np.zeros((rows_of_rank(m, team.size, team.rank) if sharded else m, K if "gemm" in name else N), np.float32)
        rest = (np.zeros((K, N), np.float32), m) if "gemm" in name else (m,)
        op(x, *rest)  # <-- rows
        team.synchronize()

    fails(
        main,
        rf"rank 1's call 1 of an operator is `{name}` .* with m {M - 1}(, symmetric_out 0)?, where rank 0's is .* with m {M}",
        "rows",
        2,
    )


def test_types():
    def main(team):
        AllReduce(team, N, "fp16" if team.rank else "bf16")  # <-- types

    fails(main, "rank 1's operator is `all_reduce` of up to 64 fp16, way 0, where rank 0's is .* bf16", "types", 2)


def test_order():
    def main(team):
        first, second = (ReduceScatter, AllGather) if team.rank else (AllGather, ReduceScatter)
        first(team, M, N, "fp32")  # <-- order
        second(team, M, N, "fp32")

    fails(main, "rank 1's operator is `reduce_scatter` .*, where rank 0's is `all_gather`", "order", 2)


def test_each_operator_counts_for_itself():
    """On streams of their own, operators may be called in any order."""

    def main(team):
        ops = [AllReduce(team, N, "fp32"), AllReduce(team, N, "fp32")]
        streams, x = [team.stream, team.new_stream()], team.full((2, N), 1.0, "fp32")
        out = team.zeros((2, N), "fp32")
        for k in (0, 1) if team.rank else (1, 0):
            ops[k](x[k], out=out[k], stream=streams[k])
        team.synchronize()
        return float(np.asarray(out).min())

    assert tandem.launch(main, ranks=2, check=True).values == [2.0, 2.0]
