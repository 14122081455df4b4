"""Projections before and behind an attention whose heads are dealt to ranks, on GPUs: heads and sizes of the simulated test, larger ones,
calls in a row, captured calls."""

import pathlib
import sys

import numpy as np
from products import on_gpus

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from heads_reference import HEADS, Before, Behind

LARGE = [
    (1024, (16, 4, 128), {"dtype": "bf16"}, {}),
    (2048, (8, 8, 64), {"dtype": "fp16"}, {"bands": 4}),
    (1000, (9, 3, 128), {"dtype": "bf16"}, {"bands": 2}),
    (777, (12, 6, 96), {"dtype": "fp16"}, {}),
    (512, (6, 1, 128), {"dtype": "bf16"}, {"block_m": 64, "block_n": 64}),
]


def arrays(out):
    return [np.array(x) for x in out] if isinstance(out, tuple) else np.array(out)


def cases(ranks, kind, repeats=4):
    width = {"h" if kind is Before else "n": 512}
    made = [(kind(ranks, 130, heads, dtype="bf16", seed=i), {}) for i, heads in enumerate(HEADS)]
    made += [(kind(ranks, m, heads, **{**width, **given}, seed=i), options) for i, (m, heads, given, options) in enumerate(LARGE)]

    def main(team):
        found = []
        for case, options in made:
            with case.operator(team, **options) as op:
                given = [team.local_from_array(x) for x in case.given(team.rank)]
                outs = [op(*given, case.m) for _ in range(repeats)]  # nothing is waited for between them
                found.append([arrays(out) for out in outs])
        return found

    for rank, of_rank in enumerate(on_gpus(main, ranks)):
        for (case, _), calls in zip(made, of_rank):
            for found in calls:
                case.check(rank, found)
            bits = {b"".join(x.tobytes() for x in (found if isinstance(found, list) else [found])) for found in calls}
            assert len(bits) == 1


def replays(ranks, kind):
    import torch

    made = [kind(ranks, 600, (8, 4, 128), dtype="bf16", seed=i) for i in range(10)]

    def main(team):
        op, given = made[0].operator(team, bands=2), [team.local_from_array(x) for x in made[0].given(team.rank)]
        out = op(*given, 600)  # loads the kernel
        results = {"out": out} if kind is Behind else {"out": out[0], "kv": out[1]}
        team.synchronize()
        graph, stream, found = torch.cuda.CUDAGraph(), torch.cuda.Stream(), []
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            op(*given, 600, stream=stream, **results)
        for case in made:
            for to, array in zip(given, case.given(team.rank)):
                to[...] = array
            team.synchronize()
            team.barrier()
            graph.replay()
            torch.cuda.synchronize()
            found.append(arrays(out))
        team.barrier()
        return found

    for rank, found in enumerate(on_gpus(main, ranks)):
        for case, out in zip(made, found):
            case.check(rank, out)


CHECKS = {
    "operators.qkv_gemm_a2a.cases": lambda ranks: cases(ranks, Before),
    "operators.qkv_gemm_a2a.replays": lambda ranks: replays(ranks, Before),
    "operators.a2a_o_gemm.cases": lambda ranks: cases(ranks, Behind),
    "operators.a2a_o_gemm.replays": lambda ranks: replays(ranks, Behind),
}
