"""Times tiles of grouped products on one GPU beside cuBLAS on as many row blocks: JSON lines, microseconds of a call within a graph.

python -m torch.distributed.run --nproc-per-node 1 bench/gpu/moe/tiles.py [layer...] [up] [up_sorted] [down] [tile=128,256,64,8,4]

A tile: rows, columns (half of them with `up`, whose products are of gate and up columns), inner size, warps, stages and, where given,
programs.
"""

import json
import sys

import torch
from run import call, given_ids, in_graph, order_in, routed, tried

import tandem.torch as tt
from tandem.ops import GroupedGemm
from tandem.torch import world as worlds

# Tokens, columns of x, inner columns of one of two ranks, experts, top_k.
LAYERS = {
    "moe_1": (8192, 2048, 768, 8, 2),
    "moe_2": (8192, 2048, 768, 32, 2),
    "moe_3": (8192, 2048, 768, 32, 5),
    "moe_4": (8192, 4096, 1024, 8, 2),
    "moe_5": (8192, 4096, 1024, 32, 2),
    "moe_6": (8192, 4096, 1024, 32, 5),
    "qwen15_moe": (8192, 2048, 704, 60, 4),
    "deepseek_moe": (8192, 2048, 704, 64, 6),
    "mixtral_8x7b": (8192, 4096, 7168, 8, 2),
    "mixtral_8x22b": (8192, 6144, 8192, 8, 2),
    "qwen3_30b": (8192, 2048, 384, 128, 8),
    "qwen3_235b": (8192, 4096, 768, 128, 8),
    "deepseek_v3": (8192, 7168, 1024, 256, 8),
    "qwen3_30b_16": (16, 2048, 384, 128, 8),
    "qwen3_30b_64": (64, 2048, 384, 128, 8),
    "mixtral_8x7b_16": (16, 4096, 7168, 8, 2),
}
TILES = [(128, 256, 64, 8, 4), (128, 256, 64, 8, 3), (128, 128, 64, 8, 5), (128, 128, 64, 4, 5), (64, 256, 64, 4, 4), (64, 128, 64, 4, 6)]
KINDS = ("up", "up_sorted", "down")


def error_of(out, rows, w, experts_of_rows, gated):
    """Against float64, in some rows."""
    picked = torch.randint(len(rows), (16,), device="cuda")
    exact = torch.einsum("rk,rnk->rn", rows[picked].double(), w[experts_of_rows[picked]].double())
    if gated:
        gate, up = exact.chunk(2, 1)
        exact = torch.nn.functional.silu(gate) * up
    return ((out[picked].double() - exact).norm() / exact.norm()).item()


def product(kind, tokens, rows, w, ids, weights, tile):
    """The call, and what it writes."""
    m, top_k = ids.shape
    gated = kind != "down"
    experts, wide, k = w.shape
    n = wide // 2 if gated else wide
    bm, bn, bk, warps, stages, *programs = tile
    config = {"block_m": bm, "block_n": bn // 2 if gated else bn, "block_k": bk, "num_warps": warps, "num_stages": stages}
    config |= {"programs": programs[0]} if programs else {}
    _, dealt = routed(m, experts, top_k, ids, weights, block_m=bm)
    op = GroupedGemm(worlds.current().team, m, n, k, experts, top_k, "bf16", sorted=kind != "up", gated=gated, **config)
    out = torch.full((m * top_k, n), float("nan"), device="cuda", dtype=torch.bfloat16)
    x = tokens if kind == "up" else rows
    return lambda: call(op, [x, w, dealt, None, None, None, None, out], [m]), out


def layer(name, kinds, tiles):
    m, hidden, inner, experts, top_k = LAYERS[name]
    ids, weights = given_ids(m, experts, top_k)
    counts = torch.bincount(ids.flatten().long(), minlength=experts)
    blocks = int((counts + 127).div(128, rounding_mode="floor").sum())
    _, plain = routed(m, experts, top_k, ids, weights)
    order = order_in(plain, experts, m * top_k)
    for kind in kinds:
        n, k = (2 * inner, hidden) if kind != "down" else (hidden, inner)
        w = torch.randn(experts, n, k, device="cuda", dtype=torch.bfloat16) / k**0.5
        tokens = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
        rows = tokens[order // top_k]
        active = int((counts > 0).sum()) * n * k * 2
        row = {"layer": name, "kind": kind, "n": n, "k": k, "blocks": blocks, "rows": m * top_k, "active_bytes": active}
        dense, result = torch.randn(blocks * 128, k, device="cuda").bfloat16(), torch.empty(blocks * 128, n, device="cuda").bfloat16()
        row["dense"] = in_graph(lambda: torch.matmul(dense, w[0].T, out=result), 5, 6)
        offsets = counts.cumsum(0).int()
        row["torch_grouped"] = tried(in_graph, lambda: torch._grouped_mm(rows, w.transpose(1, 2), offs=offsets), 5, 6)
        for tile in tiles:

            def timed():
                queue, out = product(kind, tokens, rows, w, ids, weights, tile)
                queue()
                torch.cuda.synchronize()
                return in_graph(queue, 5, 6), round(error_of(out, rows, w, ids.flatten()[order].long(), kind != "down"), 5)

            row[",".join(map(str, tile))] = tried(timed)
        row["dense_again"] = in_graph(lambda: torch.matmul(dense, w[0].T, out=result), 5, 6)
        print(json.dumps(row), flush=True)


def main():
    tt.init()
    asked = sys.argv[1:]
    tiles = [tuple(map(int, a.removeprefix("tile=").split(","))) for a in asked if a.startswith("tile=")]
    for name in [a for a in asked if a in LAYERS] or LAYERS:
        layer(name, [a for a in asked if a in KINDS] or KINDS, tiles or TILES)


if __name__ == "__main__":
    main()
