"""The operator for attention against PyTorch's SDPA by cuDNN: drawn options checked against float64, then drawn and fixed shapes timed,
forward, backward and in fp8.

torchrun --nproc-per-node 1 bench/gpu/attention_operator.py [--seed 0] [--json FILE]
"""

import argparse
import functools
import json
import math
import random

import torch
from contenders import microseconds
from torch.nn.attention import SDPBackend, sdpa_kernel

import tandem.torch as tt

FP8 = torch.float8_e4m3fn


def exact(q, k, v, causal=False, window=0, softcap=0.0, sinks=None, top_left=True):
    """One sequence [heads, length, d] in float64."""
    group = q.shape[0] // k.shape[0]
    k, v = (x.repeat_interleave(group, 0) for x in (k, v))
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    m, n = scores.shape[-2:]
    away = torch.arange(m, device=q.device)[:, None] + (0 if top_left else n - m) - torch.arange(n, device=q.device)
    hidden = (causal & (away < 0)) | ((away.abs() >= window) if window else torch.zeros_like(away, dtype=torch.bool))
    scores = scores.masked_fill(hidden, -math.inf)
    columns = (
        torch.full((*scores.shape[:2], 1), -math.inf, device=q.device, dtype=q.dtype)
        if sinks is None
        else sinks[:, None, None].expand(-1, m, 1)
    )
    p = torch.softmax(torch.cat([scores, columns], -1), -1)[..., :n]
    return torch.nan_to_num(p, nan=0.0) @ v


def drawn(rng):
    d = rng.choice([64, 64, 96, 128, 128, 192, 256])
    hkv, group = rng.choice([1, 2, 3]), rng.choice([1, 2, 4])
    lengths = [(rng.randint(1, 700), rng.randint(1, 700)) for _ in range(rng.randint(1, 4))]
    options = {"causal": rng.random() < 0.6, "window": rng.choice([0, 0, rng.randint(1, 400)]), "softcap": rng.choice([0, 0, 2.0])}
    return d, hkv, hkv * group, lengths, options, rng.random() < 0.3, rng.choice([torch.bfloat16, torch.float16]), rng.random() < 0.5


def check(case):
    """The errors of a drawn call and its gradients, relative to float64's norm; with tensors poisoned behind what sequences have."""
    d, hkv, hq, lengths, options, has_sinks, dtype, varlen = case
    dv = 128 if d == 192 else d
    if not varlen:
        lengths = lengths[:1] * len(lengths)
    cu_q, cu_kv = (torch.tensor([0, *(x[i] for x in lengths)]).cumsum(0).int().cuda() for i in (0, 1))
    rows, keys = int(cu_q[-1]), int(cu_kv[-1])
    q, k, v, grad = (
        torch.randn(n, h, e, device="cuda").to(dtype) for n, h, e in ((rows, hq, d), (keys, hkv, d), (keys, hkv, dv), (rows, hq, dv))
    )
    sinks = torch.randn(hq, device="cuda") if has_sinks else None
    leaves = [x.requires_grad_() for x in (q, k, v, sinks) if x is not None]
    named = {name: value for name, value in options.items() if value and name != "causal"}
    if varlen:
        out = tt.attention_varlen(q, k, v, cu_q, cu_kv, max(x[0] for x in lengths), options["causal"], sinks=sinks, **named)
    else:
        views = [x.view(len(lengths), -1, *x.shape[1:]).transpose(1, 2) for x in (q, k, v)]
        out = tt.attention(*views, is_causal=options["causal"], enable_gqa=True, sinks=sinks, **named).transpose(1, 2).reshape(rows, hq, dv)
    found = [out, *torch.autograd.grad(out, leaves, grad)]
    twins = [x.detach().double().requires_grad_() for x in leaves]
    parts = [
        exact(
            *(x[a[i] : a[i + 1]].transpose(0, 1) for x, a in zip(twins, (cu_q, cu_kv, cu_kv))),
            sinks=twins[3] if has_sinks else None,
            top_left=not varlen,
            **options,
        )
        for i in range(len(lengths))
    ]
    want = torch.cat([p.transpose(0, 1) for p in parts])
    want = [want, *torch.autograd.grad(want, twins, grad.double())]
    return [((a.double() - b).norm() / b.norm().clamp_min(1)).item() for a, b in zip(found, want)]


def heads(batch, length, count, d, dtype=torch.bfloat16):
    return torch.randn(batch, length, count, d, device="cuda").to(dtype).transpose(1, 2)


def sdpa(q, k, v, causal):
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])


