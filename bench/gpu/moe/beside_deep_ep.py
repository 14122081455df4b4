"""Times dispatch and combine beside DeepEP's, where `deep_ep` (its first version) can be imported, on the same tokens in one run.

    python -m torch.distributed.run --nproc-per-node 2 bench/gpu/moe/beside_deep_ep.py [--low-latency] [--rows 8192] [--programs 24 132]

JSON lines of rank 0; microseconds of a call, of several in a CUDA graph on the slowest rank. DeepEP's normal kernels send a row for each
rank of a token, and their combine adds what is summed for each rank already; dispatch here makes the route, too, and combine weighs and
sums a rank's slots first. Its low-latency kernels send a row for each slot, sorted by expert, in fp8, and bring slots back in bf16.
"""

import argparse
import json
import os

import deep_ep
import torch
import torch.distributed as dist
from experts_apart import chosen, in_graph, link_rate

import tandem.torch as tt

EXPERTS, TOP_K, MEMORY = 256, 8, 1 << 30


def attempted(row, name, function, timed):
    """The time of a call, or why there is none."""
    try:
        function()
        row[name] = in_graph(function, *timed)[0]
    except (RuntimeError, AssertionError) as error:
        row[name] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"


def same(name, got, want):
    if not torch.equal(got.double(), want.double()):
        raise RuntimeError(f"{name}: another result")


def normal(row, buffer, x, ids, weights, programs, timed):
    """DeepEP's kernels for many tokens. A captured call may not ask how many rows come, so it has room for all."""
    ranks = dist.get_world_size()
    worst = ranks * len(x)
    deep_ep.Buffer.set_num_sms(programs)
    per_rank, _, per_expert, to, _ = buffer.get_dispatch_layout(ids, EXPERTS)
    told = {"num_tokens_per_rank": per_rank, "is_token_in_rank": to, "num_tokens_per_expert": per_expert}

    def dispatch():
        per_rank, _, per_expert, to, _ = buffer.get_dispatch_layout(ids, EXPERTS)
        told = {"num_tokens_per_rank": per_rank, "is_token_in_rank": to, "num_tokens_per_expert": per_expert}
        return buffer.dispatch(x, topk_idx=ids, topk_weights=weights, num_worst_tokens=worst, **told)

    rows, _, _, _, handle, _ = buffer.dispatch(x, topk_idx=ids, topk_weights=weights, **told)
    sums = torch.stack([(x.double() * to[:, r : r + 1]).sum(0) for r in range(ranks)])
    dist.all_reduce(sums)
    same("DeepEP's dispatch", rows.double().sum(0), sums[dist.get_rank()])
    same("DeepEP's combine", buffer.combine(rows, handle)[0], x.double() * to.sum(1, keepdim=True))
    attempted(row, f"deep_ep_dispatch_{programs}", dispatch, timed)
    attempted(row, f"deep_ep_dispatch_known_{programs}", lambda: buffer.dispatch(x, handle=handle), timed)
    attempted(row, f"deep_ep_combine_{programs}", lambda: buffer.combine(rows, handle), timed)


def low_latency(row, buffer, x, ids, weights, timed):
    m = len(x)
    for name, fp8 in (("deep_ep_dispatch", False), ("deep_ep_dispatch_fp8", True)):
        attempted(row, name, lambda fp8=fp8: buffer.low_latency_dispatch(x, ids, m, EXPERTS, use_fp8=fp8), timed)
    rows, _, handle, _, _ = buffer.low_latency_dispatch(x, ids, m, EXPERTS, use_fp8=False)
    out = buffer.low_latency_combine(rows, ids, weights, handle)[0]
    want = x.double() * weights.double().sum(1, keepdim=True)
    row["deep_ep_error"] = round(((out.double() - want).norm() / want.norm()).item(), 5)
    attempted(row, "deep_ep_combine", lambda: buffer.low_latency_combine(rows, ids, weights, handle), timed)


def ours(row, x, ids, weights, timed, variants):
    m, ranks = len(x), dist.get_world_size()
    h = torch.randn(ranks * m * TOP_K, x.shape[1], device="cuda").bfloat16()
    for name, options in variants.items():
        for quantised in (False, True):
            given = {**options, **({"quantised": True} if quantised else {})}
            more = tt.ep_dispatch(x, ids, weights, m, EXPERTS, **given)
            words = dict(zip(("out", "route", "out_scales"), more))
            call = lambda given=given, words=words: tt.ep_dispatch(x, ids, weights, m, EXPERTS, **words, **given)
            attempted(row, f"dispatch{'_fp8' * quantised}{name}", call, timed)
        route = tt.ep_dispatch(x, ids, weights, m, EXPERTS, **options)[1]
        attempted(row, f"combine{name}", lambda route=route, options=options: tt.ep_combine(h, route, ids, m, EXPERTS, **options), timed)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--low-latency", action="store_true")
    parser.add_argument("--rows", type=int, nargs="+")
    parser.add_argument("--columns", type=int, default=7168)
    parser.add_argument("--programs", type=int, nargs="+", default=[24, 132])
    given = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    rank, ranks = dist.get_rank(), dist.get_world_size()
    few = given.low_latency
    rows = given.rows or ([1, 16, 64, 128, 256, 512] if few else [4096, 8192])
    size = deep_ep.Buffer.get_low_latency_rdma_size_hint(max(rows), given.columns, ranks, EXPERTS) if few else 0
    more = {"low_latency_mode": True, "num_qps_per_rank": EXPERTS // ranks} if few else {}
    buffer = deep_ep.Buffer(dist.group.WORLD, 0 if few else MEMORY, size, explicitly_destroy=True, **more)
    tt.init(wait_timeout=20)
    rate = link_rate()
    if rank == 0:
        print(json.dumps({"gpu": torch.cuda.get_device_name(), "link_gbs": rate}), flush=True)
    timed = (10, 20) if few else (5, 4)
    for m in rows:
        torch.manual_seed(rank)
        x = torch.randint(-8, 9, (m, given.columns), device="cuda").bfloat16()
        ids, weights = chosen(m, EXPERTS, TOP_K, rank), torch.randint(1, 5, (m, TOP_K), device="cuda") / 4
        long = ids.to(deep_ep.topk_idx_t)
        row = {"rows": m, "columns": given.columns, "ranks": ranks}
        ours(row, x, ids, weights, timed, {"": {}} if few else {f"_{p}": {"mode": "throughput", "programs": p} for p in given.programs})
        if few:
            low_latency(row, buffer, x, long, weights, timed)
        else:
            for programs in given.programs:
                normal(row, buffer, x, long, weights, programs, timed)
        if rank == 0:
            print(json.dumps(row), flush=True)
    torch.cuda.synchronize()
    tt.release()
    buffer.destroy()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
