"""The lists of a route on GPUs, against NumPy: one program and many."""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "route/test"))

from moe_reference import drawn_ids, drawn_weights, padded_rows, same_lists, tokens_of_ranks
from products import on_gpus

from tandem.ops import RouteAlign, RouteIds, RouteRanks

CASES = [(1, 8, 2, 16, 2), (300, 60, 4, 24, 7), (2000, 128, 8, 64, 8), (8192, 256, 8, 128, 64), (8191, 13, 3, 1, 5)]


def lists(ranks):
    for m, experts, top_k, align, to in CASES:
        for kind in ("zipf", "one", "dropped"):
            ids, weights = drawn_ids(m, experts, top_k, kind, m), drawn_weights(m, top_k)

            def main(team, m=m, experts=experts, top_k=top_k, align=align, to=to, ids=ids, weights=weights):
                route = RouteIds(team, m, experts, top_k, "i32")(ids, weights, m)
                padded = [np.array(a) for a in RouteAlign(team, m, experts, top_k, align, "i32")(route, m)]
                same_lists(padded, padded_rows(ids, experts, align, team.size, team.rank))
                listed = [np.array(a) for a in RouteRanks(team, m, experts, top_k, to, "i32")(route, m)]
                same_lists(listed, tokens_of_ranks(ids, experts, to))

            on_gpus(main, ranks)


CHECKS = {"operators.moe.lists": lists}
