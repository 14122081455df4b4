"""Broadcast on ranks on GPUs: sizes in packets and by copies, roots that change, calls in a row, a captured call."""

import numpy as np
from products import on_gpus
from tandem.ops import Broadcast

SIZES = [1, 37, 4096, 100_000, 300_001, 1 << 22]


def data_of(rank, count):
    return np.random.default_rng([rank, count]).integers(-1000, 1000, count).astype(np.int32)


def calls(ranks, repeats=1, **config):
    asked = [(count, i % ranks) for i, count in enumerate(SIZES * repeats)]

    def main(team):
        op = Broadcast(team, max(SIZES), "int32", **config)
        given = {count: team.local_from_array(data_of(team.rank, count)) for count in SIZES}
        outs = [op(given[count], root) for count, root in asked]  # nothing is waited for between them
        found = [np.array(out) for out in outs]
        op.close()
        return found

    for rank, found in enumerate(on_gpus(main, ranks)):
        for (count, root), got in zip(asked, found):
            np.testing.assert_array_equal(got, data_of(root, count), err_msg=f"rank {rank}, {count} elements from {root}")


def replays(ranks, count, times=20):
    import torch

    def main(team):
        op = Broadcast(team, count, "int32")
        x, out = team.local_empty((count,), "int32"), team.local_empty((count,), "int32")
        op(x, ranks - 1, out=out)  # loads the kernel
        team.synchronize()
        graph = torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            op(x, ranks - 1, out=out, stream=stream)
        for i in range(times):
            x[...] = data_of(team.rank, count) + i
            team.synchronize()
            graph.replay()
            torch.cuda.synchronize()
            np.testing.assert_array_equal(np.array(out), data_of(ranks - 1, count) + i)
        team.barrier()

    on_gpus(main, ranks)


CHECKS = {
    "operators.broadcast.sizes": calls,
    "operators.broadcast.by_copies": lambda ranks: calls(ranks, packets_bytes=0),
    "operators.broadcast.in_packets": lambda ranks: calls(ranks, packets_bytes=1 << 30),
    "operators.broadcast.many_calls": lambda ranks: calls(ranks, repeats=10),
    "operators.broadcast.replays_in_packets": lambda ranks: replays(ranks, 1000),
    "operators.broadcast.replays_by_copies": lambda ranks: replays(ranks, 1 << 20),
}
