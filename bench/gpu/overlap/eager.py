"""Times calls of PyTorch as a program makes them, one behind the other and in no graph: what the host takes of each counts.

    python -m torch.distributed.run --nproc-per-node 2 bench/gpu/overlap/eager.py [--gradients]

JSON lines of rank 0, bf16, microseconds: `wall` of a call in a row of 40 that ends with the GPU, `host` until the row is queued; the
median of seven rows. Beside Tandem `torch.mm` with NCCL; `mm`: the host's time of a product alone, which says how quick the processor is.
M is of all ranks, N and K are the columns and the inner size of a rank's product. `--gradients`: with those of the inputs to be kept.
"""

import argparse
import json
import os
import statistics
import time

import torch
import torch.distributed as dist

import tandem.torch as tt

SIZES = [(16, 3584, 4096), (256, 3584, 4096), (1024, 7168, 8192), (8192, 1024, 14336)]
ELEMENTS = [4096, 1 << 19]
ROWS, CALLS = 7, 40


def timed(call):
    """The microseconds of a call on this rank: wall and host."""
    for _ in range(5):
        call()
    walls, hosts = [], []
    for _ in range(ROWS):
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        queued = time.perf_counter()
        torch.cuda.synchronize()
        walls.append(time.perf_counter() - begin)
        hosts.append(queued - begin)
    return {name: round(statistics.median(times) / CALLS * 1e6, 1) for name, times in (("wall", walls), ("host", hosts))}


def cases(device, ranks, gradients):
    """Name, Tandem's call and NCCL's."""

    def draw(*shape):
        return torch.randn(*shape, device=device, dtype=torch.bfloat16)

    for elements in ELEMENTS:
        x = draw(elements)
        yield {"op": "all_reduce", "elements": elements}, lambda: tt.all_reduce(x), lambda: dist.all_reduce(x)
    for m, n, k in SIZES:
        shard, rows = draw(-(-m // ranks), k), draw(m, k)
        b, gathered, scattered = draw(n, k).t(), torch.empty(m, k, **like(shard)), torch.empty(-(-m // ranks), n, **like(shard))
        shard.requires_grad_(gradients)
        rows.requires_grad_(gradients)

        def gather_first():
            dist.all_gather_into_tensor(gathered, shard.detach())
            return gathered @ b

        sizes = {"m": m, "n": n, "k": k}
        yield {"op": "ag_gemm", **sizes}, lambda: tt.ag_gemm(shard, b), gather_first
        yield {"op": "gemm_rs", **sizes}, lambda: tt.gemm_rs(rows, b), lambda: dist.reduce_scatter_tensor(scattered, (rows @ b).detach())
        yield {"op": "gemm_ar", **sizes}, lambda: tt.gemm_ar(rows, b), lambda: dist.all_reduce((rows @ b).detach())


def like(tensor):
    return {"device": tensor.device, "dtype": tensor.dtype}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gradients", action="store_true")
    options = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    tt.init()
    a, b = (torch.randn(256, 4096, device=device, dtype=torch.bfloat16) for _ in range(2))
    with torch.set_grad_enabled(options.gradients):
        product = timed(lambda: a @ b.t())["host"]
        for case, ours, nccl in cases(device, dist.get_world_size(), options.gradients):
            line = {**case, "gradients": options.gradients, "tandem": timed(ours), "nccl": timed(nccl), "mm": product}
            if dist.get_rank() == 0:
                print(json.dumps(line), flush=True)
    tt.release()
    dist.destroy_process_group()


main()
