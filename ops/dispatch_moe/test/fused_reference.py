"""What DispatchMoe and MoeCombine give, in NumPy, and calls of both that are compared with it."""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "ep_dispatch/test"))

from tandem.ops import DispatchMoe, MoeCombine, route_parts


class Experts:
    """Matrices of all experts: small integers, so sums are exact."""

    def __init__(self, layer, inner, seed=0):
        draw, shape = np.random.default_rng(seed), (layer.local * layer.ranks, inner, layer.columns)
        self.up = draw.integers(-1, 2, shape).astype(layer.dtype)
        self.down = draw.integers(-1, 2, (shape[0], layer.columns, inner)).astype(layer.dtype)

    def of(self, matrices, rank, layer):
        return matrices[rank * layer.local : (rank + 1) * layer.local]

    def inner_rows(self, layer, rank, route):
        """The route's rows of the first product."""
        parts = route_parts(route, layer.ranks * layer.most, layer.local, layer.top_k)
        here, rows = layer.here(rank).reshape(-1), []
        for slot in parts.order:
            source, token = divmod(int(slot) // layer.top_k, layer.most)
            up = self.up[here[slot] + rank * layer.local].astype(np.float64)
            rows.append(up @ layer.x[source][token].astype(np.float64))
        return np.array(rows).reshape(len(rows), self.up.shape[1])

    def wanted(self, layer, rank):
        places, out = layer.places(rank), np.zeros((layer.counts[rank], layer.columns))
        for (token, k), place in np.ndenumerate(places):
            if place >= 0:
                h = self.up[place].astype(np.float64) @ layer.x[rank][token].astype(np.float64)
                out[token] += layer.weights[rank][token, k] * (self.down[place].astype(np.float64) @ h)
        return out


def run(team, layers, experts, inner, **options):
    """Calls for all layers, one behind the other, whose results are looked at behind them."""
    first, rank, moved = layers[0], team.rank, team.local_from_array
    sizes = (first.most, inner, first.columns, first.experts, first.top_k, first.dtype)
    of_placement = first.options()
    with (
        DispatchMoe(team, *sizes, **of_placement, **options) as up,
        MoeCombine(team, first.most, first.columns, *sizes[1:2], *sizes[3:]) as down,
    ):
        given = [[moved(a[rank]) for a in (of.x, of.ids, of.weights)] for of in layers]
        tables = [{} if of.placement is None else {"placement": moved(of.table(rank))} for of in layers]
        w_up, w_down = moved(experts.of(experts.up, rank, first)), moved(experts.of(experts.down, rank, first))
        x = team.local_empty((first.most, first.columns), first.dtype, name="x")
        results = []
        for layer, (of_x, ids, weights), table in zip(layers, given, tables):
            m = layer.counts[rank]
            if m:
                team.stream.copy(x[:m], of_x)  # overwrites what the call before sent
            h, route = up(x[:m], ids, weights, w_up, m, **table)
            results.append((route, h, down(h, w_down, route, m)))
        for layer, (route, h, out) in zip(layers, results):
            rows = experts.inner_rows(layer, rank, route)
            for i, row in enumerate(rows):
                np.testing.assert_array_equal(np.array(h[i]).astype(np.float64), row, f"rank {rank}: row {i}")
            if layer.counts[rank]:
                np.testing.assert_array_equal(np.array(out).astype(np.float64), experts.wanted(layer, rank), f"rank {rank}")
