"""Dispatch and combine on many simulated ranks, those of several nodes: checked, with modelled times and what leaves a node.

    python bench/experts_on_many_ranks.py [--ranks 8 32 64] [--node 8] [--tokens 8] [--columns 1024] [--machine h200] [--timeline]

Each rank has `tokens` tokens with 8 of 4 experts a rank. On more ranks than a node has there are three ways: each expert is `once`
somewhere; likewise, but a token's experts are on `two nodes`, as routers choose that limit groups; each node has all experts, and its ranks
have tables of places that lead to their own copies, `in the node`. The first two go in `two levels` as well, over teams: a row crosses to
each node once, and goes on from there. A JSON line for each: results are compared with NumPy's; a rank sends
`rows` on average, `far` of them to another node; `dispatch` and `combine` are the modelled microseconds of the slowest rank's kernel, of
two levels those of both, without `told`, the exchange of ids before them, where each GPU reaches every other one by one link of the
machine. `--timeline` prints who computed, waited and moved data.
"""

import argparse
import collections
import json
import pathlib
import sys
import tempfile
import time

import numpy as np

import tandem
from tandem.ops import EpCombine, EpDispatch

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "ops/ep_dispatch/test"))
from ep_reference import Layer, run
from two_levels import TwoLevels

EACH, TOP_K, PROGRAMS, WARPS = 4, 8, 8, 4


def layer_of(way, ranks, node, tokens, columns):
    nodes, experts = ranks // node, EACH * ranks
    if way == "in the node":
        layer = Layer([tokens] * ranks, tokens, columns, experts * nodes, TOP_K, "bf16", dropped=0, placed=experts, copies=1)
        # Node n has the places from n * experts on.
        layer.placement = np.stack([np.arange(experts, dtype=np.int32)[:, None] + rank // node * experts for rank in range(ranks)])
        return layer
    layer = Layer([tokens] * ranks, tokens, columns, experts, TOP_K, "bf16", dropped=0)
    if way == "two nodes":
        draw, of_node = np.random.default_rng(1), EACH * node
        for token in (token for ids in layer.ids for token in ids):
            near = np.concatenate([np.arange(n * of_node, (n + 1) * of_node) for n in draw.permutation(nodes)[:2]])
            token[:] = draw.permutation(near)[:TOP_K]
    return layer


def sent(layer, node, levels):
    """Rows that a rank sends on average, and how many of them to other nodes."""
    rows = far = 0
    for rank in range(layer.ranks):
        for places in layer.places(rank):
            owners = set((places // layer.local).tolist())
            crossing = [owner // node for owner in owners if owner // node != rank // node]
            far += len(set(crossing)) if levels else len(crossing)
            # In two levels a row starts in each node from the rank in its own place.
            starts = {o: o // node * node + rank % node if levels else rank for o in owners}
            rows += sum(owner != start for owner, start in starts.items()) + (len(set(crossing)) if levels else 0)
    return round(rows / layer.ranks, 1), round(far / layer.ranks, 1)


def modelled(result):
    """Microseconds of each kernel: its longest launch, of two levels the sum of both's."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        result.write_trace(file.name)
        events = json.load(file)["traceEvents"]
    found = {}
    for name, kernel in (("dispatch", "dispatch"), ("combine", "combine"), ("told", "exchange")):
        of_rank = collections.defaultdict(list)
        for e in sorted((e for e in events if e["name"] == f"kernel {kernel}"), key=lambda e: e["ts"]):
            of_rank[e["pid"]].append(e["dur"])
        if of_rank:
            found[name] = round(sum(max(turn) for turn in zip(*of_rank.values(), strict=True)), 1)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=[8, 32, 64])
    parser.add_argument("--node", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=8)
    parser.add_argument("--columns", type=int, default=1024)
    parser.add_argument("--machine", default="h200")
    parser.add_argument("--timeline", action="store_true")
    options = parser.parse_args()

    for ranks in options.ranks:
        ways = ["once", "two nodes", "in the node", "once, two levels", "two nodes, two levels"]
        for way in ways if ranks > options.node else ways[:1]:
            experts, _, levels = way.partition(", ")
            layer = layer_of(experts, ranks, options.node, options.tokens, options.columns)
            if levels:  # sums are rounded in each level, so they have to be exact
                layer.x = [np.sign(x.astype(np.float32)).astype(layer.dtype) for x in layer.x]
                layer.weights = [np.ones_like(w) for w in layer.weights]

            def on_rank(team, layer=layer, levels=levels):
                if levels:
                    two = TwoLevels(
                        team, options.node, layer.most, layer.columns, layer.experts, TOP_K, layer.dtype, programs=PROGRAMS, num_warps=WARPS
                    )
                    layer.check_combine(team.rank, np.array(two.run(team, layer)))
                    return two.close()
                sizes = (layer.most, layer.columns, layer.experts, layer.top_k, layer.dtype)
                chosen = {"programs": PROGRAMS, "num_warps": WARPS, **layer.options()}
                with EpDispatch(team, *sizes, **chosen) as dispatch, EpCombine(team, *sizes, **chosen) as combine:
                    run(team, layer, dispatch, combine)

            begin = time.perf_counter()
            result = tandem.launch(on_rank, ranks=ranks, trace=True, machine=options.machine)
            rows, far = sent(layer, options.node, levels)
            row = {"ranks": ranks, "node": options.node, "experts": way, "tokens": options.tokens, "columns": options.columns}
            row |= {"rows": rows, "far": far, "reports": len(result.reports), **modelled(result)}
            print(json.dumps({**row, "seconds": round(time.perf_counter() - begin, 1)}), flush=True)
            if options.timeline:
                print(result.timeline())


main()
