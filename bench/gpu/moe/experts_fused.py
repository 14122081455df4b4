"""Checks and times expert parallelism with the products in it, on the GPUs of a host: dispatch with the first product, the second one with
combine, beside the same one behind the other, and what bounds them.

    python -m torch.distributed.run --nproc-per-node 2 bench/gpu/moe/experts_fused.py [qwen3_30b ...] [--rows 8192]

JSON lines of rank 0; times in microseconds of a call, of three in CUDA graphs that take turns, on the slowest rank. `dense` is cuBLAS on as
many rows as the blocks of 128 have, `link` what the bytes that travel take at the copy engine's rate, `memory` what is read and written at
a kernel's. `up_sorted` is the product of rows that stand in the route's order.
"""

import argparse
import json
import os
import statistics

import torch
import torch.distributed as dist
import torch.nn.functional as F
from experts_apart import chosen, in_graph, link_rate

import tandem.torch as tt
from tandem.ops import route_parts

# hidden, inner, experts, top_k
LAYERS = {
    "qwen3_30b": (2048, 768, 128, 8),
    "deepseek_v3": (7168, 2048, 256, 8),
    "moe_2": (2048, 1536, 32, 2),
    "mixtral": (4096, 14336, 8, 2),
}
CHECKED = 8


def matrices(expert, hidden, inner):
    """Of one expert, the same on every rank: gate and up rows, and down."""
    generator = torch.Generator("cuda").manual_seed(expert)
    up = torch.randn(2 * inner, hidden, device="cuda", generator=generator) * hidden**-0.5
    down = torch.randn(hidden, inner, device="cuda", generator=generator) * inner**-0.5
    return up.bfloat16(), down.bfloat16()


def wanted(x, ids, weights, hidden, inner):
    """The layer on the first tokens, in float64."""
    out = torch.zeros(CHECKED, hidden, device="cuda", dtype=torch.float64)
    for token in range(min(CHECKED, len(x))):
        for expert, weight in zip(ids[token].tolist(), weights[token].tolist()):
            up, down = (w.double() for w in matrices(expert, hidden, inner))
            gate, value = (up @ x[token].double()).chunk(2)
            out[token] += weight * (down @ (F.silu(gate) * value))
    return out[: len(x)]


