"""Times what `tandem.overlap` derives from plain products, on two GPUs or more of a host.

    python bench/gpu/overlap/derived.py [--ranks 2] [--simulated] [all_gather reduce_scatter all_reduce]

Beside each derived kernel, with 1, 2 and 4 chunks a rank, are the hand-written operator, the kernel alone, and the kernel after or before
the collective. Derived results are compared bit by bit with those of the kernel and the collective one after the other. A JSON line for
each shape: microseconds, the median of seven calls of rank 0 between two events. `--simulated` only compares, on small shapes.
"""

import argparse
import json
import pathlib
import statistics
import sys

import numpy as np

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import AllGatherGemm, AllReduce, GemmAllReduce, GemmReduceScatter, ReduceScatter

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "python/test"))
from plain_products import described, grouped

BF16 = as_dtype("bf16")
# M of all ranks, N and K of a rank.
SHAPES = {
    "all_gather": [
        (1024, 7168, 8192),
        (8192, 2048, 8192),
        (8192, 1024, 12288),
        (8192, 7168, 8192),
        (4096, 7168, 8192),
        (8192, 2048, 28672),
        (8192, 896, 14336),
        (8192, 1152, 36864),
        (8192, 1024, 14336),
        (8192, 2048, 30720),
    ],
    "reduce_scatter": [
        (8192, 8192, 7168),
        (8192, 8192, 2048),
        (1024, 8192, 7168),
        (4096, 8192, 7168),
        (8192, 12288, 1024),
        (8192, 14336, 896),
    ],
    "all_reduce": [(512, 8192, 7168), (128, 8192, 7168), (4096, 8192, 7168)],
}


class Case:
    """A shape on one rank: its matrices, and the ways to the same result."""

    def __init__(self, team, collective, m, n, k, blocks):
        self.team, self.collective, self.blocks = team, collective, blocks
        numbers = np.random.default_rng(0).standard_normal(1 << 20).astype(np.float32).astype(BF16)
        rows = m // team.size
        own = slice(team.rank * rows, (team.rank + 1) * rows)
        matrix = lambda shift, shape: np.resize(numbers[shift:], shape[0] * shape[1]).reshape(shape)
        self.grid = (-(-m // blocks["BLOCK_M"]) * -(-n // blocks["BLOCK_N"]),)
        self.sizes = (m, n, k, k, 1, n, 1, n, 1)
        self.own = slice(0, m) if collective != "reduce_scatter" else own
        gathers = collective == "all_gather"
        given = matrix(0 if gathers else 7 * team.rank, (m, k))
        self.a = team.zeros((m, k), BF16, name="a")
        self.a[own if gathers else slice(0, m)] = given[own if gathers else slice(0, m)]
        self.b = team.local_from_array(matrix(7 + team.rank, (k, n)))
        self.c, self.apart = team.zeros((m, n), BF16, name="c"), team.zeros((m, n), BF16, name="apart")
        self.out = team.local_empty((self.own.stop - self.own.start, n), BF16)
        if gathers:
            mine = team.local_from_array(given[own])
            self.operator = AllGatherGemm(team, m, n, k, "bf16")
            self.operate = lambda: self.operator(mine, self.b, m)
        else:
            self.operator = (GemmReduceScatter if collective == "reduce_scatter" else GemmAllReduce)(team, m, n, k, "bf16")
            self.operate = lambda: self.operator(self.a, self.b, m, out=self.out)
            self.sum = ReduceScatter(team, m, n, "bf16") if collective == "reduce_scatter" else AllReduce(team, m * n, "bf16")

    def run(self, kernel, c):
        kernel[self.grid](self.a, self.b, c, *self.sizes, **self.blocks)

    def one_after_the_other(self, kernel):
        """The kernel and the collective. Returns where the result is."""
        if self.collective == "all_gather":
            own = slice(self.own.stop // self.team.size * self.team.rank, self.own.stop // self.team.size * (self.team.rank + 1))
            for distance in range(1, self.team.size):
                peer = (self.team.rank - distance) % self.team.size
                self.team.stream.copy(self.a.peer(peer)[own], self.a[own])
            self.team.stream.barrier()
            self.run(kernel, self.apart)
            return self.apart
        self.run(kernel, self.apart)
        if self.collective == "reduce_scatter":
            self.sum(self.apart, self.sizes[0], out=self.out)
        else:
            self.sum(self.apart, out=self.out)
        return self.out

    def derived(self, kernel, bands):
        side, over = ("consumer", "a_ptr") if self.collective == "all_gather" else ("producer", "c_ptr")
        return tandem.overlap(collective=self.collective, over=over, bands=bands, **{side: kernel})

    def forget_peers_rows(self):
        if self.collective == "all_gather":
            rows = self.sizes[0] // self.team.size
            for peer in set(range(self.team.size)) - {self.team.rank}:
                self.a[peer * rows : (peer + 1) * rows] = np.zeros((rows, self.sizes[2]), BF16)
        self.team.synchronize()
        self.team.barrier()

    def close(self):
        self.operator.close()
        if self.collective != "all_gather":
            self.sum.close()


def bits(x):
    return np.array(x).view(np.uint16)


def measure(case, time):
    team, row = case.team, {"operator": time(case.operate)}
    for kernel in (grouped, described):
        name = kernel.__name__
        row[f"{name}, alone"] = time(lambda: case.run(kernel, case.apart))
        row[f"{name}, one after the other"] = time(lambda: case.one_after_the_other(kernel))
        result = case.one_after_the_other(kernel)
        team.synchronize()
        want = bits(result)
        for bands in (1, 2, 4):
            derived = case.derived(kernel, bands)
            case.forget_peers_rows()
            case.run(derived, case.c)
            team.synchronize()
            if not np.array_equal(bits(case.c)[case.own], want):
                raise AssertionError(f"{case.collective} {case.sizes[:3]}: `{name}` with {bands} chunks is wrong on rank {team.rank}")
            row[f"{name}, {bands}"] = time(lambda: case.run(derived, case.c))
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collectives", nargs="*", default=list(SHAPES), metavar="COLLECTIVE", help=", ".join(SHAPES))
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--simulated", action="store_true")
    options = parser.parse_args()
    tiles = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP": 8}
    small = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32, "GROUP": 8}

    def on_rank(team):
        def time(call):
            call()
            if options.simulated:
                return None
            call()
            team.synchronize()
            team.barrier()
            events = []
            for _ in range(7):
                team.stream.barrier()
                begin = team.stream.record_time()
                call()
                events.append((begin, team.stream.record_time()))
            return round(statistics.median(team.stream.microseconds(*pair) for pair in events), 1)

        for collective in options.collectives:
            for m, n, k in [(128, 64, 32)] if options.simulated else SHAPES[collective]:
                case = Case(team, collective, m, n, k, small if options.simulated else tiles)
                row = measure(case, time)
                case.close()
                if team.rank == 0:
                    print(json.dumps({"collective": collective, "m": m, "n": n, "k": k, "us": row}), flush=True)
                team.barrier()

    target = {} if options.simulated else {"target": "cuda", "wait_timeout": 20}
    tandem.launch(on_rank, ranks=options.ranks, **target)


main()
