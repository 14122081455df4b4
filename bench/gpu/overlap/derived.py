"""Times what `tandem.overlap` derives from plain products, on two GPUs or more of a host, against the hand-written operators and NCCL.

    python bench/gpu/overlap/derived.py [--ranks 2] [--all] [--drawn COUNT --seed SEED] [--simulated] [COLLECTIVE...]

Beside each derived kernel, in the plan that the model chooses, with 1, 2 and 4 chunks a rank and by loads, are the operator, the kernel
alone, the kernel after or before Tandem's collective, and after or before NCCL's, where PyTorch is. Derived results are compared bit by bit
with those of the kernel and the collective one after the other. A JSON line for each shape: microseconds of rank 0 between two events, the
median of seven times eight calls in a row that the host has queued meanwhile, and under `single` of seven calls by themselves;
`predicted` is the model's.
`--all` takes all shapes, which is several minutes; `--drawn` so many that are drawn by the seed for each collective, in the model's plan
and without NCCL; `--simulated` only compares, on small shapes.
"""

import argparse
import json
import pathlib
import sys
import tempfile
import time

import numpy as np

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import AllGatherGemm, AllReduce, GemmAllReduce, GemmReduceScatter, ReduceScatter

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "python/test"))
from ahead import Timer
from plain_products import described, grouped
from processes import Processes, free_port

BF16 = as_dtype("bf16")
TIMEOUT_S = 300
# M of all ranks, N and K of a rank; the first of each are those of a short run.
SHORT = {"all_gather": 3, "reduce_scatter": 2, "all_reduce": 2}
SHAPES = {
    "all_gather": [
        (1024, 7168, 8192),
        (8192, 2048, 8192),
        (8192, 1024, 12288),
        (4096, 7168, 8192),
        (8192, 7168, 8192),
        (8192, 2048, 28672),
        (8192, 896, 14336),
        (8192, 1152, 36864),
        (8192, 1024, 14336),
        (8192, 2048, 30720),
    ],
    "reduce_scatter": [
        (1024, 8192, 7168),
        (8192, 8192, 2048),
        (4096, 8192, 7168),
        (8192, 8192, 7168),
        (8192, 12288, 1024),
        (8192, 14336, 896),
    ],
    "all_reduce": [(128, 8192, 7168), (512, 8192, 7168), (4096, 8192, 7168)],
}
PLANS = None, 1, 2, 4, "loads"
RATE = 650e6  # operations of a microsecond, of which shapes are drawn that take 50 to 600
ROWS_OF_SUMS = 1, 512  # all_reduce: few rows, of one layer's size or another


