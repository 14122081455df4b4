"""AllGather + GEMM and GEMM + ReduceScatter as products of few rows on simulated ranks under the checker, and GEMM + AllReduce, which is
one always: sizes, types, cuts, ranks without rows, repeated calls, both ways in turns."""

import numpy as np
import pytest

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import AllGatherGemm, GemmAllReduce, GemmReduceScatter, rows_of_rank, shard_rows

TOLERANCE = {"fp32": 2e-6, "fp16": 1e-3, "bf16": 8e-3, "fp8e4nv": 8e-3, "fp8e5": 8e-3}  # fp8: results are bf16
FEW = {"few_rows": 1}
OPERATORS = {AllGatherGemm: FEW, GemmReduceScatter: FEW, GemmAllReduce: {"packets_bytes": 1 << 30}}


def own(x, m, team):
    first = team.rank * shard_rows(m, team.size)
    return x[first : first + rows_of_rank(m, team.size, team.rank)]


class Product:
    """Inputs of all ranks: A, of all ranks' rows where they are gathered, else each rank's share of K; each rank's B."""

    def __init__(self, operator, ranks, m, n, k, dtype, seed=0):
        generator = np.random.default_rng([seed, m, n, k])
        draw = lambda *shape: generator.standard_normal(shape).astype(as_dtype(dtype))
        self.operator, self.m, self.dtype = operator, m, dtype
        self.gathers = operator is AllGatherGemm
        self.a = [draw(m, k) for _ in range(1 if self.gathers else ranks)] * (ranks if self.gathers else 1)
        self.b = [draw(k, n) for _ in range(ranks)]

    def inputs(self, team, b_transposed=False):
        a, b = self.a[team.rank], self.b[team.rank]
        return own(a, self.m, team) if self.gathers else a, np.ascontiguousarray(b.T) if b_transposed else b

    def check(self, values):
        products = [a.astype(np.float64) @ b.astype(np.float64) for a, b in zip(self.a, self.b)]
        if self.gathers:
            pairs = zip(values, products)
        elif self.operator is GemmReduceScatter:
            pairs = [(np.concatenate(values), sum(products))]
        else:
            pairs = [(value, sum(products)) for value in values]
        for got, want in pairs:
            assert got.shape == want.shape
            assert np.linalg.norm(got.astype(np.float64) - want) <= TOLERANCE[self.dtype] * np.linalg.norm(want)


def run(operator, ranks, m, n, k, dtype, seed=0, slots=None, **config):
    product = Product(operator, ranks, m, n, k, dtype)

    def main(team):
        with operator(team, m, n, k, dtype, **OPERATORS[operator], **config) as op:
            return np.array(op(*product.inputs(team, config.get("b_transposed")), m))

    result = tandem.launch(main, ranks=ranks, seed=seed, slots_per_rank=slots, check=True)
    assert result.reports == []
    product.check(result.values)
    return result.values


@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
@pytest.mark.parametrize("operator", OPERATORS)
def test_sizes_that_divide(operator, ranks, dtype):
    run(operator, ranks, 32, 64, 64, dtype, seed=ranks, b_transposed=dtype == "bf16")


@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (1, 65, 33), (3, 7, 5), (37, 67, 97)])
@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
@pytest.mark.parametrize("operator", OPERATORS)
def test_sizes_that_do_not_divide(operator, ranks, m, n, k):
    """Also ranks without rows."""
    run(operator, ranks, m, n, k, "fp32", seed=m)
    run(operator, ranks, m, n, k, "fp16", seed=m)


