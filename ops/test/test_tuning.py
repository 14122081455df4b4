"""What the operators choose among: every choice gives the right result, and tuning takes one of them, the same on all ranks."""

import numpy as np
import pytest

import tandem
from tandem.ops import AllGatherGemm, GemmAllReduce, GemmReduceScatter, choices, rows_of_rank, shard_rows

M, N, K = 100, 70, 261
OPERATORS = {"ag_gemm": AllGatherGemm, "gemm_rs": GemmReduceScatter, "gemm_ar": GemmAllReduce}


def case(name, team):
    """The inputs of a rank and its result."""
    a, b = (
        np.random.default_rng(seed).integers(-4, 5, size).astype(np.float32)
        for seed, size in ((1, (team.size, M, K)), (2, (team.size, K, N)))
    )
    first, count = team.rank * shard_rows(M, team.size), rows_of_rank(M, team.size, team.rank)
    if name == "ag_gemm":
        return a[0, first : first + count], b[team.rank], a[0] @ b[team.rank]
    total = sum(x @ y for x, y in zip(a, b))
    return a[team.rank], b[team.rank], total if name == "gemm_ar" else total[first : first + count]


@pytest.mark.parametrize(
    "name, ranks, few, count",
    [("ag_gemm", 2, 0, 9), ("ag_gemm", 3, 0, 39), ("gemm_rs", 2, 0, 2), ("ag_gemm", 2, 1, 4), ("gemm_rs", 2, 1, 4)],
)
def test_every_choice_gives_the_result(name, ranks, few, count):
    listed = choices(name, M, N, K, ranks, "fp32", target="sim", programs=4, few_rows=few)
    assert len(listed) == count

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


@pytest.mark.parametrize("copies", [3, None, [8], ["8"], [["8"]], [[8.0]]])
def test_copies_that_are_no_lists_of_integers(copies):
    with pytest.raises(RuntimeError, match="option `copies` is .*, a list of integers for each peer is needed"):
        choices("ag_gemm", 8192, 1024, 8192, 2, copies=copies)


@pytest.mark.parametrize(
    "name, choice", [("ag_gemm", {"scattered": 0}), ("gemm_rs", {"copies": [[1]]}), ("gemm_rs", {"slices": 2}), ("gemm_rs", {"bands": 1})]
)
def test_choices_that_an_operator_does_not_take(name, choice):
    own = {"ag_gemm": "`bands`, `slices`, `copies`, `pieces`, `chunks`, `few_rows`", "gemm_rs": "`pieces`, `chunks`, `few_rows`"}[
        name
    ] + ", `library`"
    words = rf"`{name}` does not take `{next(iter(choice))}`; it takes `block_m`, .*`group`, {own}(\n|$)"
    with pytest.raises(RuntimeError, match=words):
        choices(name, M, N, K, 2, **choice)
    with pytest.raises(RuntimeError, match=words):
        tandem.launch(lambda team: OPERATORS[name](team, M, N, K, "fp32", **choice), ranks=2)


def test_a_tuned_config_with_slices_may_be_given_to_another_operator():
    def main(team):
        a, b, want = case("ag_gemm", team)
        with AllGatherGemm(team, M, N, K, "fp32", slices=3) as op:
            found = op.tune(a, b, M)
        with AllGatherGemm(team, M, N, K, "fp32", **found.config) as op:
            np.testing.assert_array_equal(np.asarray(op(a, b, M)), want)
        return found.config["slices"]

    assert tandem.launch(main, ranks=3, check=True).values == [3, 3, 3]


def test_ranks_that_tune_for_other_numbers_of_rows():
    def main(team):
        with GemmReduceScatter(team, M, N, K, "fp32") as op:
            m = M - team.rank
            op.tune(np.zeros((m, K), np.float32), np.zeros((K, N), np.float32), m)

    with pytest.raises(tandem.SimulationError, match="with m 99, where rank 0's is .* with m 100"):
        tandem.launch(main, ranks=2)


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"m": 8192.5}, "`m` is 8192.5, an integer is needed"),
        ({"k": "8192"}, '`k` is "8192", an integer is needed'),
        ({"target": None}, "`target` is null, a text is needed"),
        ({"ranks": 10**6}, "`ranks` is 1000000, at most 1024 is possible"),
        ({"programs": 1 << 29}, "`programs` is 536870912, at most 65536 is possible"),
        ({"m": 1 << 40}, "`m` is 1099511627776, at most"),
        ({"m": 1 << 30, "n": 1 << 30}, r"`m` times `n` is 1152921504606846976, at most 2\*\*36 is possible"),
    ],
)
def test_sizes_that_are_none(wrong, words):
    with pytest.raises(RuntimeError, match=words):
        choices(**{"op": "ag_gemm", "m": 8192, "n": 1024, "k": 8192, "ranks": 2, **wrong})


@pytest.mark.parametrize(
    "profile",
    [{}, {"version": 2}, {"version": 1, "device": "any", "copy_gbps": 1}, {"version": 2, "device": "any", "copy_gbps": float("nan")}],
)
def test_a_profile_that_is_none(profile):
    with pytest.raises(RuntimeError, match="`profile` is not one that `tandem doctor --profile` of this version measured on"):
        choices("ag_gemm", 8192, 1024, 8192, 2, profile=profile)


def test_choices_of_what_is_no_operator():
    with pytest.raises(RuntimeError, match="`all_gather` is not one of `ag_gemm`, `gemm_rs`, `gemm_ar`, `all_reduce`"):
        choices("all_gather", 1, 1, 1, 1)
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
    kept = {
        "version": 2,
        "device": "any",
        **{
            name: getattr(profile, name)
            for name in ("copy_gbps", "copy_us", "store_gbps", "signal_round_trip_us", "launch_us", "gemm_bf16_tflops", "gemm_alone_ratio")
        },
    }
    for op in OPERATORS:
        assert choices(op, 8192, 1024, 12288, 4, profile=kept) == choices(op, 8192, 1024, 12288, 4)
        assert choices(op, 8192, 1024, 12288, 4, profile=tandem.Profile(device="any")) == choices(op, 8192, 1024, 12288, 4)
