"""Products by the vendor's library beside a collective, and GEMM + AllReduce as GEMM + ReduceScatter and AllGather, on simulated ranks
under the checker. Simulated ranks have no library: a plain kernel stands in for it, between the same collectives."""

import numpy as np
import pytest

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import AllGatherGemm, GemmAllReduce, GemmReduceScatter, choices, rows_of_rank, shard_rows

LIBRARY, SCATTERED = {"library": 1}, {"scattered": 1}
WHOLE, IN_FOUR, PARTS = LIBRARY | {"chunks": 0}, LIBRARY | {"chunks": 4}, [LIBRARY | {"chunks": chunks} for chunks in (1, 2, 8)]
WAYS = [(AllGatherGemm, WHOLE), (GemmReduceScatter, WHOLE), (GemmAllReduce, WHOLE), (GemmAllReduce, SCATTERED)]
IN_PARTS = [(operator, parts) for operator in (AllGatherGemm, GemmReduceScatter, GemmAllReduce) for parts in PARTS]


def numbers(seed, shape, dtype):
    """Small whole numbers: sums are exact in any order."""
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(as_dtype(dtype))


class Product:
    def __init__(self, operator, ranks, m, n, k, dtype, seed=0):
        self.operator, self.ranks, self.m, self.dtype = operator, ranks, m, dtype
        self.a = [numbers([seed, 1, 0 if operator is AllGatherGemm else rank], (m, k), dtype) for rank in range(ranks)]
        self.b = [numbers([seed, 2, rank], (k, n), dtype) for rank in range(ranks)]

    def own(self, x, rank):
        first = rank * shard_rows(self.m, self.ranks)
        return x[first : first + rows_of_rank(self.m, self.ranks, rank)]

    def operands(self, rank, b_transposed):
        a, b = self.a[rank], self.b[rank]
        return self.own(a, rank) if self.operator is AllGatherGemm else a, np.ascontiguousarray(b.T) if b_transposed else b

    def exact(self, rank):
        if self.operator is AllGatherGemm:
            return self.a[0].astype(np.float32) @ self.b[rank].astype(np.float32)
        total = sum(a.astype(np.float32) @ b.astype(np.float32) for a, b in zip(self.a, self.b))
        return self.own(total, rank) if self.operator is GemmReduceScatter else total


def run(operator, way, ranks, sizes, n, k, dtype="fp16", seed=0, b_transposed=False, slots=None):
    """One call after the other, of one operator."""
    products = [Product(operator, ranks, m, n, k, dtype, nth) for nth, m in enumerate(sizes)]

    def main(team):
        with operator(team, max(sizes), n, k, dtype, b_transposed=b_transposed, **way) as op:
            outs = [op(*product.operands(team.rank, b_transposed), product.m) for product in products]
            return [np.array(out) for out in outs]

    result = tandem.launch(main, ranks=ranks, seed=seed, slots_per_rank=slots, check=True)
    assert result.reports == []
    for rank, found in enumerate(result.values):
        for product, out in zip(products, found):
            np.testing.assert_array_equal(out.astype(np.float32), product.exact(rank))


