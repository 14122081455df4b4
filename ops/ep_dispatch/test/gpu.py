"""EpDispatch and EpCombine on ranks on GPUs: numbers of tokens, sizes, types, calls in a row, captured calls."""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from ep_reference import Layer, run
from products import on_gpus

from tandem.ops import EpCombine, EpDispatch

# The most tokens of a rank, columns, experts, top_k, type.
SIZES = [(1, 1, 2, 1, "fp32"), (5, 77, 6, 2, "bf16"), (64, 2048, 16, 8, "fp16"), (128, 7168, 256, 8, "bf16"), (33, 1000, 9, 3, "fp32")]


def operators(team, layer):
    sizes = (layer.most, layer.columns, layer.experts, layer.top_k, layer.dtype)
    return EpDispatch(team, *sizes), EpCombine(team, *sizes)


def layers(ranks, calls=3):
    """Ranks with any number of tokens; the last call has none on rank 0."""
    given = []
    for most, columns, experts, top_k, dtype in SIZES:
        draw = np.random.default_rng(most)
        counts = [[int(n) for n in draw.integers(0, most + 1, ranks)] for _ in range(calls - 2)]
        counts = [[most] * ranks, *counts, [0, *[most] * (ranks - 1)]]
        given.append([Layer(of, most, columns, experts, min(top_k, experts), dtype, i) for i, of in enumerate(counts)])

    def main(team):
        for some in given:
            dispatch, combine = operators(team, some[0])
            for layer in some:
                run(team, layer, dispatch, combine)
            dispatch.close()
            combine.close()

    on_gpus(main, ranks)


def replays(ranks, times=20):
    """A captured pair whose tokens, ids and weights change between the replays."""
    import torch

    most, columns, experts, top_k = 16, 512, 8, 2
    both = [Layer([most] * ranks, most, columns, experts, top_k, "bf16", seed) for seed in range(2)]

    def main(team):
        rank, moved = team.rank, team.local_from_array
        dispatch, combine = operators(team, both[0])
        x, ids, weights = moved(both[0].x[rank]), moved(both[0].ids[rank]), moved(both[0].weights[rank])
        rows, route = dispatch(x, ids, weights, most)
        hs = []
        for layer in both:
            x[...], ids[...], weights[...] = layer.x[rank], layer.ids[rank], layer.weights[rank]
            rows, route = dispatch(x, ids, weights, most, out=rows, route=route)
            hs.append(layer.results(rank, rows, layer.check_dispatch(rank, rows, route)))
        h = moved(hs[0])
        out = combine(h, route, ids, most)
        team.synchronize()
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            dispatch(x, ids, weights, most, out=rows, route=route, stream=stream)
            combine(h, route, ids, most, out=out, stream=stream)
        for i in range(times):
            layer = both[i % 2]
            x[...], ids[...], weights[...], h[...] = layer.x[rank], layer.ids[rank], layer.weights[rank], hs[i % 2]
            team.synchronize()
            graph.replay()
            torch.cuda.synchronize()
            layer.check_dispatch(rank, rows, route)
            layer.check_combine(rank, np.array(out))
        team.barrier()

    on_gpus(main, ranks)


CHECKS = {"operators.ep.layers": layers, "operators.ep.replays": replays}
