"""Checks and times the tensor-parallel layers of a mixture of experts on the GPUs of a host, beside NCCL with PyTorch's grouped products
and with the Triton kernels that servers have for them, if SGLang is installed.

    python -m torch.distributed.run --nproc-per-node 2 bench/gpu/moe/ranks.py [layers]

JSON lines of rank 0; times in microseconds of a call, of ten in a CUDA graph on the slowest rank, `_eager` of ten in a row.
"""

import json
import os
import sys
import time

import torch
import torch.distributed as dist
from fused_moe import FEW, MANY, Experts

import tandem.torch as tt

# Tokens of all ranks, columns of x, inner columns of all ranks, experts, top_k.
LAYERS = {
    "moe_2": (8192, 2048, 1536, 32, 2),
    "few": (64, 2048, 768, 128, 8),
    "qwen3_30b": (8192, 2048, 768, 128, 8),
    "moe_5": (8192, 4096, 2048, 32, 2),
    "mixtral_8x7b": (8192, 4096, 14336, 8, 2),
    "deepseek_moe": (8192, 2048, 1408, 64, 6),
    "uneven": (8191, 1024, 512, 13, 3),
    "moe_1": (8192, 2048, 1536, 8, 2),
    "moe_3": (8192, 2048, 1536, 32, 5),
    "moe_4": (8192, 4096, 2048, 8, 2),
    "moe_6": (8192, 4096, 2048, 32, 5),
    "qwen15_moe": (8192, 2048, 1408, 60, 4),
    "qwen3_235b": (8192, 4096, 1536, 128, 8),
    "mixtral_8x22b": (8192, 6144, 16384, 8, 2),
    "deepseek_v3": (8192, 7168, 2048, 256, 8),
}


def timed(function, calls=10):
    for _ in range(3):
        function()
    torch.cuda.synchronize()
    dist.barrier()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(calls):
        function()
    end.record()
    torch.cuda.synchronize()
    worst = torch.tensor(begin.elapsed_time(end) * 1000 / calls, device="cuda")
    dist.all_reduce(worst, dist.ReduceOp.MAX)
    return round(worst.item(), 1)


def in_graph(function, calls=10):
    function()
    torch.cuda.synchronize()
    dist.barrier()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
        for _ in range(calls):
            function()
    return round(timed(graph.replay, 3) / calls, 1)


def tried(function):
    try:
        return in_graph(function)
    except Exception as error:  # a contender that does not run is named in the row
        return str(error)[:160]


def quickest(times):
    """The least of these, or why none is there."""
    return min((t for t in times if not isinstance(t, str)), default=times[0])


def chosen(m, experts, top_k, seed):
    """The experts of each token, the same on all ranks."""
    scores = torch.rand(m, experts, device="cuda", generator=torch.Generator("cuda").manual_seed(seed))
    return scores.topk(top_k).indices.int()


