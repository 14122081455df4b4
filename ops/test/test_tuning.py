"""What the operators choose among: every choice gives the right result, and tuning takes one of them, the same on all ranks."""

import numpy as np
import pytest

import tandem
from tandem.ops import AllGatherGemm, GemmReduceScatter, choices, rows_of_rank, shard_rows

M, N, K = 100, 70, 261
OPERATORS = {"ag_gemm": AllGatherGemm, "gemm_rs": GemmReduceScatter}


def case(name, team):
    """The inputs of a rank and its result."""
    a, b = (np.random.default_rng(seed).integers(-4, 5, size).astype(np.float32)
            for seed, size in ((1, (team.size, M, K)), (2, (team.size, K, N))))
    first, count = team.rank * shard_rows(M, team.size), rows_of_rank(M, team.size, team.rank)
    if name == "ag_gemm":
        return a[0, first:first + count], b[team.rank], a[0] @ b[team.rank]
    return a[team.rank], b[team.rank], sum(x @ y for x, y in zip(a, b))[first:first + count]


@pytest.mark.parametrize("name, ranks", [("ag_gemm", 2), ("ag_gemm", 3), ("gemm_rs", 2)])
def test_every_choice_gives_the_result(name, ranks):
    listed = choices(name, M, N, K, ranks, "fp32", target="sim", programs=4)
    assert len(listed) == {("ag_gemm", 2): 9, ("ag_gemm", 3): 39, ("gemm_rs", 2): 2}[name, ranks]

    def main(team):
        a, b, want = case(name, team)
        for choice in listed:
            with OPERATORS[name](team, M, N, K, "fp32", **choice["config"]) as op:
                np.testing.assert_array_equal(np.asarray(op(a, b, M)), want)

    assert tandem.launch(main, ranks=ranks, check=True).reports == []


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_tuning_on_simulated_ranks(name, ranks):
    def main(team):
        a, b, want = case(name, team)
        with OPERATORS[name](team, M, N, K, "fp32") as op:
            out = team.local_empty(want.shape, "float32")
            found = op.tune(a, b, M, out=out)
            np.testing.assert_array_equal(np.asarray(out), want)
            again = op.tune(a, b, M, out=out)
            np.testing.assert_array_equal(np.asarray(op(a, b, M)), want)
        with OPERATORS[name](team, M, N, K, "fp32", **found.config) as op:
            np.testing.assert_array_equal(np.asarray(op(a, b, M)), want)
        assert found.tried > 0 and again.tried == 0 and again.config == found.config and found.predicted > 0 and found.measured == 0
        return found

    values = tandem.launch(main, ranks=ranks, check=True).values
    assert all(value == values[0] for value in values)


@pytest.mark.parametrize("copies", [[[8]], [[4, 4], [7]], [[4, 4], [9, -1]], [[8], [8], [8]]])
def test_copies_that_do_not_deal_all_slices(copies):
    with pytest.raises(RuntimeError, match="`copies` has to deal all 8 slices to each of the 2 peers"):
        choices("ag_gemm", 8192, 1024, 8192, 3, copies=copies)


def test_choices_of_what_is_no_operator():
    with pytest.raises(RuntimeError, match="`gemm_ar` is not `ag_gemm` or `gemm_rs`"):
        choices("gemm_ar", 1, 1, 1, 1)
    with pytest.raises(RuntimeError, match="`ranks` and `programs` are at least 1"):
        choices("ag_gemm", 1, 1, 1, 0)
    with pytest.raises(RuntimeError, match="`k` is 0"):
        choices("gemm_rs", 1, 1, 0, 2)


def test_a_profile_moves_what_the_model_says():
    sizes = ("ag_gemm", 8192, 1024, 12288, 4)
    slow = {"version": 2, "device": "any", "copy_gbps": 39.2}
    assert choices(*sizes, profile=slow)[0]["predicted"] > 5 * choices(*sizes)[0]["predicted"]


def test_python_and_the_operators_have_the_same_defaults():
    profile = tandem.Profile()
    kept = {"version": 2, "device": "any", **{name: getattr(profile, name) for name in (
        "copy_gbps", "copy_us", "store_gbps", "signal_round_trip_us", "launch_us", "gemm_bf16_tflops", "gemm_alone_ratio")}}
    for op in OPERATORS:
        assert choices(op, 8192, 1024, 12288, 4, profile=kept) == choices(op, 8192, 1024, 12288, 4)