@pytest.mark.parametrize("dtype", ["fp8e4nv", "fp8e5"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_fp8(operator, dtype):
    run(operator, 2, 9, 48, 64, dtype, b_transposed=True)


@pytest.mark.parametrize("pieces", [1, 2, 3, 8])
@pytest.mark.parametrize("operator", OPERATORS)
def test_tiles_left_over_are_cut(operator, pieces):
    """With fewer tiles than programs, more, and where shares end within tiles; 10 steps of K each."""
    for programs, m in [(3, 16), (4, 33), (5, 20)]:
        for slots in (None, 1):
            run(operator, 2, m, 60, 160, "fp16", seed=m, slots=slots, programs=programs, pieces=pieces, block_k=16)


@pytest.mark.parametrize("operator", OPERATORS)
def test_same_bits_whatever_the_schedule(operator):
    config = {"programs": 4, "pieces": 8, "block_k": 16}
    results = [run(operator, 3, 20, 70, 150, "fp16", seed=seed, **config) for seed in range(5)]
    assert len({b"".join(value.tobytes() for value in result) for result in results}) == 1


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
@pytest.mark.parametrize("operator", OPERATORS)
def test_many_calls_on_one_operator(operator, ranks):
    """m and the inputs change from call to call, ranks have no rows in some, and nothing waits between the calls."""
    sizes = [20, 1, 20, 1, 1, 17, 20, 5, 18, 2, 20]
    products = [Product(operator, ranks, m, 40, 48, "fp32", seed=i) for i, m in enumerate(sizes)]

    def main(team):
        op = operator(team, 20, 40, 48, "fp32", programs=3, pieces=8, block_k=16, **OPERATORS[operator])
        given = [[team.local_from_array(x) for x in product.inputs(team)] for product in products]
        outs = [op(*pair, m) for m, pair in zip(sizes, given)]
        return [np.array(o) for o in outs]

    for seed in range(5):
        result = tandem.launch(main, ranks=ranks, seed=seed, check=True, policy="slowest-rank" if seed % 2 else "random")
        assert result.reports == []
        for i, product in enumerate(products):
            product.check([value[i] for value in result.values])


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_same_call_again_and_again(operator):
    """As a captured graph replays it: the same addresses, other data."""
    products = [Product(operator, 3, 10, 40, 48, "fp16", seed=i) for i in range(6)]

    def main(team):
        op = operator(team, 10, 40, 48, "fp16", programs=4, pieces=2, **OPERATORS[operator])
        given = [[team.local_from_array(x) for x in product.inputs(team)] for product in products]
        a, b = (team.local_empty(x.shape, "fp16") for x in given[0])
        rows = rows_of_rank(10, 3, team.rank) if operator is GemmReduceScatter else 10
        out, kept = team.local_empty((rows, 40), "fp16"), [team.local_empty((rows, 40), "fp16") for _ in products]
        for (from_a, from_b), to in zip(given, kept):
            team.stream.copy(a, from_a)
            team.stream.copy(b, from_b)
            op(a, b, 10, out=out)
            team.stream.copy(to, out)
        return [np.array(x) for x in kept]

    for seed in range(4):
        values = tandem.launch(main, ranks=3, seed=seed, check=True, policy="slowest-rank" if seed % 2 else "random").values
        for i, product in enumerate(products):
            product.check([value[i] for value in values])


@pytest.mark.parametrize("operator", OPERATORS)
def test_output_of_another_type(operator):
    product = Product(operator, 2, 12, 24, 32, "fp16")

    def main(team):
        op = operator(team, 12, 24, 32, "fp16", **OPERATORS[operator])
        rows = 6 if operator is GemmReduceScatter else 12
        return np.array(op(*product.inputs(team), 12, out=team.local_empty((rows, 24), "float32")))

    values = tandem.launch(main, ranks=2, check=True).values
    assert values[0].dtype == np.float32
    product.check(values)


@pytest.mark.parametrize("operator", [AllGatherGemm, GemmReduceScatter])
def test_few_rows_and_the_other_way_in_one_run(operator):
    product = Product(operator, 2, 33, 40, 48, "fp32")

    def main(team):
        ops = [operator(team, 33, 40, 48, "fp32", few_rows=few, programs=3) for few in (1, 0)]
        outs = [op(*product.inputs(team), 33) for op in (*ops, *ops)]
        return [np.array(o) for o in outs]

    for seed in range(3):
        values = tandem.launch(main, ranks=2, seed=seed, check=True).values
        for i in range(4):
            product.check([value[i] for value in values])
