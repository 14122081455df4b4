"""The operators before and behind an attention whose heads are dealt to ranks: `torchrun --nproc-per-node 2 bench/gpu/heads_of_ranks.py`.
Checks each result against float64 and the gradients of one shape, then times, in turns: the operator; the product alone and the copies
alone, whose larger one bounds it; the same by NCCL, product and all_to_all_single with what brings rows and heads in order. A line of
JSON for each shape."""

import argparse
import json
import math
import os
import pathlib
import statistics
import sys

for variable, value in {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}.items():
    os.environ[variable] = value

import torch
import torch.distributed as dist

sys.path.insert(0, str(pathlib.Path(__file__).parent / "overlap"))

from timing import Timer

import tandem.torch as tt
from tandem.ops import choices, heads_of_rank, rows_of_rank

SHAPES = [  # rows of the sequence, features, heads of queries, of keys
    (16384, 4096, 32, 8),
    (32768, 4096, 32, 8),
    (8192, 8192, 64, 8),
    (16384, 4096, 32, 32),
    (16384, 2048, 16, 16),
    (4096, 4096, 32, 8),
    (16384, 4096, 28, 4),
    (16000, 4608, 36, 9),
]
D = 128
ODD = [(777, 512, 9, 3, 64), (1, 256, 4, 1, 96), (300, 200, 5, 1, 40)]  # checked, not timed


def drawn(*shape, seed, scale=1.0):
    generator = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randn(*shape, generator=generator, device="cuda", dtype=torch.bfloat16) * scale


