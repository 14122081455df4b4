"""Ranks that call an operator unlike one another: told with both lines, whatever the schedule."""

import pathlib
import re

import numpy as np
import pytest

import tandem
from tandem.ops import (
    AllGather,
    AllGatherGemm,
    AllReduce,
    AllReduceNorm,
    AllToAll,
    Broadcast,
    GemmAllReduce,
    GemmReduceScatter,
    ReduceScatter,
    rows_of_rank,
)

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


@pytest.mark.parametrize("ranks", [2, 3])
def test_one_call_too_few_before_the_end(ranks):
    def main(team):
        op = AllReduce(team, N, "fp32")
        for _ in range(2):
            op(np.zeros(N, np.float32))
        if team.rank != 1:
            op(np.zeros(N, np.float32))  # <-- before the end
            team.synchronize()
            op.close()
        else:
            op.close()  # <-- before the end

    message = (
        r"is the end of `all_reduce` .*, where rank 0's is `all_reduce` .* with elements 64|with elements 64.* is the end of `all_reduce`"
    )
    fails(main, "call 3 of an operator " + message, "before the end", ranks)


def test_one_call_too_few_and_no_end():
    def main(team):
        op = Broadcast(team, N, "fp32")
        op(np.zeros(N, np.float32), 0)
        if team.rank == 0:
            op(np.zeros(N, np.float32), 0)  # <-- no end
            team.synchronize()

    fails(main, "rank 0's call 2 of an operator is `broadcast` .* with elements 64, root 0, .* and rank 1 has left after 1", "no end", 2)


def test_an_operator_that_one_rank_does_not_make():
    def main(team):
        if team.rank != 1:
            AllToAll(team, M, N, "fp32")  # <-- not made

    fails(main, "rank [02]'s operator is `all_to_all` of up to 32 x 64 fp32, and rank 1 has left without one", "not made", 3)


COLLECTIVES = {"all_to_all": AllToAll, "all_gather": AllGather, "reduce_scatter": ReduceScatter, "all_reduce_norm": AllReduceNorm}
COLLECTIVES |= {"all_reduce": AllReduce, "broadcast": Broadcast}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_sizes_types_and_ranks_without_the_operator(name):
    """What ranks make it for, of every collective; one rank of three has another size, another type, or none."""
    sizes = [N] if name in ("all_reduce", "broadcast") else [M, N]

    def larger(team):
        COLLECTIVES[name](team, sizes[0] + (team.rank == 2), *sizes[1:], "fp16")  # <-- larger

    def other(team):
        COLLECTIVES[name](team, *sizes, "fp32" if team.rank == 2 else "fp16")  # <-- other

    def none(team):
        if team.rank != 2:
            COLLECTIVES[name](team, *sizes, "fp16")  # <-- none

    size, rest = sizes[0], "".join(f" x {s}" for s in sizes[1:])
    fails(
        larger, rf"rank 2's operator is `{name}` of up to {size + 1}{rest} fp16.*, where rank [01]'s is .* up to {size}{rest}", "larger", 3
    )
    fails(other, rf"rank 2's operator is `{name}` of up to {size}{rest} fp32.*, where rank [01]'s is .* fp16", "other", 3)
    fails(none, rf"rank [01]'s operator is `{name}` .*, and rank 2 has left without one", "none", 3)


def test_counts_of_many_ranks():
    """More numbers than are told one by one."""

    def main(team, wrong):
        counts = [[1] * team.size for _ in range(team.size)]
        if wrong and team.rank == 3:
            counts[0][0], counts[0][1], counts[-1][0], counts[-1][1] = 2, 0, 0, 2
        return np.array(AllToAll(team, team.size, 3, "fp32")(np.ones((team.size, 3), np.float32), counts)).sum()

    assert tandem.launch(main, args=(False,), ranks=17).values == [51] * 17
    with pytest.raises(tandem.SimulationError, match="rank 3's call 1 of an operator is `all_to_all`|where rank 3's is `all_to_all`"):
        tandem.launch(main, args=(True,), ranks=17)


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
