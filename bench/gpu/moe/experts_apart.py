"""Checks and times dispatch and combine of expert parallelism on the GPUs of a host, beside NCCL's all-to-all with PyTorch's sorting.

    python -m torch.distributed.run --nproc-per-node 2 bench/gpu/moe/experts_apart.py [--rows 128] [--columns 7168] [--options pieces=2]

JSON lines of rank 0; times in microseconds of a call, of 20 in a CUDA graph on the slowest rank. NCCL is told how many rows go where.
"""

import argparse
import json
import os
import random

import torch
import torch.distributed as dist

import tandem.torch as tt
from tandem.ops import route_parts

CALLS, REPLAYS = 20, 20


def in_graph(function, replays=REPLAYS, calls=CALLS):
    """Microseconds of a call on the slowest rank: the median over replays of 20 calls, and the 99th percentile."""
    for _ in range(2):
        function()
    torch.cuda.synchronize()
    dist.barrier()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
        for _ in range(calls):
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
    times = torch.tensor([a.elapsed_time(b) * 1000 / calls for a, b in zip(marks, marks[1:])], device="cuda").sort().values
    worst = times[[replays // 2, min(replays - 1, replays * 99 // 100)]]
    dist.all_reduce(worst, dist.ReduceOp.MAX)
    return [round(t, 2) for t in worst.tolist()]


def link_rate(of_bytes=256 << 20, copies=12):
    """GB/s of the copy engine, from rank 0's GPU to the next, of the quickest copy: the first ones may take three times as long."""
    if dist.get_rank():
        return None
    x, y = torch.empty(of_bytes, dtype=torch.uint8, device="cuda:0"), torch.empty(of_bytes, dtype=torch.uint8, device="cuda:1")
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(copies + 1)]
    marks[0].record()
    for mark in marks[1:]:
        y.copy_(x)
        mark.record()
    torch.cuda.synchronize()
    return round(of_bytes / min(a.elapsed_time(b) for a, b in zip(marks, marks[1:])) / 1e6)


def chosen(m, experts, top_k, rank):
    generator = torch.Generator("cuda").manual_seed(100 + rank)
    return torch.rand(m, experts, device="cuda", generator=generator).topk(top_k).indices.int()


def results_of(rows, route, tokens, local, top_k, by_expert, align):
    """What this rank's experts make of the rows: expert e multiplies by 1 + e % 3. At the route's places; and the slots that came, and
    where their rows are."""
    parts = route_parts(route.cpu().numpy(), tokens, local, top_k)
    if (parts.counts < 0).any() or (parts.order < 0).any() or (parts.order >= tokens * top_k).any():
        raise ValueError(f"a route that is none: {route.tolist()}")
    slots = torch.from_numpy(parts.order.copy()).cuda().long()
    expert = torch.repeat_interleave(torch.arange(local, device="cuda"), torch.from_numpy(parts.counts.copy()).cuda().long())
    places = torch.from_numpy(parts.place.copy()).cuda().long()[slots]
    at = places if by_expert else slots // top_k
    h = torch.full((tokens * top_k + align * local, rows.shape[1]), float("nan"), device="cuda", dtype=torch.bfloat16)
    h[places] = rows[at].bfloat16() * (1 + (expert + dist.get_rank() * local) % 3)[:, None].bfloat16()
    return h, slots, at


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


def summed_options(options):
    """Those of combine that go with `summed`."""
    return {name: value for name, value in options.items() if name != "align"}


def measured(m, columns, experts, top_k, options, with_theirs, given):
    rank, ranks = dist.get_rank(), dist.get_world_size()
    local, tokens = experts // ranks, ranks * m
    torch.manual_seed(rank)
    x = torch.randint(-8, 9, (m, columns), device="cuda").bfloat16()
    ids, weights = chosen(m, experts, top_k, rank), torch.randint(1, 5, (m, top_k), device="cuda") / 4
    row = {"rows": m, "columns": columns, "experts": experts, "top_k": top_k, "ranks": ranks, "options": options}
    away = sum((ids // local == peer).any(1).sum().item() for peer in range(ranks) if peer != rank)
    row["sent_bytes"] = away * columns * (1 if "quantised" in options else 2)
    everyone = [torch.empty_like(x) for _ in range(ranks)]
    dist.all_gather(everyone, x)
    quantised, by_expert, symmetric = (name in options for name in ("quantised", "by_expert", "symmetric_out"))
    less = {name: value for name, value in options.items() if name not in ("quantised", "by_expert", "symmetric_out")}
    held, given_out = [], {}
    if symmetric:
        team = tt.init()
        held = [team.empty((tokens, columns), "fp8e4nv" if quantised else "bf16")]
        held += [team.empty((tokens, -(-columns // 128)), "fp32")] if quantised else []
        given_out = dict(zip(("out", "out_scales"), (t.torch() for t in held)))
    rows, *more = tt.ep_dispatch(x, ids, weights, m, experts, **given_out, **options)
    route, words = more[0], {"out": rows, "route": more[0]}
    if by_expert:
        words["spans"] = more[-1]
    if quantised:
        words["out_scales"] = more[1]
        rows = (rows.float().unflatten(1, (-1, 128)) * more[1][:, :, None]).flatten(1)
    h, slots, at = results_of(rows, route, tokens, local, top_k, by_expert, options.get("align", 0))
    came = torch.cat(everyone)[slots // top_k].float()
    row["rows_error"] = round(((rows[at].float() - came).norm() / came.norm()).item(), 5)
    out = tt.ep_combine(h, route, ids, m, experts, **less)
    want = x.double() * (weights * (1 + ids % 3)).sum(1, keepdim=True)
    row["error"] = round(((out.double() - want).norm() / want.norm()).item(), 5)
    # A captured call gives what the first one gave.
    used, timed, sums = at.unique(), (given.replays, given.calls), out.clone()
    before = words["out"].view(torch.uint8)[used]
    words["out"].view(torch.uint8).fill_(0xFF)
    # Behind a kernel that has weighed and summed, combine has a row for each token.
    summed = torch.randn(tokens, columns, device="cuda").bfloat16()
    row["combine_summed"], _ = in_graph(lambda: tt.ep_combine(summed, route, ids, m, experts, summed=True, **summed_options(less)), *timed)
    row["dispatch"], row["dispatch_p99"] = in_graph(lambda: tt.ep_dispatch(x, ids, weights, m, experts, **words, **options), *timed)
    row["combine"], row["combine_p99"] = in_graph(lambda: tt.ep_combine(h, route, ids, m, experts, out=out, **less), *timed)
    row["same_bits"] = torch.equal(words["out"].view(torch.uint8)[used], before) and torch.equal(out, sums)
    if with_theirs:
        dispatch, combine = theirs(x, ids, weights, experts)
        row["nccl_dispatch"], _ = in_graph(dispatch)
        row["nccl_combine"], _ = in_graph(combine)
    torch.cuda.synchronize()
    for tensor in held:
        tensor.free()
    if rank == 0:
        print(json.dumps(row), flush=True)


def stress(calls, name, options, most=64, columns=512, experts=16, top_k=4):
    """Calls with any number of tokens on each rank, then replays of a captured pair with other tokens: how many results are wrong. In fp32
    of small integers, where sums are exact."""
    named = len(options.get("placement", range(experts)))  # experts that ids name
    rank, ranks = dist.get_rank(), dist.get_world_size()
    slots, begin = ranks * most * top_k, 64 + 2 * -(-experts // ranks) + ranks * most * top_k
    draw, generator = random.Random(rank), torch.Generator("cuda").manual_seed(rank)
    wrong, h = torch.zeros(2, device="cuda"), torch.empty(slots + 1, columns, device="cuda")

    def inputs(m):
        x = torch.randint(-8, 9, (m, columns), device="cuda", generator=generator).float()
        ids = torch.rand(m, named, device="cuda", generator=generator).topk(top_k).indices.int()
        ids[torch.rand(m, top_k, device="cuda", generator=generator) < 0.2] = -1
        return x, ids, torch.randint(1, 5, (m, top_k), device="cuda", generator=generator) / 4

    def pair(x, ids, weights):
        """All experts give what they get."""
        rows, route = tt.ep_dispatch(x, ids, weights, most, experts, **options)
        place = route[begin:][:slots].long()
        h[torch.where(place >= 0, place, slots)] = rows.repeat_interleave(top_k, 0)
        return tt.ep_combine(h[:slots], route, ids, most, experts, **options)

    def check(x, ids, weights, out, which):
        wrong[which] += (out != x * torch.where(ids >= 0, weights, 0).sum(1, keepdim=True)).any()

    for _ in range(calls):
        given = inputs(draw.randint(0, most))
        check(*given, pair(*given), 0)
    kept = inputs(most)
    out = pair(*kept)
    torch.cuda.synchronize()
    dist.barrier()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
        out = pair(*kept)
    for _ in range(calls):
        for old, new in zip(kept, inputs(most)):
            old.copy_(new)
        graph.replay()
        check(*kept, out, 1)
    dist.all_reduce(wrong)
    if rank == 0:
        print(json.dumps({"stress": name, "calls": calls, "wrong_calls": int(wrong[0]), "wrong_replays": int(wrong[1])}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 16, 64, 128, 256, 512])
    parser.add_argument("--columns", type=int, nargs="+", default=[7168, 4096, 2048])
    parser.add_argument("--experts", type=int, default=256)
    parser.add_argument("--top-k", type=int, default=8)
    parser.add_argument("--replays", type=int, default=REPLAYS)
    parser.add_argument("--options", nargs="*", default=[""], help="each a variant: pieces=2,quantised=")
    parser.add_argument("--calls", type=int, default=CALLS, help="of a graph; 1 to see each call's time")
    parser.add_argument("--stress", type=int, default=0, help="so many calls, and replays, whose results are checked; nothing is timed")
    parser.add_argument("--no-nccl", action="store_true")
    given = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    tt.init(wait_timeout=20)
    small = torch.ones(1024, device="cuda", dtype=torch.bfloat16)
    floor, rate = in_graph(lambda: tt.all_reduce(small)), link_rate()
    if dist.get_rank() == 0:
        print(json.dumps({"gpu": torch.cuda.get_device_name(), "all_reduce_2kb": floor[0], "link_gbs": rate}), flush=True)
    if given.stress:
        drawn = torch.randperm(16, device="cuda", generator=torch.Generator("cuda").manual_seed(0)).int()
        kinds = {"latency": {}, "throughput": {"mode": "throughput"}, "placed": {"placement": drawn.view(8, 2)}}
        for name, options in kinds.items():
            stress(given.stress, name, options)
    for columns in [] if given.stress else given.columns:
        for m in given.rows:
            for variant in given.options:
                given_options = (part.split("=") for part in variant.split(",") if part)
                options = {name: int(value) if value.isdigit() else value or True for name, value in given_options}
                measured(m, columns, given.experts, given.top_k, options, not given.no_nccl and variant == given.options[0], given)
        tt.release()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
