"""Kernels that make their descriptors, by Tandem and by Triton from one text: checked, then timed in turns.

time.py [NAME ...]   names of rows begin so
"""

import pathlib
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from contenders import load, microseconds

SMS = 132


def modules():
    import tandem
    import tandem.language
    import triton
    import triton.language

    triton.set_allocator(lambda size, align, stream: torch.empty(size, device="cuda", dtype=torch.int8))
    path = pathlib.Path(__file__).resolve().parent / "kernels.py"
    return {
        "tandem": load(path, "made_maps_of_tandem", {"triton": tandem, "triton.language": tandem.language}),
        "triton": load(path, "made_maps_of_triton", {"triton": triton, "triton.language": triton.language}),
    }


def random(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.float16)


def table(values, dtype=torch.int64):
    return torch.tensor(values, device="cuda", dtype=dtype)


def grouped(shapes):
    matrices = [(random(m, k), random(n, k), torch.empty(m, n, device="cuda", dtype=torch.float16)) for m, n, k in shapes]
    pointers = [table([x[i].data_ptr() for x in matrices]) for i in range(3)]
    sizes = table([s for shape in shapes for s in shape], torch.int32)
    strides = table([x.stride(0) for three in matrices for x in three], torch.int32)

    def call(module, config):
        bm, bn, bk, warps, stages = config
        module.grouped[(SMS,)](*pointers, sizes, strides, len(shapes), SMS=SMS, BM=bm, BN=bn, BK=bk, num_warps=warps, num_stages=stages)

    def outputs():
        return [c for _, _, c in matrices]

    return call, outputs, lambda: [a.float() @ b.float().T for a, b, _ in matrices]


def chosen(experts, M, N, K):
    x, o = random(experts, M, K), torch.empty(experts, M, N, device="cuda", dtype=torch.float16)
    weights = random(experts, N, K)
    pointers, which = table([w.data_ptr() for w in weights]), torch.randperm(experts, device="cuda").int()

    def call(module, config):
        bm, bn, bk, warps, stages = config
        module.chosen[(M // bm, N // bn, experts)](x, pointers, which, o, N, K, BM=bm, BN=bn, BK=bk, num_warps=warps, num_stages=stages)

    return call, lambda: [o], lambda: [torch.bmm(x.float(), weights[which.long()].float().mT)]


def persistent(M, N, K):
    a, b, c = random(M, K), random(N, K), torch.empty(M, N, device="cuda", dtype=torch.float16)

    def call(module, config):
        bm, bn, bk, warps, stages = config
        module.persistent[(SMS,)](a, b, c, M, N, K, SMS=SMS, BM=bm, BN=bn, BK=bk, num_warps=warps, num_stages=stages)

    return call, lambda: [c], lambda: [a.float() @ b.float().T]


def attention(H, N, D):
    q, k, v = random(H, N, D), random(H, N, D), random(H, N, D)
    o = torch.empty_like(q)

    def call(module, config):
        bm, bn, _, warps, stages = config
        scale = D**-0.5 * 1.4426950408889634
        module.attention[(N // bm, H)](q, k, v, o, scale, H, N, D=D, BM=bm, BN=bn, num_warps=warps, num_stages=stages)

    return call, lambda: [o[:2]], lambda: [torch.softmax(q[:2].float() @ k[:2].float().mT * D**-0.5, -1) @ v[:2].float()]


def rows(M, N):
    x = random(M, N)
    o = torch.empty_like(x)

    def call(module, config):
        bm, bn, _, warps, stages = config
        module.rows[(M // bm,)](x, o, M, N, BM=bm, BN=bn, num_warps=warps, num_stages=stages)

    return call, lambda: [o], lambda: [x.float() * 2]


PRODUCT = [(128, 128, 64, 4, 3), (128, 128, 64, 8, 4), (128, 256, 64, 8, 3), (128, 128, 64, 4, 4)]


def groups(count, low, high, seed):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randint(low // 64, high // 64 + 1, (count, 3), generator=generator) * 64).tolist()


ROWS = {
    "grouped 4 x 1024^3": (lambda: grouped([(1024, 1024, 1024)] * 4), PRODUCT),
    "grouped 1024, 512, 256, 128": (lambda: grouped([(n, n, n) for n in (1024, 512, 256, 128)]), PRODUCT),
    "grouped 2 x 1024 x 8192 x 8192": (lambda: grouped([(1024, 8192, 8192)] * 2), PRODUCT),
    "grouped 16, random to 2048": (lambda: grouped(groups(16, 64, 2048, 1)), PRODUCT),
    "grouped 64, random to 512": (lambda: grouped(groups(64, 64, 512, 2)), PRODUCT),
    "grouped 8, odd sizes": (lambda: grouped([(200 + 77 * i, 8 * (51 + 9 * i), 8 * (33 + 20 * i)) for i in range(8)]), PRODUCT),
    "chosen 64 x 256 x 1024, K 256": (lambda: chosen(64, 256, 1024, 256), PRODUCT),
    "chosen 8 x 1024 x 4096, K 4096": (lambda: chosen(8, 1024, 4096, 4096), PRODUCT),
    "persistent 4096^3": (lambda: persistent(4096, 4096, 4096), PRODUCT),
    "attention 32 x 4096 x 64": (lambda: attention(32, 4096, 64), [(128, 64, 0, 4, 3), (128, 128, 0, 8, 3), (64, 64, 0, 4, 3)]),
    "attention 32 x 4096 x 128": (lambda: attention(32, 4096, 128), [(128, 64, 0, 8, 3), (128, 128, 0, 8, 3)]),
    "rows 16384 x 8192": (lambda: rows(16384, 8192), [(16, 256, 0, 4, 3), (32, 128, 0, 8, 3)]),
}


def main(names):
    contenders = modules()
    for name, (make, configs) in ROWS.items():
        if names and not any(name.startswith(n) for n in names):
            continue
        torch.manual_seed(0)
        call, outputs, exact = make()
        wanted, best = exact(), {}
        for who, module in contenders.items():
            for config in configs:
                for out in outputs():
                    out.fill_(float("nan"))
                begin = time.perf_counter()
                try:
                    call(module, config)
                    torch.cuda.synchronize()
                except Exception as e:
                    print(f"{name} {who} {config}: {type(e).__name__}: {str(e)[:150]}", flush=True)
                    continue
                first = time.perf_counter() - begin
                error = max(((o.float() - w).norm() / w.norm()).item() for o, w in zip(outputs(), wanted, strict=True))
                us = microseconds(lambda: call(module, config), repetitions=20)
                wrong = "" if error < 2e-3 else "  WRONG"
                print(f"  {name} {who} {config}: {us:.1f} us, first call {first:.1f} s, error {error:.1e}{wrong}", flush=True)
                best[who] = min(best.get(who, (1e9,)), (us, config))
        if len(best) == 2:
            ours, theirs = microseconds(*(lambda w=w: call(contenders[w], best[w][1]) for w in ("tandem", "triton")), repetitions=50)
            print(
                f"{name}: Tandem {ours:.1f} us {best['tandem'][1]}, Triton {theirs:.1f} us {best['triton'][1]}: {theirs / ours:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
