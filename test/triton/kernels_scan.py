"""Scans: sums and products, reversed, over each axis, combinations of one's own with several values."""

import triton
import triton.language as tl
from cases import bell, case, integers, out


@triton.jit
def running(x, o, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + at)
    tl.store(o + at, tl.cumsum(v, axis=AXIS, reverse=REVERSE))
    tl.store(o + M * N + at, tl.cumprod(v, AXIS, REVERSE))


@triton.jit
def running_type(x, o, N: tl.constexpr, T: tl.constexpr):
    i = tl.arange(0, N)
    s = tl.cumsum(tl.load(x + i), 0, dtype=T)
    t: tl.constexpr = s.dtype
    tl.store(o + i, s.to(tl.float64))
    tl.store(o + N, t.primitive_bitwidth * 4 + t.is_floating() * 2 + t.is_int_signed())


@triton.jit
def running_maximum(a, b):
    return tl.maximum(a, b)


@triton.jit
def linear_recurrence(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def first(a, b):
    return a


@triton.jit
def own_scans(x, o, N: tl.constexpr, REVERSE: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(o + i, tl.associative_scan(v, 0, running_maximum, reverse=REVERSE))
    a, b = tl.associative_scan((v * 0 + 0.5, v), 0, linear_recurrence, REVERSE)
    tl.store(o + N + i, a)
    tl.store(o + 2 * N + i, b)
    tl.store(o + 3 * N + i, tl.associative_scan(v, 0, first, reverse=REVERSE))


for axis in (0, 1):
    for reverse in (False, True):
        tag = f"axis{axis}" + (".reverse" if reverse else "")
        case(running, integers((8, 16), -2, 3, "int32", 1), out((2, 8, 16), "int32"), M=8, N=16, AXIS=axis, REVERSE=reverse, tag=tag)
        case(
            running,
            1 + bell((8, 16), seed=2) * bell((8, 16), seed=3) / 8,
            out((2, 8, 16)),
            M=8,
            N=16,
            AXIS=axis,
            REVERSE=reverse,
            tag=tag + ".fp32",
            rtol=1e-5,
            atol=1e-5,
        )
for t in ["int8", "uint8", "int16", "int32", "int64", "fp16", "bf16", "fp32"]:
    case(
        running_type,
        integers(32, 0, 100, t, 4),
        out(33, "fp64"),
        N=32,
        T=None,
        tag=t,
        rtol=8e-3 if t == "bf16" else 2e-3 if t == "fp16" else 0,
    )
case(running_type, integers(32, 0, 100, "int8", 4), out(33, "fp64"), N=32, T=tl.int64, tag="to_int64")
case(running_type, integers(32, 0, 100, "fp16", 4), out(33, "fp64"), N=32, T=tl.float32, tag="to_fp32")
for reverse in (False, True):
    case(own_scans, bell(32, seed=5), out((4, 32)), N=32, REVERSE=reverse, tag="reverse" if reverse else "", rtol=1e-5, atol=1e-6)
