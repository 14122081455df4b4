"""AllGather + GEMM, GEMM + ReduceScatter and GEMM + AllReduce on ranks against float64: types, layouts, sizes that divide and not, calls in
a row, graphs."""

import functools

import numpy as np
import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import AllGatherGemm, GemmAllReduce, GemmReduceScatter, rows_of_rank, shard_rows

WAIT_SECONDS = 20
TOLERANCE = {"fp32": 2e-6, "fp16": 1e-3, "bf16": 8e-3, "fp8e4nv": 8e-3, "fp8e5": 8e-3}


def on_gpus(main, ranks):
    return tandem.launch(main, ranks=ranks, target="cuda", wait_timeout=WAIT_SECONDS).values


class Gathered:
    """Operands of one AllGather + GEMM, its call and its exact result."""

    Operator = AllGatherGemm

    def __init__(self, ranks, m, n, k, dtype, transposed, seed=0):
        generator = np.random.default_rng(seed)
        draw = lambda *shape: generator.standard_normal(shape).astype(as_dtype(dtype))
        self.ranks, self.m, self.transposed = ranks, m, transposed
        self.a, self.bs = draw(m, k), [draw(k, n) for _ in range(ranks)]

    def operands(self, rank):
        first = rank * shard_rows(self.m, self.ranks)
        return self.a[first : first + rows_of_rank(self.m, self.ranks, rank)], self._b(rank)

    def _b(self, rank):
        return np.ascontiguousarray(self.bs[rank].T) if self.transposed else self.bs[rank]

    def exact(self, rank):
        return self.a.astype(np.float64) @ self.bs[rank].astype(np.float64)


class Scattered(Gathered):
    """The same of one GEMM + ReduceScatter."""

    Operator = GemmReduceScatter

    def __init__(self, ranks, m, n, k, dtype, transposed, seed=0):
        super().__init__(ranks, m, n, k, dtype, transposed, seed)
        generator = np.random.default_rng(seed + 1)
        self.all_a = [generator.standard_normal((m, k)).astype(as_dtype(dtype)) for _ in range(ranks)]

    def operands(self, rank):
        return self.all_a[rank], self._b(rank)

    @functools.cached_property
    def _sum(self):
        return sum(a.astype(np.float64) @ b.astype(np.float64) for a, b in zip(self.all_a, self.bs))

    def exact(self, rank):
        first = rank * shard_rows(self.m, self.ranks)
        return self._sum[first : first + rows_of_rank(self.m, self.ranks, rank)]


class Reduced(Scattered):
    """The same of one GEMM + AllReduce."""

    Operator = GemmAllReduce

    def exact(self, rank):
        return self._sum


def compare(found, cases, dtype):
    """`found`: for each rank the results of all cases."""
    for index, case in enumerate(cases):
        for rank, results in enumerate(found):
            wanted, got = case.exact(rank), results[index].astype(np.float64)
            assert got.shape == wanted.shape
            error, size = np.linalg.norm(got - wanted), np.linalg.norm(wanted)
            assert error <= TOLERANCE[dtype] * size, f"m={case.m}, rank {rank}, call {index}: relative error {error / size:.3g}"


def calls(Case, sizes, n, k, dtype, transposed=False, launch=on_gpus, **config):
    """A check: one operator, one call after another for each m of `sizes`, nothing waited for between them."""

    def check(ranks):
        cases = [Case(ranks, m, n, k, dtype, transposed, seed) for seed, m in enumerate(sizes)]

        def main(team):
            op = Case.Operator(team, max(sizes), n, k, dtype, b_transposed=transposed, **config)
            given = [[team.local_from_array(x) for x in case.operands(team.rank)] for case in cases]
            outs = [op(a, b, case.m) for case, (a, b) in zip(cases, given)]
            found = [np.array(out) for out in outs]
            op.close()
            return found

        compare(launch(main, ranks), cases, dtype)

    return check


