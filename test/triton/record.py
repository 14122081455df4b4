"""Runs every case with the real Triton on a GPU and writes golden.npz. Usage: python record.py [workers]."""

import multiprocessing
import queue
import sys
import time

import cases
import golden
import numpy as np

SECONDS = 400


class DeviceFailure(str):
    """The device's error when a case broke it; the process is of no use afterwards."""


def to_device(value):
    import torch

    if isinstance(value, tuple):
        return type(value)(*map(to_device, value)) if hasattr(value, "_fields") else tuple(map(to_device, value))
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.isbuiltin == 1:
        return torch.from_numpy(value).cuda()
    kinds = {"bf16": torch.bfloat16, "fp8e4nv": torch.float8_e4m3fn, "fp8e5": torch.float8_e5m2}
    (kind,) = (kinds[k] for k in kinds if np.dtype(cases.DTYPES[k]) == value.dtype)
    return torch.from_numpy(value.view(f"u{value.itemsize}")).cuda().view(kind)


def to_host(tensor, like):
    import torch

    return tensor.view(torch.uint8).cpu().numpy().view(like.dtype).reshape(like.shape)


def run(name):
    import torch

    case = cases.CASES[name]
    host = case.host_args()
    device = [to_device(a) for a in host]
    try:
        case.kernel[case.grid](*device, **case.constants)
        torch.cuda.synchronize()
    except torch.AcceleratorError as error:
        return DeviceFailure(str(error).splitlines()[0])
    except Exception as error:
        while error.__cause__ is not None:
            error = error.__cause__
        lines = [line for line in str(error).splitlines() if line.strip(" ^")]
        return f"{type(error).__name__}: {lines[-1] if lines else ''}"[:200]
    return [to_host(device[i], host[i]) for i in case.outputs()]


def work(names, results):
    import torch
    import triton

    cases.load_all()
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device="cuda", dtype=torch.int8))
    for name in names:
        result = run(name)
        results.put((name, result))
        if isinstance(result, DeviceFailure):
            return


def collect(names, workers, end):
    """Results of the cases that some process reached."""
    context = multiprocessing.get_context("spawn")
    channel = context.Queue()
    processes = [context.Process(target=work, args=(names[i::workers], channel)) for i in range(workers)]
    for process in processes:
        process.start()
    results = {}
    while len(results) < len(names) and time.monotonic() < end:
        try:
            name, result = channel.get(timeout=2)
            results[name] = result
        except queue.Empty:
            if not any(p.is_alive() for p in processes):
                break
    for process in processes:
        process.kill()
    return results


def main(workers):
    names, results, end = list(cases.load_all()), {}, time.monotonic() + SECONDS
    while len(results) < len(names) and time.monotonic() < end:
        results |= collect([n for n in names if n not in results], workers, end)
    for name in names:
        result = results.get(name, DeviceFailure("no result in time"))
        if isinstance(result, DeviceFailure):
            print("not recorded:", name, "|", result)
            results.pop(name, None)
    import torch
    import triton

    golden.write(results, {"triton": triton.__version__, "torch": torch.__version__, "gpu": torch.cuda.get_device_name()})
    for name, result in sorted(results.items()):
        if isinstance(result, str) and not name.startswith("promotion."):
            print("refused:", name, "|", result)
    print(len(results), "of", len(names), "cases recorded;", sum(isinstance(r, str) for r in results.values()), "refused")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
