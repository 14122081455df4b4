"""Checks and times the tensor-parallel layers of a mixture of experts on the GPUs of a host, beside NCCL with PyTorch's grouped products
and with the Triton kernels that servers have for them, if SGLang is installed.

    python -m torch.distributed.run --nproc-per-node 2 bench/gpu/moe/ranks.py [layers] [--drawn 12] [--seed 1]

JSON lines of rank 0; times in microseconds of a call, of three in CUDA graphs that take turns, on the slowest rank, `_eager` of ten in a
row. `drawn` layers have sizes and routing at random.
"""

import argparse
import json
import os
import random
import sys
import time

import torch
import torch.distributed as dist
from experts_fused import in_turns
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


def all_that_run(functions, row):
    """Those of these that run at all; the row has the others' errors, as every contender is named in it."""
    run = {}
    for name, function in functions.items():
        try:
            function()
            torch.cuda.synchronize()
            run[name] = function
        except Exception as error:
            row[name] = str(error)[:160]
    return run


def quickest(row, name, of):
    """The least time of these contenders, which differ in their tiles only, in their place; or why none runs."""
    times = [row.pop(key) for key in of]
    row[name] = min((t for t in times if not isinstance(t, str)), default=times[0])


def chosen(m, experts, top_k, seed):
    """The experts of each token, the same on all ranks."""
    scores = torch.rand(m, experts, device="cuda", generator=torch.Generator("cuda").manual_seed(seed))
    return scores.topk(top_k).indices.int()


