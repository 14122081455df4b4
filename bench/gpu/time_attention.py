"""Fused attention by Tandem and by Triton from one text, and PyTorch's SDPA: checked against float64, then timed in turns."""

import argparse
import functools

import torch
from contenders import HERE, load, microseconds
from torch.nn.attention import SDPBackend, sdpa_kernel

# (BM, BN, warps, stages), by head dimension. In the causal form blocks are at least as high as wide.
OURS = {128: [(128, 128, 8, 2)], 64: [(256, 64, 16, 6), (64, 64, 4, 3), (128, 128, 8, 3), (64, 128, 4, 3)]}
THEIRS = [(128, 128, 8, 3), (128, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 3)]


def modules():
    import tandem
    import tandem.language
    import triton
    import triton.language

    triton.set_allocator(lambda size, align, stream: torch.empty(size, device="cuda", dtype=torch.int8))
    path = HERE / "attention.py"
    return (
        load(path, "attention_of_tandem", {"triton": tandem, "triton.language": tandem.language}),
        load(path, "attention_of_triton", {"triton": triton, "triton.language": triton.language}),
    )


def run(module, q, k, v, out, m, causal, config):
    BM, BN, warps, stages = config
    Z, H, N, D = q.shape
    module.attention[(N // BM, Z * H)](
        q, k, v, out, m, D**-0.5, Z * H, N, D=D, BM=BM, BN=BN, STAGE=3 if causal else 1, num_warps=warps, num_stages=stages
    )


def run_pointers(module, q, k, v, out, m, causal, config):
    BM, BN, warps, stages = config
    Z, H, N, D = q.shape
    module.attention_pointers[(N // BM, Z * H)](
        q, k, v, out, m, D**-0.5, N * D, D, 1, N, D=D, BM=BM, BN=BN, STAGE=3 if causal else 1, num_warps=warps, num_stages=stages
    )


def sdpa(q, k, v, causal, backend):
    with sdpa_kernel(backend):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)


def error(out, q, k, v, causal):
    """Returns the error of the first two heads, their first and last 128 queries, against float64."""
    N, D = q.shape[-2:]
    rows = torch.cat([torch.arange(128), torch.arange(N - 128, N)]).to(q.device)
    q, k, v = q[:1, :2, rows].double(), k[:1, :2].double(), v[:1, :2].double()
    scores = q @ k.mT * D**-0.5
    if causal:
        scores = scores.masked_fill(rows[:, None] < torch.arange(N, device=q.device), -float("inf"))
    exact = torch.softmax(scores, -1) @ v
    return ((out[:1, :2, rows].double() - exact).norm() / exact.norm()).item()


def measure(N, D, causal, dtype, ours, theirs):
    Z, H = max(1, 16384 // N), 2048 // D
    q, k, v = (torch.randn(Z, H, N, D, device="cuda").to(dtype) for _ in range(3))
    out, m = torch.empty_like(q), torch.empty(Z, H, N, device="cuda")
    configs = [c for c in OURS[D] if c[0] >= c[1] or not causal]
    calls = {("tandem", c): functools.partial(run, ours, q, k, v, out, m, causal, c) for c in configs}
    calls |= {("pointers", c): functools.partial(run_pointers, ours, q, k, v, out, m, causal, c) for c in configs}
    calls |= {("triton", c): functools.partial(run, theirs, q, k, v, out, m, causal, c) for c in THEIRS}
    for name, backend in (("cudnn", SDPBackend.CUDNN_ATTENTION), ("flash", SDPBackend.FLASH_ATTENTION)):
        calls[name, None] = functools.partial(sdpa, q, k, v, causal, backend)
    flops = 4.0 * Z * H * N * N * D * (0.5 if causal else 1)
    best, chosen = {}, {}
    for (name, config), us in zip(calls, microseconds(*calls.values(), repetitions=10)):
        if flops / us * 1e-6 > best.get(name, 0):
            best[name], chosen[name] = flops / us * 1e-6, config
    errors = {}
    for name in ("tandem", "pointers"):
        for config in configs:
            out.fill_(float("nan"))
            calls[name, config]()
            errors[name] = max(errors.get(name, 0), error(out, q, k, v, causal))
    ratios = ", ".join(f"{best['tandem'] / t:.2f} x {name}" for name, t in best.items() if name != "tandem")
    print(
        f"D {D} causal {causal} N {N} {dtype}: " + ", ".join(f"{name} {t:.0f}" for name, t in best.items()),
        f"TFLOP/s; {ratios}; blocks {chosen['tandem'][:3]}, Triton's {chosen['triton'][:3]};",
        ", ".join(f"{name} error {e:.1e}" for name, e in errors.items()),
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dtype", choices=["float16", "bfloat16"], default="float16")
    parser.add_argument("--lengths", type=int, nargs="+", default=[1024, 4096, 16384])
    options = parser.parse_args()
    contenders = modules()
    for D in (128, 64):
        for causal in (False, True):
            for N in options.lengths:
                measure(N, D, causal, getattr(torch, options.dtype), *contenders)


if __name__ == "__main__":
    main()
