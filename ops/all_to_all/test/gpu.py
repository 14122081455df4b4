"""AllToAll on ranks on GPUs: equal and unequal counts, in packets and by copies, calls in a row, a captured call."""

import numpy as np
from products import on_gpus
from tandem.ops import AllToAll, rows_of_rank

MOST, COLUMNS = 8192, 72


def counts_of(ranks):
    """m, and tables with ranks that send or get nothing."""
    draw = np.random.default_rng(ranks)
    some = [draw.integers(0, most, (ranks, ranks)) for most in (3, 40, MOST // ranks)]
    some[1][:, 0] = 0
    some[2][ranks - 1] = 0
    return [1, 16, 1000, MOST, *(c.tolist() for c in some)]


def rows(rank, counts, ranks, seed):
    table = counts if isinstance(counts, list) else [[rows_of_rank(counts, ranks, r) for r in range(ranks)]] * ranks
    parts = [
        np.random.default_rng([seed, rank, peer]).integers(-1000, 1000, (n, COLUMNS)).astype(np.int16) for peer, n in enumerate(table[rank])
    ]
    return table, parts


def expected(rank, counts, ranks, seed):
    return np.concatenate([rows(source, counts, ranks, seed)[1][rank] for source in range(ranks)])


def calls(ranks, repeats=1, **config):
    asked = counts_of(ranks) * repeats

    def main(team):
        op = AllToAll(team, MOST, COLUMNS, "int16", **config)
        given = [team.local_from_array(np.concatenate(rows(team.rank, c, ranks, i)[1])) for i, c in enumerate(asked)]
        outs = [op(x, c) for x, c in zip(given, asked)]  # nothing is waited for between them
        found = [np.array(out) for out in outs]
        op.close()
        return found

    for rank, found in enumerate(on_gpus(main, ranks)):
        for i, (counts, got) in enumerate(zip(asked, found)):
            np.testing.assert_array_equal(got, expected(rank, counts, ranks, i), err_msg=f"rank {rank}, call {i}, {counts}")


def replays(ranks, counts, times=20):
    import torch

    def main(team):
        op = AllToAll(team, MOST, COLUMNS, "int16")
        given = [np.concatenate(rows(team.rank, counts, ranks, i)[1]) for i in range(times)]
        x = team.local_from_array(given[0])
        out = op(x, counts)  # loads the kernel
        team.synchronize()
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            op(x, counts, out=out, stream=stream)
        for i in range(times):
            x[...] = given[i]
            team.synchronize()
            graph.replay()
            torch.cuda.synchronize()
            np.testing.assert_array_equal(np.array(out), expected(team.rank, counts, ranks, i))
        team.barrier()

    on_gpus(main, ranks)


CHECKS = {
    "operators.all_to_all.counts": calls,
    "operators.all_to_all.by_copies": lambda ranks: calls(ranks, packets_bytes=0),
    "operators.all_to_all.in_packets": lambda ranks: calls(ranks, packets_bytes=1 << 30),
    "operators.all_to_all.many_calls": lambda ranks: calls(ranks, repeats=10),
    "operators.all_to_all.replays_alike": lambda ranks: replays(ranks, 64),
    "operators.all_to_all.replays_unlike": lambda ranks: replays(ranks, counts_of(ranks)[4]),
    "operators.all_to_all.replays_by_copies": lambda ranks: replays(ranks, MOST),
}
