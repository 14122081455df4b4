"""Scripts for several GPUs under `tandem run --compat`: PyTorch's streams and collectives, NVSHMEM's host API and Triton-distributed's host
modules mean simulated ranks."""

import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch")

import tandem

PACKAGES = pathlib.Path(tandem.__file__).parent.parent
HEAD = """
import os
import torch
import triton
import triton.language as tl
import triton_dist
import triton_dist.language as dl
import nvshmem.core
from triton_dist.language.extra import libshmem_device
from triton_dist.utils import (NVSHMEM_SIGNAL_DTYPE, dist_print, finalize_distributed, initialize_distributed,
                               nvshmem_barrier_all_on_stream, nvshmem_create_tensor, nvshmem_create_tensors, nvshmem_free_tensor_sync)
"""


def run(folder, script, *options, ranks=4, arguments=(), fails=False, **environment):
    path = folder / "script.py"
    path.write_text(HEAD + script)
    command = [sys.executable, "-m", "tandem", "run", "--compat", "--ranks", str(ranks), *options, str(path), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": str(PACKAGES), **environment}
    )
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr if fails else done.stdout


def test_a_ring_of_symmetric_tensors(tmp_path):
    out = run(
        tmp_path,
        """
@triton_dist.jit
def ring(from_ptr, to_ptr, signal_ptr, BYTES: tl.constexpr):
    right = (dl.rank() + 1) % dl.num_ranks()
    libshmem_device.putmem_signal_block(to_ptr, from_ptr, BYTES, signal_ptr, 1, libshmem_device.NVSHMEM_SIGNAL_SET, right)
    libshmem_device.signal_wait_until(signal_ptr, libshmem_device.NVSHMEM_CMP_EQ, 1)

group = initialize_distributed()
rank, size = group.rank(), group.size()
assert (rank, size) == (int(os.environ["RANK"]), int(os.getenv("WORLD_SIZE"))) and "LOCAL_RANK" in os.environ
mine = torch.full((64,), rank, dtype=torch.float32, device="cuda")
source, inbox = (nvshmem_create_tensor((64,), torch.float32) for _ in range(2))
signal = nvshmem_create_tensor((1,), NVSHMEM_SIGNAL_DTYPE)
source.to(torch.float32)[:64].copy_(mine)                 # the tensor itself: nothing is read
str(inbox)
signal.zero_()
nvshmem_barrier_all_on_stream(torch.cuda.current_stream())
ring[(1,)](source, inbox, signal, source.nbytes)
assert inbox.is_cuda and inbox.device.type == "cuda" and (inbox == (rank - 1) % size).all()
dist_print(f"rank {rank} has", int(inbox[5]), need_sync=True, allowed_ranks="all")
signal.zero_()
for tensor in (source, inbox, signal):
    nvshmem_free_tensor_sync(tensor)
finalize_distributed()
""",
    )
    assert out.splitlines() == [f"rank {rank} has {(rank - 1) % 4}" for rank in range(4)]


def test_work_on_one_stream_waits_for_another_that_is_queued_later(tmp_path):
    run(
        tmp_path,
        """
from triton_dist.utils import CUDA_CHECK, cuda, cudart

@triton.jit
def take(signal_ptr, data_ptr, out_ptr, N: tl.constexpr):
    token = dl.wait(signal_ptr, 1, "sys", "acquire", waitValue=7)
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.load(dl.consume_token(data_ptr, token) + at))

group = initialize_distributed()
rank, size = group.rank(), group.size()
data, signals = nvshmem_create_tensors((32,), torch.int32, rank, size), nvshmem_create_tensors((1,), torch.int32, rank, size)
signals[rank].fill_(0)
out, sent = torch.zeros(32, dtype=torch.int32, device="cuda"), torch.full((32,), 100 + rank, dtype=torch.int32).cuda()
nvshmem_barrier_all_on_stream()
side = torch.cuda.Stream(priority=-1)
side.wait_stream(torch.cuda.current_stream())
take[(1,)](signals[rank], data[rank], out, 32)                      # waits for what is queued next
right = (rank + 1) % size
with torch.cuda.stream(side):
    if rank % 2:
        data[right].copy_(sent)
    else:
        CUDA_CHECK(cudart.cudaMemcpyAsync(data[right].data_ptr(), sent.data_ptr(), sent.nbytes,
                                          cudart.cudaMemcpyKind.cudaMemcpyDefault, side.cuda_stream)[0])
    CUDA_CHECK(cuda.cuStreamWriteValue32(side.cuda_stream, signals[right].data_ptr(), 7, 0)[0])
done = torch.cuda.Event(enable_timing=True)
done.record(side)
torch.cuda.current_stream().wait_event(done)
torch.cuda.current_stream().wait_stream(side)
assert (out == 100 + (rank - 1) % size).all(), out
signals[rank].zero_()
finalize_distributed()
""",
    )


