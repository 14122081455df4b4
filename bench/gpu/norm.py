"""Times AllReduce + residual + RMSNorm beside AllReduce alone on the GPUs of a host, and checks it against float64.

    python -m torch.distributed.run --nproc-per-node 2 bench/gpu/norm.py [--drawn 12] [--seed 1]

A JSON line of rank 0 for each shape, bf16: microseconds of a call, of 20 in a CUDA graph on the slowest rank. `whole_rows` is the norm with
one program a row, where more programs would divide them. Shapes are those of the list and drawn ones.
"""

import argparse
import json
import os
import random

import torch
import torch.distributed as dist

import tandem.torch as tt

SHAPES = [(1, 8192), (6, 8192), (7, 5120), (16, 8192), (17, 8192), (16, 4096), (64, 4096), (64, 8192), (6, 4096), (6, 2048)]
DRAWN_COLUMNS = [1536, 2048, 2880, 3584, 4096, 5120, 6144, 7168, 8192, 12288, 16384]
MOST_WHOLE = 66  # rows: more have one program each on a GPU of 132 multiprocessors
CALLS, REPLAYS = 20, 40


def in_graph(function):
    for _ in range(2):
        function()
    torch.cuda.synchronize()
    dist.barrier()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
        for _ in range(CALLS):
            function()
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    dist.barrier()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(REPLAYS + 1)]
    marks[0].record()
    for mark in marks[1:]:
        graph.replay()
        mark.record()
    torch.cuda.synchronize()
    times = torch.tensor([a.elapsed_time(b) * 1000 / CALLS for a, b in zip(marks, marks[1:])], device="cuda").sort().values
    slowest = times[REPLAYS // 2].clone()
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    return round(slowest.item(), 2)


def error_of(x, residual, weight, **options):
    """Of the norm, relative; residuals must have all_reduce's bits."""
    kept = residual.clone()
    out = tt.all_reduce_norm(x, kept, weight, eps=1e-5, **options)
    new = tt.all_reduce(x) + residual
    if not torch.equal(kept, new):
        raise AssertionError(f"{list(x.shape)}: another residual")
    want = torch.nn.functional.rms_norm(new.double(), (x.shape[1],), weight.double(), 1e-5)
    return round(((out.double() - want).norm() / want.norm()).item(), 5)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drawn", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    tt.init(wait_timeout=20)
    random.seed(given.seed)
    drawn = [(int(2 ** random.uniform(0, 9)), random.choice(DRAWN_COLUMNS)) for _ in range(given.drawn)]
    for m, columns in [*SHAPES, *drawn]:
        x, residual = (torch.randn(m, columns, device="cuda").bfloat16() for _ in range(2))
        weight = torch.randn(columns, device="cuda").bfloat16()
        dist.broadcast(residual, 0)
        dist.broadcast(weight, 0)
        row = {"m": m, "columns": columns, "error": error_of(x, residual, weight)}
        row["all_reduce"] = in_graph(lambda: tt.all_reduce(x))
        row["norm"] = in_graph(lambda: tt.all_reduce_norm(x, residual, weight, eps=1e-5))
        if m <= MOST_WHOLE:
            row["whole_rows"] = in_graph(lambda: tt.all_reduce_norm(x, residual, weight, eps=1e-5, programs=m))
        if dist.get_rank() == 0:
            print(json.dumps(row), flush=True)
    tt.release()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