class Shape:
    def __init__(self, m, h, hq, hkv, d=D):
        self.m, self.h, self.hq, self.hkv, self.d = m, h, hq, hkv, d
        rank, ranks = tt.rank(), tt.size()
        self.rows = [rows_of_rank(m, ranks, r) for r in range(ranks)]
        self.first = min(m, rank * -(-m // ranks))
        self.own = heads_of_rank(hq, hkv, ranks, rank)
        self.whole_x, self.w = drawn(m, h, seed=1), drawn((hq + 2 * hkv) * d, h, seed=2, scale=h**-0.5)
        self.whole_o, self.wo = drawn(m, hq, d, seed=3), drawn(h, hq * d, seed=4, scale=(hq * d) ** -0.5)
        self.x = self.whole_x[self.first :][: self.rows[rank]].contiguous()
        self.o = self.whole_o[:, self.own.queries].contiguous()

    def before(self, **more):
        return tt.qkv_gemm_a2a(self.x, self.w, self.hq, self.hkv, self.d, self.m, **more)

    def behind(self, **more):
        return tt.a2a_o_gemm(self.o, self.wo, self.hkv, self.m, **more)

    def exact(self):
        """Of some rows: what this rank finds, in float64."""
        some = torch.linspace(0, self.m - 1, min(self.m, 256), device="cuda").long()
        y = (self.whole_x[some].double() @ self.w.double().t()).view(len(some), -1, self.d)
        queries, keys, values = y.split([self.hq, self.hkv, self.hkv], 1)
        mine = some[(some >= self.first) & (some < self.first + len(self.x))]
        out = self.whole_o[mine].double().flatten(1) @ self.wo.double().t()
        return some, (queries[:, self.own.queries], keys[:, self.own.keys], values[:, self.own.keys]), mine - self.first, out

    def error(self):
        some, parts, mine, out = self.exact()
        found = [x[some] for x in self.before()] + [self.behind()[mine]]
        errors = [((f.double() - e).norm() / e.norm()).item() for f, e in zip(found, (*parts, out)) if e.numel()]
        return max(errors) if all(math.isfinite(e) for e in errors) else math.inf


def of_all_ranks(number):
    worst = torch.tensor([number], device="cuda", dtype=torch.float64)
    dist.all_reduce(worst, dist.ReduceOp.MAX)
    return worst.item()


def gradient_error():
    """Of a layer of projections, against float64 on whole sequences."""
    shape = Shape(777, 256, 9, 3, 64)
    given = [x.clone().requires_grad_() for x in (shape.x, shape.w)]
    q, k, v = tt.qkv_gemm_a2a(*given, 9, 3, 64, 777)
    wo = shape.wo.clone().requires_grad_()
    weights = [drawn(777, heads, 64, seed=7 + i) for i, heads in enumerate((9, 3, 3))]
    scaled = [t * w[:, own] for t, w, own in zip((q, k, v), weights, (shape.own.queries, shape.own.keys, shape.own.keys))]
    grad = drawn(777, 256, seed=11)
    out = tt.a2a_o_gemm(scaled[0].contiguous(), wo, 3, 777)
    ((out * grad[shape.first :][: len(out)]).sum() + sum(t.sum() for t in scaled[1:])).backward()
    exact = [x.double().requires_grad_() for x in (shape.whole_x, shape.w, shape.wo)]
    y = (exact[0] @ exact[1].t()).view(777, 15, 64)
    parts = [t * w.double() for t, w in zip(y.split([9, 3, 3], 1), weights)]
    ((parts[0].flatten(1) @ exact[2].t() * grad.double()).sum() + sum(t.sum() for t in parts[1:])).backward()
    for x in (given[1], wo):
        dist.all_reduce(x.grad)
    wanted = [exact[0].grad[shape.first :][: len(shape.x)], exact[1].grad, exact[2].grad]
    return max(((f.grad.double() - e).norm() / e.norm()).item() for f, e in zip((*given, wo), wanted))


def calls_before(shape, options):
    ranks, m, h, d = tt.size(), shape.m, shape.h, shape.d
    q, k, v = shape.before()
    kv = torch.stack([k, v])
    width = (shape.hq + 2 * shape.hkv) * d // ranks
    empty = lambda *shape: torch.empty(*shape, device="cuda", dtype=torch.bfloat16)
    product, sent, got = empty(len(shape.x), width * ranks), empty(m * width), empty(m * width)
    calls = {"tandem": lambda: shape.before(out=q, kv=kv)}
    for given in options:
        calls["tandem " + given] = lambda given=given: shape.before(out=q, kv=kv, **json.loads(given))

    def nccl():
        torch.mm(shape.x, shape.w.t(), out=product)
        sent.view(ranks, -1, width).copy_(product.view(-1, ranks, width).transpose(0, 1))  # the columns of each rank together
        dist.all_to_all_single(got, sent)
        return [part.contiguous() for part in got.view(m, width).split([q.shape[1] * d, k.shape[1] * d, k.shape[1] * d], 1)]

    calls["product"] = lambda: torch.mm(shape.x, shape.w.t(), out=product)
    calls["NCCL"] = nccl
    return calls, 2 * len(shape.x) * shape.w.shape[0] * h, (q.numel() + 2 * k.numel()) * 2 * (ranks - 1) / ranks


def calls_behind(shape, options):
    ranks, rows, width = tt.size(), len(shape.x), shape.o.shape[1] * shape.d
    out = shape.behind()
    got, together = (
        torch.empty(ranks, rows, width, device="cuda", dtype=torch.bfloat16),
        torch.empty(rows, ranks * width, device="cuda", dtype=torch.bfloat16),
    )
    whole = drawn(rows, shape.hq * shape.d, seed=5)
    calls = {"tandem": lambda: shape.behind(out=out)}
    for given in options:
        calls["tandem " + given] = lambda given=given: shape.behind(out=out, **json.loads(given))

    def nccl():
        dist.all_to_all_single(got.view(-1), shape.o.view(-1))
        together.view(rows, ranks, width).copy_(got.transpose(0, 1))
        return torch.mm(together, shape.wo.t(), out=out)

    calls["product"] = lambda: torch.mm(whole, shape.wo.t(), out=out)
    calls["NCCL"] = nccl
    return calls, 2 * rows * shape.h * shape.hq * shape.d, rows * width * 2 * (ranks - 1)


def predicted(name, shape):
    """By the operator's model."""
    ranks, d = tt.size(), shape.d
    most = max(
        heads_of_rank(shape.hq, shape.hkv, ranks, r).queries.stop - heads_of_rank(shape.hq, shape.hkv, ranks, r).queries.start
        for r in range(ranks)
    )
    columns = (most + 2 * -(-shape.hkv // ranks)) * d
    sizes = ("qkv_gemm_a2a", shape.m, columns, shape.h) if name == "before" else ("a2a_o_gemm", shape.m, shape.h, shape.hq * d)
    return choices(*sizes, ranks)[0]["predicted"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", type=int, default=len(SHAPES), help="only the first ones")
    parser.add_argument("--milliseconds", type=float, default=120, help="of repetitions of each call")
    parser.add_argument("--options", nargs="*", default=[], help="JSON: timed too")
    parser.add_argument("--link", type=float, default=392, help="GB/s of copies between the GPUs")
    parser.add_argument("--out", help="a file of JSON")
    given = parser.parse_args()
    tt.init(wait_timeout=20)
    dist.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    word = torch.zeros(1, device="cuda")
    timer, results = Timer(lambda: dist.all_reduce(word)), []
    checks = {str(shape): of_all_ranks(Shape(*shape).error()) for shape in ODD} | {"gradients": of_all_ranks(gradient_error())}
    if tt.rank() == 0:
        print(json.dumps({"errors": checks}), flush=True)
    for m, h, hq, hkv in SHAPES[: given.shapes]:
        shape = Shape(m, h, hq, hkv)
        row = {"rows": m, "features": h, "heads": [hq, hkv], "error": of_all_ranks(shape.error())}
        is_alike = hq % tt.size() == 0 and hkv % tt.size() == 0 and m % tt.size() == 0
        for name, made in (("before", calls_before), ("behind", calls_behind)):
            calls, flops, moved = made(shape, given.options)
            if not is_alike:
                calls.pop("NCCL")  # its exchange would need padding
            for call in calls.values():
                call()
            repetitions = max(5, min(60, int(given.milliseconds * 1e3 / (flops / 600e6))))
            torch.cuda.synchronize()
            times = {name: of_all_ranks(statistics.median(us)) for name, (us, _) in timer.measure(calls, repetitions).items()}
            times["link"] = moved / given.link / 1e3
            times["predicted"] = predicted(name, shape)
            of_nccl = {"NCCL / tandem": round(times["NCCL"] / times["tandem"], 3)} if "NCCL" in times else {}
            bound = round(times["tandem"] / max(times["product"], times["link"]), 3)
            row[name] = {n: round(us, 1) for n, us in times.items()} | {"tandem / bound": bound} | of_nccl
        results.append(row)
        if tt.rank() == 0:
            print(json.dumps(row), flush=True)
        tt.release()
    if given.out and tt.rank() == 0:
        found = {"gpu": torch.cuda.get_device_name(), "ranks": tt.size(), "errors": checks, "shapes": results}
        pathlib.Path(given.out).write_text(json.dumps(found, indent=1))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