def test_a_stream_that_does_not_wait_is_reported(tmp_path):
    errors = run(
        tmp_path,
        """
@triton.jit
def send(data_ptr, BYTES: tl.constexpr):
    libshmem_device.putmem_block(data_ptr + 32, data_ptr, BYTES, 1 - dl.rank())

group = initialize_distributed()
data = nvshmem_create_tensor((64,), torch.float32)
nvshmem_barrier_all_on_stream()
side = torch.cuda.Stream()
data[:32].copy_(torch.ones(32, device="cuda"))
with torch.cuda.stream(side):
    send[(1,)](data, 128)
torch.cuda.synchronize()
""",
        "--check",
        ranks=2,
        fails=True,
    )
    assert "error: race: " in errors and "no event or signal orders the two streams (M13)" in errors
    assert "--compat --ranks 2" in errors


def test_signals_too_few_are_reported(tmp_path):
    errors = run(
        tmp_path,
        """
@triton_dist.jit
def tell(signal_ptr):
    libshmem_device.signal_op(signal_ptr + dl.rank(), 1, libshmem_device.NVSHMEM_SIGNAL_SET, (dl.rank() + 1) % dl.num_ranks())

initialize_distributed()
signal = nvshmem_create_tensor((1,), NVSHMEM_SIGNAL_DTYPE)
signal.zero_()
nvshmem_barrier_all_on_stream()
tell[(1,)](signal)
torch.cuda.synchronize()
""",
        fails=True,
    )
    assert "error: out-of-bounds: a signal needs a symmetric address" in errors


def test_collectives(tmp_path):
    run(
        tmp_path,
        """
import torch.distributed as dist

group = initialize_distributed()
assert dist.group.WORLD is dist.GroupMember.WORLD is group
rank, size = dist.get_rank(), dist.get_world_size(group)
x = torch.arange(size, device="cuda") + 10 * rank
every = torch.arange(size)[:, None] * 10 + torch.arange(size)
parts = [torch.empty_like(x) for _ in range(size)]
dist.all_gather(parts, x, group=group)
assert (torch.stack(parts) == every).all()
whole = torch.empty(size * size, dtype=x.dtype)
dist.all_gather_into_tensor(whole, x, group)
assert (whole.view(size, size) == every).all()
y = x.clone()
dist.all_reduce(y)
assert (y == every.sum(0)).all()
dist.all_reduce(y.copy_(x), op=dist.ReduceOp.MAX)
assert (y == every.max(0).values).all()
one = torch.empty(1, dtype=x.dtype)
dist.reduce_scatter_tensor(one, x, group=group)
assert one[0] == every.sum(0)[rank]
dist.broadcast(y, src=1)
assert (y == every.max(0).values).all()
turned = torch.empty_like(x)
dist.all_to_all_single(turned, x)
assert (turned == every[:, rank]).all()
told = [None] * size
dist.all_gather_object(told, {"rank": rank})
assert told == [{"rank": r} for r in range(size)]
pair = dist.new_group([0, 2])
if rank in (0, 2):
    z = torch.tensor([rank])
    dist.all_reduce(z, group=pair, async_op=True).wait()
    assert z == 2 and pair.size() == 2 and dist.get_global_rank(pair, 1) == 2
dist.barrier()
dist.destroy_process_group()
assert not dist.is_initialized()
""",
    )


