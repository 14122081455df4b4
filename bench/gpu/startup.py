"""Times the start of a kernel: with compiling it for the first time, and from the cache. Each runs in its own process."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

_HERE = pathlib.Path(__file__).resolve().parent

_FIRST_CALL = """
import sys, time
sys.path.insert(0, {here!r})
import torch
x = torch.empty(64, 64, device="cuda", dtype=torch.bfloat16)
torch.cuda.synchronize()
start = time.perf_counter()
from contenders import load, HERE
if {ours}:
    import tandem, tandem.language
    module = load(HERE / "kernels.py", "kernels", {{"triton": tandem, "triton.language": tandem.language}})
else:
    import triton
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device="cuda", dtype=torch.int8))
    module = load(HERE / "kernels.py", "kernels", {{}})
loaded = time.perf_counter()
module.matmul_persistent[(1,)](x, x, x, 64, 64, 64, BM=128, BN=256, BK=64, GROUP=8, SMS=132, num_warps=8, num_stages=3)
torch.cuda.synchronize()
print(1e3 * (loaded - start), 1e3 * (time.perf_counter() - loaded))
"""


def _first_call(ours, cache):
    """(ms to import, ms of the first call of the GEMM)."""
    environment = {**os.environ, "TANDEM_CACHE_DIR": cache, "TRITON_CACHE_DIR": cache}
    text = _FIRST_CALL.format(here=str(_HERE), ours=ours)
    return [
        float(x)
        for x in subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True).stdout.split()
    ]


def rows(with_triton):
    for name, ours in (("tandem", True), ("triton", False)):
        if ours or with_triton:
            with tempfile.TemporaryDirectory() as cache:
                cold, warm = (_first_call(ours, cache) for _ in range(2))
            yield {
                "kernel": "start",
                "unit": "ms",
                "contender": name,
                "import": round(warm[0]),
                "first_call_compiling": round(cold[1]),
                "first_call_cached": round(warm[1]),
            }


def cpp_row(program, bundle):
    """A launch by a C++ program that has the runtime library alone, and a bare one by the driver (bench/gpu/launch.cpp)."""
    out = subprocess.run([program, bundle], capture_output=True, text=True, check=True).stdout
    return {"kernel": "launch from C++", "unit": "us", **json.loads(out)}
