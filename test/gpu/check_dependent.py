"""A product that begins before the kernel before it has written what it multiplies: all that copies must wait."""

import device
import numpy as np
import triton
import triton.language as tl
from checks import add, compare, normal, wide

ROWS, COLUMNS, INNER = 512, 256, 512


@triton.jit
def late(source, to, turns, BLOCK: tl.constexpr):
    """Lets the next kernel begin, and writes long after that."""
    tl.extra.cuda.gdc_launch_dependents()
    number = tl.program_id(0)
    for _ in range(turns):
        number = number * number + 3
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(to + at, tl.load(source + at), mask=number != 1)


@triton.jit
def product(a, b, o, M, N, K):
    tl.extra.cuda.gdc_wait()
    row, column = tl.program_id(0) * 128, tl.program_id(1) * 128
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [128, 64])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [64, 128])
    acc = tl.zeros([128, 128], tl.float32)
    for at in range(0, K, 64):
        acc = tl.dot(left.load([row, at]), right.load([at, column]), acc)
    tl.make_tensor_descriptor(o, [M, N], [N, 1], [128, 128]).store([row, column], acc)


def launch(source, a, b, o, turns):
    late[(64,)](source, a, turns, BLOCK=ROWS * INNER // 64, num_warps=4)
    product[(ROWS // 128, COLUMNS // 128)](a, b, o, ROWS, COLUMNS, INNER, num_warps=8, num_stages=3, launch_pdl=True)


def dependent(seed):
    rng = np.random.default_rng(seed)
    b, o = normal(rng, (INNER, COLUMNS), "fp16"), np.zeros((ROWS, COLUMNS), np.float32)
    a, b, o = (device.to_device(x) for x in (np.zeros((ROWS, INNER), np.float16), b, o))
    for turn in range(3):  # the first launch of a kernel takes long, after which nothing is too early
        source = normal(rng, (ROWS, INNER), "fp16")
        launch(device.to_device(source), a, b, o, 5000)
        device.synchronize()
        wanted = wide(source) @ wide(device.to_host(b, np.empty((INNER, COLUMNS), np.float16)))
        compare(device.to_host(o, np.empty((ROWS, COLUMNS), np.float32)), wanted, 1e-4, f"NumPy, turn {turn}")


add("dependent.product", dependent)