def test_messages(tmp_path):
    run(
        tmp_path,
        """
import torch.distributed as dist

group = initialize_distributed()
rank, size = group.rank(), group.size()
right, left = (rank + 1) % size, (rank - 1) % size
mine, got = torch.full((2, 3), float(rank), device="cuda"), torch.empty(2, 3, device="cuda")
for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, mine, right), dist.P2POp(dist.irecv, got, left)]):
    work.wait()
assert (got == left).all()
if rank == 0:                                       # the last that is sent is received first: its tag is another
    for value, tag in ((5, 0), (6, 0), (7, 1)):
        dist.send(torch.tensor([value]), dst=2, tag=tag)
if rank == 2:
    a, b, c = (torch.empty(1, dtype=torch.int64) for _ in range(3))
    assert dist.recv(c, 0, tag=1) == 0
    first, second = dist.irecv(a, src=0), dist.irecv(b, src=0)
    second.wait()
    assert first.is_completed() and [int(x) for x in (a, b, c)] == [5, 6, 7]
pair = dist.new_group([1, 3])
if rank in (1, 3):
    dist.send(mine, group=pair, group_dst=1) if rank == 1 else dist.recv(mine, group=pair, group_src=0)
    assert (mine == 1).all()
""",
    )


def test_a_message_that_nobody_sends(tmp_path):
    script = """
initialize_distributed()
if int(os.environ["RANK"]) == 1:
    torch.distributed.recv(torch.empty(1), src=0)
"""
    assert "script.py:15:1: error: deadlock" in run(tmp_path, script, ranks=2, fails=True)


def test_messages_order_what_ranks_do(tmp_path):
    """A rank reads of symmetric memory what another wrote before it sent."""
    run(
        tmp_path,
        """
@triton_dist.jit
def fill(to_ptr):
    tl.store(dl.symm_at(to_ptr, 1) + tl.arange(0, 4), 3)

group = initialize_distributed()
inbox, token = nvshmem_create_tensor((4,), torch.int32), torch.zeros(1)
if group.rank() == 0:
    fill[(1,)](inbox)
    torch.distributed.send(token, 1)
else:
    torch.distributed.recv(token, 0)
    assert (inbox == 3).all()
nvshmem_barrier_all_on_stream()
""",
        "--check",
        ranks=2,
    )


def test_the_compiled_kernel_has_texts(tmp_path):
    run(
        tmp_path,
        """
@triton.jit
def fill(to_ptr):
    tl.store(to_ptr + tl.arange(0, 4), 3)

initialize_distributed()
compiled = fill[(1,)](torch.empty(4, device="cuda"))
assert ".target sm_90a" in compiled.asm["ptx"] and "fill" in compiled.asm["ptx"]
""",
        ranks=1,
    )


def test_a_profile_records_nothing(tmp_path):
    run(
        tmp_path,
        """
initialize_distributed()
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA], record_shapes=True) as profile:
    torch.ones(4, device="cuda").sum()
    profile.step()
file = os.environ["FOLDER"] + "/" + os.environ["RANK"] + ".json"
profile.export_chrome_trace(file)
assert not list(profile.key_averages()) and os.path.getsize(file)
""",
        ranks=2,
        FOLDER=str(tmp_path),
    )


