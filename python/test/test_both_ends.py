"""A producer and a consumer around one collective: equal to the kernels and the collective one after the other, and silent under the
checker."""

import numpy as np
import plain_kernels
import plain_producers
import pytest

import tandem
import tandem.language as tl

PRODUCERS = {kernel.__name__: (kernel, grid) for kernel, grid in plain_producers.ALL}
CONSUMERS = {kernel.__name__: (kernel, grid) for kernel, grid in plain_kernels.ALL}
PAIRS = [("described", "loaded_ahead"), ("persistent", "tiles_in_turn"), ("two_outputs", "norms"), ("backwards", "reduced_over_rows")]
K = 16


def blocks(m, n):
    return -(-m // 16), -(-n // 16)


class Ends:
    """The arguments of both kernels on one rank: the producer makes X (m x n) of a matrix (m x K), the consumer reads it as its A."""

    def __init__(self, team, pair, m, n, produced, consumed):
        (self.producer, grid), (self.consumer, other) = PRODUCERS[pair[0]], CONSUMERS[pair[1]]
        own = lambda *shape: team.local_from_array(np.zeros(shape, np.float32))
        self.left, self.right = own(produced.shape[0], K), own(K, n)
        self.weights = team.local_from_array(np.random.default_rng(3).integers(-2, 3, (n, n)).astype(np.float32))
        self.c, self.d, self.e = own(m, n), own(m), own(produced.shape[0])
        self.first = dict(a_ptr=self.left, b_ptr=self.right, c_ptr=produced, d_ptr=self.e, M=produced.shape[0], N=n, K=K, B=16)
        rows = consumed.shape[0]
        self.second = dict(a_ptr=consumed, b_ptr=self.weights, c_ptr=self.c, d_ptr=self.d, M=rows, N=n, K=n, B=16)
        self.grids = grid(*blocks(produced.shape[0], n)), other(*blocks(rows, n))

    def fill(self, inputs):
        self.left[...], self.right[...] = inputs
        self.c[...] = self.d[...] = 0
        self.e[...] = 0

    def results(self):
        return np.array(self.c), np.array(self.d), np.array(self.e)


def numbers(ranks, calls, rows, n, seed):
    """For each call and rank."""
    draw = np.random.default_rng(seed)
    return [
        [(draw.integers(-2, 3, (rows, K)).astype(np.float32), draw.integers(-2, 3, (K, n)).astype(np.float32)) for _ in range(ranks)]
        for _ in range(calls)
    ]


def check(pair, collective, ranks, m, n, seed, **plan):
    share = -(-m // ranks)
    own = [slice(min(rank * share, m), min(rank * share + share, m)) for rank in range(ranks)]
    gathers = collective == "all_gather"
    overlapped = tandem.overlap(
        collective=collective, producer=PRODUCERS[pair[0]][0], consumer=CONSUMERS[pair[1]][0], over=("c_ptr", "a_ptr"), **plan
    )
    inputs = numbers(ranks, 2, m, n, seed)

    def main(team):
        x, mine = team.zeros((m, n), name="x"), own[team.rank]
        ends = Ends(team, pair, m, n, x[mine] if gathers else x, x[mine] if collective == "reduce_scatter" else x)
        results = []
        for call in inputs:
            left, right = call[team.rank]
            ends.fill((left[mine] if gathers else left, right))
            if not gathers:
                x[...] = 0
            overlapped[ends.grids](ends.first, ends.second)
            results.append(ends.results())
        return results

    def alone(team):
        """For each call and rank, one after the other."""
        results = []
        for call in inputs:
            parts, others = [], []
            for rank, (left, right) in enumerate(call):
                x = team.zeros((own[rank].stop - own[rank].start, n) if gathers else (m, n))
                ends = Ends(team, pair, m, n, x, x)
                ends.fill((left[own[rank]] if gathers else left, right))
                ends.producer[ends.grids[0]](**ends.first)
                parts.append(np.array(x))
                others.append(np.array(ends.e))
            row = []
            for rank in range(ranks):
                whole = np.concatenate([part if gathers else part[own[rank]] for part in parts])
                if collective in ("all_reduce", "reduce_scatter"):
                    whole = np.zeros_like(parts[0])
                    for part in parts:
                        whole += part
                    whole = whole[own[rank]] if collective == "reduce_scatter" else whole
                ends = Ends(team, pair, m, n, team.zeros((m, n)), team.from_array(whole))
                ends.fill(call[rank])
                ends.consumer[ends.grids[1]](**ends.second)
                row.append((np.array(ends.c), np.array(ends.d), others[rank]))
            results.append(row)
        return results

    result = tandem.launch(main, ranks=ranks, seed=seed, check=True)
    assert result.reports == []
    want = tandem.launch(alone).values[0]
    for rank, values in enumerate(result.values):
        for call, got in enumerate(values):
            assert all(np.array_equal(value, wanted) for value, wanted in zip(got, want[call][rank]))


PLANS = [
    ("all_gather", dict(bands=2)),
    ("all_to_all", dict(bands=2)),
    ("all_reduce", dict(bands=2)),
    ("all_reduce", dict(path="loads")),
    ("reduce_scatter", dict(bands=2)),
    ("reduce_scatter", dict(path="loads")),
]


@pytest.mark.parametrize("ranks, rows", [(1, 20), (2, 32), (3, 18)])
@pytest.mark.parametrize("collective, plan", PLANS)
def test_equal_to_one_after_the_other(collective, plan, ranks, rows):
    for seed, pair in enumerate(PAIRS):
        m = ranks * rows - (ranks - 1 if collective != "all_to_all" and seed % 2 else 0)
        check(pair, collective, ranks, m, 32, seed, **plan)


@tandem.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + places, 2 * tl.load(x_ptr + places, mask=places < n), mask=places < n)


def call_wrongly(team, arguments):
    both = tandem.overlap(collective="all_gather", producer=double, consumer=double, over=("y_ptr", "x_ptr"))
    x, y, z = team.zeros((32 * team.size, 1)), team.zeros((32, 1)), team.zeros((32 * team.size, 1))
    first, second = dict(x_ptr=z, y_ptr=y, n=32, BLOCK=16), dict(x_ptr=x, y_ptr=z, n=64, BLOCK=16)
    both[(2,), (4,)](*arguments(first, second))


@pytest.mark.parametrize(
    "arguments, error, words",
    [
        (lambda first, second: (first,), TypeError, "take two dictionaries"),
        (lambda first, second: (first, second), ValueError, "`y_ptr` of the producer must be this rank's rows of `x_ptr` of the consumer"),
    ],
)
def test_wrong_arguments(arguments, error, words):
    with pytest.raises(error, match=words):
        tandem.launch(call_wrongly, ranks=2, args=(arguments,))


def test_over_names_one_argument_of_each():
    with pytest.raises(ValueError, match="`over` names 3 arguments of 2 kernels"):
        tandem.overlap(collective="all_gather", producer=double, consumer=double, over=("x_ptr", "y_ptr", "n"))
