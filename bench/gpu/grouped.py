"""Products of a mixture of experts: rows dealt to experts, each with its own matrix; beside one dense product of equal work."""

import torch

from contenders import microseconds

# tokens * top_k, N, K, experts: up projections of Mixtral 8x7B, of the smallest layer the peers time, of DeepSeek-V3.
SHAPES = [(16384, 14336, 4096, 8), (16384, 4096, 14336, 8), (16384, 1536, 2048, 32), (65536, 4096, 7168, 256)]
CONFIGS = [(128, (256, 0), 64, 8, 4), (128, (128, 0), 64, 8, 5), (128, (128, 64), 64, 8, 5)]


GROUP = 8  # row blocks of an expert that go together, at most


def deal(rows, experts, block):
    """Random sizes of the experts' shares; for each row block its expert, first row and end, and the group it goes with."""
    sizes = torch.bincount(torch.randint(experts, (rows,)), minlength=experts)
    table = []
    for expert, (size, end) in enumerate(zip(sizes.tolist(), sizes.cumsum(0).tolist())):
        starts = range(end - size, end, block)
        height = -(-len(starts) // max(1, -(-len(starts) // GROUP)))
        for i, start in enumerate(starts):
            first = i // max(1, height) * height
            table.append((expert, start, end, len(table) - i + first, min(height, len(starts) - first)))
    return sizes, [torch.tensor(column, dtype=torch.int32, device="cuda") for column in zip(*table)]


def call(module, a, b, c, tables, config):
    bm, bn, bk, warps, stages = config
    experts, n, k = b.shape
    return lambda: module.matmul_grouped[(132,)](
        a,
        b,
        c,
        *tables,
        len(tables[0]),
        len(a),
        experts,
        n,
        k,
        BM=bm,
        BN=bn[0],
        BN1=bn[1],
        BK=bk,
        SMS=132,
        num_warps=warps,
        num_stages=stages,
    )


def error(a, b, c, sizes):
    """Returns the error of every 64th row, against float64."""
    expert = torch.repeat_interleave(torch.arange(len(sizes)), sizes).cuda()[::64]
    exact = torch.stack([b[e].double() @ row for e, row in zip(expert.tolist(), a[::64].double())])
    return ((c[::64].double() - exact).norm() / exact.norm()).item()


def row(shape, ours, theirs):
    rows, n, k, experts = shape
    a = torch.randn(rows, k, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(experts, n, k, device="cuda", dtype=torch.bfloat16)
    c = torch.full((rows, n), float("nan"), device="cuda", dtype=torch.bfloat16)
    sizes, tables = deal(rows, experts, 128)
    configs = [x for x in CONFIGS if n % sum(x[1]) == 0]
    functions = {("tandem", x): call(ours, a, b, c, tables, x) for x in configs}
    functions["tandem", configs[0]]()
    result = {"kernel": "matmul_grouped", "shape": shape, "error": error(a, b, c, sizes)}
    if theirs:
        functions |= {("triton", x): call(theirs, a, b, c, tables, (*x[:4], 3)) for x in configs}
    # This matrix has as many row blocks as all experts' shares together: the work that is really done.
    dense = torch.empty(len(tables[0]) * 128, k, device="cuda", dtype=torch.bfloat16).normal_()
    out = torch.empty(len(dense), n, device="cuda", dtype=torch.bfloat16)
    functions["dense", None] = lambda: torch.matmul(dense, b[0].T, out=out)
    for (name, _), us in zip(functions, microseconds(*functions.values(), repetitions=30)):
        result[name] = min(result.get(name, float("inf")), round(us, 2))
    result["of_dense"] = round(result["dense"] / result["tandem"], 3)
    return result