def dealt_unevenly(kind, m, experts, top_k):
    """The experts of each token: by Zipf's law with 1.2, of an eighth of the experts, or one for all tokens; the same on all ranks."""
    if kind == "one":
        ids = torch.full((m, top_k), -1, device="cuda", dtype=torch.int32)
        ids[:, 0] = experts // 2
        return ids
    if kind == "few":
        return chosen(m, max(top_k, experts // 8), top_k, seed=8)
    shares = torch.arange(1, experts + 1, device="cuda") ** -1.2
    generator = torch.Generator("cuda").manual_seed(9)
    return torch.multinomial(shares.expand(m, experts), top_k, generator=generator).int()


def blocks_of(ids, experts):
    """Blocks of 128 rows that the experts' rows fill."""
    counts = torch.bincount(ids[ids >= 0].flatten().long(), minlength=experts)
    return int((counts + 127).div(128, rounding_mode="floor").sum())


def exact(x, up, down, ids, weights, tokens):
    """The layer's results for these tokens of this rank's part of the inner columns, in float64."""
    inner = up.shape[1] // 2
    out = torch.zeros(len(tokens), x.shape[1], dtype=torch.float64, device="cuda")
    for i, token in enumerate(tokens.tolist()):
        for slot, expert in enumerate(ids[token].tolist()):
            if expert >= 0:
                y = up[expert].double() @ x[token].double()
                h = torch.nn.functional.silu(y[:inner]) * y[inner:]
                out[i] += weights[token, slot].double() * (down[expert].double() @ h)
    dist.all_reduce(out)
    return out


def fused_moe(x, gathered, up, down, ids, weights, mine):
    """Times of both halves with the tiles that suit them best."""
    (m, top_k), (experts, hidden, inner), options = ids.shape, down.shape, {"device": "cuda", "dtype": torch.bfloat16}
    between, h = torch.empty(m * top_k, 2 * inner, **options), torch.empty(m * top_k, inner, **options)
    slots, sums = torch.empty(m, top_k, hidden, **options), torch.empty(m, hidden, **options)

    def first(theirs):
        dist.all_gather_into_tensor(gathered, x)
        theirs.up(gathered, up, between, h)

    def second(theirs):
        theirs.down(h, down, slots, sums)
        dist.reduce_scatter_tensor(mine, sums)

    try:
        dealt = [Experts(ids, weights, experts, tile) for tile in (FEW if m <= 512 else MANY)]
    except ImportError as error:
        return str(error), str(error)
    return tuple(quickest([tried(lambda theirs=theirs: half(theirs)) for theirs in dealt]) for half in (first, second))


class Row(dict):
    """A line of output; rank 0 also says each value on the standard error at once, so a run that is cut off has told how far it was."""

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        if dist.get_rank() == 0:
            print(f"{self['layer']}: {name} {value}", file=sys.stderr, flush=True)


def layer(name, m, hidden, inner_of_all, experts, top_k):
    rank, ranks, begun = dist.get_rank(), dist.get_world_size(), time.monotonic()
    inner, shard = inner_of_all // ranks, -(-m // ranks)
    torch.manual_seed(5)
    whole = torch.randn(m, hidden, device="cuda", dtype=torch.bfloat16)
    ids = chosen(m, experts, top_k, seed=5)
    weights = torch.rand(m, top_k, device="cuda")
    torch.manual_seed(rank)
    up = torch.randn(experts, 2 * inner, hidden, device="cuda", dtype=torch.bfloat16) / hidden**0.5
    down = torch.randn(experts, hidden, inner, device="cuda", dtype=torch.bfloat16) / inner**0.5
    x = whole[rank * shard : (rank + 1) * shard].contiguous()
    row = Row(layer=name, shape=[m, hidden, inner_of_all, experts, top_k], ranks=ranks)

    tokens = torch.arange(0, m, max(1, m // 16), device="cuda")
    for kind in ("uniform", "one", "dropped"):  # routing that changes between calls
        if kind == "one":
            ids[:] = -1
            ids[:, 0] = experts // 2
        if kind == "dropped":
            ids[:] = chosen(m, experts, top_k, seed=6)
            ids[::3, 0] = -1
        route = tt.route_ids(ids, weights, experts)
        out = tt.moe_mlp(x, up, down, route, m, gated=True)
        want, first = exact(whole, up, down, ids, weights, tokens), rank * shard
        mine = (tokens >= first) & (tokens < first + len(x))
        off = (out[tokens[mine] - first].double() - want[mine]).norm() / want[mine].norm().clamp_min(1e-30)
        row[f"error_{kind}"] = round(off.item(), 5)

    ids[:] = chosen(m, experts, top_k, seed=7)
    route = tt.route_ids(ids, weights, experts)
    h = tt.ag_moe(x, up, route, m, gated=True)
    row["route_ids"] = in_graph(lambda: tt.route_ids(ids, weights, experts))
    row["moe_mlp_eager"] = timed(lambda: tt.moe_mlp(x, up, down, route, m, gated=True))
    row["ag_moe"] = in_graph(lambda: tt.ag_moe(x, up, route, m, gated=True))
    row["ag_moe_ordered"] = in_graph(lambda: tt.ag_moe(x, up, route, m, gated=True, ordered=1))
    row["moe_rs"] = in_graph(lambda: tt.moe_rs(h, down, route, m))
    row["moe_mlp"] = in_graph(lambda: tt.moe_mlp(x, up, down, route, m, gated=True))
    if m <= 512:
        row["moe_ar"] = in_graph(lambda: tt.moe_ar(h, down, route, m))
        active = torch.unique(ids).numel()
        row["active_bytes_up"], row["active_bytes_down"] = active * up[0].nbytes, active * down[0].nbytes
    row["product_up"] = in_graph(lambda: tt.grouped_gemm(whole, up, route, m, gated=True))
    row["product_down"] = in_graph(lambda: tt.grouped_gemm(h, down, route, m, sorted=True))
    # The halves are bound by dense products with as many blocks of 128 rows, by what travels, and by slots written and read.
    rows = 128 * blocks_of(ids, experts)
    dense, dense_h = torch.randn(rows, hidden, device="cuda").bfloat16(), torch.randn(rows, inner, device="cuda").bfloat16()
    row["dense_up"], row["dense_down"] = in_graph(lambda: dense @ up[0].T), in_graph(lambda: dense_h @ down[0].T)
    slots, copy = torch.randn(m * top_k, hidden, device="cuda").bfloat16(), torch.empty(m * top_k, hidden, device="cuda").bfloat16()
    row["slots_copied"] = in_graph(lambda: copy.copy_(slots))

    if m % ranks == 0:
        gathered, order = torch.empty_like(whole), ids.flatten().long().argsort(stable=True)
        offsets = torch.bincount(ids.flatten().long(), minlength=experts).cumsum(0).int()
        sums, mine = torch.empty(m, hidden, device="cuda"), torch.empty(len(x), hidden, device="cuda", dtype=torch.bfloat16)
        row["nccl_gather"] = in_graph(lambda: dist.all_gather_into_tensor(gathered, x))

        def their_up():
            dist.all_gather_into_tensor(gathered, x)
            ids.flatten().long().argsort(stable=True)
            y = torch._grouped_mm(gathered[order // top_k], up.transpose(1, 2), offs=offsets)
            return torch.nn.functional.silu(y[:, :inner]) * y[:, inner:]

        def their_down():
            y = torch._grouped_mm(h, down.transpose(1, 2), offs=offsets) * weights.flatten()[order, None]
            sums.zero_().index_add_(0, order // top_k, y.float())
            dist.reduce_scatter_tensor(mine, sums.bfloat16())

        row["nccl_scatter"] = in_graph(lambda: dist.reduce_scatter_tensor(mine, whole))
        row["torch_up"], row["torch_down"] = tried(their_up), tried(their_down)
        row["fused_moe_up"], row["fused_moe_down"] = fused_moe(x, gathered, up, down, ids, weights, mine)
    for kind in ("zipf", "few", "one"):  # the same addresses, other routing, and dense products with as many blocks
        route = tt.route_ids(dealt_unevenly(kind, m, experts, top_k), weights, experts)
        rows = 128 * blocks_of(dealt_unevenly(kind, m, experts, top_k), experts)
        dense, dense_h = (torch.randn(rows, size, device="cuda").bfloat16() for size in (hidden, inner))
        row[f"dense_up_{kind}"], row[f"dense_down_{kind}"] = in_graph(lambda: dense @ up[0].T), in_graph(lambda: dense_h @ down[0].T)
        row[f"ag_moe_{kind}"] = in_graph(lambda: tt.ag_moe(x, up, route, m, gated=True))
        h = tt.ag_moe(x, up, route, m, gated=True)
        row[f"moe_rs_{kind}"] = in_graph(lambda: tt.moe_rs(h, down, route, m))
    row["seconds"] = round(time.monotonic() - begun, 1)
    if rank == 0:
        print(json.dumps(row), flush=True)


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    tt.init()
    for name in sys.argv[1:] or LAYERS:
        layer(name, *LAYERS[name])
        tt.release()
    dist.barrier()
    dist.destroy_process_group()


main()
