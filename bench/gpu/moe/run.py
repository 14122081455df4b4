"""Times routing and grouped products on one GPU, beside what PyTorch has: JSON lines, times in microseconds of a call within a graph.

python -m torch.distributed.run --nproc-per-node 1 bench/gpu/moe/run.py [route] [grouped] [few] [fp8]
"""

import json
import statistics
import sys

import torch

import tandem.torch as tt
from tandem import _tandem
from tandem.ops import GroupedGemm, Route, RouteAlign, RouteIds, RouteRanks, route_words
from tandem.torch import world as worlds

# Tokens, columns of the result and of x on one of two ranks, experts, top_k: up projections of the layers of docs/performance/moe.md.
LAYERS = {
    "moe_2": (8192, 1536, 2048, 32, 2),
    "moe_5": (8192, 2048, 4096, 32, 2),
    "qwen3_30b": (8192, 768, 2048, 128, 8),
    "deepseek_moe": (8192, 1408, 2048, 64, 6),
    "mixtral_8x7b": (8192, 14336, 4096, 8, 2),
    "deepseek_v3": (8192, 2048, 7168, 256, 8),
}
FEW = {"qwen3_30b_16": (16, 768, 2048, 128, 8), "qwen3_30b_64": (64, 768, 2048, 128, 8), "mixtral_8x7b_16": (16, 14336, 4096, 8, 2)}
FP8 = {name: LAYERS[name] for name in ("moe_2", "moe_5", "deepseek_v3")} | {"moe_2_half": (4096, *LAYERS["moe_2"][1:])}
SORTED = [(128, 256, 64, 8, 4), (128, 128, 64, 8, 5), (128, 128, 64, 4, 4)]
GATHERED = [(128, 256, 64, 8, 3), (128, 128, 64, 8, 4), (128, 128, 64, 4, 4), (64, 256, 64, 4, 3), (64, 256, 64, 8, 3), (64, 128, 64, 4, 4)]
SCALED = [(128, 128, 128, 8, 4), (128, 128, 128, 8, 3), (64, 128, 128, 4, 4)]
SMALL = [(16, 128, 128, 4, 4), (16, 64, 128, 4, 4), (16, 64, 256, 4, 3), (16, 128, 64, 4, 6), (64, 128, 64, 4, 4)]


def call(op, tensors, numbers):
    """Queues an operator's call on PyTorch's current stream. None: a tensor that the call has not."""
    world = worlds.current()
    words = ([0 if t is None else t.data_ptr() for t in tensors], len(tensors), numbers, len(numbers))
    handle, streams = torch.cuda.current_stream().cuda_stream, world.operators._streams
    if handle not in streams:
        streams[handle] = world.team._session.guarded(_tandem.adopt_stream, world.team.world_rank, handle)
    world.team._session.guarded(lambda _: _tandem.op_run(op._op, streams[handle], *words))


def in_graph(function, calls=10, replays=10):
    """The time of a call: graphs of `calls`, the median of `replays`, which follow one another: a graph that nothing precedes begins some
    microseconds behind its event."""
    function()
    torch.cuda.synchronize()
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(calls):
            function()
    graph.replay()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(replays + 1)]
    marks[0].record()
    for mark in marks[1:]:
        graph.replay()
        mark.record()
    torch.cuda.synchronize()
    return round(statistics.median_high(a.elapsed_time(b) * 1000 / calls for a, b in zip(marks, marks[1:])), 2)


def tried(function, *args):
    try:
        return function(*args)
    except Exception as error:  # a contender, or a tile, that does not run is named in the row
        return str(error)[:200]


def given_ids(m, experts, top_k):
    ids = torch.rand(m, experts, device="cuda").topk(top_k).indices.int()
    return ids, torch.rand(m, top_k, device="cuda")


def routed(m, experts, top_k, ids, weights, **options):
    op = RouteIds(worlds.current().team, m, experts, top_k, "i32", **options)
    out = torch.zeros(route_words(m, experts, top_k), dtype=torch.int32, device="cuda")
    call(op, [ids, weights, out], [m])
    torch.cuda.synchronize()
    return op, out


def order_in(route, experts, slots):
    return route[64 + 2 * experts :][:slots].long()


