"""EpDispatch and EpCombine on ranks on GPUs: numbers of tokens, sizes, types, calls in a row, in two halves, captured; tables of places;
rows by expert; bad ids."""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from ep_reference import Layer, run
from products import on_gpus

from tandem.kernel.element_types import as_dtype
from tandem.ops import EpCombine, EpDispatch

# The most tokens of a rank, columns, experts, top_k, type. Of the last ones several programs gather what is said of slots.
SIZES = [
    (1, 1, 2, 1, "fp32"),
    (5, 77, 6, 2, "bf16"),
    (64, 2048, 16, 8, "fp16"),
    (128, 7168, 256, 8, "bf16"),
    (33, 1000, 9, 3, "fp32"),
    (500, 512, 64, 8, "bf16"),
]


def operators(team, layer, **options):
    sizes = (layer.most, layer.columns, layer.experts, layer.top_k, layer.dtype)
    return [op(team, *sizes, **options, **layer.options()) for op in (EpDispatch, EpCombine)]


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


def placed(ranks):
    """Experts with up to two places, of which ranks have unequal numbers; another table in each call."""
    some = [Layer([40 - 7 * r % 40 for r in range(ranks)], 40, 1000, 9 * ranks, 4, "bf16", i, placed=8 * ranks - 3) for i in range(3)]

    def main(team):
        for mode in ("latency", "throughput"):
            dispatch, combine = operators(team, some[0], mode=mode)
            for layer in some:
                run(team, layer, dispatch, combine)
            dispatch.close()
            combine.close()

    on_gpus(main, ranks)


def by_expert(ranks):
    """Rows once for each slot, in blocks; where the route is made beside the rows, and where it follows them."""
    shapes = [(16, 1000, 4, 2, "latency"), (128, 7168, 64, 8, "latency"), (300, 512, 8, 8, "latency"), (64, 2048, 8, 4, "throughput")]

    def main(team):
        for most, columns, each, top_k, mode in shapes:
            for align in (0, 16):
                options = {"mode": mode, **({"align": align} if align else {})}
                dispatch = EpDispatch(team, most, columns, each * ranks, top_k, "bf16", by_expert=True, **options)
                combine = EpCombine(team, most, columns, each * ranks, top_k, "bf16", **options)
                for seed in range(3):
                    layer = Layer([most] * ranks, most, columns, each * ranks, top_k, "bf16", seed)
                    run(team, layer, dispatch, combine, align)
                dispatch.close()
                combine.close()

    on_gpus(main, ranks)


def halves(ranks):
    """Two pairs of operators have calls under way at once, of which nothing is awaited between."""
    some = [Layer([30] * ranks, 30, 1024, 4 * ranks, 3, "bf16", i) for i in range(3)]

    def main(team):
        rank, moved, m = team.rank, team.local_from_array, 30
        for mode in ("latency", "throughput"):
            pairs = [operators(team, some[0], mode=mode) for _ in range(2)]
            for layer in some:
                given = [moved(a[rank]) for a in (layer.x, layer.ids, layer.weights)]
                sent = [dispatch(*given, m, send_only=True) for dispatch, _ in pairs]
                came = [dispatch(*given, m, out=rows, route=route, receive_only=True) for (dispatch, _), (rows, route) in zip(pairs, sent)]
                hs = [moved(layer.results(rank, rows, layer.check_dispatch(rank, rows, route))) for rows, route in came]
                outs = [combine(h, route, given[1], m, send_only=True) for (_, combine), h, (_, route) in zip(pairs, hs, came)]
                for (_, combine), h, (_, route), out in zip(pairs, hs, came, outs):
                    combine(h, route, given[1], m, out=out, receive_only=True)
                    layer.check_combine(rank, np.array(out))
            for pair in pairs:
                for op in pair:
                    op.close()

    on_gpus(main, ranks)


def in_fp8(ranks):
    """Rows that are in fp8 come as they are, with their scales."""
    some = []
    for most, columns, mode in ((9, 1000, "latency"), (100, 7168, "latency"), (40, 2048, "throughput")):
        layer, draw = Layer([most] * ranks, most, columns, 8 * ranks, 4, "fp32", most), np.random.default_rng(most)
        layer.x = [draw.standard_normal(x.shape, np.float32).astype(as_dtype("fp8e4nv")) for x in layer.x]
        some.append((layer, [draw.random((most, -(-columns // 128)), np.float32) for _ in range(ranks)], mode))

    def main(team):
        for layer, scales, mode in some:
            sizes = (layer.most, layer.columns, layer.experts, layer.top_k, "fp8e4nv")
            op = EpDispatch(team, *sizes, quantised=True, mode=mode)
            given = [team.local_from_array(a[team.rank]) for a in (layer.x, layer.ids, layer.weights, scales)]
            rows, _, came = op(*given[:3], layer.most, x_scales=given[3])
            for row in np.flatnonzero((layer.here(team.rank) >= 0).any(1)):
                source, token = divmod(int(row), layer.most)
                assert np.array(rows[int(row)]).tobytes() == layer.x[source][token].tobytes(), f"rank {team.rank}: row {row}"
                assert np.array_equal(np.array(came[int(row)]), scales[source][token]), f"rank {team.rank}: scales of row {row}"
            op.close()

    on_gpus(main, ranks)


def bad_ids(ranks):
    """The next call, `synchronize()` or `close()` tells the rank that gave one, once, and all else is as it should be."""
    import torch

    layer = Layer([6] * ranks, 6, 256, 4 * ranks, 2, "bf16", 1)
    layer.ids[0][3, 1] = layer.ids[0][5, 0] = 4 * ranks

    def main(team):
        rank, moved, m = team.rank, team.local_from_array, 6
        given = [moved(a[rank]) for a in (layer.x, layer.ids, layer.weights)]
        good = moved(np.where(layer.ids[rank] < 4 * ranks, layer.ids[rank], -1))

        def is_told(function, *arguments):
            seen = ""
            try:
                function(*arguments)
            except Exception as error:
                seen = str(error)
            wanted = f"has {4 * ranks}, -1 to {4 * ranks - 1} are possible" if rank == 0 else ""
            assert wanted in seen and bool(wanted) == bool(seen), f"rank {rank}: {seen}"

        for mode in ("latency", "throughput"):
            for wait in ("next call", "synchronize", "close"):
                dispatch, combine = operators(team, layer, mode=mode)
                rows, route = dispatch(*given, m)
                torch.cuda.synchronize()
                if wait == "synchronize":
                    is_told(team.synchronize)
                    team.synchronize()
                    assert rank or int(route[:1].torch()[0]) == 2
                elif wait == "next call":
                    again = (given[0], good, given[2], m)
                    is_told(dispatch, *again)
                    if rank == 0:
                        dispatch(*again)
                is_told(dispatch.close) if wait == "close" else dispatch.close()
                combine.close()
        team.barrier()

    on_gpus(main, ranks)


CHECKS = {f"operators.ep.{check.__name__}": check for check in (layers, replays, placed, by_expert, halves, in_fp8, bad_ids)}
