"""All dense operators and collectives of one run, in integers that are exact: 1, 2, 3, 4 and 8 ranks, 20 schedules each, under the
checker."""

import numpy as np
import pytest

import tandem
from tandem.ops import (
    AllGather,
    AllGatherGemm,
    AllReduce,
    AllToAll,
    Broadcast,
    GemmAllReduce,
    GemmReduceScatter,
    ReduceScatter,
    rows_of_rank,
    shard_rows,
)

M, N, K = 19, 24, 32  # ragged: the last of 8 ranks has no rows
SUMS = ["one_shot", "two_shot_packets", "two_shot"]
SCATTERED = [{"few_rows": 0, "chunks": 0}, {"few_rows": 0, "chunks": 2}, {}]
REDUCED = [{"packets_bytes": 0, "one_shot_bytes": 0}, {"packets_bytes": 0}, {}]


def drawn(*shape, seed):
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(np.float32)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_all(ranks, seed):
    def main(team):
        rank, shard = team.rank, shard_rows(M, ranks)
        own = slice(rank * shard, rank * shard + rows_of_rank(M, ranks, rank))
        few = {"packets_bytes": 0} if seed % 2 else {}  # chunks and copies, or packets
        gather, scatter = AllGather(team, M, N, "fp32", **few), ReduceScatter(team, M, N, "fp32", **few)
        exchange, broadcast = AllToAll(team, M, N, "fp32", **few), Broadcast(team, M * N, "fp32", **few)
        reduce = AllReduce(team, M * N, "fp32", SUMS[seed % 3])
        gathered = AllGatherGemm(team, M, N, K, "fp32", few_rows=seed % 2)
        scattered = GemmReduceScatter(team, M, N, K, "fp32", **SCATTERED[seed % 3])
        reduced = GemmAllReduce(team, M, N, K, "fp32", **REDUCED[seed % 3])
        for call in range(2):
            x = [drawn(M, N, seed=(seed, call, r)) for r in range(ranks)]
            a, b = ([drawn(*shape, seed=(seed, call, r, K)) for r in range(ranks)] for shape in ((M, K), (K, N)))
            y = x[rank]
            product = sum(p @ q for p, q in zip(a, b))
            for found, wanted in (
                (gather(x[0][own], M), x[0]),
                (scatter(y, M), sum(x)[own]),
                (exchange(y, M), np.concatenate([part[own] for part in x])),
                (broadcast(y, ranks - 1), x[-1]),
                (reduce(y), sum(x)),
                (gathered(a[0][own], b[rank], M), a[0] @ b[rank]),
                (scattered(a[rank], b[rank], M), product[own]),
                (reduced(a[rank], b[rank], M), product),
            ):
                np.testing.assert_array_equal(np.array(found), wanted)

    assert tandem.launch(main, ranks=ranks, seed=seed, check=True).reports == []
