"""Inline PTX that calculates: each instruction on tiles and on threads against values computed by numpy and ml_dtypes."""

import math

import ml_dtypes
import numpy as np
import pytest
import triton
import triton.language as tl
from triton_dist.language.extra.language_extra import tid

N = 64


@triton.jit
def on_tile(x, y, z, o, TEXT: tl.constexpr, CONSTRAINTS: tl.constexpr, PACK: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    values = [tl.load(x + i), tl.load(y + i), tl.load(z + i)]
    tl.store(o + i, tl.inline_asm_elementwise(TEXT, CONSTRAINTS, values, dtype=o.dtype.element_ty, is_pure=True, pack=PACK))


@triton.jit
def on_threads(x, y, z, o, TEXT: tl.constexpr, CONSTRAINTS: tl.constexpr):
    i = tid(0)
    values = [tl.load(x + i), tl.load(y + i), tl.load(z + i)]
    tl.store(o + i, tl.inline_asm_elementwise(TEXT, CONSTRAINTS, values, dtype=o.dtype.element_ty, is_pure=True, pack=1))


LETTERS = {1: "r", 2: "h", 4: "r", 8: "l"}


def letter(dtype):
    return {np.float32: "f", np.float64: "d"}.get(np.dtype(dtype).type, LETTERS[np.dtype(dtype).itemsize])


def samples(dtype, seed):
    """Random values among which the ends of the range are, and for floats what is special."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(seed)
    if dtype.kind in "iu":
        bits = dtype.itemsize * 8
        values = rng.integers(0, 1 << bits, N, dtype=np.uint64) >> rng.integers(0, bits, N).astype(np.uint64)
        values[:7] = [0, 1, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1, 31, 32]
        return rng.permutation(values).astype(f"u{dtype.itemsize}").view(dtype)
    values = (rng.standard_normal(N) * np.exp2(rng.integers(-12, 12, N))).astype(dtype)
    values[:8] = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, np.inf, -np.inf]
    values[8] = np.nan
    return rng.permutation(values)


def run(text, constraints, inputs, out, pack=1):
    inputs = list(inputs) + [np.zeros(N, np.int32)] * (3 - len(inputs))
    o = np.zeros(N, out)
    on_tile[(1,)](*inputs, o, text, constraints, pack, N)
    if pack == 1:
        p = np.zeros(N, out)
        on_threads[(1,)](*inputs, p, text, constraints, num_warps=N // 32)
        np.testing.assert_array_equal(p.view(f"u{p.itemsize}"), o.view(f"u{o.itemsize}"))
    return o


def constraints_of(out, inputs):
    letters = [letter(i.dtype) for i in inputs] + ["r"] * (3 - len(inputs))
    return ",".join(["=" + letter(out)] + letters)


def check(text, out, dtypes, expected, tolerance=0):
    inputs = [samples(dtype, seed) for seed, dtype in enumerate(dtypes)]
    got = run(text, constraints_of(out, inputs), inputs, out)
    with np.errstate(all="ignore"):
        wanted = np.asarray(expected(*inputs)).astype(out)
    if np.dtype(out).kind == "f" and tolerance:
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=1e-30)
    else:
        np.testing.assert_array_equal(got, wanted)


def big(values):
    return [int(v) for v in values]


def wrap(values, dtype):
    bits = np.dtype(dtype).itemsize * 8
    return np.array([int(v) & ((1 << bits) - 1) for v in values], dtype=np.uint64).astype(f"u{bits // 8}").view(dtype)


def each(dtype, function):
    """`function` on Python's whole numbers, wrapped to the type."""
    return lambda *inputs: wrap([function(*row) for row in zip(*map(big, inputs))], dtype)


I4, U4, I8, U8, I2, U2, F4, F8 = np.int32, np.uint32, np.int64, np.uint64, np.int16, np.uint16, np.float32, np.float64


def reversed_bits(v, bits):
    return int(f"{v:0{bits}b}"[::-1], 2)


def permuted(a, b, s):
    out = 0
    for k in range(4):
        nibble = s >> 4 * k & 15
        byte = (b << 32 | a) >> 8 * (nibble & 7) & 255
        out |= (0xFF * (byte >> 7) if nibble & 8 else byte) << 8 * k
    return out


def field(a, b, c, bits, signed):
    at, length = b & 255, c & 255
    sign = (a >> min(max(at + length - 1, 0), bits - 1)) & 1 if signed and length else 0
    out = 0
    for k in range(bits):
        bit = (a >> (at + k)) & 1 if k < length and at + k < bits else sign
        out |= bit << k
    return out


def inserted(a, b, c, length):
    at = c & 255
    for k in range(length):
        if at + k < 32:
            b = b & ~(1 << (at + k)) | (a >> k & 1) << (at + k)
    return b


def looked_up(table):
    return lambda a, b, c: sum((table >> ((a >> k & 1) * 4 + (b >> k & 1) * 2 + (c >> k & 1)) & 1) << k for k in range(32))


def bytes_of(v, signed):
    return [((v >> 8 * k & 255) ^ 128) - 128 if signed else v >> 8 * k & 255 for k in range(4)]


INTEGERS = [
    ("add.s32 $0, $1, $2;", I4, [I4, I4], each(I4, lambda a, b: a + b)),
    ("add.u64 $0, $1, $2;", U8, [U8, U8], each(U8, lambda a, b: a + b)),
    ("sub.s16 $0, $1, $2;", I2, [I2, I2], each(I2, lambda a, b: a - b)),
    ("add.sat.s32 $0, $1, $2;", I4, [I4, I4], each(I4, lambda a, b: max(min(a + b, 2**31 - 1), -(2**31)))),
    ("sub.sat.s32 $0, $1, $2;", I4, [I4, I4], each(I4, lambda a, b: max(min(a - b, 2**31 - 1), -(2**31)))),
    ("mul.lo.s32 $0, $1, $2;", I4, [I4, I4], each(I4, lambda a, b: a * b)),
    ("mul.hi.s32 $0, $1, $2;", I4, [I4, I4], each(I4, lambda a, b: a * b >> 32)),
    ("mul.hi.u64 $0, $1, $2;", U8, [U8, U8], each(U8, lambda a, b: a * b >> 64)),
    ("mul.wide.s32 $0, $1, $2;", I8, [I4, I4], each(I8, lambda a, b: a * b)),
    ("mul.wide.u16 $0, $1, $2;", U4, [U2, U2], each(U4, lambda a, b: a * b)),
    ("mad.lo.u32 $0, $1, $2, $3;", U4, [U4, U4, U4], each(U4, lambda a, b, c: a * b + c)),
    ("mad.hi.s32 $0, $1, $2, $3;", I4, [I4, I4, I4], each(I4, lambda a, b, c: (a * b >> 32) + c)),
    ("mad.wide.u32 $0, $1, $2, $3;", U8, [U4, U4, U8], each(U8, lambda a, b, c: a * b + c)),
    ("mul24.lo.u32 $0, $1, $2;", U4, [U4, U4], each(U4, lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF))),
    ("mad24.hi.u32 $0, $1, $2, $3;", U4, [U4, U4, U4], each(U4, lambda a, b, c: ((a & 0xFFFFFF) * (b & 0xFFFFFF) >> 16) + c)),
    ("sad.s32 $0, $1, $2, $3;", I4, [I4, I4, I4], each(I4, lambda a, b, c: abs(a - b) + c)),
    ("div.s32 $0, $1, 7;", I4, [I4], each(I4, lambda a: abs(a) // 7 * (1 if a > 0 else -1))),
    ("rem.u32 $0, $1, 13;", U4, [U4], each(U4, lambda a: a % 13)),
    ("min.s32 $0, $1, $2;", I4, [I4, I4], each(I4, min)),
    ("max.u64 $0, $1, $2;", U8, [U8, U8], each(U8, max)),
    ("max.relu.s32 $0, $1, $2;", I4, [I4, I4], each(I4, lambda a, b: max(a, b, 0))),
    ("abs.s32 $0, $1;", I4, [I4], each(I4, abs)),
    ("neg.s64 $0, $1;", I8, [I8], each(I8, lambda a: -a)),
    ("min.u16x2 $0, $1, $2;", U4, [U4, U4], each(U4, lambda a, b: min(a >> 16, b >> 16) << 16 | min(a & 0xFFFF, b & 0xFFFF))),
    (
        "dp4a.s32.s32 $0, $1, $2, $3;",
        I4,
        [I4, I4, I4],
        each(I4, lambda a, b, c: c + sum(x * y for x, y in zip(bytes_of(a, True), bytes_of(b, True)))),
    ),
    (
        "dp4a.u32.s32 $0, $1, $2, $3;",
        I4,
        [U4, I4, I4],
        each(I4, lambda a, b, c: c + sum(x * y for x, y in zip(bytes_of(a, False), bytes_of(b, True)))),
    ),
]

BITS = [
    ("and.b32 $0, $1, $2;", U4, [U4, U4], each(U4, lambda a, b: a & b)),
    ("or.b64 $0, $1, $2;", U8, [U8, U8], each(U8, lambda a, b: a | b)),
    ("xor.b16 $0, $1, $2;", U2, [U2, U2], each(U2, lambda a, b: a ^ b)),
    ("not.b32 $0, $1;", U4, [U4], each(U4, lambda a: ~a)),
    ("cnot.b32 $0, $1;", U4, [U4], each(U4, lambda a: a == 0)),
    ("shl.b32 $0, $1, $2;", U4, [U4, U4], each(U4, lambda a, b: a << b if b < 32 else 0)),
    ("shr.u64 $0, $1, $2;", U8, [U8, U4], each(U8, lambda a, b: a >> min(b, 64))),
    ("shr.s32 $0, $1, $2;", I4, [I4, U4], each(I4, lambda a, b: a >> min(b, 31))),
    ("shf.l.wrap.b32 $0, $1, $2, $3;", U4, [U4, U4, U4], each(U4, lambda a, b, c: (b << 32 | a) << (c & 31) >> 32)),
    ("shf.r.clamp.b32 $0, $1, $2, $3;", U4, [U4, U4, U4], each(U4, lambda a, b, c: (b << 32 | a) >> min(c, 32))),
    ("lop3.b32 $0, $1, $2, $3, 0x96;", U4, [U4, U4, U4], each(U4, looked_up(0x96))),
    ("lop3.b32 $0, $1, $2, $3, 0xEA;", U4, [U4, U4, U4], each(U4, looked_up(0xEA))),
    ("lop3.b32 $0, $1, $2, $3, 0x1D;", U4, [U4, U4, U4], each(U4, looked_up(0x1D))),
    ("prmt.b32 $0, $1, $2, 0x5140;", U4, [U4, U4], each(U4, lambda a, b: permuted(a, b, 0x5140))),
    ("prmt.b32 $0, $1, $2, $3;", U4, [U4, U4, U4], each(U4, permuted)),
    ("brev.b32 $0, $1;", U4, [U4], each(U4, lambda a: reversed_bits(a, 32))),
    ("brev.b64 $0, $1;", U8, [U8], each(U8, lambda a: reversed_bits(a, 64))),
    ("popc.b64 $0, $1;", U4, [U8], each(U4, int.bit_count)),
    ("clz.b32 $0, $1;", U4, [U4], each(U4, lambda a: 32 - a.bit_length())),
    ("bfind.u32 $0, $1;", U4, [U4], each(U4, lambda a: a.bit_length() - 1)),
    ("bfind.s32 $0, $1;", U4, [I4], each(U4, lambda a: (~a if a < 0 else a).bit_length() - 1)),
    ("bfind.shiftamt.u32 $0, $1;", U4, [U4], each(U4, lambda a: 32 - a.bit_length() if a else -1)),
    ("bfe.u32 $0, $1, $2, $3;", U4, [U4, U4, U4], each(U4, lambda a, b, c: field(a, b, c, 32, False))),
    ("bfe.s32 $0, $1, $2, $3;", U4, [U4, U4, U4], each(U4, lambda a, b, c: field(a, b, c, 32, True))),
    ("bfe.s64 $0, $1, 60, 5;", U8, [U8], each(U8, lambda a: field(a, 60, 5, 64, True))),
    ("bfi.b32 $0, $1, $2, $3, 7;", U4, [U4, U4, U4], each(U4, lambda a, b, c: inserted(a, b, c, 7))),
    ("{ .reg .b16 l, h; mov.b32 {l, h}, $1; mov.b32 $0, {h, l}; }", U4, [U4], each(U4, lambda a: a << 16 | a >> 16)),
    (
        "{ .reg .b8 b<4>; mov.b32 {b0, b1, b2, b3}, $1; mov.b32 $0, {b3, b2, b1, b0}; }",
        U4,
        [U4],
        each(U4, lambda a: int.from_bytes(a.to_bytes(4, "little"), "big")),
    ),
    ("mov.b64 $0, {$1, $2};", U8, [U4, U4], each(U8, lambda a, b: b << 32 | a)),
    ("{ .reg .b32 h; mov.b64 {_, h}, $1; mov.b32 $0, h; }", U4, [U8], each(U4, lambda a: a >> 32)),
]


def compared(name, f):
    return (
        f"{{ .reg .pred p; setp.{name} p, $1, $2; selp.b32 $0, 7, 9, p; }}",
        I4,
        [F4 if ".f32" in name else U4 if ".u32" in name else I4] * 2,
        lambda a, b: np.where(f(a, b), 7, 9),
    )


COMPARES = [
    compared("lt.s32", np.less),
    compared("hs.u32", np.greater_equal),
    compared("ne.b32", np.not_equal),
    compared("eq.f32", np.equal),
    compared("gt.f32", np.greater),
    compared("neu.f32", np.not_equal),
    compared("ltu.f32", lambda a, b: ~(a >= b)),
    compared("ne.f32", lambda a, b: (a < b) | (a > b)),
    compared("num.f32", lambda a, b: ~np.isnan(a) & ~np.isnan(b)),
    (
        "{ .reg .pred p, q; setp.gt.s32 p, $2, 0; setp.lt.and.s32 p|q, $1, $2, p; selp.b32 $0, 1, 0, p; @q add.s32 $0, $0, 2; }",
        I4,
        [I4, I4],
        lambda a, b: ((a < b) & (b > 0)) + 2 * ((a >= b) & (b > 0)),
    ),
    (
        "{ .reg .pred p; setp.lt.s32 p, $1, 0; mov.b32 $0, 5; @p mov.b32 $0, 6; @!p add.s32 $0, $0, $1; }",
        I4,
        [I4],
        lambda a: np.where(a < 0, 6, (a + np.int64(5)).astype(np.int32)),
    ),
    ("set.gt.u32.s32 $0, $1, $2;", U4, [I4, I4], lambda a, b: np.where(a > b, 0xFFFFFFFF, 0)),
    ("set.le.f32.f32 $0, $1, $2;", F4, [F4, F4], lambda a, b: a <= b),
    ("slct.s32.f32 $0, $2, $3, $1;", I4, [F4, I4, I4], lambda c, a, b: np.where(c >= 0, a, b)),
]


def flushed(x):
    return np.where(np.abs(x) < np.float32(2.0**-126), np.copysign(np.float32(0), x), x)


FLOATS = [
    ("add.rn.f32 $0, $1, $2;", F4, [F4, F4], np.add),
    ("sub.f64 $0, $1, $2;", F8, [F8, F8], np.subtract),
    ("mul.sat.f32 $0, $1, $2;", F4, [F4, F4], lambda a, b: np.nan_to_num(np.clip(a * b, 0, 1), nan=0.0)),
    ("mul.ftz.f32 $0, $1, 0f00800000;", F4, [F4], lambda a: flushed(flushed(a) * np.float32(2.0**-126))),
    (
        "fma.rn.f32 $0, $1, $2, $3;",
        F4,
        [F4, F4, F4],
        lambda a, b, c: (a.astype(np.longdouble) * b.astype(np.longdouble) + c.astype(np.longdouble)).astype(F4),
    ),
    ("div.rn.f32 $0, $1, $2;", F4, [F4, F4], np.divide),
    ("min.f32 $0, $1, $2;", F4, [F4, F4], np.fmin),
    ("max.NaN.f32 $0, $1, $2;", F4, [F4, F4], np.maximum),
    (
        "min.xorsign.abs.f32 $0, $1, $2;",
        F4,
        [F4, F4],
        lambda a, b: np.copysign(np.fmin(np.abs(a), np.abs(b)), np.where(np.signbit(a) ^ np.signbit(b), -1, 1)),
    ),
    ("abs.f32 $0, $1;", F4, [F4], np.abs),
    ("neg.f64 $0, $1;", F8, [F8], np.negative),
    ("copysign.f32 $0, $1, $2;", F4, [F4, F4], lambda a, b: np.copysign(b, a)),
    ("{ .reg .pred p; testp.infinite.f32 p, $1; selp.b32 $0, 1, 0, p; }", I4, [F4], np.isinf),
    ("sqrt.rn.f32 $0, $1;", F4, [F4], np.sqrt),
]
TOLERANT = [
    ("rcp.approx.ftz.f32 $0, $1;", F4, [F4], lambda a: 1 / a),
    ("rsqrt.approx.f32 $0, $1;", F4, [F4], lambda a: 1 / np.sqrt(a)),
    ("ex2.approx.ftz.f32 $0, $1;", F4, [F4], lambda a: flushed(np.exp2(a))),
    ("lg2.approx.f32 $0, $1;", F4, [F4], np.log2),
    ("tanh.approx.f32 $0, $1;", F4, [F4], np.tanh),
    ("sin.approx.f32 $0, $1;", F4, [F4], lambda a: np.sin(a.astype(F8))),
    ("div.full.f32 $0, $1, $2;", F4, [F4, F4], np.divide),
]


def exactly_rounded(f, toward):
    """The f32 next to an f64 result, toward an end of the line."""

    def rounded(*inputs):
        exact = f(*[i.astype(np.float64) for i in inputs])
        near = exact.astype(np.float32)
        return np.where((near > exact) if toward < 0 else (near < exact), np.nextafter(near, np.float32(toward * np.inf)), near)

    return rounded


ROUNDINGS = [
    ("add.rm.f32 $0, $1, 0f3F800001;", F4, [F4], exactly_rounded(lambda a: a + np.float64(np.float32(1.0000001)), -1)),
    ("mul.rp.f32 $0, $1, 0f3F800001;", F4, [F4], exactly_rounded(lambda a: a * np.float64(np.float32(1.0000001)), 1)),
    ("cvt.rm.f32.f64 $0, $1;", F4, [F8], exactly_rounded(lambda a: a, -1)),
    (
        "cvt.rp.f32.s64 $0, $1;",
        F4,
        [I8],
        lambda a: [np.nextafter(np.float32(v), np.float32(np.inf)) if int(np.float32(v)) < int(v) else np.float32(v) for v in a],
    ),
]


def limited(a, to, rounding):
    info = np.iinfo(to)
    return [
        0 if math.isnan(v) else min(max(rounding(v), info.min), info.max) if math.isfinite(v) else info.max if v > 0 else info.min
        for v in map(float, a)
    ]


CONVERSIONS = [
    ("cvt.s64.s32 $0, $1;", I8, [I4], lambda a: a),
    ("cvt.u64.u32 $0, $1;", U8, [U4], lambda a: a),
    ("cvt.u32.u64 $0, $1;", U4, [U8], each(U4, lambda a: a)),
    ("cvt.s32.s8 $0, $1;", I4, [I4], lambda a: a.astype(np.int8)),
    ("cvt.sat.u8.s32 $0, $1;", U4, [I4], lambda a: np.clip(a, 0, 255)),
    ("cvt.sat.s32.u64 $0, $1;", I4, [U8], each(I4, lambda a: min(a, 2**31 - 1))),
    ("cvt.rn.f32.u64 $0, $1;", F4, [U8], lambda a: a),
    (
        "cvt.rz.f32.s32 $0, $1;",
        F4,
        [I4],
        lambda a: [np.nextafter(np.float32(v), np.float32(0)) if abs(int(np.float32(v))) > abs(int(v)) else np.float32(v) for v in a],
    ),
    ("cvt.rni.s32.f32 $0, $1;", I4, [F4], lambda a: limited(a, I4, round)),
    ("cvt.rmi.s32.f32 $0, $1;", I4, [F4], lambda a: limited(a, I4, math.floor)),
    ("cvt.rzi.u32.f32 $0, $1;", U4, [F4], lambda a: limited(a, U4, math.trunc)),
    ("cvt.rpi.f32.f32 $0, $1;", F4, [F4], np.ceil),
    ("cvt.rn.f32.f64 $0, $1;", F4, [F8], lambda a: a.astype(F4)),
    ("cvt.f64.f32 $0, $1;", F8, [F4], lambda a: a),
    ("{ .reg .b16 h; cvt.rn.f16.f32 h, $1; cvt.f32.f16 $0, h; }", F4, [F4], lambda a: a.astype(np.float16)),
    ("{ .reg .b16 h; cvt.rn.bf16.f32 h, $1; cvt.f32.bf16 $0, h; }", F4, [F4], lambda a: a.astype(ml_dtypes.bfloat16)),
    (
        "{ .reg .b16 h; cvt.rn.relu.satfinite.f16.f32 h, $1; cvt.f32.f16 $0, h; }",
        F4,
        [F4],
        lambda a: np.clip(np.where(np.isnan(a), a, np.maximum(a, 0)), 0, 65504).astype(np.float16),
    ),
    (
        "cvt.pack.sat.s16.s32 $0, $1, $2;",
        U4,
        [I4, I4],
        each(U4, lambda a, b: (min(max(a, -32768), 32767) & 0xFFFF) << 16 | min(max(b, -32768), 32767) & 0xFFFF),
    ),
]


@pytest.mark.parametrize(
    "rows",
    [INTEGERS, BITS, COMPARES, FLOATS, ROUNDINGS, CONVERSIONS],
    ids=["integers", "bits", "compares", "floats", "roundings", "conversions"],
)
def test_exact_values(rows):
    for row in rows:
        try:
            check(*row)
        except AssertionError as error:
            raise AssertionError(f"{row[0]}\n{error}") from None


def test_approximate_values():
    for row in TOLERANT:
        check(*row, tolerance=2e-6)


def pairs(dtype, high, low):
    bits = np.dtype(dtype).itemsize * 8
    word = f"u{bits // 8}"
    return high.astype(dtype).view(word).astype(np.uint64) << np.uint64(bits) | low.astype(dtype).view(word)


@pytest.mark.parametrize("name, dtype", [("f16x2", np.float16), ("bf16x2", ml_dtypes.bfloat16)])
def test_pairs_of_halves(name, dtype):
    a, b = samples(F4, 1), samples(F4, 2)
    with np.errstate(all="ignore"):
        wanted = pairs(dtype, a, b)
        np.testing.assert_array_equal(run(f"cvt.rn.{name}.f32 $0, $1, $2;", "=r,f,f,r", [a, b], U4), wanted)
        finite = [np.clip(np.nan_to_num(v), -99, 99).astype(dtype) for v in (a, b)]
        packed = pairs(dtype, *finite).astype(U4)
        got = run(f"{{ .reg .b32 t; add.{name} t, $1, $1; fma.rn.{name} $0, t, $1, $1; }}", "=r,r,r,r", [packed], U4)
        doubled = [(v + v).astype(dtype) for v in finite]
        exact = [(d.astype(F8) * v.astype(F8) + v.astype(F8)).astype(F4).astype(dtype) for d, v in zip(doubled, finite)]
        np.testing.assert_array_equal(got, pairs(dtype, *exact))


def test_comparisons_of_halves():
    a, b = samples(np.float16, 1), samples(np.float16, 2)
    words = [pairs(np.float16, v, v[::-1]).astype(U4) for v in (a, b)]
    text = "{ .reg .pred p, q; setp.lt.f16x2 p|q, $1, $2; selp.b32 $0, 1, 0, p; @q add.s32 $0, $0, 2; }"
    np.testing.assert_array_equal(run(text, "=r,r,r,r", words, U4), (a[::-1] < b[::-1]) + 2 * (a < b))


@triton.jit
def softplus(x, o, TEXT: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.inline_asm_elementwise(TEXT, "=r,=r,r,r", [tl.load(x + i)], dtype=tl.float32, is_pure=True, pack=2))


def test_guards_choose_by_element():
    one = """{ .reg .pred p;
        setp.gt.f32 p, $%d, 20.;
        @p mov.f32 $%d, $%d;
        @!p mul.f32 $%d, $%d, 1.4426950408889634;
        @!p ex2.approx.ftz.f32 $%d, $%d;
        @!p add.f32 $%d, $%d, 1.0;
        @!p lg2.approx.ftz.f32 $%d, $%d;
        @!p mul.f32 $%d, $%d, 0.6931471805599453; }"""
    text = "".join(one % (i, o, i, o, i, o, o, o, o, o, o, o, o) for o, i in ((0, 2), (1, 3)))
    x, o = np.linspace(-5, 40, N, dtype=F4), np.zeros(N, F4)
    softplus[(1,)](x, o, text, N)
    np.testing.assert_allclose(o, np.where(x > 20, x, np.log1p(np.exp(x.astype(F8)))), rtol=2e-5)


@pytest.mark.parametrize("name, dtype", [("e4m3x2", ml_dtypes.float8_e4m3fn), ("e5m2x2", ml_dtypes.float8_e5m2)])
def test_pairs_of_8_bit_floats(name, dtype):
    a, b = samples(F4, 1), samples(F4, 2)
    largest = float(ml_dtypes.finfo(dtype).max)
    got = run(f"{{ .reg .b16 h; cvt.rn.satfinite.{name}.f32 h, $1, $2; cvt.u32.u16 $0, h; }}", "=r,f,f,r", [a, b], U4)
    bytes_ = [np.where(np.isnan(v), 0x7F, np.clip(v, -largest, largest).astype(dtype).view(np.uint8)).astype(np.uint32) for v in (a, b)]
    np.testing.assert_array_equal(got, bytes_[0] << 8 | bytes_[1])
    finite = [np.where(np.isnan(v), 1, np.clip(v, -largest, largest)).astype(dtype) for v in (a, b)]
    halves = run(f"cvt.rn.f16x2.{name} $0, $1;", "=r,h,r,r", [pairs(dtype, *finite).astype(U2)], U4)
    np.testing.assert_array_equal(halves, pairs(np.float16, *[v.astype(np.float16) for v in finite]))


def test_pairs_of_4_bit_floats():
    a, b = samples(F4, 1), samples(F4, 2)
    a[:16] = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 5.5, -0.25, -0.75, -1.25, -1.75, -2.5, -3.5, -5.0, -0.1]
    text = "{ .reg .b8 t; cvt.rn.satfinite.e2m1x2.f32 t, $1, $2; cvt.u32.u8 $0, t; }"
    got = run(text, "=r,f,f,r", [a, b], U4)
    codes = [np.where(np.isnan(v), 7, np.clip(v, -6, 6).astype(ml_dtypes.float4_e2m1fn).view(np.uint8)).astype(U4) for v in (a, b)]
    np.testing.assert_array_equal(got, codes[0] << 4 | codes[1])
    all_codes = np.arange(N, dtype=U4) % 16
    halves = run("{ .reg .b8 t; cvt.u8.u32 t, $1; cvt.rn.f16x2.e2m1x2 $0, t; }", "=r,r,r,r", [all_codes << 4 | all_codes[::-1]], U4)
    value = [c.astype(np.uint8).view(ml_dtypes.float4_e2m1fn).astype(F4) for c in (all_codes, all_codes[::-1])]
    np.testing.assert_array_equal(halves, pairs(np.float16, *value))


def test_pairs_of_exponents():
    a = np.abs(samples(F4, 1))
    a[:6] = [2.0**-127, 2.0**-130, 1.5 * 2.0**-127, 1.0, 1.5, 2.0]
    up = [255 if math.isnan(v) else 254 if math.isinf(v) else max(0, math.ceil(math.log2(v)) + 127) if v else 0 for v in map(float, a)]
    got = run("cvt.rp.satfinite.ue8m0x2.f32 $0, 0.0, $1;", "=h,f,r,r", [a], U2)
    np.testing.assert_array_equal(got, up)


def test_tf32():
    a = samples(F4, 3)
    got = run("cvt.rna.tf32.f32 $0, $1;", "=r,f,r,r", [a], U4)
    bits = a.view(U4).astype(np.uint64)
    np.testing.assert_array_equal(got, np.where(np.isnan(a), 0x7FFFFFFF, bits + 0x1000 & 0xFFFFE000))


@triton.jit
def packed_bytes(x, y, o, TEXT: tl.constexpr, CONSTRAINTS: tl.constexpr, PACK: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    first, second = tl.inline_asm_elementwise(TEXT, CONSTRAINTS, [a, b], dtype=(tl.float32, tl.int8), is_pure=True, pack=PACK)
    tl.store(o + i, first + second.to(tl.float32))


@pytest.mark.parametrize("n", [64, 2])
def test_packed_elements_of_several_sizes(n):
    """Four bytes share a register, four floats have one each; a tile of fewer elements is no exception."""
    x, y = np.arange(n, dtype=np.int8), np.linspace(-1, 1, n, dtype=np.float32)
    text = """{
      .reg .b8 b<4>;
      mov.b32 {b0, b1, b2, b3}, $5;
      cvt.rn.f32.s8 $0, b0; cvt.rn.f32.s8 $1, b1; cvt.rn.f32.s8 $2, b2; cvt.rn.f32.s8 $3, b3;
      add.f32 $0, $0, $6; add.f32 $1, $1, $7; add.f32 $2, $2, $8; add.f32 $3, $3, $9;
      xor.b32 $4, $5, 0x01010101;
    }"""
    o = np.zeros(n, np.float32)
    packed_bytes[(1,)](x, y, o, text, "=f,=f,=f,=f,=r,r,f,f,f,f", 4, n)
    np.testing.assert_array_equal(o, x + y + (x ^ 1))


@triton.jit
def two_dimensions(x, o, N: tl.constexpr):
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    scalar = tl.inline_asm_elementwise("add.u32 $0, $1, 1;", "=r,r", [tl.num_programs(0)], dtype=tl.int32, is_pure=True, pack=1)
    doubled = tl.inline_asm_elementwise("add.f16x2 $0, $1, $1;", "=r,r", [tl.load(x + i)], dtype=tl.float16, is_pure=True, pack=2)
    tl.store(o + i, doubled * scalar)


def test_tiles_of_two_dimensions_and_scalars():
    x, o = np.arange(256, dtype=np.float16).reshape(16, 16), np.zeros((16, 16), np.float16)
    two_dimensions[(1,)](x, o, 16)
    np.testing.assert_array_equal(o, 4 * x)