def result(call, *given):
    """What a call gives, in a list; an empty one, and a line, where a contender has no kernel for the shape."""
    try:
        return [call(*given)]
    except RuntimeError as error:
        print("not run:", str(error).splitlines()[0][:100])
        return []


def measure(d, causal, length, batch, hq, hkv, extra=()):
    """Times of a shape by microseconds; `extra`: (name, options) of the operator's backward to time beside its own choice."""
    dv = 128 if d == 192 else d
    q, k, v, grad = heads(batch, length, hq, d), heads(batch, length, hkv, d), heads(batch, length, hkv, dv), heads(batch, length, hq, dv)
    q8, k8, v8 = (x.to(FP8) for x in (q, k, v))
    ones = torch.ones(3, device="cuda")
    ours = functools.partial(tt.attention, is_causal=causal, enable_gqa=True)
    calls = {"ours": lambda: ours(q, k, v), "cudnn": lambda: sdpa(q, k, v, causal)}
    calls["fp8"] = lambda: ours(q8, k8, v8, scales=ones)
    calls |= {name: functools.partial(ours, q, k, v, **options) for name, options in extra if name.startswith("fwd")}
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    backward = {"ours back": ours, "cudnn back": functools.partial(sdpa, causal=causal)}
    backward |= {name: functools.partial(ours, **options) for name, options in extra if name.startswith("back")}
    for name, call in backward.items():
        if out := result(call, *leaves):
            calls[name] = functools.partial(torch.autograd.grad, *out, leaves, grad, retain_graph=True)
    with torch.no_grad():
        calls = {name: call for name, call in calls.items() if result(call)}
        times = dict(zip(calls, microseconds(*calls.values(), repetitions=7 if length <= 4096 else 3)))
    flops = 2.0 * batch * hq * length * length * (d + dv) * (0.5 if causal else 1)
    return {"d": d, "causal": causal, "length": length, "batch": batch, "hq": hq, "hkv": hkv, "flops": flops, "us": times}


def shapes(rng, few):
    fixed = [
        (d, c, n, max(1, 16384 // n), 2048 // d, 2048 // d) for d in (128, 64) for n in (1024, 2048, 4096, 16384) for c in (False, True)
    ]
    fixed += [(128, True, 4096, 4, 32, 8), (96, True, 4096, 4, 16, 16), (192, True, 4096, 4, 16, 16), (256, True, 4096, 4, 8, 8)]
    if few:
        return fixed
    return fixed + [
        (rng.choice([64, 128]), rng.random() < 0.5, rng.randrange(1024, 16384, rng.choice([1, 128])), 1, h := rng.choice([8, 16]), h)
        for _ in range(8)
    ]


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checks", type=int, default=30)
    parser.add_argument("--few", action="store_true", help="the fixed shapes alone")
    parser.add_argument("--json")
    options = parser.parse_args()
    tt.init()
    torch.manual_seed(options.seed)
    rng = random.Random(options.seed)
    worst = 0.0
    for _ in range(options.checks):
        case = drawn(rng)
        errors = check(case)
        worst = max(worst, *errors)
        if not all(e < 1e-2 for e in errors):
            print("WRONG", case, [f"{e:.1e}" for e in errors], flush=True)
    print(f"{options.checks} drawn calls: worst error {worst:.1e}", flush=True)
    rows = []
    for shape in shapes(rng, options.few):
        row = measure(*shape)
        rows.append(row)
        us = row["us"]
        for name, (ours, theirs) in {"forward": ("ours", "cudnn"), "backward": ("ours back", "cudnn back"), "fp8": ("fp8", "ours")}.items():
            row[name] = us[theirs] / us[ours] if theirs in us and ours in us else math.nan
        print(
            f"D {row['d']:3} causal {row['causal']:d} {row['length']:5} x {row['batch']:2} heads {row['hq']}/{row['hkv']}:",
            f"forward {row['forward']:.3f} ({row['flops'] / us['ours'] * 1e-6:.0f} TFLOP/s), backward {row['backward']:.3f}",
            f"({row['flops'] * 2.5 / us.get('ours back', math.nan) * 1e-6:.0f}), fp8 {row['fp8']:.3f};",
            ", ".join(f"{name} {t:.0f}" for name, t in us.items()),
            flush=True,
        )
    summary = {name: mean([row[name] for row in rows if row[name] == row[name]]) for name in ("forward", "backward", "fp8")}
    print("geometric means:", summary)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"device": torch.cuda.get_device_name(), "rows": rows, "means": summary}, file, indent=1)


if __name__ == "__main__":
    main()