def dealt_unevenly(kind, m, experts, top_k):
    """The experts of each token: any, by Zipf's law with 1.2, of an eighth of the experts, or one for all tokens; the same on all ranks."""
    if kind == "one":
        ids = torch.full((m, top_k), -1, device="cuda", dtype=torch.int32)
        ids[:, 0] = experts // 2
        return ids
    if kind == "uniform":
        return chosen(m, experts, top_k, seed=7)
    if kind == "few":
        return chosen(m, max(top_k, experts // 8), top_k, seed=8)
    shares = torch.arange(1, experts + 1, device="cuda") ** -1.2
    generator = torch.Generator("cuda").manual_seed(9)
    return torch.multinomial(shares.expand(m, experts), top_k, generator=generator).int()


def blocks_of(ids, experts):
    """Blocks of 128 rows that the experts' rows fill."""
    counts = torch.bincount(ids[ids >= 0].flatten().long(), minlength=experts)
    return int((counts + 127).div(128, rounding_mode="floor").sum())


def exact(x, up, down, ids, weights, tokens, m):
    """The layer's results for these of the m tokens, of which `x` has this rank's, in float64."""
    inner, shard = up.shape[1] // 2, -(-m // dist.get_world_size())
    rows = torch.zeros(m, x.shape[1], dtype=x.dtype, device="cuda")
    rows[dist.get_rank() * shard :][: len(x)] = x
    dist.all_reduce(rows)
    out = torch.zeros(len(tokens), x.shape[1], dtype=torch.float64, device="cuda")
    for i, token in enumerate(tokens.tolist()):
        for slot, expert in enumerate(ids[token].tolist()):
            if expert >= 0:
                y = up[expert].double() @ rows[token].double()
                h = torch.nn.functional.silu(y[:inner]) * y[inner:]
                out[i] += weights[token, slot].double() * (down[expert].double() @ h)
    dist.all_reduce(out)
    return out


def fused_moe(x, padded, gathered, up, down, ids, weights, halves):
    """Both halves with SGLang's kernels, with the tiles that suit them best; `halves` has what NCCL does with the sums of each form."""
    (m, top_k), (experts, hidden, inner), options = ids.shape, down.shape, {"device": "cuda", "dtype": torch.bfloat16}
    between, h = torch.empty(m * top_k, 2 * inner, **options), torch.empty(m * top_k, inner, **options)
    slots, sums = torch.empty(m, top_k, hidden, **options), torch.zeros(len(gathered), hidden, **options)

    def first(theirs):
        dist.all_gather_into_tensor(gathered, padded)
        theirs.up(gathered[:m], up, between, h)

    def second(theirs, travel):
        theirs.down(h, down, slots, sums[:m])
        travel(sums)

    calls = {}
    for i, tile in enumerate(FEW if m <= 512 else MANY):
        theirs = Experts(ids, weights, experts, tile)
        calls[f"fused_moe_up {i}"] = lambda theirs=theirs: first(theirs)
        for name, travel in halves.items():
            calls[f"fused_moe_{name} {i}"] = lambda theirs=theirs, travel=travel: second(theirs, travel)
    return calls


class Row(dict):
    """A line of output; rank 0 also says each value on the standard error at once, so a run that is cut off has told how far it was."""

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        if dist.get_rank() == 0:
            print(f"{self['layer']}: {name} {value}", file=sys.stderr, flush=True)


def checked(row, x, up, down, ids, weights, m):
    """Both halves against float64, with routing that changes between calls."""
    rank, shard = dist.get_rank(), -(-m // dist.get_world_size())
    (_, top_k), experts = ids.shape, len(up)
    tokens = torch.arange(0, m, max(1, m // 16), device="cuda")
    ids = ids.clone()
    for kind in ("uniform", "one", "dropped"):
        if kind == "one":
            ids[:] = -1
            ids[:, 0] = experts // 2
        if kind == "dropped":
            ids[:] = chosen(m, experts, top_k, seed=6)
            ids[::3, 0] = -1
        route = tt.route_ids(ids, weights, experts)
        out = tt.moe_mlp(x, up, down, route, m, gated=True)
        want, first = exact(x, up, down, ids, weights, tokens, m), rank * shard
        mine = (tokens >= first) & (tokens < first + len(x))
        got, wanted = out[tokens[mine] - first].double(), want[mine]
        if kind != "one":  # the sums of all ranks on each, too
            every = tt.moe_ar(tt.ag_moe(x, up, route, m, gated=True), down, route, m)
            got, wanted = torch.cat([got, every[tokens].double()]), torch.cat([wanted, want])
        row[f"error_{kind}"] = round(((got - wanted).norm() / wanted.norm().clamp_min(1e-30)).item(), 5)


def layer(name, m, hidden, inner_of_all, experts, top_k, dealt="uniform"):
    rank, ranks, begun = dist.get_rank(), dist.get_world_size(), time.monotonic()
    inner, shard, options = inner_of_all // ranks, -(-m // ranks), {"device": "cuda", "dtype": torch.bfloat16}
    weights = torch.rand(m, top_k, device="cuda", generator=torch.Generator("cuda").manual_seed(4))
    torch.manual_seed(rank)
    up = torch.randn(experts, 2 * inner, hidden, **options).mul_(hidden**-0.5)
    down = torch.randn(experts, hidden, inner, **options).mul_(inner**-0.5)
    padded, gathered = torch.randn(shard, hidden, **options), torch.empty(shard * ranks, hidden, **options)
    x = padded[: max(min(m - rank * shard, shard), 0)]
    row = Row(layer=name, shape=[m, hidden, inner_of_all, experts, top_k], dealt=dealt, ranks=ranks)
    checked(row, x, up, down, chosen(m, experts, top_k, seed=5), weights, m)

    ids = dealt_unevenly(dealt, m, experts, top_k)
    route = tt.route_ids(ids, weights, experts)
    h = tt.ag_moe(x, up, route, m, gated=True)
    dist.all_gather_into_tensor(gathered, padded)
    whole = gathered[:m].clone()
    # The halves are bound by dense products with as many blocks of 128 rows, by what travels, and by slots written and read.
    rows = 128 * blocks_of(ids, experts)
    dense, dense_h = torch.randn(rows, hidden, **options), torch.randn(rows, inner, **options)
    slots, copy = torch.randn(m * top_k, hidden, **options), torch.empty(m * top_k, hidden, **options)
    order = ids.flatten().long().argsort(stable=True)
    offsets = torch.bincount(ids.flatten().long(), minlength=experts).cumsum(0).int()
    sums, mine = torch.zeros(shard * ranks, hidden, device="cuda"), torch.empty(shard, hidden, **options)
    calls = {
        "route_ids": lambda: tt.route_ids(ids, weights, experts),
        "ag_moe": lambda: tt.ag_moe(x, up, route, m, gated=True),
        "moe_rs": lambda: tt.moe_rs(h, down, route, m),
        "moe_mlp": lambda: tt.moe_mlp(x, up, down, route, m, gated=True),
        "product_up": lambda: tt.grouped_gemm(whole, up, route, m, gated=True),
        "product_down": lambda: tt.grouped_gemm(h, down, route, m, sorted=True),
        "dense_up": lambda: dense @ up[0].T,
        "dense_down": lambda: dense_h @ down[0].T,
        "slots_copied": lambda: torch.neg(slots, out=copy),
        "nccl_gather": lambda: dist.all_gather_into_tensor(gathered, padded),
        "nccl_scatter": lambda: dist.reduce_scatter_tensor(mine, gathered),
    }
    halves = {"down": lambda sums: dist.reduce_scatter_tensor(mine, sums)}
    if m <= 1024:
        calls["moe_ar"] = lambda: tt.moe_ar(h, down, route, m)
        halves["ar"] = dist.all_reduce
        active = torch.unique(ids).numel()
        row["active_bytes_up"], row["active_bytes_down"] = active * up[0].nbytes, active * down[0].nbytes

    def their_up():
        dist.all_gather_into_tensor(gathered, padded)
        ids.flatten().long().argsort(stable=True)
        y = torch._grouped_mm(gathered[order // top_k], up.transpose(1, 2), offs=offsets)
        return torch.nn.functional.silu(y[:, :inner]) * y[:, inner:]

    def their_down(travel):
        y = torch._grouped_mm(h, down.transpose(1, 2), offs=offsets) * weights.flatten()[order, None]
        sums.zero_().index_add_(0, order // top_k, y.float())
        travel(sums.bfloat16())

    calls["torch_up"] = their_up
    for half, travel in halves.items():
        calls[f"torch_{half}"] = lambda travel=travel: their_down(travel)
    theirs = {}
    try:
        theirs = fused_moe(x, padded, gathered, up, down, ids, weights, halves)
    except ImportError as error:
        row["fused_moe"] = str(error)
    row |= in_turns(all_that_run(calls | theirs, row), 5, 3)
    for half in ("up", *halves) if theirs else ():
        quickest(row, f"fused_moe_{half}", [key for key in theirs if key.startswith(f"fused_moe_{half} ")])
    row["moe_mlp_eager"] = timed(lambda: tt.moe_mlp(x, up, down, route, m, gated=True))
    for kind in ("zipf", "few", "one") if dealt == "uniform" else ():  # the same addresses, other routing, and as many dense blocks
        others = dealt_unevenly(kind, m, experts, top_k)
        route = tt.route_ids(others, weights, experts)
        rows = 128 * blocks_of(others, experts)
        dense, dense_h = torch.randn(rows, hidden, **options), torch.randn(rows, inner, **options)
        h = tt.ag_moe(x, up, route, m, gated=True)
        unequal = {
            "dense_up": lambda: dense @ up[0].T,
            "dense_down": lambda: dense_h @ down[0].T,
            "ag_moe": lambda: tt.ag_moe(x, up, route, m, gated=True),
            "moe_rs": lambda: tt.moe_rs(h, down, route, m),
        }
        row |= {f"{key}_{kind}": us for key, us in in_turns(unequal, 3, 2).items()}
    row["seconds"] = round(time.monotonic() - begun, 1)
    if rank == 0:
        print(json.dumps(row), flush=True)


def drawn(count, seed):
    """Layers of any sizes whose matrices take up to 4 GB a rank, and whose products up to 2 ms; the same on all ranks."""
    generator, ranks, layers = random.Random(seed), dist.get_world_size(), {}
    while len(layers) < count:
        m, experts = int(2 ** generator.uniform(0, 14)), int(2 ** generator.uniform(1, 8))
        hidden = generator.choice([2048, 2880, 4096, 5120, 7168, 16 * generator.randint(32, 512)])
        inner = 16 * ranks * generator.randint(16, 448)
        top_k, dealt = generator.randint(1, min(8, experts)), generator.choice(["uniform", "zipf", "few"])
        if experts * inner // ranks * hidden * 6 < 4e9 and 6 * m * top_k * hidden * inner / ranks < 1.4e12:
            layers[f"drawn {seed}.{len(layers)}"] = (m, hidden, inner, experts, top_k, dealt)
    return layers


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("layers", nargs="*")
    parser.add_argument("--drawn", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    tt.init()
    layers = {name: LAYERS[name] for name in given.layers or ([] if given.drawn else LAYERS)} | drawn(given.drawn, given.seed)
    for name, sizes in layers.items():
        layer(name, *sizes)
        tt.release()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
