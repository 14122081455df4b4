"""Times dispatch and combine beside others', on the same tokens in one run: DeepEP, its first version, where `deep_ep` can be imported, and
the all-to-all of PyTorch that reads its splits on the device, over NVSHMEM.

    python -m torch.distributed.run --nproc-per-node 2 bench/gpu/moe/beside_others.py deep_ep [--rows 8192] [--programs 24 132]

JSON lines of rank 0; microseconds of a call, of several in a CUDA graph on the slowest rank. DeepEP's kernels for many tokens send a row
for each rank of a token, and their combine adds what is summed for each rank already; dispatch here makes the route, too, and combine
weighs and sums a rank's slots first. Its low-latency kernels, and PyTorch, send a row for each slot, sorted by expert, and bring it back.
"""

import argparse
import json
import os

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm
from experts_apart import chosen, in_graph, link_rate

import tandem.torch as tt

EXPERTS, TOP_K, MEMORY = 256, 8, 1 << 30


def of_calls(function, calls=20):
    """Microseconds of a call on the slowest rank, one call behind the other."""
    torch.cuda.synchronize()
    dist.barrier()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(calls):
        function()
    end.record()
    torch.cuda.synchronize()
    time = torch.tensor(begin.elapsed_time(end) * 1000 / calls, device="cuda")
    dist.all_reduce(time, dist.ReduceOp.MAX)
    return round(time.item(), 2)


def attempted(row, name, function, timed):
    """The time of a call, or why there is none: in a graph, else, where it cannot be captured, of calls."""
    for kind, time in (("", lambda: in_graph(function, *timed)[0]), ("_of_calls", lambda: of_calls(function))):
        try:
            with torch.cuda.stream(torch.cuda.current_stream()):
                function()
                row[name + kind] = time()
            return
        except (RuntimeError, AssertionError) as error:
            row[name + kind] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"


def tell(row):
    if dist.get_rank() == 0:
        print(json.dumps(row), flush=True)


def same(name, got, want):
    if not torch.equal(got.double(), want.double()):
        raise RuntimeError(f"{name}: another result")


def normal(row, buffer, x, ids, weights, programs, timed):
    """DeepEP's kernels for many tokens. A captured call may not ask how many rows come, so it has room for all."""
    ranks = dist.get_world_size()
    worst = ranks * len(x)
    type(buffer).set_num_sms(programs)
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
    sums = torch.randn(ranks * m, x.shape[1], device="cuda").bfloat16()  # what DeepEP's combine gets, too
    for name, options in variants.items():
        for quantised in (False, True):
            given = {**options, **({"quantised": True} if quantised else {})}
            more = tt.ep_dispatch(x, ids, weights, m, EXPERTS, **given)
            words = dict(zip(("out", "route", "out_scales"), more))
            call = lambda given=given, words=words: tt.ep_dispatch(x, ids, weights, m, EXPERTS, **words, **given)
            attempted(row, f"dispatch{'_fp8' * quantised}{name}", call, timed)
        route = tt.ep_dispatch(x, ids, weights, m, EXPERTS, **options)[1]
        attempted(row, f"combine{name}", lambda route=route, options=options: tt.ep_combine(h, route, ids, m, EXPERTS, **options), timed)
        back = lambda route=route, options=options: tt.ep_combine(sums, route, ids, m, EXPERTS, summed=True, **options)
        attempted(row, f"combine_summed{name}", back, timed)