def replays(Case, m, n, k, count=20, **config):
    """A check: one captured call, replayed on changing operands."""

    def check(ranks):
        import torch

        cases = [Case(ranks, m, n, k, "bf16", True, seed) for seed in range(count)]

        def main(team):
            op = Case.Operator(team, m, n, k, "bf16", b_transposed=True, **config)
            given = [[team.local_from_array(x) for x in case.operands(team.rank)] for case in cases]
            a, b = (team.local_empty(x.shape, "bf16") for x in given[0])
            out = op(a, b, m)  # loads the kernel
            team.synchronize()
            stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
                op(a, b, m, out=out, stream=stream)
            found = []
            for from_a, from_b in given:
                team.stream.copy(a, from_a)
                team.stream.copy(b, from_b)
                team.synchronize()
                graph.replay()
                torch.cuda.synchronize()
                found.append(np.array(out))
            team.barrier()
            return found

        compare(on_gpus(main, ranks), cases, "bf16")

    return check


def _checks():
    tiles = {"block_m": 128, "block_n": 128, "block_k": 64, "num_warps": 8, "num_stages": 4}
    for name, Case in {"ag_gemm": Gathered, "gemm_rs": Scattered}.items():
        yield f"{name}.blocks", calls(Case, [1024], 512, 512, "bf16", True)
        yield f"{name}.rows_of_b", calls(Case, [1024], 512, 512, "bf16")
        yield f"{name}.fp16", calls(Case, [512, 512], 768, 256, "fp16")
        yield f"{name}.large_tiles", calls(Case, [2048, 1024, 2048], 1024, 512, "bf16", True, **tiles | {"block_n": 256})
        yield f"{name}.other_tiles", calls(Case, [1536], 640, 320, "bf16", False, **tiles)
        yield f"{name}.any_rows", calls(Case, [1, 1000, 3, 257, 1024, 129, 5, 64, 2, 1023], 512, 512, "bf16", True)
        yield f"{name}.any_sizes", calls(Case, [7, 333, 1], 131, 67, "fp16")
        yield f"{name}.one", calls(Case, [1], 1, 1, "fp32")
        yield f"{name}.fp32", calls(Case, [300, 512], 256, 128, "fp32")
        yield f"{name}.fp8e4nv", calls(Case, [512, 100], 512, 512, "fp8e4nv", True)
        yield f"{name}.fp8e5_rows_of_b", calls(Case, [256], 256, 128, "fp8e5")
        yield f"{name}.many_calls", calls(Case, [512, 256] * 50, 256, 256, "bf16", True)
        yield f"{name}.replays", replays(Case, 512, 256, 256)
    for title, way in {"copied": {"chunks": 3}, "stored": {"chunks": 0}}.items():
        yield f"gemm_rs.{title}", calls(Scattered, [2048, 1000, 3, 257, 2048], 512, 512, "bf16", True, **way)
        yield f"gemm_rs.{title}_pointers", calls(Scattered, [300, 7], 131, 67, "fp16", **way)
        yield f"gemm_rs.{title}_many_calls", calls(Scattered, [512, 256] * 50, 256, 256, "bf16", True, **way)
        yield f"gemm_rs.{title}_replays", replays(Scattered, 1024, 512, 256, **way)
    ways = {"ag_gemm.library": (Gathered, {"library": 1}), "gemm_rs.library": (Scattered, {"library": 1})}
    ways |= {"gemm_ar.library": (Reduced, {"library": 1}), "gemm_ar.scattered": (Reduced, {"scattered": 1})}
    for name, (Case, way) in ways.items():
        yield f"{name}_any_rows", calls(Case, [1, 1000, 3, 257, 1024, 129, 5, 64, 2, 1023] * 3, 512, 384, "bf16", **way)
        yield f"{name}_transposed", calls(Case, [512, 100], 640, 320, "fp16", True, **way)
        yield f"{name}_any_sizes", calls(Case, [7, 333, 1], 131, 67, "fp16", **way)
        yield f"{name}_replays", replays(Case, 512, 256, 256, **way)
    yield "ag_gemm.columns", calls(Gathered, [2048, 1000], 896, 512, "bf16", True, block_n=224)
    yield "ag_gemm.columns_rows_of_b", calls(Gathered, [2048, 1000], 896, 512, "bf16", block_n=224)
    yield "ag_gemm.bands", calls(Gathered, [4096, 1000, 3000], 512, 512, "bf16", True, bands=3)
    yield "ag_gemm.bands_replays", replays(Gathered, 2048, 512, 512, bands=2)
    yield "ag_gemm.slices", calls(Gathered, [2048, 1000], 512, 512, "bf16", True, slices=4)


CHECKS = {f"operators.{name}": check for name, check in _checks()}
