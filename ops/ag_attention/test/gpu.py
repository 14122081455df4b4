"""Attention over ranks on GPUs: the cases of the simulated test, larger ones, calls in a row, a captured call."""

import pathlib
import sys

import numpy as np
from products import on_gpus

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "attention" / "test"))

from gather_attention_reference import Case, Packed
from test_ag_attention import CASES

LARGE = [
    {"m": 1024, "causal": True, "d": 128, "hq": 4, "dtype": "bf16", "bands": 3},
    {"m": 1000, "batch": 2, "d": 128, "bands": 5},
    {"m": 777, "causal": True, "d": 256, "in_order": True},
    {"m": 512, "causal": True, "d": 192, "bands": 2, "sinks": True},
]


def cases(ranks):
    made = [Case(ranks, **case, seed=i) for i, case in enumerate([*CASES, *LARGE])]
    made += [Packed(ranks, (300, 1, 0, 515, 77), d=128, causal=True, bands=3, varlen=True), Packed(ranks, (200, 90), more=9, varlen=True)]

    def main(team):
        found = []
        for case in made:
            with case.operator(team) as op:
                found.append([[np.array(x) for x in out] for out in [case.call(op, team) for _ in range(5)]])
        return found

    values = on_gpus(main, ranks)
    for i, case in enumerate(made):
        for rank in range(ranks):
            case.check(rank, values[rank][i][0])
            assert len({call[0].tobytes() for call in values[rank][i]}) == 1


def replays(ranks):
    import torch

    made = [Case(ranks, 600, d=128, causal=True, bands=3, seed=i) for i in range(10)]

    def main(team):
        op, given = made[0].operator(team), [team.local_from_array(x) for x in made[0].given(team.rank)]
        outs = op(*given, 600, 1, 600)  # loads the kernel
        team.synchronize()
        graph, stream, found = torch.cuda.CUDAGraph(), torch.cuda.Stream(), []
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            op(*given, 600, 1, 600, out=outs[0], lse=outs[1], stream=stream)
        for case in made:
            for to, array in zip(given, case.given(team.rank)):
                to[...] = array
            team.synchronize()
            team.barrier()
            graph.replay()
            torch.cuda.synchronize()
            found.append([np.array(x) for x in outs])
        team.barrier()
        return found

    for rank, found in enumerate(on_gpus(main, ranks)):
        for case, outs in zip(made, found):
            case.check(rank, outs)


CHECKS = {"operators.ag_attention.cases": cases, "operators.ag_attention.replays": replays}