def of_vdev(row, x, ids, weights, timed):
    """PyTorch's, between sorting and summing."""
    m, columns, ranks, group = len(x), x.shape[1], dist.get_world_size(), dist.group.WORLD.group_name
    sizes = {"sent": (m * TOP_K, columns), "came": (ranks * m * TOP_K, columns), "back": (m * TOP_K, columns)}
    kept = {name: symm.empty(size, dtype=x.dtype, device="cuda") for name, size in sizes.items()}
    words = {name: symm.empty(size, EXPERTS, dtype=torch.int64, device="cuda") for name, size in (("to", 2), ("back", 2))}
    splits = symm.empty(EXPERTS, dtype=torch.int64, device="cuda")
    for tensor in (*kept.values(), *words.values(), splits):
        symm.rendezvous(tensor, group)

    def dispatch():
        order = ids.flatten().argsort(stable=True)
        torch.index_select(x, 0, order // TOP_K, out=kept["sent"])
        splits.copy_(torch.bincount(ids.flatten(), minlength=EXPERTS) if not captured else known)
        torch.ops.symm_mem.all_to_all_vdev_2d(kept["sent"], kept["came"], splits, words["to"], group)
        return order

    def combine():
        torch.ops.symm_mem.all_to_all_vdev_2d_offset(kept["came"], kept["back"], words["to"], words["back"], group)
        sums = torch.zeros(x.shape, device="cuda")
        return sums.index_add_(0, order // TOP_K, kept["back"].float() * weights.flatten()[order, None]).bfloat16()

    captured = False
    order = dispatch()
    known, captured = splits.clone(), True  # counting asks the host, which a captured call may not
    want = x.double() * weights.double().sum(1, keepdim=True)
    row["vdev_error"] = round(((combine().double() - want).norm() / want.norm()).item(), 5)
    attempted(row, "vdev_dispatch", dispatch, timed)
    attempted(row, "vdev_combine", combine, timed)


def buffer_of(deep_ep, few, rows, columns, ranks):
    if not few:
        return deep_ep.Buffer(dist.group.WORLD, MEMORY, explicitly_destroy=True)
    size = deep_ep.Buffer.get_low_latency_rdma_size_hint(max(rows), columns, ranks, EXPERTS)
    each = EXPERTS // ranks
    return deep_ep.Buffer(dist.group.WORLD, 0, size, low_latency_mode=True, num_qps_per_rank=each, explicitly_destroy=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", choices=("deep_ep", "deep_ep_low_latency", "vdev"))
    parser.add_argument("--rows", type=int, nargs="+")
    parser.add_argument("--columns", type=int, default=7168)
    parser.add_argument("--programs", type=int, nargs="+", default=[24, 132])
    given = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    rank, ranks = dist.get_rank(), dist.get_world_size()
    few, buffer = given.other != "deep_ep", None
    rows = given.rows or ([1, 16, 64, 128, 256, 512] if few else [4096, 8192])
    index = torch.int64
    if given.other == "vdev":
        symm.set_backend("NVSHMEM")
    else:
        import deep_ep

        buffer, index = buffer_of(deep_ep, few, rows, given.columns, ranks), deep_ep.topk_idx_t
    tt.init(wait_timeout=20)
    rate = link_rate()
    tell({"gpu": torch.cuda.get_device_name(), "link_gbs": rate, "other": given.other})
    timed = (10, 20) if few else (5, 4)
    for m in rows:
        torch.manual_seed(rank)
        x = torch.randint(-8, 9, (m, given.columns), device="cuda").bfloat16()
        ids, weights = chosen(m, EXPERTS, TOP_K, rank), torch.randint(1, 5, (m, TOP_K), device="cuda") / 4
        row = {"rows": m, "columns": given.columns, "ranks": ranks}
        ours(row, x, ids, weights, timed, {"": {}} if few else {f"_{p}": {"mode": "throughput", "programs": p} for p in given.programs})
        if given.other == "vdev":
            of_vdev(row, x, ids.to(index), weights, timed)
        elif few:
            low_latency(row, buffer, x, ids.to(index), weights, timed)
        tell(row)
        for programs in [] if few else given.programs:
            row = {"rows": m, "columns": given.columns, "ranks": ranks}
            normal(row, buffer, x, ids.to(index), weights, programs, timed)
            tell(row)
    torch.cuda.synchronize()
    tt.release()
    if buffer:
        buffer.destroy()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
