"""FlashDecode on ranks on GPUs: keys of all of them, calls in a row, a captured call whose lengths change."""

import pathlib
import sys

import numpy as np
from products import on_gpus

from tandem.ops import FlashDecode

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from decode_reference import Case, error

SHAPES = [
    {},
    {"q_len": 4, "heads": 16, "head_dim": 128, "window": 300, "dtype": "bf16"},
    {"fp8": True, "sinks": True, "page": 1, "width": 700},
    {"fp8": True, "q_len": 8, "kv_heads": 1, "head_dim": 128},  # one program a multiprocessor, all at once
]


def operator(team, case):
    sizes = (case.m, case.q_len, case.heads, case.kv_heads, case.head_dim, case.pages, case.page, case.width)
    return FlashDecode(team, *sizes, case.dtype, **case.options())


def moved(team, case):
    rank = team.rank if case.ranks > 1 else 0
    given = (case.q, case.keys[rank], case.values[rank], case.tables[rank], case.lengths[rank])
    more = {name: team.local_from_array(a) for name, a in case.more(rank).items()}
    return [team.local_from_array(a) for a in given], more


def calls(ranks, times=1):
    cases = [Case(**{"ranks": ranks, "m": 5, "heads": 8, "width": 60, "seed": i, **shape}) for i, shape in enumerate(SHAPES)]

    def main(team):
        found = []
        for case in cases:
            op, (given, more) = operator(team, case), moved(team, case)
            outs = [op(*given, case.m, **more) for _ in range(times)]  # nothing is waited for between them
            found.append([np.array(out) for out in outs])
            op.close()
        return found

    values = on_gpus(main, ranks)
    for i, case in enumerate(cases):
        assert error(values[0][i][0], case.result()) < 1e-2
        assert len({out.tobytes() for found in values for out in found[i]}) == 1


def replays(ranks):
    import torch

    cases = [Case(ranks=ranks, m=4, heads=8, width=40, seed=i) for i in range(20)]

    def main(team):
        op, (given, more) = operator(team, cases[0]), moved(team, cases[0])
        out = op(*given, cases[0].m, **more)  # loads the kernel
        team.synchronize()
        graph, stream, found = torch.cuda.CUDAGraph(), torch.cuda.Stream(), []
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            op(*given, cases[0].m, out=out, stream=stream, **more)
        for case in cases:
            rank = team.rank if ranks > 1 else 0
            arrays = (case.q, case.keys[rank], case.values[rank], case.tables[rank], case.lengths[rank], *case.more(rank).values())
            for to, array in zip((*given, *more.values()), arrays):
                to[...] = array
            team.synchronize()
            team.barrier()
            graph.replay()
            torch.cuda.synchronize()
            found.append(np.array(out))
        team.barrier()
        return found

    for found in on_gpus(main, ranks):
        for case, out in zip(cases, found):
            assert error(out, case.result()) < 1e-2


CHECKS = {
    "operators.flash_decode.calls": calls,
    "operators.flash_decode.many_calls": lambda ranks: calls(ranks, 50),
    "operators.flash_decode.replays": replays,
}
