"""Checks and times the collectives on the GPUs of a host: every way of Tandem, forced and chosen, NCCL, and PyTorch over symmetric memory.

    python -m torch.distributed.run --nproc-per-node 2 bench/gpu/collectives.py [all_reduce all_gather ...] [--drawn 8] [--seed 1]

JSON lines of rank 0, microseconds on the slowest rank; `all_to_all_v` has unequal counts. `calls`: one call behind a barrier with a
cold L2, as `overlap/run.py` times them; `graph`: a call of 20 in a CUDA graph. `bytes`: the tensor's of sums and broadcasts, else a rank's
own; `floor`: what its link must carry in one direction at the copy engine's rate. Sizes are powers of two, in bf16, and drawn ones, of any
columns and types, some of which begin one element behind an aligned address. `errors`: what one shot, two shots or NCCL do not have.
"""

import argparse
import itertools
import json
import math
import os
import pathlib
import random
import statistics
import sys

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm

import tandem.torch as tt
from tandem.torch import world as worlds
from tandem.torch.shapes import OPERATIONS

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "moe"), str(HERE / "overlap")]
from experts_apart import in_graph, link_rate
from timing import Timer

KILOBYTES, COLUMNS = [1 << p for p in range(15)], 512
DRAWN_COLUMNS = [3, 77, 129, 500, 511, 520, 1000, 4099, 7168]
DRAWN_TYPES = [torch.bfloat16, torch.float32, torch.float16, torch.int8, torch.float8_e4m3fn]
NORMS = [(1, 8192), (6, 4096), (6, 8192), (16, 8192), (64, 4096), (64, 8192)]
WAYS = {
    "all_reduce": [{"way": "one_shot"}, {"way": "two_shot_packets"}, {"way": "two_shot"}],
    "reduce_scatter": [{"packets_bytes": 0}, {"packets_bytes": 1 << 26}],
    "all_gather": [{"packets_bytes": 0}, {"packets_bytes": 1 << 26}],
    "all_to_all": [{"packets_bytes": 0}, {"packets_bytes": 1 << 26}],
    "all_to_all_v": [{"packets_bytes": 0}, {"packets_bytes": 1 << 26}],
    "broadcast": [{"packets_bytes": 0}, {"packets_bytes": 1 << 26}],
}
REPETITIONS, REPLAYS = 25, 12


def forced(name, x, told, options, out):
    """A call of an operator of its own, made with `options`."""
    world, operation = worlds.current(), OPERATIONS[name]
    told = [sum(value, []) if isinstance(value, list) else value for value in told]
    values = operation.values(x.shape, None, dict(zip(operation.told, told)), world.size)
    addresses = [x.data_ptr(), out.data_ptr()]
    numbers = operation.numbers(values)
    world.operators.run(name, operation.sizes(values), x.dtype, False, addresses, numbers, out.dtype, tuple(options.items()))