def test_kernels_of_a_backward_pass(tmp_path):
    out = run(
        tmp_path,
        """
import torch.utils.checkpoint

@triton.jit
def scale(x_ptr, y_ptr, part_ptr, factor, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    y = tl.load(x_ptr + i) * factor
    tl.store(y_ptr + i, y)
    tl.store(part_ptr + tl.program_id(0), tl.sum(y))

def scaled(x, factor):
    y, parts = torch.empty_like(x), torch.empty(len(x), device=x.device)
    scale[(len(x),)](x, y, parts, factor, x.shape[1])
    return y, parts

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = float(factor)
        return scaled(x, ctx.factor)[0]

    @staticmethod
    def backward(ctx, given):
        assert given.device.type == "cuda"
        gradient, parts = scaled(given.contiguous(), ctx.factor)
        return gradient, parts.sum() / ctx.factor          # PyTorch adds up what the kernel has still to write

@torch.compile(mode="max-autotune")
def doubled(x):
    return x * 2

group = initialize_distributed()
x = torch.arange(12, dtype=torch.float32, device="cuda").reshape(3, 4).requires_grad_()
factor = torch.tensor(3.0, device="cuda", requires_grad=True)
for times in range(1, 4):
    Scale.apply(doubled(x), factor).sum().backward()        # and takes times 2 what the kernel gives
    assert x.grad.tolist() == [[6.0 * times] * 4] * 3 and factor.grad.item() == 12.0 * times
(gradient,) = torch.autograd.grad(Scale.apply(torch.compile(doubled)(x), factor).sum(), x)
for reentrant in (True, False):
    x.grad = None
    y = torch.utils.checkpoint.checkpoint(lambda x: Scale.apply(x * 2, factor).sin(), x, use_reentrant=reentrant)
    y.sum().backward()
    assert torch.allclose(x.grad, 6 * torch.cos(6 * x), atol=1e-4)
x.grad = None
hooked = x * 1.0
hooked.register_hook(lambda given: scaled(given.contiguous(), 5.0)[0])
(hooked * 2).sum().backward()
assert (x.grad == 10).all() and (torch.vmap(lambda row: row * 2)(x) == x * 2).all()
if group.rank() == 0:
    print(gradient.tolist())
""",
        ranks=2,
    )
    assert out.splitlines() == [str([[6.0] * 4] * 3)]


def test_types_and_files_of_a_gpu(tmp_path):
    out = run(
        tmp_path,
        """
group = initialize_distributed()
x = torch.arange(4, dtype=torch.float32, device="cuda")
linear = torch.nn.Linear(4, 2, device="cuda")
for autocast in (lambda: torch.autocast("cuda", dtype=torch.bfloat16), lambda: torch.autocast(device_type="cuda")):
    with autocast():
        print(linear(x).dtype)
print(linear(x).dtype)
torch.save({"x": x}, "saved.pt")
for options in ({}, {"map_location": "cuda"}, {"map_location": torch.device("cuda", 0)}):
    loaded = torch.load("saved.pt", **options)["x"]
    assert loaded.device.type == "cuda" and loaded.tolist() == [0, 1, 2, 3]
""".replace("saved.pt", str(tmp_path / "saved.pt")),
        ranks=1,
    )
    assert out.split() == ["torch.bfloat16", "torch.float16", "torch.float32"]


def test_each_rank_has_its_own_random_numbers(tmp_path):
    run(
        tmp_path,
        """
import random
import torch.distributed as dist

group = initialize_distributed(seed=5)
first = torch.rand(3, device="cuda")
dist.barrier()                                    # other ranks draw numbers here
second, word = torch.randn(3, generator=torch.Generator(device="cuda").manual_seed(1)), random.random()
third = torch.rand(3)
found = [None] * group.size()
dist.all_gather_object(found, [first.tolist(), second.tolist(), third.tolist(), word])
assert all(each == found[0] for each in found)
torch.manual_seed(group.rank())
dist.all_gather_object(found, torch.rand(1).item())
assert len(set(found)) == group.size()
""",
    )


