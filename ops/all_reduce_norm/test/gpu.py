"""AllReduce + residual + RMSNorm on ranks on GPUs: ways, sizes, types, scales, calls in a row, a captured call."""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from norm_reference import EPS, Call
from products import on_gpus

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import AllReduceNorm

SIZES = [(1, 1), (1, 8192), (6, 8192), (33, 1000), (128, 4096), (7, 65), (300, 2048), (17, 8192), (48, 8200)]
FORMS = [{}, {"quantised": True}, {"quantised": True, "row_scales": True}]


def queue(team, op, call):
    moved = team.local_from_array
    x, residual, weight = moved(call.xs[team.rank]), moved(call.residual), moved(call.weight)
    out = op(x, residual, weight, call.m)
    return (residual, *out) if isinstance(out, tuple) else (residual, out)


def calls(ranks, repeats=1, integers=False, **config):
    given = [
        (form, [Call(ranks, m, columns, dtype, seed, integers) for seed in range(repeats)])
        for i, (m, columns) in enumerate(SIZES)
        for dtype, form in [(("bf16", "fp16", "fp32")[i % 3], FORMS[(i + i // 3) % 3])]
    ]

    def main(team):
        found = []
        for form, some in given:
            op = AllReduceNorm(team, some[0].m, some[0].columns, some[0].dtype, eps=EPS, **form, **config)
            queued = [queue(team, op, call) for call in some]  # nothing is waited for between them
            found.append([[np.array(a) for a in arrays] for arrays in queued])
            op.close()
        return found

    for rank, found in enumerate(on_gpus(main, ranks)):
        for (form, some), arrays in zip(given, found):
            for call, got in zip(some, arrays):
                call.check(*got, name=f"rank {rank}, {call.m} x {call.columns} {call.dtype}, {form}")


def as_on_the_simulator(ranks):
    """Residuals have the simulator's bits; a GPU's root is an approximation."""
    call = Call(ranks, 4, 512, "fp32", integers=True)

    def main(team):
        op = AllReduceNorm(team, 4, 512, "fp32", eps=EPS)
        found = [np.array(a) for a in queue(team, op, call)]
        op.close()
        return found

    simulated = tandem.launch(main, ranks=ranks).values
    for (residual, out), (simulated_residual, simulated_out) in zip(on_gpus(main, ranks), simulated):
        assert residual.tobytes() == simulated_residual.tobytes()
        np.testing.assert_allclose(out, simulated_out, rtol=1e-5)


def replays(ranks, m, columns, times=20, **config):
    import torch

    first, second = (Call(ranks, m, columns, "bf16", seed) for seed in range(2))

    def main(team):
        op = AllReduceNorm(team, m, columns, "bf16", eps=EPS, **config)
        x, residual, out = (team.local_empty((m, columns), as_dtype("bf16")) for _ in range(3))
        weight = team.local_empty((columns,), as_dtype("bf16"))
        op(x, residual, weight, m, out=out)  # loads the kernels
        team.synchronize()
        graph = torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            op(x, residual, weight, m, out=out, stream=stream)
        for i in range(times):
            call = (first, second)[i % 2]
            x[...], residual[...], weight[...] = call.xs[team.rank], call.residual, call.weight
            team.synchronize()
            graph.replay()
            torch.cuda.synchronize()
            call.check(np.array(residual), np.array(out), name=f"replay {i}")
        team.barrier()

    on_gpus(main, ranks)


CHECKS = {
    "operators.all_reduce_norm.sizes": calls,
    "operators.all_reduce_norm.one_shot": lambda ranks: calls(ranks, way="one_shot"),
    "operators.all_reduce_norm.two_shot_packets": lambda ranks: calls(ranks, way="two_shot_packets"),
    "operators.all_reduce_norm.two_shot": lambda ranks: calls(ranks, way="two_shot"),
    "operators.all_reduce_norm.many_calls": lambda ranks: calls(ranks, repeats=10, integers=True),
    "operators.all_reduce_norm.as_on_the_simulator": as_on_the_simulator,
    "operators.all_reduce_norm.replays_in_packets": lambda ranks: replays(ranks, 6, 8192),
    "operators.all_reduce_norm.replays_in_two_flights": lambda ranks: replays(ranks, 64, 1024, way="two_shot_packets"),
    "operators.all_reduce_norm.replays_in_chunks": lambda ranks: replays(ranks, 256, 4096),
}