def unequal(rows, ranks):
    """Rows from each rank to each, some more than others."""
    each = max(rows // ranks, 1)
    return [[each - (each > 1) * ((source + to) % 2) for to in range(ranks)] for source in range(ranks)]


def empty(shape, dtype, shift=0):
    """So many elements behind an address that is aligned."""
    return torch.empty(math.prod(shape) + shift, device="cuda", dtype=dtype)[shift:].view(shape)


def bits(x):
    """What NCCL moves: it has no fp8 everywhere."""
    return x.view(torch.uint8) if x.dtype == torch.float8_e4m3fn else x


def inputs_of(name, rows, columns, ranks, dtype, shift):
    """x, what the function is told beside it, and the shape of the result."""
    rows = max(ranks, rows // ranks * ranks) if name in ("all_to_all", "reduce_scatter") else rows
    told = {"all_gather": (None,), "all_to_all": (None,), "broadcast": (0,)}.get(name, ())
    shape = {"all_gather": (ranks * rows, columns), "reduce_scatter": (rows // ranks, columns)}.get(name, (rows, columns))
    if name == "all_to_all_v":
        counts, rank = unequal(rows, ranks), dist.get_rank()
        rows, shape, told = sum(counts[rank]), (sum(count[rank] for count in counts), columns), (counts,)
    x = empty((rows, columns), dtype, shift)
    x.copy_(torch.randint(-99, 100, x.shape, device="cuda") if dtype == torch.int8 else torch.randn(x.shape, device="cuda"))
    return x, told, shape


def of_nccl(name, x, told, shape):
    """(What to call, where its result is, what is done before a call outside of the times.)"""
    x, out = bits(x), torch.empty(shape, device="cuda", dtype=bits(x).dtype)
    match name:
        case "all_reduce":
            return lambda: dist.all_reduce(out), out, lambda: out.copy_(x)
        case "all_gather":
            return lambda: dist.all_gather_into_tensor(out, x), out, None
        case "all_to_all":
            return lambda: dist.all_to_all_single(out, x), out, None
        case "all_to_all_v":
            counts, rank = told[0], dist.get_rank()
            got = [count[rank] for count in counts]
            return lambda: dist.all_to_all_single(out, x, got, counts[rank]), out, None
        case "reduce_scatter":
            return lambda: dist.reduce_scatter_tensor(out, x), out, None
    return lambda: dist.broadcast(out, 0), out, lambda: out.copy_(x)


def of_torch(x):
    """PyTorch's all-reduces over symmetric memory, likewise by name."""
    group = dist.group.WORLD.group_name
    own = symm.empty(x.shape, dtype=x.dtype, device=x.device)
    symm.rendezvous(own, group)
    kept = torch.empty_like(x)
    one = lambda: torch.ops.symm_mem.one_shot_all_reduce_out(own, "sum", group, kept)
    two = lambda: torch.ops.symm_mem.two_shot_all_reduce_(own, "sum", group)
    return {"torch_one_shot": (one, kept, lambda: own.copy_(x)), "torch_two_shot": (two, own, lambda: own.copy_(x))}


def wanted(name, x, told, shape):
    """The exact result, of sums in float64."""
    exact = x.double() if "reduce" in name else bits(x)
    call, out, reset = of_nccl(name, exact, told, shape)
    if reset:
        reset()
    call()
    return out


def case_of(name, rows, columns, timer, rate, dtype=torch.bfloat16, shift=0):
    """Without a timer graphs alone."""
    ranks = dist.get_world_size()
    x, told, shape = inputs_of(name, rows, columns, ranks, dtype, shift)
    out = empty(shape, dtype, shift)
    contenders = {"tandem": (lambda: getattr(tt, name.removesuffix("_v"))(x, *told, out=out), out, None)}
    for options in WAYS[name]:
        label = ",".join(f"{k}={v}" for k, v in options.items())
        contenders[label] = (lambda options=options: forced(name.removesuffix("_v"), x, told, options, out), out, None)
    contenders["nccl"] = of_nccl(name, x, told, shape)
    row = {"op": name, "bytes": x.numel() * x.element_size(), "columns": columns, "ranks": ranks, "errors": {}}
    row |= {"type": str(dtype).removeprefix("torch."), "shift": shift}
    if name == "all_reduce":
        try:
            contenders |= of_torch(x)
        except RuntimeError as error:
            row["errors"]["torch"] = str(error).splitlines()[0][:200]
    exact = wanted(name, x, told, shape)
    for label, (call, result, reset) in list(contenders.items()):
        error = None
        try:
            if reset:
                reset()
            else:
                result.view(torch.uint8).fill_(0xFF)
            call()
            torch.cuda.synchronize()
        except RuntimeError as caught:  # of all ranks, as their sizes are the same
            error = str(caught).splitlines()[0][:200]
        else:
            off = (bits(result).double() - exact.double()).norm() / exact.double().norm()
            if not off <= (1e-2 if "reduce" in name else 0):
                error = f"wrong result: relative error {off.item():.3g}"
        told_errors = [None] * ranks
        dist.all_gather_object(told_errors, error)
        if any(told_errors):
            row["errors"][label] = next(e for e in told_errors if e)
            del contenders[label]
    if timer:
        resets = {label: reset for label, (_, _, reset) in contenders.items() if reset}
        times = timer.measure({label: call for label, (call, _, _) in contenders.items()}, REPETITIONS, resets)
        medians = torch.tensor([statistics.median(device) for device, _ in times.values()], device="cuda")
        dist.all_reduce(medians, dist.ReduceOp.MAX)
        row["calls"] = {label: round(us, 2) for label, us in zip(times, medians.tolist())}
    row["graph"] = {label: in_graph(call, REPLAYS)[0] for label, (call, _, _) in contenders.items()}
    travels = {"all_gather": ranks - 1, "all_reduce": 2 * (ranks - 1) / ranks, "broadcast": 1}.get(name, (ranks - 1) / ranks)
    row["floor"] = round(travels * row["bytes"] / rate / 1e3, 2)
    return row


def drawn_cases(count, is_sum, most=1 << 25):
    """(Rows, columns, type, shift), any number of bytes from one row to `most`."""
    cases = []
    for _ in range(count):
        columns, dtype = random.choice(DRAWN_COLUMNS), random.choice(DRAWN_TYPES[: 3 if is_sum else None])
        rows = int(2 ** random.uniform(0, math.log2(most / columns / dtype.itemsize)))
        cases.append((rows, columns, dtype, random.choice([0, 0, 1])))
    return cases


def norm_of(m, columns):
    x, residual = (torch.randn(m, columns, device="cuda").bfloat16() for _ in range(2))
    weight = torch.randn(columns, device="cuda").bfloat16()
    sums = in_graph(lambda: tt.all_reduce(x), REPLAYS)[0]
    norm = in_graph(lambda: tt.all_reduce_norm(x, residual, weight, eps=1e-5), REPLAYS)[0]
    return {"op": "all_reduce_norm", "m": m, "columns": columns, "all_reduce": sums, "norm": norm, "more": round(norm - sums, 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ops", nargs="*", default=[*WAYS, "norm"], choices=[*WAYS, "norm"])
    parser.add_argument("--kilobytes", type=int, nargs="+", default=KILOBYTES)
    parser.add_argument("--drawn", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    tt.init(wait_timeout=20)
    rate = torch.tensor(float(link_rate() or 0), device="cuda")
    dist.all_reduce(rate, dist.ReduceOp.MAX)
    pad = symm.empty(1024, dtype=torch.int32, device="cuda")
    handle = symm.rendezvous(pad, dist.group.WORLD.group_name)
    timer = Timer(lambda: handle.barrier(channel=0))
    is_first = dist.get_rank() == 0
    if is_first:
        machine = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "nccl": torch.cuda.nccl.version()}
        print(json.dumps({**machine, "link_gbs": rate.item(), "seed": given.seed}), flush=True)
    random.seed(given.seed)
    # The largest first: an operator for all.
    sizes = [(rows, COLUMNS) for rows in sorted(given.kilobytes, reverse=True)]
    for name in given.ops:
        rows = (norm_of(*shape) for shape in NORMS) if name == "norm" else (case_of(name, *size, timer, rate.item()) for size in sizes)
        drawn = [] if name == "norm" else drawn_cases(given.drawn, is_sum="reduce" in name)
        for row in itertools.chain(rows, (case_of(name, rows, columns, timer, rate.item(), *more) for rows, columns, *more in drawn)):
            if is_first:
                print(json.dumps(row), flush=True)
    tt.release()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