def test_nodes_of_two_ranks(tmp_path):
    out = run(
        tmp_path,
        """
group = initialize_distributed()
core = nvshmem.core
assert torch.cuda.device_count() == int(os.environ["LOCAL_WORLD_SIZE"]) == 2
assert core.team_n_pes(core.Teams.TEAM_NODE) == 2 and core.team_my_pe(core.Teams.TEAM_NODE) == torch.cuda.current_device()
tensors = nvshmem_create_tensors((1,), torch.int64, group.rank(), 2)
tensors[torch.cuda.current_device()].fill_(group.rank())
core.barrier(core.Teams.TEAM_NODE, stream=torch.cuda.current_stream())
row, column = core.team_split_2d(core.Teams.TEAM_WORLD, 2, core.TeamConfig(), 0, core.TeamConfig(), 0)
assert (core.team_my_pe(row), core.team_my_pe(column)) == (group.rank() % 2, group.rank() // 2) and core.team_n_pes(column) == 2

@triton.jit
def world_rank(out_ptr, team, pe):
    tl.store(out_ptr, libshmem_device.team_translate_pe(team, pe, libshmem_device.NVSHMEM_TEAM_WORLD))

out = torch.zeros(1, dtype=torch.int32, device="cuda")
world_rank[(1,)](out, int(column), core.team_my_pe(column))
assert int(out) == group.rank()
dist_print([int(t) for t in (tensor.cpu() for tensor in tensors)], need_sync=True, allowed_ranks="all")
""",
        LOCAL_WORLD_SIZE="2",
    )
    assert out.splitlines() == ["[0, 1]", "[0, 1]", "[2, 3]", "[2, 3]"]


def test_constants_of_the_script_are_set_on_the_command_line(tmp_path):
    script = """
M, N = 1 << 20, 8192
K = 4096
dist_print(N, K) if initialize_distributed() else None
"""
    assert run(tmp_path, script, "--set", "N=64", "--set", "K=32") == "64 32\n"
    assert "assigns no constant to `Q`" in run(tmp_path, script, "--set", "Q=1", fails=True)
    assert "invalid value `x y`" in run(tmp_path, script, "--set", "N=x y", fails=True)


def test_times_and_tuning_without_a_gpu(tmp_path):
    run(
        tmp_path,
        """
from triton_dist.autotuner import contextual_autotune
from triton_dist.profiler_utils import group_profile, perf_func
from triton_dist.tune import autotune

@triton.autotune([triton.Config({"B": 32}), triton.Config({"B": 64})], key=["n"])
@triton.jit
def double(x_ptr, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x_ptr + at, 2 * tl.load(x_ptr + at, at < n), at < n)

@contextual_autotune(is_dist=True)
@autotune([{"times": 3}, {"times": 4}], key_fn=lambda x, times=0: x.shape)
def triple(x, times=1):
    return x * times

initialize_distributed()
x = torch.ones(100, device=triton.runtime.driver.active.get_active_torch_device())
double[lambda meta: (triton.cdiv(100, meta["B"]),)](x, 100)
assert (triple(x, autotune=True) == 3 * x).all()
with group_profile("none", do_prof=False):
    result, milliseconds = perf_func(lambda: x + 1, iters=100, warmup_iters=20)
assert milliseconds > 0 and (result == x + 1).all()
assert triton.testing.do_bench(lambda: x + 1) > 0
low, high = triton.testing.do_bench(lambda: x + 1, quantiles=[0.2, 0.8])
assert low <= high
assert triton.testing.get_dram_gbps() > 3000 and triton.runtime.driver.active.get_current_target().arch == 90
assert torch.cuda.get_device_capability() == (9, 0) and torch.cuda.get_device_properties("cuda").multi_processor_count == 132
""",
        ranks=2,
    )


def test_the_checker_runs_such_a_script_many_times(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(
        HEAD
        + """
initialize_distributed()
flag = nvshmem_create_tensors((1,), torch.int32, torch.distributed.get_rank(), torch.distributed.get_world_size())
for each in flag:
    each.fill_(torch.distributed.get_rank())
torch.cuda.synchronize()
"""
    )
    command = [sys.executable, "-m", "tandem", "check", "--compat", "--ranks", "2", "--explore", "3", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": str(PACKAGES)})
    assert done.returncode == 1 and "error: race" in done.stdout and "in 3 of 3 runs" in done.stdout, done.stdout + done.stderr
