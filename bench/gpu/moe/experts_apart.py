"""Checks and times dispatch and combine of expert parallelism on the GPUs of a host, beside NCCL's all-to-all with PyTorch's sorting.

    python -m torch.distributed.run --nproc-per-node 2 bench/gpu/moe/experts_apart.py [--rows 128] [--columns 7168] [--options pieces=2]

JSON lines of rank 0; times in microseconds of a call, of 20 in a CUDA graph on the slowest rank. NCCL is told how many rows go where.
"""

import argparse
import json
import os

import torch
import torch.distributed as dist

import tandem.torch as tt
from tandem.ops import route_parts

CALLS, REPLAYS = 20, 20


def in_graph(function, replays=REPLAYS):
    """Microseconds of a call on the slowest rank: the median over replays of 20 calls, and the 99th percentile."""
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
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(replays + 1)]
    marks[0].record()
    for mark in marks[1:]:
        graph.replay()
        mark.record()
    torch.cuda.synchronize()
    times = torch.tensor([a.elapsed_time(b) * 1000 / CALLS for a, b in zip(marks, marks[1:])], device="cuda").sort().values
    worst = times[[replays // 2, min(replays - 1, replays * 99 // 100)]]
    dist.all_reduce(worst, dist.ReduceOp.MAX)
    return [round(t, 2) for t in worst.tolist()]


def chosen(m, experts, top_k, rank):
    generator = torch.Generator("cuda").manual_seed(100 + rank)
    return torch.rand(m, experts, device="cuda", generator=generator).topk(top_k).indices.int()


def results_of(rows, route, tokens, local, top_k):
    """What this rank's experts make of the rows: expert e multiplies by 1 + e % 3. In the route's order."""
    parts = route_parts(route.cpu().numpy(), tokens, local, top_k)
    if (parts.counts < 0).any() or (parts.order < 0).any() or (parts.order >= tokens * top_k).any():
        raise ValueError(f"a route that is none: {route.tolist()}")
    slots = torch.from_numpy(parts.order.copy()).cuda().long()
    expert = torch.repeat_interleave(torch.arange(local, device="cuda"), torch.from_numpy(parts.counts.copy()).cuda().long())
    h = torch.full((tokens * top_k, rows.shape[1]), float("nan"), device="cuda", dtype=torch.bfloat16)
    h[: len(slots)] = rows[slots // top_k].bfloat16() * (1 + (expert + dist.get_rank() * local) % 3)[:, None].bfloat16()
    return h, slots


def theirs(x, ids, weights, experts):
    """Dispatch and combine of NCCL: rows sorted by rank, one for each slot."""
    ranks, top_k = dist.get_world_size(), ids.shape[1]
    to = (ids // (experts // ranks)).flatten().long()
    counts = torch.bincount(to, minlength=ranks)
    back = torch.empty_like(counts)
    dist.all_to_all_single(back, counts)
    sent, got = counts.tolist(), back.tolist()
    came = torch.empty(sum(got), x.shape[1], device="cuda", dtype=x.dtype)
    came_ids = torch.empty(sum(got), device="cuda", dtype=torch.int32)
    returned = torch.empty(sum(sent), x.shape[1], device="cuda", dtype=x.dtype)

    def dispatch():
        order = to.argsort(stable=True)
        dist.all_to_all_single(came_ids, ids.flatten()[order], got, sent)
        dist.all_to_all_single(came, x[order // top_k], got, sent)
        came_ids.argsort(stable=True)

    order = to.argsort(stable=True)

    def combine():
        dist.all_to_all_single(returned, came, sent, got)
        sums = torch.zeros(x.shape, device="cuda")
        return sums.index_add_(0, order // top_k, returned.float() * weights.flatten()[order, None]).bfloat16()

    return dispatch, combine


def measured(m, columns, experts, top_k, options, with_theirs, replays):
    rank, ranks = dist.get_rank(), dist.get_world_size()
    local, tokens = experts // ranks, ranks * m
    torch.manual_seed(rank)
    x = torch.randint(-8, 9, (m, columns), device="cuda").bfloat16()
    ids, weights = chosen(m, experts, top_k, rank), torch.randint(1, 5, (m, top_k), device="cuda") / 4
    row = {"rows": m, "columns": columns, "experts": experts, "top_k": top_k, "ranks": ranks, "options": options}
    everyone = [torch.empty_like(x) for _ in range(ranks)]
    dist.all_gather(everyone, x)
    quantised = "quantised" in options
    less = {name: value for name, value in options.items() if name != "quantised"}
    rows, *more = tt.ep_dispatch(x, ids, weights, m, experts, **options)
    route, words = more[0], {"out": rows, "route": more[0]}
    if quantised:
        words["out_scales"] = more[1]
        rows = (rows.float().unflatten(1, (-1, 128)) * more[1][:, :, None]).flatten(1)
    h, slots = results_of(rows, route, tokens, local, top_k)
    came = torch.cat(everyone)[slots // top_k].float()
    row["rows_error"] = round(((rows[slots // top_k].float() - came).norm() / came.norm()).item(), 5)
    out = tt.ep_combine(h, route, ids, m, experts, **less)
    want = x.double() * (weights * (1 + ids % 3)).sum(1, keepdim=True)
    row["error"] = round(((out.double() - want).norm() / want.norm()).item(), 5)
    row["dispatch"], row["dispatch_p99"] = in_graph(lambda: tt.ep_dispatch(x, ids, weights, m, experts, **words, **options), replays)
    row["combine"], row["combine_p99"] = in_graph(lambda: tt.ep_combine(h, route, ids, m, experts, out=out, **less), replays)
    if with_theirs:
        dispatch, combine = theirs(x, ids, weights, experts)
        row["nccl_dispatch"], _ = in_graph(dispatch)
        row["nccl_combine"], _ = in_graph(combine)
    if rank == 0:
        print(json.dumps(row), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 16, 64, 128, 256, 512])
    parser.add_argument("--columns", type=int, nargs="+", default=[7168, 4096, 2048])
    parser.add_argument("--experts", type=int, default=256)
    parser.add_argument("--top-k", type=int, default=8)
    parser.add_argument("--replays", type=int, default=REPLAYS)
    parser.add_argument("--options", nargs="*", default=[""], help="each a variant: pieces=2,quantised=")
    parser.add_argument("--no-nccl", action="store_true")
    given = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    tt.init(wait_timeout=20)
    small = torch.ones(1024, device="cuda", dtype=torch.bfloat16)
    floor = in_graph(lambda: tt.all_reduce(small))
    if dist.get_rank() == 0:
        print(json.dumps({"gpu": torch.cuda.get_device_name(), "all_reduce_2kb": floor[0]}), flush=True)
    for columns in given.columns:
        for m in given.rows:
            for variant in given.options:
                given_options = (part.split("=") for part in variant.split(",") if part)
                options = {name: int(value) if value else True for name, value in given_options}
                measured(m, columns, given.experts, given.top_k, options, not given.no_nccl and variant == given.options[0], given.replays)
        tt.release()
    dist.barrier()
    dist.destroy_process_group()


main()