def route():
    for m, experts, top_k in [(8192, 256, 8), (8192, 128, 8), (8192, 32, 2), (128, 256, 8), (128, 128, 8), (16, 128, 8), (1, 256, 8)]:
        ids, weights = given_ids(m, experts, top_k)
        op, out = routed(m, experts, top_k, ids, weights)
        flat = ids.flatten().long()
        order = flat.argsort(stable=True)
        offsets = torch.bincount(flat, minlength=experts).cumsum(0)
        right = torch.equal(order_in(out, experts, flat.numel()), order) and torch.equal(out[65 : 65 + experts].long(), offsets)
        logits, bias = torch.randn(m, experts, device="cuda"), torch.zeros(experts, device="cuda")
        scored = Route(worlds.current().team, m, experts, top_k, "fp32", renormalise=True)
        call(scored, [logits, bias, None, out], [m])
        # `topk` gives equal logits, which one of some ten draws has, in any order; the route gives the smaller expert first.
        best, chosen = (found[:, :top_k] for found in logits.softmax(1).sort(dim=1, descending=True, stable=True))
        right_scores = torch.equal(order_in(out, experts, flat.numel()), chosen.flatten().argsort(stable=True))
        found = out[64 + 2 * experts + 2 * flat.numel() :][: flat.numel()].view(torch.float32).view(m, top_k)
        worst = (found - best / best.sum(1, keepdim=True)).abs().max().item()

        def theirs():
            order = flat.argsort(stable=True)
            counts = torch.zeros(experts, dtype=torch.long, device="cuda").scatter_add_(0, flat, torch.ones_like(flat))
            return order, counts.cumsum(0)

        def theirs_scored():
            chosen = logits.softmax(1).topk(top_k).indices.flatten()
            order = chosen.argsort(stable=True)
            counts = torch.zeros(experts, dtype=torch.long, device="cuda").scatter_add_(0, chosen, torch.ones_like(chosen))
            return order, counts.cumsum(0)

        row = {"route": [m, experts, top_k], "right": right, "right_scores": right_scores, "weights_off": worst}
        row["ids"] = in_graph(lambda: call(op, [ids, weights, out], [m]))
        row["scores"] = in_graph(lambda: call(scored, [logits, bias, None, out], [m]))
        row["torch_ids"], row["torch_scores"] = tried(in_graph, theirs), tried(in_graph, theirs_scored)
        words = [torch.empty(n, dtype=torch.int32, device="cuda") for n in (1, m * top_k + experts, m * top_k + experts * 128)]
        aligned = RouteAlign(worlds.current().team, m, experts, top_k, 128, "i32")
        row["align"] = in_graph(lambda: call(aligned, [out, *words], [m]))
        words = [torch.empty(n, dtype=torch.int32, device="cuda") for n in (9, m * top_k, m * top_k)]
        listed = RouteRanks(worlds.current().team, m, experts, top_k, 8, "i32")
        row["ranks"] = in_graph(lambda: call(listed, [out, *words], [m]))
        for programs in (17, 33, 129) if m * top_k > 2048 else ():
            other, _ = routed(m, experts, top_k, ids, weights, programs=programs)
            row[f"ids_{programs}"] = in_graph(lambda: call(other, [ids, weights, out], [m]))
        print(json.dumps(row), flush=True)