@pytest.mark.parametrize("operator, way", WAYS + IN_PARTS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_sizes(operator, way, ranks):
    run(operator, way, ranks, [64], 48, 32, seed=ranks)
    run(operator, way, ranks, [1, 37, 5], 67, 45, seed=ranks, b_transposed=True)


@pytest.mark.parametrize("operator, way", IN_PARTS)
def test_shards_of_several_parts(operator, way):
    """Parts are whole numbers of 128 rows."""
    run(operator, way, 2, [900, 513, 300], 40, 24, seed=1)


@pytest.mark.parametrize("operator, way", WAYS + IN_PARTS)
def test_calls_in_a_row_whose_rows_differ(operator, way):
    for seed in range(3):
        run(operator, way, 2, [40, 3, 64, 1, 17], 32, 16, "bf16", seed=seed, slots=2)


@pytest.mark.parametrize("operator, way", WAYS[:3] + IN_PARTS[1::3])
def test_fp8(operator, way):
    for ranks in (2, 3):
        run(operator, way, ranks, [37, 1, 64], 48, 32, "fp8e4nv", seed=ranks, b_transposed=True)


@pytest.mark.parametrize("dtype", ["fp32", "fp8e4nv"])
def test_scattered_sums_of_other_types(dtype):
    run(GemmAllReduce, SCATTERED, 2, [33], 32, 16, dtype, b_transposed=dtype != "fp32")


def test_types_that_the_library_does_not_multiply():
    with pytest.raises(
        RuntimeError, match="`library` is 1, but it multiplies fp16, bf16, fp32 and, .* fp8e4nv; not fp8e5 with n 8 and k 8"
    ):
        tandem.launch(lambda team: GemmAllReduce(team, 8, 8, 8, "fp8e5", b_transposed=True, library=1), ranks=2)
    with pytest.raises(RuntimeError, match="`b` is transposed and n and k are multiples of 16, fp8e4nv; not fp8e4nv with n 8 and k 8"):
        choices("ag_gemm", 8, 8, 8, 2, "fp8e4nv", library=1)


@pytest.mark.parametrize("operator", [AllGatherGemm, GemmReduceScatter, GemmAllReduce])
def test_a_result_of_another_type_is_refused(operator):
    def main(team):
        product = Product(operator, team.size, 8, 8, 8, "fp16")
        with operator(team, 8, 8, 8, "fp16", library=1) as op:
            op(*product.operands(team.rank, False), 8, out=team.local_empty(product.exact(team.rank).shape, "fp32"))

    with pytest.raises(RuntimeError, match="`library` is 1, but its result of fp16 is fp16: `out` is fp32"):
        tandem.launch(main, ranks=2)


def test_scattered_sums_of_another_type_are_refused():
    def main(team):
        product = Product(GemmAllReduce, team.size, 8, 8, 8, "fp16")
        with GemmAllReduce(team, 8, 8, 8, "fp16", scattered=1) as op:
            op(*product.operands(team.rank, False), 8, out=team.local_empty((8, 8), "fp32"))

    with pytest.raises(RuntimeError, match="`scattered` is 1, but sums are gathered in the type in which they travel, fp16"):
        tandem.launch(main, ranks=2)


def test_numbers_of_parts_that_do_not_fit_are_refused():
    with pytest.raises(RuntimeError, match="`library` is 1 and `chunks` is 9, at most 8 are possible"):
        choices("gemm_rs", 8, 8, 8, 2, "fp16", library=1, chunks=9)
    for operator, name in ((AllGatherGemm, "ag_gemm"), (GemmAllReduce, "gemm_ar")):
        with pytest.raises(RuntimeError, match=f"`{name}`: `chunks` is 2, but `library` is not 1"):
            tandem.launch(lambda team, operator=operator: operator(team, 8, 8, 8, "fp16", chunks=2), ranks=2)


def test_memory_goes_with_the_operator():
    """The parts' memory is counted and given back."""

    def main(team):
        found = []
        for operator, way in WAYS + IN_PARTS:
            plain_way = {name: 0 for name in way if name != "chunks"} | ({} if operator is GemmAllReduce else {"few_rows": 0})
            with operator(team, 64, 32, 16, "fp16", **way) as op, operator(team, 64, 32, 16, "fp16", **plain_way) as plain:
                found.append(op.memory()["symmetric"] - plain.memory()["symmetric"])
        return found

    for found in tandem.launch(main, ranks=2).values:
        assert all(more > 0 for more in found)


@pytest.mark.parametrize("name, m, config", [("gemm_ar", 198, LIBRARY), ("gemm_ar", 8192, IN_FOUR), ("gemm_ar", 4, {})])
def test_the_model_says_which_way(name, m, config):
    chosen = choices(name, m, 6144, 11520, 2, "bf16")[0]["config"]
    assert {way: chosen[way] for way in config} == config and ("library" in chosen) == ("library" in config)
    assert "library" not in choices(name, m, 6144, 11520, 2, "bf16", target="sim")[0]["config"], "simulated ranks have no library"
