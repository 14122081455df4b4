"""Attention over ranks: `torchrun --nproc-per-node 2 bench/gpu/gathered_attention.py`. Checks a part of each result against float64, then
times, in turns: the operator; our attention of as many products, all keys there before; NCCL's gathering and cuDNN's attention of as many;
PyTorch's own context-parallel attention. A line of JSON for each shape."""

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
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, str(pathlib.Path(__file__).parent / "overlap"))

from timing import Timer

import tandem.torch as tt

SHAPES = [  # rows of a sequence, heads of queries, of keys, causal
    (16384, 32, 8, True),
    (32768, 32, 8, True),
    (16384, 32, 32, True),
    (16384, 32, 8, False),
    (65536, 32, 8, True),
    (131072, 32, 8, True),
]
D, SAMPLES = 128, 256


def rows_of_rank(m, rank, ranks, device):
    """Both chunks of a sequence that a rank has; m is a multiple of twice the ranks."""
    chunk = m // (2 * ranks)
    rows = torch.arange(chunk, device=device)
    return torch.cat([rows + rank * chunk, rows + (2 * ranks - 1 - rank) * chunk])


def error(out, q, k, v, rows, causal):
    """Of some queries of two heads, against float64."""
    some = torch.linspace(0, len(rows) - 1, SAMPLES, device=rows.device).long()
    found, exact = [], []
    for head, kv_head in ((0, 0), (q.shape[2] - 1, k.shape[2] - 1)):
        scores = q[0, some, head].double() @ k[0, :, kv_head].double().T * D**-0.5
        if causal:
            scores.masked_fill_(rows[some][:, None] < torch.arange(k.shape[1], device=rows.device), -math.inf)
        exact.append(torch.softmax(scores, -1) @ v[0, :, kv_head].double())
        found.append(out[0, some, head].double())
    found, exact = torch.stack(found), torch.stack(exact)
    return ((found - exact).norm() / exact.norm()).item()


def context_parallel(q, k, v, causal, mesh, timer, repetitions):
    """Microseconds of PyTorch's own, of whole sequences that it deals to the ranks itself before."""
    from torch.distributed.tensor.experimental import context_parallel as parallel

    heads = [x.transpose(1, 2).contiguous() for x in (q, k, v)]
    with parallel(mesh, buffers=heads, buffer_seq_dims=[2, 2, 2], no_restore_buffers=set(heads)), sdpa_kernel(SDPBackend.CUDNN_ATTENTION):

        def call():
            return torch.nn.functional.scaled_dot_product_attention(*heads, is_causal=causal, enable_gqa=q.shape[2] != k.shape[2])

        call()
        torch.cuda.synchronize()
        return statistics.median(timer.measure({"": call}, repetitions)[""][0])


def calls_of(m, hq, hkv, causal, device, options):
    rank, ranks = tt.rank(), tt.size()
    generator = torch.Generator(device=device).manual_seed(m + hq)
    draw = lambda heads: torch.randn(1, m, heads, D, generator=generator, device=device, dtype=torch.bfloat16)
    whole_k, whole_v, rows = draw(hkv), draw(hkv), rows_of_rank(m, rank, ranks, device)
    part = draw(hq // ranks)  # the share of the products that a rank has, as heads of the whole sequence
    q, k, v = draw(hq)[:, rows].contiguous(), whole_k[:, rows].contiguous(), whole_v[:, rows].contiguous()
    share = (whole_k, whole_v) if hkv < ranks else (whole_k[:, :, : hkv // ranks].contiguous(), whole_v[:, :, : hkv // ranks].contiguous())
    gathered = torch.empty(2, ranks, *k.shape, device=device, dtype=k.dtype)
    heads = [x.transpose(1, 2) for x in (part, *share)]
    out = torch.full_like(q, math.nan)

    def ours(**more):
        return lambda: tt.ag_attention(q, k, v, m, causal=causal, out=out, **more)

    def of_cudnn():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(*heads, is_causal=causal, enable_gqa=hq != hkv)

    def nccl_and_cudnn():
        dist.all_gather_into_tensor(gathered[0], k)
        dist.all_gather_into_tensor(gathered[1], v)
        of_cudnn()

    calls = {"tandem": ours()}
    for given in options:
        calls["tandem " + given] = ours(**json.loads(given))
    calls["ours, gathered before"] = lambda: tt.attention(*heads, is_causal=causal, enable_gqa=hq != hkv)
    calls["cuDNN, gathered before"] = of_cudnn
    calls["NCCL + cuDNN"] = nccl_and_cudnn
    return calls, (out, q, whole_k, whole_v, rows, causal)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", type=int, default=len(SHAPES), help="only the first ones")
    parser.add_argument("--milliseconds", type=float, default=300, help="of repetitions of each call")
    parser.add_argument("--options", nargs="*", default=[], help="JSON: measured too")
    parser.add_argument("--ring", action="store_true", help="PyTorch's context parallel too")
    parser.add_argument("--out", help="a file of JSON")
    given = parser.parse_args()
    tt.init(wait_timeout=20)
    device = torch.device("cuda", torch.cuda.current_device())
    if not dist.is_initialized():
        dist.init_process_group("nccl", device_id=device)
    word = torch.zeros(1, device=device)
    timer, results = Timer(lambda: dist.all_reduce(word)), []
    mesh = torch.distributed.device_mesh.init_device_mesh("cuda", (tt.size(),)) if given.ring else None
    for m, hq, hkv, causal in SHAPES[: given.shapes]:
        calls, checked = calls_of(m, hq, hkv, causal, device, given.options)
        row = {"rows": m, "heads": [hq, hkv], "causal": causal}
        for call in calls.values():
            call()
        calls["tandem"]()
        worst = torch.tensor([error(*checked)], device=device)
        dist.all_reduce(worst, dist.ReduceOp.MAX)
        row["error"] = worst.item()
        flops = 4 * m * m * hq * D * (0.5 if causal else 1) / tt.size()
        repetitions = max(3, min(30, int(given.milliseconds * 1e3 / (flops / 600e6))))
        torch.cuda.synchronize()
        times = {name: statistics.median(us) for name, (us, _) in timer.measure(calls, repetitions).items()}
        slowest = torch.tensor(list(times.values()), device=device)
        dist.all_reduce(slowest, dist.ReduceOp.MAX)
        row["us"] = {name: round(us, 1) for name, us in zip(times, slowest.tolist())}
        if given.ring:
            try:
                whole = [torch.randn(1, m, heads, D, device=device, dtype=torch.bfloat16) for heads in (hq, hkv, hkv)]
                row["us"]["context parallel"] = round(context_parallel(*whole, causal, mesh, timer, repetitions), 1)
            except Exception as caught:
                row["context parallel"] = str(caught).splitlines()[0][:200]
        row["TFLOP/s"] = round(flops / row["us"]["tandem"] * 1e-6, 1)
        results.append(row)
        if tt.rank() == 0:
            print(json.dumps(row), flush=True)
        tt.release()
    if given.out and tt.rank() == 0:
        pathlib.Path(given.out).write_text(
            json.dumps({"gpu": torch.cuda.get_device_name(), "ranks": tt.size(), "shapes": results}, indent=1)
        )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