def error_of(out, x, w, ids, order, sorted_rows):
    """Against float64, in some rows."""
    rows = torch.randint(len(order), (16,), device="cuda")
    slots = order[rows]
    a = x[rows] if sorted_rows else x[slots // ids.shape[1]]
    exact = torch.einsum("rk,rnk->rn", a.double(), w[ids.flatten()[slots].long()].double())
    return ((out[rows].double() - exact).norm() / exact.norm()).item()


def grouped(layers=LAYERS, few=False):
    for name, (m, n, k, experts, top_k) in layers.items():
        ids, weights = given_ids(m, experts, top_k)
        slots = m * top_k
        w = torch.randn(experts, n, k, device="cuda", dtype=torch.bfloat16) / k**0.5
        tokens = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
        out = torch.full((slots, n), float("nan"), device="cuda", dtype=torch.bfloat16)
        _, plain = routed(m, experts, top_k, ids, weights)
        order = order_in(plain, experts, slots)
        rows = tokens[order // top_k]
        offsets = plain[65 : 65 + experts].clone()
        row = {"layer": name, "shape": [m, n, k, experts, top_k], "best": {}}
        for kind, x, tiles in (("sorted", rows, SMALL if few else SORTED), ("gathered", tokens, SMALL if few else GATHERED)):
            for tile in tiles:
                bm, bn, bk, warps, stages = tile
                _, dealt = routed(m, experts, top_k, ids, weights, block_m=bm)
                config = {"block_m": bm, "block_n": bn, "block_k": bk, "num_warps": warps, "num_stages": stages}
                op = GroupedGemm(worlds.current().team, m, n, k, experts, top_k, "bf16", sorted=kind == "sorted", **config)

                def ours():
                    call(op, [x, w, dealt, None, None, None, None, out], [m])

                out.fill_(float("nan"))
                us = tried(in_graph, ours, 5, 6)
                row[f"{kind} {tile}"] = us
                if isinstance(us, float) and us < row.get(kind, 1e9):
                    row[kind] = us
                    row[f"{kind}_error"] = error_of(out, x, w, ids, order, kind == "sorted")
        row["torch_grouped"] = tried(in_graph, lambda: torch._grouped_mm(rows, w.transpose(1, 2), offs=offsets), 5, 6)
        if few:
            active = torch.unique(ids).numel() * n * k * 2
            row["active_bytes"], row["tb_per_s"] = active, round(active / min(row["sorted"], row["gathered"]) / 1e6, 3)
        else:
            blocks = int((torch.bincount(ids.flatten().long(), minlength=experts) + 127).div(128, rounding_mode="floor").sum())
            dense = torch.randn(blocks * 128, k, device="cuda", dtype=torch.bfloat16)
            product = torch.empty(blocks * 128, n, device="cuda", dtype=torch.bfloat16)
            row["dense"] = in_graph(lambda: torch.matmul(dense, w[0].T, out=product), 5, 6)
        print(json.dumps(row), flush=True)


def fp8(layers=FP8):
    """Elements of e4m3 with scales of 128 columns of x, and of 128 rows and columns of w; `dense` has one scale a tensor."""
    for name, (m, n, k, experts, top_k) in layers.items():
        ids, weights = given_ids(m, experts, top_k)
        slots, steps = m * top_k, -(-k // 128)
        w = torch.randn(experts, n, k, device="cuda").to(torch.float8_e4m3fn)
        w_scales = torch.rand(experts, -(-n // 128), steps, device="cuda") + 0.5
        tokens = torch.randn(m, k, device="cuda").to(torch.float8_e4m3fn)
        scales = torch.rand(m, steps, device="cuda") + 0.5
        out = torch.full((slots, n), float("nan"), device="cuda", dtype=torch.bfloat16)
        _, dealt = routed(m, experts, top_k, ids, weights)
        order = order_in(dealt, experts, slots)
        rows, row_scales = tokens.view(torch.uint8)[order // top_k].view(torch.float8_e4m3fn), scales[order // top_k].contiguous()
        picked = torch.randint(slots, (16,), device="cuda")
        a = rows[picked].double() * row_scales[picked].double().repeat_interleave(128, 1)[:, :k]
        of = ids.flatten()[order[picked]].long()
        b = w[of].double() * w_scales[of].double().repeat_interleave(128, 1)[:, :n].repeat_interleave(128, 2)[:, :, :k]
        exact = torch.einsum("rk,rnk->rn", a, b)
        row = {"fp8": name, "shape": [m, n, k, experts, top_k]}
        for kind, x, x_scales in (("sorted", rows, row_scales), ("gathered", tokens, scales)):
            for tile in SCALED:
                bm, bn, bk, warps, stages = tile
                config = {"block_m": bm, "block_n": bn, "block_k": bk, "num_warps": warps, "num_stages": stages}
                _, dealt = routed(m, experts, top_k, ids, weights, block_m=bm)
                op = GroupedGemm(worlds.current().team, m, n, k, experts, top_k, "fp8e4nv", sorted=kind == "sorted", **config)

                def ours():
                    call(op, [x, w, dealt, None, x_scales, w_scales, None, out], [m])

                out.fill_(float("nan"))
                us = tried(in_graph, ours, 5, 6)
                row[f"{kind} {tile}"] = us
                if isinstance(us, float) and us < row.get(kind, 1e9):
                    row[kind] = us
                    row[f"{kind}_error"] = ((out[picked].double() - exact).norm() / exact.norm()).item()
        blocks = int((torch.bincount(ids.flatten().long(), minlength=experts) + 127).div(128, rounding_mode="floor").sum())
        dense, one = torch.randn(blocks * 128, k, device="cuda").to(torch.float8_e4m3fn), torch.ones((), device="cuda")
        row["dense"] = tried(in_graph, lambda: torch._scaled_mm(dense, w[0].T, one, one, out_dtype=torch.bfloat16), 5, 6)
        print(json.dumps(row), flush=True)


def main():
    tt.init()
    asked = sys.argv[1:] or ["route", "grouped", "few", "fp8"]
    if "route" in asked:
        route()
    if "grouped" in asked:
        grouped()
    if "few" in asked:
        grouped(FEW, few=True)
    if "fp8" in asked:
        fp8()


if __name__ == "__main__":
    main()