def drawn(collective, count, seed):
    """Shapes on no list."""
    numbers = np.random.default_rng([seed, list(SHAPES).index(collective)])
    between = lambda low, high, step: max(round(np.exp(numbers.uniform(np.log(low), np.log(high))) / step), 1) * step
    shapes = []
    while len(shapes) < count:
        step = 128 if len(shapes) % 2 else 16
        if collective == "all_reduce":
            shapes.append((between(*ROWS_OF_SUMS, 1), between(2048, 12288, 8 * step), between(1024, 16384, 64)))
            continue
        m, n, k = between(512, 8192, 2 * step), between(1024, 12288, step), between(1024, 16384, 64)
        if 50 < 2 * m * n * k / RATE < 600:
            shapes.append((m, n, k))
    return shapes


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
        self.left, self.right = matrix(0 if gathers else 7 * team.rank, (m, k)), matrix(7 + team.rank, (k, n))
        self.mine = own if gathers else slice(0, m)
        self.a = team.zeros((m, k), BF16, name="a")
        self.a[self.mine] = self.left[self.mine]
        self.b = team.local_from_array(self.right)
        self.c, self.apart = team.zeros((m, n), BF16, name="c"), team.zeros((m, n), BF16, name="apart")
        self.out = team.local_empty((self.own.stop - self.own.start, n), BF16)
        if gathers:
            mine = team.local_from_array(self.left[own])
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
            for distance in range(1, self.team.size):
                peer = (self.team.rank - distance) % self.team.size
                self.team.stream.copy(self.a.peer(peer)[self.mine], self.a[self.mine])
            self.team.stream.barrier()
            self.run(kernel, self.apart)
            return self.apart
        self.run(kernel, self.apart)
        if self.collective == "reduce_scatter":
            self.sum(self.apart, self.sizes[0], out=self.out)
        else:
            self.sum(self.apart, out=self.out)
        return self.out

    def by_nccl(self, torch):
        """A function of a kernel: it and NCCL's collective, on tensors of PyTorch."""
        dist, (m, n, k) = torch.distributed, self.sizes[:3]
        tensor = lambda array: torch.from_numpy(array.view(np.int16)).view(torch.bfloat16).cuda()
        right, mine, result = tensor(self.right), tensor(self.left[self.mine]), torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
        whole = torch.empty(m, k, dtype=torch.bfloat16, device="cuda") if self.collective == "all_gather" else mine
        share = torch.empty(m // self.team.size, n, dtype=torch.bfloat16, device="cuda")

        def call(kernel):
            if self.collective == "all_gather":
                dist.all_gather_into_tensor(whole, mine)
            kernel[self.grid](whole, right, result, *self.sizes, **self.blocks)
            if self.collective == "reduce_scatter":
                dist.reduce_scatter_tensor(share, result)
            elif self.collective == "all_reduce":
                dist.all_reduce(result)

        return call

    def derived(self, kernel, plan):
        side, over = ("consumer", "a_ptr") if self.collective == "all_gather" else ("producer", "c_ptr")
        given = {"path": "loads"} if plan == "loads" else {"bands": plan, "path": "copies"} if plan else {}
        return tandem.overlap(collective=self.collective, over=over, **given, **{side: kernel})

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


def predicted(text):
    return float(text.split("\n")[-1].split()[0])


def measure(case, time, torch, plans):
    team, row = case.team, {"operator": time(case.operate)}
    nccl = case.by_nccl(torch) if torch else None
    for kernel in (grouped, described):
        name = kernel.__name__
        row[f"{name}, alone"] = time(lambda: case.run(kernel, case.apart))
        row[f"{name}, one after the other"] = time(lambda: case.one_after_the_other(kernel))
        if nccl:
            row[f"{name}, NCCL"] = time(lambda: nccl(kernel))
        result = case.one_after_the_other(kernel)
        team.synchronize()
        want = bits(result)
        for plan in plans:
            derived = case.derived(kernel, plan)
            case.forget_peers_rows()
            for _ in range(3):  # queued, captured, replayed
                case.run(derived, case.c)
                team.synchronize()
                if not np.array_equal(bits(case.c)[case.own], want):
                    raise AssertionError(f"{case.collective} {case.sizes[:3]}: `{name}` in the plan {plan} is wrong on rank {team.rank}")
            row[f"{name}, {plan or 'by the model'}"] = time(lambda: case.run(derived, case.c))
            if plan is None:
                text = derived.explain(case.a, case.b, case.c, *case.sizes, **case.blocks, grid=case.grid)
                row[f"{name}, predicted"] = predicted(text)
    return row


def timer(team):
    """A function from a call to its microseconds in a row and by itself."""
    times = Timer(team)
    return lambda call: {"us": times.in_a_row(call), "single": times.single(call)}


def on_rank(team, options, torch=None):
    tiles = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP": 8}
    small = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32, "GROUP": 8}
    time = (lambda call: call()) if options.simulated else timer(team)
    for collective in options.collectives:
        shapes = SHAPES[collective] if options.all else SHAPES[collective][: SHORT[collective]]
        shapes = [(128, 64, 32)] if options.simulated else drawn(collective, options.drawn, options.seed) if options.drawn else shapes
        for m, n, k in shapes:
            case = Case(team, collective, m, n, k, small if options.simulated else tiles)
            row = measure(case, time, None if options.drawn else torch, PLANS[:1] if options.drawn else PLANS)
            case.close()
            if team.rank == 0:
                shown = {} if options.simulated else {"times": row}
                print(json.dumps({"collective": collective, "m": m, "n": n, "k": k, **shown}), flush=True)
            team.barrier()


def as_one_rank(options):
    """This process is a rank on a GPU, with NCCL beside it where PyTorch is."""
    try:
        import torch
        import torch.distributed as dist
    except ImportError:
        torch = None
    team = tandem.init(wait_timeout=20)
    if torch:
        torch.cuda.set_device(team.device)
        store = dist.TCPStore("127.0.0.1", options.port, team.size, team.rank == 0)
        dist.init_process_group("nccl", store=store, rank=team.rank, world_size=team.size, device_id=torch.device("cuda", team.device))
        # One queue for all, so that one pair of events times each of them.
        torch.cuda.set_stream(torch.cuda.ExternalStream(team.stream.cuda_stream))
    on_rank(team, options, torch)
    if torch:
        dist.destroy_process_group()


def on_gpus(options):
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--port", free_port(), *sys.argv[1:]]
        ranks = Processes(options.ranks, pathlib.Path(__file__).resolve(), arguments, f"{folder}/derived")
        deadline, shown = time.monotonic() + TIMEOUT_S, 0
        while None in ranks.codes() and time.monotonic() < deadline and not any(ranks.codes()):
            time.sleep(0.2)
            lines = pathlib.Path(ranks.logs[0]).read_text().splitlines(keepends=True)
            for line in lines[shown:]:
                print(line, end="", flush=True)
            shown = len(lines)
        failed = any(ranks.codes()) or None in ranks.codes()
        ranks.kill()
        print("".join(pathlib.Path(ranks.logs[0]).read_text().splitlines(keepends=True)[shown:]), end="")
        if failed:
            sys.exit(ranks.tails())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collectives", nargs="*", default=list(SHAPES), metavar="COLLECTIVE", help=", ".join(SHAPES))
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--drawn", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.simulated:
        tandem.launch(on_rank, ranks=options.ranks, args=(options,))
    elif options.port:
        as_one_rank(options)
    else:
        on_gpus(options)


if __name__ == "__main__":
    main()
