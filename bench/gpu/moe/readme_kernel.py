"""The all-to-all kernel of Triton-distributed's README, unchanged, beside EpDispatch: the same tokens on the same GPUs in one run.

    python bench/gpu/moe/readme_kernel.py [--text README.md] [--ranks 2] [--simulated]

Both bring rows of fp8 with their scales to the ranks of the tokens' experts. The README's kernel gets rows that are quantised and sorted by
expert, one for each slot, with a scale a row; EpDispatch gets bf16 tokens and their ids, quantises on the way with a scale for 128
elements, sends a row once a rank, and makes the route. Both results are compared with NumPy's. A JSON line for each number of tokens: bytes
that leave a rank, and microseconds of a call, of 20 in a CUDA graph, on the slowest rank. `--simulated` only compares, small ones. The
README's kernel is not part of this repository: `--text` has it, else the texts beside the repository are searched.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import numpy as np

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import EpDispatch, route_parts

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "test/kernels"))
from readme_text import kernel_of, published_text

CALLS, REPLAYS = 20, 20


class Tokens:
    """`m` tokens of each rank: small integers, so that quantised ones are exact where a row has a 7."""

    def __init__(self, m, columns, experts, top_k, ranks):
        draw = np.random.default_rng(m)
        self.m, self.columns, self.experts, self.top_k, self.ranks, self.local = m, columns, experts, top_k, ranks, experts // ranks
        self.x = draw.integers(-6, 7, (ranks, m, columns)).astype(np.float32)
        self.x[:, :, ::64] = 7
        self.ids = draw.random((ranks, m, experts)).argsort(2)[:, :, :top_k].astype(np.int32)

    def sorted_rows(self, rank):
        """The README's: a row in fp8 for each slot, by expert, its scale, and how many each expert gets."""
        expert = self.ids[rank].reshape(-1)
        order = np.argsort(expert, kind="stable")
        rows = (self.x[rank] * 64).astype(as_dtype("fp8e4nv")).view(np.uint8)[order // self.top_k]
        scales = np.arange(len(order), dtype=np.float32)[order] / 64
        return rows, scales, np.bincount(expert, minlength=self.experts).astype(np.int32)

    def away(self, rank):
        """Slots, and tokens once a rank, that leave a rank."""
        owner = self.ids[rank] // self.local
        others = [peer for peer in range(self.ranks) if peer != rank]
        return sum(int((owner == peer).sum()) for peer in others), sum(int((owner == peer).any(1).sum()) for peer in others)


class Theirs:
    def __init__(self, team, tokens, kernel):
        self.team, self.tokens, self.kernel, self.most = team, tokens, kernel, tokens.m * tokens.top_k
        shape = (2, team.size, self.most)
        self.rows, self.received = (team.zeros((*of, tokens.columns), "uint8") for of in ((self.most,), shape))
        self.scales, self.received_scales = (team.zeros(of, "float32") for of in ((self.most,), shape))
        self.splits, self.received_splits = (team.zeros(of, "int32") for of in ((tokens.experts,), (2, team.size, tokens.local)))
        self.signal = team.zeros((2, team.size), "uint64")
        rows, scales, splits = tokens.sorted_rows(team.rank)
        self.rows[...], self.scales[...] = rows, scales
        self.starts = team.local_from_array(np.concatenate([[0], np.cumsum(splits)]).astype(np.int32))

    def call(self, number, **where):
        tokens, team = self.tokens, self.team
        sent = (self.rows, self.received, self.splits, self.received_splits, self.signal, self.starts, self.scales, self.received_scales)
        sizes = (team.size, tokens.columns, self.most, tokens.local, tokens.experts)
        self.kernel[(team.size,)](*sent, team.rank, number, True, *sizes, ELEMENT_SIZE=1, num_warps=32, **where)

    def check(self, number):
        tokens, mine = self.tokens, slice(self.team.rank * self.tokens.local, (self.team.rank + 1) * self.tokens.local)
        for source in range(self.team.size):
            rows, scales, splits = tokens.sorted_rows(source)
            first, count = splits[: mine.start].sum(), splits[mine].sum()
            for found, want in ((self.received, rows), (self.received_scales, scales)):
                if not np.array_equal(np.array(found[number % 2, source, : int(count)]), want[first : first + count]):
                    raise AssertionError(f"the README's kernel: rank {self.team.rank} got other rows of rank {source}")
            np.testing.assert_array_equal(np.array(self.received_splits[number % 2, source]), splits[mine])


class Ours:
    def __init__(self, team, tokens):
        self.team, self.tokens = team, tokens
        self.operator = EpDispatch(team, tokens.m, tokens.columns, tokens.experts, tokens.top_k, "bf16", quantised=True)
        x, ids, weights = tokens.x[team.rank].astype(as_dtype("bf16")), tokens.ids[team.rank], np.ones(tokens.ids[0].shape, np.float32)
        self.given = [team.local_from_array(a) for a in (x, ids, weights)]
        self.out, self.route, self.out_scales = self.operator(*self.given, tokens.m)

    def call(self, number, **where):
        self.operator(*self.given, self.tokens.m, out=self.out, route=self.route, out_scales=self.out_scales, **where)

    def check(self, number):
        tokens, team = self.tokens, self.team
        parts = route_parts(self.route, team.size * tokens.m, tokens.local, tokens.top_k)
        want = np.zeros((team.size, tokens.m), bool)
        for source in range(team.size):
            want[source] = (tokens.ids[source] // tokens.local == team.rank).any(1)
        rows = np.flatnonzero(want)
        assert np.array_equal(np.unique(parts.order // tokens.top_k), rows), f"dispatch: rank {team.rank} has other tokens"
        truth = (tokens.x.reshape(-1, tokens.columns) * 64).astype(as_dtype("fp8e4nv"))
        for row in map(int, rows):
            if np.array(self.out[row]).tobytes() != truth[row].tobytes():
                raise AssertionError(f"dispatch: rank {team.rank} has another row {row}")


def timed(team, side, first):
    """Microseconds of a call on this rank: the median over replays of a graph of 20."""
    import torch

    side.call(first)
    team.barrier()
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        for number in range(first + 1, first + 1 + CALLS):
            side.call(number, stream=stream)
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    team.barrier()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(REPLAYS + 1)]
    marks[0].record()
    for mark in marks[1:]:
        graph.replay()
        mark.record()
    torch.cuda.synchronize()
    team.barrier()
    side.check(first + CALLS)
    return round(sorted(a.elapsed_time(b) * 1000 / CALLS for a, b in zip(marks, marks[1:]))[REPLAYS // 2], 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--simulated", action="store_true")
    options = parser.parse_args()
    text = published_text([options.text] if options.text else None)
    if text is None:
        raise SystemExit("no text of the README's kernel: give it by `--text`")
    tandem.compat.install()
    kernel = kernel_of(text, tempfile.mkdtemp())

    def on_rank(team):
        for m, columns, each, top_k in [(8, 256, 4, 2)] if options.simulated else [(m, 7168, 128, 8) for m in (1, 16, 64, 128)]:
            tokens = Tokens(m, columns, each * team.size, top_k, team.size)
            slots, once = tokens.away(team.rank)
            row = {"tokens": m, "columns": columns, "experts": tokens.experts, "top_k": top_k}
            row |= {"readme_bytes": slots * (columns + 4), "dispatch_bytes": once * (columns + columns // 32)}
            sides = {"readme": Theirs(team, tokens, kernel), "dispatch": Ours(team, tokens)}
            for name, side in sides.items():
                for number in (1, 2):
                    side.call(number)
                    team.barrier()  # the README's signal comes with the scales alone and does not cover what was put before it
                    side.check(number)
                if not options.simulated:
                    row[f"{name}_us"] = max(team.gather(timed(team, side, 3)))
            sides["dispatch"].operator.close()
            sides["readme"].signal[...] = 0
            if team.rank == 0:
                print(json.dumps(row), flush=True)
            team.barrier()

    tandem.launch(on_rank, ranks=options.ranks, **({} if options.simulated else {"target": "cuda", "wait_timeout": 20}))


if __name__ == "__main__":
    main()