def copy_rate(of_bytes=1 << 30):
    """GB/s of memory, read and written by a kernel: a captured copy is a copy engine's, at two thirds of that."""
    a, b = (torch.zeros(of_bytes // 4, dtype=torch.int32, device="cuda") for _ in range(2))
    return 2 * of_bytes / in_graph(lambda: torch.bitwise_not(a, out=b), 5, 4)[0] / 1e3


def in_turns(functions, replays, calls):
    """Microseconds of a call of each on the slowest rank, of `calls` in a graph. Graphs take turns, as a card at its power's limit has
    another clock from one moment to the next."""
    graphs = {}
    for name, function in functions.items():
        for _ in range(2):
            function()
        torch.cuda.synchronize()
        dist.barrier()
        graphs[name] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[name], stream=torch.cuda.Stream()):
            for _ in range(calls):
                function()
    marks = {name: [] for name in functions}
    for _ in range(replays + 2):
        for name, graph in graphs.items():
            marks[name].append([torch.cuda.Event(enable_timing=True) for _ in range(2)])
            marks[name][-1][0].record()
            graph.replay()
            marks[name][-1][1].record()
    torch.cuda.synchronize()
    medians = [statistics.median(a.elapsed_time(b) * 1000 / calls for a, b in each[2:]) for each in marks.values()]
    slowest = torch.tensor(medians, device="cuda")
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    return {name: round(us, 1) for name, us in zip(functions, slowest.tolist())}


def measured(name, m, rates, replays, calls):
    hidden, inner, experts, top_k = LAYERS[name]
    rank, ranks = dist.get_rank(), dist.get_world_size()
    local = experts // ranks
    torch.manual_seed(rank)
    x, ids = torch.randn(m, hidden, device="cuda").bfloat16(), chosen(m, experts, top_k, rank)
    weights = torch.rand(m, top_k, device="cuda")
    pairs = [matrices(expert, hidden, inner) for expert in range(rank * local, (rank + 1) * local)]
    up, down = (torch.stack([pair[i] for pair in pairs]) for i in range(2))
    del pairs
    h, route = tt.dispatch_moe(x, ids, weights, up, max_m=m, experts=experts, gated=True)
    out = tt.moe_combine(h, down, route, m=m, max_m=m, experts=experts, top_k=top_k)
    want = wanted(x, ids, weights, hidden, inner)
    error = ((out[:CHECKED].double() - want).norm() / want.norm()).item()
    counts = torch.from_numpy(route_parts(route.cpu().numpy(), ranks * m, local, top_k).counts.copy())
    rows, blocks = int(counts.sum()), int((-(-counts // 128)).sum())
    row = {"layer": name, "rows": m, "ranks": ranks, "rows_here": rows, "blocks": blocks, "error": round(error, 5)}
    first = out.clone()
    everyone = torch.empty(ranks * m, hidden, device="cuda", dtype=x.dtype)
    dist.all_gather_into_tensor(everyone, x)
    held = tt.init().empty((ranks * m, hidden), "bf16")
    g = torch.randn(ranks * m * top_k, hidden, device="cuda", dtype=x.dtype)
    tall = torch.randn(blocks * 128, max(hidden, inner), device="cuda").bfloat16().view(-1)
    wide, narrow = (tall[: blocks * 128 * k].view(-1, k) for k in (hidden, inner))
    row |= in_turns(
        {
            "up": lambda: tt.dispatch_moe(x, ids, weights, up, max_m=m, experts=experts, gated=True, route=route, out=h),
            "up_product": lambda: tt.grouped_gemm(everyone, up, route, gated=True),
            "up_sorted": lambda: tt.grouped_gemm(g, up, route, m=ranks * m, gated=True, sorted=True),
            "dense_up": lambda: torch.mm(wide, up[0].T),
            "dispatch": lambda: tt.ep_dispatch(x, ids, weights, m, experts, symmetric_out=True, out=held.torch()),
            "down": lambda: tt.moe_combine(h, down, route, m=m, max_m=m, experts=experts, top_k=top_k, out=out),
            "down_product": lambda: tt.grouped_gemm(h, down, route, m=ranks * m, sorted=True),
            "dense_down": lambda: torch.mm(narrow, down[0].T),
            "combine": lambda: tt.ep_combine(g, route, ids, m, experts),
        },
        replays,
        calls,
    )
    row["same_bits"] = torch.equal(first, out)
    travel, link, memory = m * (ranks - 1) * hidden * 2, rates[0], rates[1]
    row["link"] = round(travel / link / 1e3, 1)
    row["memory_up"] = round((up.numel() + ranks * m * hidden + rows * inner) * 2 / memory / 1e3, 1)
    row["memory_down"] = round((down.numel() + rows * (inner + 2 * hidden) + m * hidden) * 2 / memory / 1e3, 1)
    torch.cuda.synchronize()
    held.free()
    if rank == 0:
        print(json.dumps(row), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("layers", nargs="*", default=["qwen3_30b", "deepseek_v3"])
    parser.add_argument("--rows", type=int, nargs="+", default=[8192])
    parser.add_argument("--replays", type=int, default=8)
    parser.add_argument("--calls", type=int, default=3)
    given = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    tt.init(wait_timeout=20)
    rate = torch.tensor([float(link_rate() or 0), copy_rate()], device="cuda")
    dist.all_reduce(rate, dist.ReduceOp.MAX)
    rates = rate.tolist()
    if dist.get_rank() == 0:
        print(json.dumps({"gpu": torch.cuda.get_device_name(), "link_gbs": rates[0], "copy_gbs": round(rates[1])}), flush=True)
    for name in given.layers:
        for m in given.rows:
            measured(name, m, rates, given.replays, given.calls)
            tt.release()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
