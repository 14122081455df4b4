"""tandem.torch on several GPUs: `torchrun --nproc-per-node 4 test/gpu/torch_ranks.py`. Products, gradients, layers, graphs, torch.compile.

Every check runs on all ranks; the last line of rank 0 is `N passed, N failed`.
"""

import os
import pathlib
import runpy
import sys
import traceback

for variable, value in {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}.items():
    os.environ[variable] = value

import torch

import tandem.torch as tt

BF16 = torch.bfloat16


def random(*shape, seed, dtype=BF16):
    """The same on all ranks."""
    generator = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randn(*shape, generator=generator, device="cuda", dtype=dtype)


def shard(whole, dim=0):
    size = -(-whole.shape[dim] // tt.size())
    begin = min(tt.rank() * size, whole.shape[dim])
    return whole.narrow(dim, begin, min(size, whole.shape[dim] - begin)).contiguous()


def close(got, want, tolerance=1e-2):
    error = ((got.double() - want.double()).norm() / want.double().norm()).item()
    assert got.shape == want.shape and error < tolerance, f"shapes {list(got.shape)} and {list(want.shape)}, relative error {error:.3g}"


def check_products():
    for m in (512, 509, 8):
        a, b = random(m, 512, seed=m), random(512, 384, seed=m + 1)
        weight = b.t().contiguous()
        exact = a.double() @ b.double()
        for right in (b, weight.t()):
            close(tt.ag_gemm(shard(a), right, m), exact)
        for left, right in ((shard(a, 1), shard(b)), (shard(a, 1), shard(weight, 1).t())):
            close(tt.gemm_rs(left, right), shard(exact))
            close(tt.gemm_ar(left, right), exact)
        close(tt.ag_gemm(shard(a), b, m, out_dtype=torch.float32), exact, 3e-3)
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        for m in (512, 8):
            a, weight = random(m, 512, seed=m).to(dtype), random(384, 512, seed=m + 1).to(dtype)
            exact = a.double() @ weight.t().double()
            close(tt.ag_gemm(shard(a), weight.t()), exact)
            close(tt.gemm_rs(shard(a, 1), shard(weight, 1).t()), shard(exact))
            close(tt.gemm_ar(shard(a, 1), shard(weight, 1).t()), exact)


def check_collectives():
    for count in (256, 1000, 65536, 1 << 22):
        x = random(count, seed=count)
        mine = x * (tt.rank() + 1)
        close(tt.all_reduce(mine), x * sum(range(1, tt.size() + 1)))
        close(tt.all_reduce(mine, out=mine), x * sum(range(1, tt.size() + 1)))
    x = random(509, 192, seed=3)
    assert torch.equal(tt.all_gather(shard(x), 509), x)
    close(tt.reduce_scatter(x), shard(x) * tt.size())
    numbers = torch.arange(509 * 4, device="cuda").view(509, 4)
    assert torch.equal(tt.all_gather(shard(numbers), 509), numbers)


def gradients(function, *inputs):
    inputs = [x.detach().clone().requires_grad_() for x in inputs]
    function(*inputs).square().sum().backward()
    return [x.grad for x in inputs]


def check_gradients():
    a, b = random(512, 256, seed=5), random(256, 384, seed=6)
    want_a, want_b = gradients(lambda a, b: a @ b, a, b)
    got_a, got_b = gradients(tt.ag_gemm, shard(a), shard(b, 1))
    close(got_a, shard(want_a), 2e-2)
    close(got_b, shard(want_b, 1), 2e-2)
    for function in (tt.gemm_rs, tt.gemm_ar):
        got_a, got_b = gradients(function, shard(a, 1), shard(b))
        close(got_a, shard(want_a, 1), 2e-2)
        close(got_b, shard(want_b), 2e-2)


class Layers(torch.nn.Module):
    def __init__(self, first, second, sequence_parallel):
        super().__init__()
        self.up = tt.ColumnParallelLinear.from_linear(first, sequence_parallel)
        self.down = tt.RowParallelLinear.from_linear(second, sequence_parallel)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


def layers(sequence_parallel):
    torch.manual_seed(0)
    first, second = torch.nn.Linear(512, 1024, device="cuda", dtype=BF16), torch.nn.Linear(1024, 512, device="cuda", dtype=BF16)
    return (lambda x: second(torch.relu(first(x)))), Layers(first, second, sequence_parallel)


def check_layers():
    x = random(128, 4, 512, seed=7)
    for sequence_parallel in (True, False):
        whole, sharded = layers(sequence_parallel)
        want, (want_x,) = whole(x), gradients(whole, x)
        mine = shard(x) if sequence_parallel else x
        got, (got_x,) = sharded(mine), gradients(sharded, mine)
        close(got, shard(want) if sequence_parallel else want, 2e-2)
        close(got_x, shard(want_x) if sequence_parallel else want_x, 3e-2)


@torch.no_grad()
def check_graphs():
    whole, sharded = layers(True)
    x = random(256, 512, seed=8)
    mine = shard(x)
    sharded(mine)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = sharded(mine)
    for seed in range(20):
        x = random(256, 512, seed=seed)
        mine.copy_(shard(x))
        out.fill_(float("nan"))
        graph.replay()
        close(out, shard(whole(x)), 2e-2)


def check_a_capture_of_a_new_size_is_refused():
    x = random(96, 512, seed=9)
    b = random(512, 320, seed=9)
    tt.prepare("ag_gemm", 96 * tt.size(), 320, 512, weight=False)
    tt.ag_gemm(x, b)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        tt.ag_gemm(x, b)
        try:
            tt.ag_gemm(x[:32], b)
        except RuntimeError as error:
            assert "has not run before this graph capture" in str(error), error
        else:
            raise AssertionError("a capture of a size that never ran was let through")


def check_teams():
    """This rank alone, and all ranks in the opposite order, by a list and as a process group: gradients, and a captured call."""
    import torch.distributed as dist

    if not dist.is_initialized():
        dist.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    alone = [dist.new_group([r]) for r in range(tt.size())][tt.rank()]
    turned = list(range(tt.size()))[::-1]
    for group, members in ((alone, [tt.rank()]), (turned, turned)):
        a, b = random(64, 128, seed=tt.rank(), dtype=torch.float32).requires_grad_(), random(128, 96, seed=1, dtype=torch.float32)
        with tt.on(group) as team:
            assert (tt.size(), team.members) == (len(members), members)
            y, product = tt.all_gather(a), tt.ag_gemm(a, b)
        every = torch.cat([random(64, 128, seed=r, dtype=torch.float32) for r in members])
        assert torch.equal(y, every)
        close(product, every.double() @ b.double())
        y.sum().backward()
        assert torch.equal(a.grad, torch.full_like(a, len(members)))
        with torch.no_grad(), tt.on(group):
            x = a.detach().clone()
            tt.all_reduce(x)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                out = tt.all_reduce(x)
        for seed in range(3):
            x.copy_(random(64, 128, seed=10 * seed + torch.cuda.current_device(), dtype=torch.float32))
            given = tt.all_gather(x[None])
            graph.replay()
            close(out, sum(given[r] for r in members), 1e-5)


@torch.no_grad()
def check_compiled():
    for sequence_parallel in (True, False):
        whole, sharded = layers(sequence_parallel)
        for mode in (None, "reduce-overhead"):
            compiled = torch.compile(sharded, fullgraph=True, mode=mode)
            for seed in range(6):
                x = random(256, 512, seed=seed)
                want = whole(x)
                close(compiled(shard(x) if sequence_parallel else x), shard(want) if sequence_parallel else want, 2e-2)


def check_streams():
    a, b = random(512, 512, seed=10), random(512, 384, seed=11)
    exact, mine = a.double() @ b.double(), shard(a)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    for _ in range(20):
        one = tt.ag_gemm(mine, b)
        with torch.cuda.stream(side):
            two = tt.ag_gemm(mine, b)
        torch.cuda.synchronize()
        close(one, exact)
        close(two, exact)


def main():
    tt.init(wait_timeout=30)
    passed, failed = 0, 0
    checks = {name: f for name, f in globals().items() if name.startswith("check_")}
    for path in sorted(pathlib.Path(__file__).resolve().parents[2].glob("ops/*/test/gpu_torch.py")):
        checks.update(runpy.run_path(str(path), {"random": random, "shard": shard})["CHECKS"])
    for name, check in checks.items():
        try:
            check()
            passed += 1
        except Exception:
            failed += 1
            print(f"rank {tt.rank()}: {name} failed\n{traceback.format_exc()}", flush=True)
        torch.cuda.synchronize()
    failures = tt.all_reduce(torch.full((16,), float(failed), device="cuda"))
    if tt.rank() == 0:
        print(f"{passed} passed, {int(failures[0].item() > 0) and max(failed, 1)} failed", flush=True)
    tt.release()
    sys.exit(bool(failures[0].item()))


if __name__ == "__main__":
    main()
