"""Mathematical functions, exact where the hardware rounds exactly; NaN in extrema; functions of the device library."""

import numpy as np
import triton
import triton.language as tl
from cases import array, bell, bits, case, integers, out, uniform
from triton.language.extra import libdevice


@triton.jit
def language_functions(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    p = tl.abs(v) + 0.125
    tl.store(o + i, tl.exp(v))
    tl.store(o + N + i, tl.exp2(v))
    tl.store(o + 2 * N + i, tl.log(p))
    tl.store(o + 3 * N + i, tl.log2(p))
    tl.store(o + 4 * N + i, tl.sin(v))
    tl.store(o + 5 * N + i, tl.cos(v))
    tl.store(o + 6 * N + i, tl.sqrt(p))
    tl.store(o + 7 * N + i, tl.rsqrt(p))
    tl.store(o + 8 * N + i, tl.erf(v))
    tl.store(o + 9 * N + i, tl.sigmoid(v))
    tl.store(o + 10 * N + i, tl.fdiv(v, p))


@triton.jit
def exact_functions(x, y, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v, w = tl.load(x + i), tl.load(y + i)
    tl.store(o + i, tl.floor(v))
    tl.store(o + N + i, tl.ceil(v))
    tl.store(o + 2 * N + i, tl.abs(v))
    if x.dtype.element_ty == tl.float32:
        tl.store(o + 3 * N + i, tl.sqrt_rn(tl.abs(v)))
        tl.store(o + 4 * N + i, tl.div_rn(v, w))
        tl.store(o + 6 * N + i, tl.clamp(v, -1.0, 1.0))
    tl.store(o + 5 * N + i, tl.fma(v, w, v))
    tl.store(o + 7 * N + i, tl.minimum(v, w) + tl.maximum(v, 0.5))


@triton.jit
def rounded_functions(x, y, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v, w = tl.load(x + i), tl.load(y + i)
    tl.store(o + i, tl.floor(v.to(tl.float32)))
    tl.store(o + N + i, tl.abs(v))
    tl.store(o + 2 * N + i, tl.fma(v, w, v))
    tl.store(o + 3 * N + i, tl.exp(v.to(tl.float32)))
    tl.store(o + 4 * N + i, v * w + v)
    tl.store(o + 5 * N + i, -v - w)


@triton.jit
def nan_rules(x, y, o, N: tl.constexpr, PROPAGATE: tl.constexpr):
    i = tl.arange(0, N)
    v, w = tl.load(x + i), tl.load(y + i)
    mode: tl.constexpr = tl.PropagateNan.ALL if PROPAGATE else tl.PropagateNan.NONE
    tl.store(o + i, tl.minimum(v, w))
    tl.store(o + N + i, tl.maximum(v, w))
    tl.store(o + 2 * N + i, tl.minimum(v, w, propagate_nan=mode))
    tl.store(o + 3 * N + i, tl.maximum(v, w, propagate_nan=mode))
    tl.store(o + 4 * N + i, tl.clamp(v, -1.0, 2.5, propagate_nan=mode))
    tl.store(o + 5 * N + i, (v < w).to(tl.float32) + 2 * (v == w) + 4 * (v != w) + 8 * (v >= w))
    tl.store(o + 6 * N + i, tl.where(v != v, -1.0, v))


@triton.jit
def math_module(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(o + i, tl.math.exp(v) + tl.math.log(tl.math.abs(v) + 1))
    tl.store(o + N + i, tl.math.cos(v) * tl.math.sin(v))
    tl.store(o + 2 * N + i, tl.math.fma(v, v, v) + tl.math.floor(v))


@triton.jit
def library_floats(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    p = tl.abs(v) + 0.25
    u = v / (1 + tl.abs(v))
    tl.store(o + i, libdevice.tanh(v))
    tl.store(o + N + i, libdevice.pow(p, v))
    tl.store(o + 2 * N + i, libdevice.cbrt(v))
    tl.store(o + 3 * N + i, libdevice.expm1(v))
    tl.store(o + 4 * N + i, libdevice.log1p(p))
    tl.store(o + 5 * N + i, libdevice.asin(u))
    tl.store(o + 6 * N + i, libdevice.acos(u))
    tl.store(o + 7 * N + i, libdevice.atan(v))
    tl.store(o + 8 * N + i, libdevice.atan2(v, p))
    tl.store(o + 9 * N + i, libdevice.sinh(v))
    tl.store(o + 10 * N + i, libdevice.cosh(v))
    tl.store(o + 11 * N + i, libdevice.hypot(v, p))
    tl.store(o + 12 * N + i, libdevice.erfc(v))
    tl.store(o + 13 * N + i, libdevice.lgamma(p))
    tl.store(o + 14 * N + i, libdevice.tgamma(p))
    tl.store(o + 15 * N + i, libdevice.log10(p))
    tl.store(o + 16 * N + i, libdevice.exp10(v))
    tl.store(o + 17 * N + i, libdevice.tan(v))
    tl.store(o + 18 * N + i, libdevice.asinh(v))
    tl.store(o + 19 * N + i, libdevice.erfinv(u))


@triton.jit
def library_exact(x, y, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v, w = tl.load(x + i), tl.load(y + i)
    tl.store(o + i, libdevice.rint(v))
    tl.store(o + N + i, libdevice.round(v))
    tl.store(o + 2 * N + i, libdevice.trunc(v))
    tl.store(o + 3 * N + i, libdevice.copysign(v, w))
    tl.store(o + 4 * N + i, libdevice.nextafter(v, w))
    tl.store(o + 5 * N + i, libdevice.fmod(v, w))
    tl.store(o + 6 * N + i, libdevice.add_rd(v, w))
    tl.store(o + 7 * N + i, libdevice.mul_ru(v, w))
    tl.store(o + 8 * N + i, libdevice.nearbyint(v))
    tl.store(o + 9 * N + i, libdevice.ldexp(v, 3))
    tl.store(o + 10 * N + i, libdevice.float2int_rn(v))
    tl.store(o + 11 * N + i, libdevice.float2int_ru(v))
    tl.store(o + 12 * N + i, libdevice.isnan(v))
    tl.store(o + 13 * N + i, libdevice.isinf(w))
    tl.store(o + 14 * N + i, libdevice.remainder(v, w))
    tl.store(o + 15 * N + i, libdevice.fdim(v, w))


@triton.jit
def library_integers(x, y, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v, w = tl.load(x + i), tl.load(y + i)
    tl.store(o + i, libdevice.clz(v))
    tl.store(o + N + i, libdevice.popc(v))
    tl.store(o + 2 * N + i, libdevice.ffs(v))
    tl.store(o + 3 * N + i, libdevice.brev(v))
    tl.store(o + 4 * N + i, libdevice.mulhi(v, w))
    tl.store(o + 5 * N + i, libdevice.hadd(v, w))
    tl.store(o + 6 * N + i, libdevice.abs(v))


for t, tolerance in [("fp32", 2e-5), ("fp64", 1e-12)]:
    case(language_functions, bell(128, t, 1) * 2, out((11, 128), t), N=128, tag=t, rtol=tolerance, atol=tolerance)
    case(library_floats, bell(64, t, 2), out((20, 64), t), N=64, tag=t, rtol=tolerance, atol=tolerance)
for t in ["fp32", "fp64"]:
    case(exact_functions, bell(64, t, 3) * 3, bell(64, t, 4), out((8, 64), t), N=64, tag=t)
for t in ["fp16", "bf16"]:
    case(rounded_functions, bell(64, t, 5), bell(64, t, 6), out((6, 64), t), N=64, tag=t, rtol=1e-2, atol=1e-2)
nan, inf = np.nan, np.inf
pairs = array([[1, nan, nan, 0.0, -0.0, inf, -inf, 2], [nan, 1, nan, -0.0, 0.0, nan, 1, 3]], "fp32")
case(nan_rules, pairs[0].copy(), pairs[1].copy(), out((7, 8)), N=8, PROPAGATE=False, tag="none")
case(nan_rules, pairs[0].copy(), pairs[1].copy(), out((7, 8)), N=8, PROPAGATE=True, tag="all")
case(math_module, bell(64, seed=7), out((3, 64)), N=64, rtol=1e-5, atol=1e-5)
ties = np.concatenate([array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 1e9, -3.49999], "fp32"), bell(24, seed=8) * np.float32(5)])
case(library_exact, ties, bell(32, seed=9), out((16, 32)), N=32)
case(library_integers, bits(64, 10).astype(np.int32), integers(64, -(2**31), 2**31, "int32", 11), out((7, 64), "int32"), N=64)
case(exact_functions, uniform(64, 2e-38, 1e-37, seed=12), uniform(64, 1.0, 9.0, seed=13), out((8, 64)), N=64, tag="small")
