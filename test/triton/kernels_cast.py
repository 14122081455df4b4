"""Conversions: rounding of narrow floats, wrap-around of integers, bit casts, constants of every type."""

import numpy as np
import triton
import triton.language as tl
from cases import DTYPES, array, bell, bits, case, integers, out, uniform


@triton.jit
def convert(src, dst, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(dst + i, tl.load(src + i).to(dst.dtype.element_ty))


@triton.jit
def convert_by_store(src, dst, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(dst + i, tl.load(src + i))


@triton.jit
def through_bits(src, dst, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(dst + i, tl.load(src + i).to(dst.dtype.element_ty, bitcast=True))


@triton.jit
def toward_zero(src, dst, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(dst + i, tl.load(src + i).to(dst.dtype.element_ty, fp_downcast_rounding="rtz"))


@triton.jit
def cast_function(src, dst, N: tl.constexpr):
    i = tl.arange(0, N)
    half = tl.cast(tl.load(src + i), tl.float16)
    tl.store(dst + i, tl.cast(half, tl.uint16, bitcast=True))


@triton.jit
def truth(src, dst, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(dst + i, tl.load(src + i).to(tl.int1).to(tl.int32))


@triton.jit
def arithmetic_of_narrow(src, dst, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(src + i)
    tl.store(dst + i, x.to(tl.float32) * x + 1.0)


@triton.jit
def filled(dst, N: tl.constexpr):
    i = tl.arange(0, N)
    t: tl.constexpr = dst.dtype.element_ty
    tl.store(dst + i, tl.full((N,), 3, t))
    tl.store(dst + N + i, tl.zeros((N,), dtype=t) + tl.full([], 2, t))
    tl.store(dst + 2 * N + i, tl.zeros_like(tl.load(dst + i)))


def special(dtype):
    edge = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        np.inf,
        -np.inf,
        np.nan,
        448.0,
        464.0,
        480.0,
        57344.0,
        61440.0,
        65504.0,
        65520.0,
        1e-8,
        2.0**-9,
        2.0**-10,
        3 * 2.0**-11,
        2.0**-17,
        2.0**-24,
        2.0**-25,
        3.0e38,
        1.0 + 2.0**-8,
        1.0 + 2.0**-9,
        1.0 + 3 * 2.0**-9,
        1.0625,
        1.1875,
        0.1,
    ]
    with np.errstate(over="ignore"):
        return np.concatenate([array(edge, dtype), bell(36, dtype, 1) * DTYPES[dtype](4), bell(64, dtype, 2) * DTYPES[dtype](0.01)])


FLOATS = ["fp16", "bf16", "fp32", "fp64"]
for a in FLOATS:
    for b in FLOATS:
        if a != b:
            case(convert, special(a), out(128, b), N=128, tag=f"{a}.{b}")
            case(convert_by_store, special(a), out(128, b), N=128, tag=f"{a}.{b}")
finite = np.nan_to_num(np.clip(special("fp32"), -400, 400))
for b in ["fp8e4nv", "fp8e5"]:
    case(convert, finite, out(128, b), N=128, tag=f"fp32.{b}")
    case(
        convert,
        np.concatenate([finite[:64], array([448, 464, 465, 480, 1e4, -1e4, 57344, 61439, 61441, 7e4, -7e4, np.inf] + [1] * 52, "fp32")]),
        out(128, b),
        N=128,
        tag=f"fp32.{b}.saturating",
    )
    case(convert, finite.astype(np.float16), out(128, b), N=128, tag=f"fp16.{b}")
    case(convert, finite.astype(DTYPES["bf16"]), out(128, b), N=128, tag=f"bf16.{b}")
    every = np.arange(256, dtype=np.uint8).view(DTYPES[b])
    for to in ["fp16", "bf16", "fp32"]:
        # Triton's conversion from fp8e5 to bf16 has no infinity.
        source = np.where(np.isfinite(every.astype(np.float32)), every, every[:1]) if to == "bf16" else every
        case(convert, source, out(256, to), N=256, tag=f"{b}.{to}")
    case(arithmetic_of_narrow, bell(64, b), out(64), N=64, tag=b)
WHOLE = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
for a in WHOLE:
    words = bits(64, 3).astype(DTYPES[a])
    for b in WHOLE:
        if a != b:
            case(convert, words, out(64, b), N=64, tag=f"{a}.{b}")
    for b in FLOATS:
        case(convert, words, out(64, b), N=64, tag=f"{a}.{b}")
        signed = -100 if a.startswith("int") else 0
        case(convert, uniform(64, signed, 100, b, 4), out(64, a), N=64, tag=f"{b}.{a}")
    case(truth, array([0, 1, 2, 64, 128, 100, 0, 3], "uint8").astype(DTYPES[a]), out(8, "int32"), N=8, tag=a)
edges = array([2.0**31, -(2.0**31), 3e9, -3e9, 5e9, np.inf, -np.inf, np.nan, -1.5, 0.5, 1.5, 2.5, -0.5, 1e20, -1e20, 4294967040.0], "fp32")
case(convert, edges, out(16, "int32"), N=16, tag="fp32.int32.saturating")
case(convert, edges, out(16, "uint32"), N=16, tag="fp32.uint32.saturating")
edges[7] = 7
case(convert, edges, out(16, "int64"), N=16, tag="fp32.int64.saturating")
case(convert, integers(16, 0, 2, "int1", 5), out(16, "fp32"), N=16, tag="int1.fp32")
case(convert, integers(16, 0, 2, "int1", 5), out(16, "int32"), N=16, tag="int1.int32")
case(convert, integers(16, 0, 3, "int32", 5), out(16, "int1"), N=16, tag="int32.int1")
case(truth, array([0.0, -0.0, 0.5, np.nan, -1, np.inf, 1e-40, 2], "fp32"), out(8, "int32"), N=8, tag="fp32")
case(through_bits, special("fp32"), out(128, "int32"), N=128, tag="fp32.int32")
case(through_bits, bits(32, 6).astype(np.uint16), out(32, "int16"), N=32, tag="uint16.int16")
case(through_bits, integers(32, 0, 0x7C00, "int16", 6), out(32, "fp16"), N=32, tag="int16.fp16")
case(through_bits, integers(32, 0, 0x7F80, "uint16", 6), out(32, "bf16"), N=32, tag="uint16.bf16")
case(through_bits, integers(32, 0, 2**40, "int64", 6), out(32, "fp64"), N=32, tag="int64.fp64")
case(through_bits, np.arange(64, dtype=np.uint8), out(64, "fp8e5"), N=64, tag="uint8.fp8e5")
case(toward_zero, finite, out(128, "fp16"), N=128, tag="fp32.fp16")
case(toward_zero, finite, out(128, "bf16"), N=128, tag="fp32.bf16")
case(cast_function, finite, out(128, "uint16"), N=128)
for dtype in WHOLE + FLOATS:
    case(filled, out(24, dtype, 7), N=8, tag=dtype)
