"""`tl.extra.libdevice`: every function of numbers against Python's `math`, exact fractions, or a defining equation."""

import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
import tandem
import triton
import triton.language as tl
from triton.language.extra import libdevice

NORMAL = statistics.NormalDist()


@triton.jit
def apply_1(x, o, FN: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, FN(tl.load(x + i)))


@triton.jit
def apply_2(x, y, o, FN: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, FN(tl.load(x + i), tl.load(y + i)))


@triton.jit
def apply_3(x, y, z, o, FN: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, FN(tl.load(x + i), tl.load(y + i), tl.load(z + i)))


@triton.jit
def apply_4(x, y, z, w, o, FN: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, FN(tl.load(x + i), tl.load(y + i), tl.load(z + i), tl.load(w + i)))


APPLY = {1: apply_1, 2: apply_2, 3: apply_3, 4: apply_4}


def run(name, *inputs, out):
    o = np.zeros(inputs[0].size, out)
    APPLY[len(inputs)][(1,)](*inputs, o, getattr(libdevice, name), o.size)
    return o


def series_i(order, x):
    return sum((x / 2) ** (2 * k + order) / (math.factorial(k) * math.factorial(k + order)) for k in range(40))


def integral(f, low, high, steps=4000):
    h = (high - low) / steps
    return h / 3 * sum(f(low + i * h) * (1 if i in (0, steps) else 4 if i % 2 else 2) for i in range(steps + 1))


def bessel_j(order, x):
    return integral(lambda t: math.cos(order * t - x * math.sin(t)), 0, math.pi, 400) / math.pi


def bessel_y(order, x):
    first = integral(lambda t: math.sin(x * math.sin(t) - order * t), 0, math.pi, 2000) / math.pi
    second = integral(lambda t: (math.exp(order * t) + (-1) ** order * math.exp(-order * t)) * math.exp(-x * math.sinh(t)), 0, 8, 8000)
    return first - second / math.pi


ANY, UNIT, POSITIVE, OVER_ONE = (-8, 8), (-0.99, 0.99), (0.05, 20), (1.01, 20)
UNARY = {
    "floor": (math.floor, ANY),
    "ceil": (math.ceil, ANY),
    "trunc": (math.trunc, ANY),
    "rsqrt": (lambda v: 1 / math.sqrt(v), POSITIVE),
    "sqrt": (math.sqrt, POSITIVE),
    "exp": (math.exp, ANY),
    "exp2": (lambda v: 2.0**v, ANY),
    "exp10": (lambda v: 10.0**v, ANY),
    "expm1": (math.expm1, ANY),
    "log": (math.log, POSITIVE),
    "log2": (math.log2, POSITIVE),
    "log10": (math.log10, POSITIVE),
    "log1p": (math.log1p, POSITIVE),
    "logb": (lambda v: math.frexp(v)[1] - 1, POSITIVE),
    "sin": (math.sin, ANY),
    "cos": (math.cos, ANY),
    "tan": (math.tan, UNIT),
    "sinpi": (lambda v: math.sin(math.pi * v), UNIT),
    "cospi": (lambda v: math.cos(math.pi * v), UNIT),
    "asin": (math.asin, UNIT),
    "acos": (math.acos, UNIT),
    "atan": (math.atan, ANY),
    "sinh": (math.sinh, ANY),
    "cosh": (math.cosh, ANY),
    "tanh": (math.tanh, ANY),
    "asinh": (math.asinh, ANY),
    "acosh": (math.acosh, OVER_ONE),
    "atanh": (math.atanh, UNIT),
    "rint": (round, ANY),
    "nearbyint": (round, ANY),
    "round": (lambda v: math.copysign(math.floor(abs(v) + 0.5), v), ANY),
    "cbrt": (lambda v: math.copysign(abs(v) ** (1 / 3), v), ANY),
    "rcbrt": (lambda v: v ** (-1 / 3), POSITIVE),
    "j0": (lambda v: bessel_j(0, v), ANY),
    "j1": (lambda v: bessel_j(1, v), ANY),
    "y0": (lambda v: bessel_y(0, v), (0.5, 8)),
    "y1": (lambda v: bessel_y(1, v), (0.5, 8)),
    "cyl_bessel_i0": (lambda v: series_i(0, v), ANY),
    "cyl_bessel_i1": (lambda v: series_i(1, v), ANY),
    "erf": (math.erf, ANY),
    "erfc": (math.erfc, (-3, 3)),
    "erfinv": (lambda v: NORMAL.inv_cdf((v + 1) / 2) / math.sqrt(2), UNIT),
    "erfcx": (lambda v: math.exp(v * v) * math.erfc(v), (-3, 3)),
    "erfcinv": (lambda v: -NORMAL.inv_cdf(v / 2) / math.sqrt(2), (0.01, 1.99)),
    "normcdf": (NORMAL.cdf, (-4, 4)),
    "normcdfinv": (NORMAL.inv_cdf, (0.01, 0.99)),
    "lgamma": (math.lgamma, POSITIVE),
    "tgamma": (math.gamma, (0.05, 8)),
    "abs": (abs, ANY),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_float(name, dtype):
    reference, (low, high) = UNARY[name]
    x = np.random.default_rng(1).uniform(low, high, 64).astype(dtype)
    close = {"rtol": 2e-6, "atol": 1e-6} if dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-10}
    if name in ("y0", "y1"):
        close = {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(run(name, x, out=dtype), [reference(float(v)) for v in x], **close)


SPECIAL = [
    ("rint", 2.5, 2.0),
    ("rint", -0.5, -0.0),
    ("round", 2.5, 3.0),
    ("round", -2.5, -3.0),
    ("nearbyint", 3.5, 4.0),
    ("sqrt", -1.0, math.nan),
    ("rsqrt", 0.0, math.inf),
    ("log", 0.0, -math.inf),
    ("log", -1.0, math.nan),
    ("exp", 1000.0, math.inf),
    ("tgamma", -1.0, math.nan),
    ("lgamma", 0.0, math.inf),
    ("acosh", 0.5, math.nan),
    ("atanh", 1.0, math.inf),
    ("erfinv", 1.0, math.inf),
    ("erfcinv", 0.0, math.inf),
    ("normcdfinv", 0.0, -math.inf),
    ("cbrt", -27.0, -3.0),
    ("logb", 0.0, -math.inf),
    ("sinpi", 3.0, 0.0),
    ("sinpi", -3.0, -0.0),
    ("sinpi", -0.0, -0.0),
    ("trunc", -0.7, -0.0),
    ("erfcx", 50.0, 0.011281536),
    ("cospi", 0.5, 0.0),
    ("floor", -math.inf, -math.inf),
    ("y0", 0.0, -math.inf),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name, value, want", SPECIAL)
def test_edges(name, value, want, dtype):
    got = run(name, np.full(32, value, dtype), out=dtype)[0]
    np.testing.assert_allclose(got, want, rtol=1e-6)
    if want == 0:
        assert math.copysign(1, got) == math.copysign(1, want)


BINARY = {
    "copysign": math.copysign,
    "atan2": math.atan2,
    "hypot": math.hypot,
    "rhypot": lambda a, b: 1 / math.hypot(a, b),
    "fmod": math.fmod,
    "remainder": math.remainder,
    "fdim": lambda a, b: max(a - b, 0.0),
    "min": min,
    "max": max,
    "div_rn": lambda a, b: a / b,
    "add_rn": lambda a, b: a + b,
    "sub_rn": lambda a, b: a - b,
    "mul_rn": lambda a, b: a * b,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_floats(name, dtype):
    x, y = np.random.default_rng(2).uniform(-9, 9, (2, 64)).astype(dtype)
    want = [BINARY[name](float(a), float(b)) for a, b in zip(x, y)]
    np.testing.assert_allclose(run(name, x, y, out=dtype), want, rtol=1e-6 if dtype == np.float32 else 1e-12, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_next_number_and_power(dtype):
    x, y = np.random.default_rng(2).uniform(0.1, 9, (2, 64)).astype(dtype)
    np.testing.assert_array_equal(run("nextafter", x, y, out=dtype), np.nextafter(x, y))
    close = {"rtol": 3e-6} if dtype == np.float32 else {"rtol": 1e-12}
    np.testing.assert_allclose(run("pow", x, y, out=dtype), x.astype(np.float64) ** y, **close)
    n = np.arange(-32, 32, dtype=np.int32)
    np.testing.assert_allclose(run("pow", x, n, out=dtype), [float(a) ** int(b) for a, b in zip(x, n)], **close)
    np.testing.assert_array_equal(run("ldexp", x, n, out=dtype), np.ldexp(x, n))
    np.testing.assert_array_equal(run("scalbn", x, n, out=dtype), np.ldexp(x, n))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bessel_functions_of_any_order(dtype):
    n = np.arange(64, dtype=np.int32) % 5
    x = np.random.default_rng(3).uniform(1, 8, 64).astype(dtype)
    np.testing.assert_allclose(run("jn", n, x, out=dtype), [bessel_j(int(k), float(v)) for k, v in zip(n, x)], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(run("yn", n, x, out=dtype), [bessel_y(int(k), float(v)) for k, v in zip(n, x)], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_norms_and_fused_product(dtype):
    x, y, z, w = np.random.default_rng(4).uniform(-9, 9, (4, 64)).astype(dtype)
    close = {"rtol": 1e-6} if dtype == np.float32 else {"rtol": 1e-14}
    three = np.sqrt(x.astype(np.float64) ** 2 + y.astype(np.float64) ** 2 + z.astype(np.float64) ** 2)
    four = np.sqrt(three**2 + w.astype(np.float64) ** 2)
    np.testing.assert_allclose(run("norm3d", x, y, z, out=dtype), three, **close)
    np.testing.assert_allclose(run("rnorm3d", x, y, z, out=dtype), 1 / three, **close)
    np.testing.assert_allclose(run("norm4d", x, y, z, w, out=dtype), four, **close)
    np.testing.assert_allclose(run("rnorm4d", x, y, z, w, out=dtype), 1 / four, **close)
    exact = [Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)) for a, b, c in zip(x, y, z)]
    np.testing.assert_array_equal(run("fma", x, y, z, out=dtype), [rounded(e, "rn", dtype) for e in exact])


def rounded(exact, mode, dtype):
    """The neighbour of a fraction in the direction of `mode`."""
    near = dtype(float(exact)) if dtype == np.float64 else nearest_single(exact)
    if mode == "rn" or Fraction(float(near)) == exact:
        return near
    up = mode == "ru" or (mode == "rz" and exact < 0)
    if (Fraction(float(near)) < exact) == up:
        return np.nextafter(near, dtype(np.inf if up else -np.inf))
    return near


def nearest_single(exact):
    guess = np.float32(float(exact))
    options = [np.nextafter(guess, np.float32(-np.inf)), guess, np.nextafter(guess, np.float32(np.inf))]
    return min(options, key=lambda v: (abs(Fraction(float(v)) - exact), int(v.view(np.int32)) & 1))


def exact_root(value, mode, dtype):
    near = np.sqrt(dtype(value))
    square = Fraction(float(near)) ** 2
    if mode == "rn" or square == Fraction(float(value)):
        return near
    up = mode == "ru"
    if (square < Fraction(float(value))) == up:
        return np.nextafter(near, dtype(np.inf if up else 0))
    return near


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mode", ["rn", "rz", "rd", "ru"])
def test_directed_roundings(mode, dtype):
    rng = np.random.default_rng(5)
    x, y, z = rng.uniform(0.1, 9, (3, 64)).astype(dtype) * rng.choice([-1, 1], (3, 64)).astype(dtype)
    exact = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b}
    fractions = [[Fraction(float(v)) for v in array] for array in (x, y, z)]
    for name, function in exact.items():
        want = [rounded(function(a, b), mode, dtype) for a, b in zip(*fractions[:2])]
        np.testing.assert_array_equal(run(f"{name}_{mode}", x, y, out=dtype), want, err_msg=name)
    want = [rounded(a * b + c, mode, dtype) for a, b, c in zip(*fractions)]
    np.testing.assert_array_equal(run(f"fma_{mode}", x, y, z, out=dtype), want)
    np.testing.assert_array_equal(run(f"rcp_{mode}", x, out=dtype), [rounded(1 / a, mode, dtype) for a in fractions[0]])
    np.testing.assert_array_equal(run(f"sqrt_{mode}", abs(x), out=dtype), [exact_root(abs(v), mode, dtype) for v in x])


CONVERSIONS = {"float": np.float32, "double": np.float64, "int": np.int32, "uint": np.uint32, "ll": np.int64, "ull": np.uint64}
TO_INTEGER = {"rn": round, "rz": math.trunc, "rd": math.floor, "ru": math.ceil}


@pytest.mark.parametrize("mode", TO_INTEGER)
@pytest.mark.parametrize("source", ["float", "double"])
@pytest.mark.parametrize("target", ["int", "uint", "ll", "ull"])
def test_floats_to_integers(source, target, mode):
    x = np.r_[np.random.default_rng(6).uniform(-99, 99, 56), 0.5, 1.5, 2.5, -0.5, 0, 7, 7.25, 1e6].astype(CONVERSIONS[source])
    if target.startswith("u"):
        x = abs(x)
    got = run(f"{source}2{target}_{mode}", x, out=CONVERSIONS[target])
    np.testing.assert_array_equal(got, [TO_INTEGER[mode](float(v)) for v in x])


@pytest.mark.parametrize("name", ["float2int_rz", "double2int_rz", "float2ll_rz", "float2uint_rz", "double2ull_rz"])
def test_floats_out_of_range_saturate(name):
    source, target = name.removesuffix("_rz").split("2")
    info = np.iinfo(CONVERSIONS[target])
    x = np.tile(np.array([1e30, -1e30], CONVERSIONS[source]), 16)
    np.testing.assert_array_equal(run(name, x, out=CONVERSIONS[target])[:2], [info.max, info.min])


@pytest.mark.parametrize("mode", TO_INTEGER)
@pytest.mark.parametrize(
    "source, target",
    [("int", "float"), ("uint", "float"), ("ll", "float"), ("ull", "float"), ("ll", "double"), ("ull", "double"), ("double", "float")],
)
def test_conversions_that_round(source, target, mode):
    rng = np.random.default_rng(7)
    info = np.iinfo(CONVERSIONS[source]) if source != "double" else None
    x = rng.integers(info.min, info.max, 64, CONVERSIONS[source]) if info else rng.uniform(-9, 9, 64)
    want = [rounded(Fraction(v.item()), mode, CONVERSIONS[target]) for v in x]
    np.testing.assert_array_equal(run(f"{source}2{target}_{mode}", x, out=CONVERSIONS[target]), want)


def test_conversions_without_rounding():
    i = np.random.default_rng(8).integers(-(2**31), 2**31, 64).astype(np.int32)
    np.testing.assert_array_equal(run("int2double_rn", i, out=np.float64), i.astype(np.float64))
    np.testing.assert_array_equal(run("uint2double_rn", i.view(np.uint32), out=np.float64), i.view(np.uint32).astype(np.float64))
    d = np.random.default_rng(8).standard_normal(64)
    words = d.view(np.int32).reshape(-1, 2)
    low, high = words[:, 0].copy(), words[:, 1].copy()
    np.testing.assert_array_equal(run("double2loint", d, out=np.int32), low)
    np.testing.assert_array_equal(run("double2hiint", d, out=np.int32), high)
    np.testing.assert_array_equal(run("hiloint2double", high, low, out=np.float64), d)
    np.testing.assert_array_equal(run("double_as_longlong", d, out=np.int64), d.view(np.int64))
    np.testing.assert_array_equal(run("longlong_as_double", d.view(np.int64), out=np.float64), d)
    f = d.astype(np.float32)
    np.testing.assert_array_equal(run("float_as_int", f, out=np.int32), f.view(np.int32))
    np.testing.assert_array_equal(run("float_as_uint", f, out=np.uint32), f.view(np.uint32))
    np.testing.assert_array_equal(run("int_as_float", f.view(np.int32), out=np.float32), f)
    np.testing.assert_array_equal(run("uint_as_float", f.view(np.uint32), out=np.float32), f)


def words(dtype, seed=9):
    info = np.iinfo(dtype)
    return np.r_[np.random.default_rng(seed).integers(info.min, info.max, 60, dtype), np.array([0, 1, info.min, info.max], dtype)]


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_bits_of_integers(dtype):
    x, width = words(dtype), np.dtype(dtype).itemsize * 8
    unsigned = [int(v) % 2**width for v in x]
    np.testing.assert_array_equal(run("clz", x, out=np.int32), [width - v.bit_length() for v in unsigned])
    np.testing.assert_array_equal(run("popc", x, out=np.int32), [v.bit_count() for v in unsigned])
    np.testing.assert_array_equal(run("ffs", x, out=np.int32), [(v & -v).bit_length() for v in unsigned])
    back = run("brev", x, out=dtype)
    np.testing.assert_array_equal([int(v) % 2**width for v in back], [int(f"{v:0{width}b}"[::-1], 2) for v in unsigned])


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_integers_in_pairs(dtype):
    x, y, width = words(dtype), words(dtype, 10)[::-1].copy(), np.dtype(dtype).itemsize * 8
    pairs = [(int(a), int(b)) for a, b in zip(x, y)]
    np.testing.assert_array_equal(run("mulhi", x, y, out=dtype), np.array([a * b >> width for a, b in pairs], dtype))
    np.testing.assert_array_equal(run("min", x, y, out=dtype), np.minimum(x, y))
    np.testing.assert_array_equal(run("max", x, y, out=dtype), np.maximum(x, y))
    if width == 64:
        return
    np.testing.assert_array_equal(run("hadd", x, y, out=dtype), np.array([a + b >> 1 for a, b in pairs], dtype))
    np.testing.assert_array_equal(run("rhadd", x, y, out=dtype), np.array([a + b + 1 >> 1 for a, b in pairs], dtype))
    z = np.arange(64, dtype=np.uint32)
    want = np.array([(abs(a - b) + k) % 2**32 for k, (a, b) in enumerate(pairs)], np.uint32)
    np.testing.assert_array_equal(run("sad", x, y, z, out=np.uint32), want)
    small, other = (x % 1000).astype(dtype), (y % 1000).astype(dtype)
    np.testing.assert_array_equal(run("mul24", small, other, out=dtype), small * other)


def test_bytes_chosen_from_two_words():
    x, y = words(np.int32), words(np.int32, 11)
    selector = np.random.default_rng(12).integers(0, 8, (64, 4))
    packed = (selector << np.array([0, 4, 8, 12])).sum(axis=1).astype(np.int32)
    joined = np.concatenate([x.view(np.uint8).reshape(64, 4), y.view(np.uint8).reshape(64, 4)], axis=1)
    want = np.take_along_axis(joined, selector, axis=1).copy().view(np.int32).ravel()
    np.testing.assert_array_equal(run("byte_perm", x, y, packed, out=np.int32), want)


FAST = {
    "fast_sinf": math.sin,
    "fast_cosf": math.cos,
    "fast_tanf": math.tan,
    "fast_tanhf": math.tanh,
    "fast_logf": math.log,
    "fast_log2f": math.log2,
    "fast_log10f": math.log10,
    "fast_expf": math.exp,
    "fast_exp10f": lambda v: 10.0**v,
}


@pytest.mark.parametrize("name", FAST)
def test_fast_functions(name):
    x = np.random.default_rng(13).uniform(0.1, 1.4, 64).astype(np.float32)
    np.testing.assert_allclose(run(name, x, out=np.float32), [FAST[name](float(v)) for v in x], rtol=1e-3, atol=1e-5)


def test_fast_functions_of_two_and_the_rest():
    x, y = np.random.default_rng(13).uniform(0.1, 2, (2, 64)).astype(np.float32)
    np.testing.assert_allclose(run("fast_powf", x, y, out=np.float32), x**y, rtol=1e-4)
    np.testing.assert_allclose(run("fast_dividef", x, y, out=np.float32), x / y, rtol=1e-5)
    np.testing.assert_allclose(run("rsqrt_rn", x, out=np.float32), 1 / np.sqrt(x), rtol=1e-6)
    np.testing.assert_allclose(run("rcp64h", x.astype(np.float64), out=np.float64), 1 / x.astype(np.float64), rtol=1e-5)
    z = np.tile(np.array([-1, 0.25, 3, np.nan], np.float32), 8)
    np.testing.assert_array_equal(run("saturatef", z, out=np.float32)[:4], [0, 0.25, 1, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_classes_of_floats(dtype):
    x = np.tile(np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 1e-40], dtype), 4)
    np.testing.assert_array_equal(run("isnan", x, out=np.int32) != 0, np.isnan(x))
    np.testing.assert_array_equal(run("isinf", x, out=np.int32) != 0, np.isinf(x))
    np.testing.assert_array_equal(run("signbit", x, out=np.int32) != 0, np.signbit(x))
    name = "finitef" if dtype == np.float32 else "isfinited"
    np.testing.assert_array_equal(run(name, x, out=np.int32) != 0, np.isfinite(x))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_to_whole_numbers(dtype):
    x = np.r_[np.random.default_rng(14).uniform(-99, 99, 60), 0.5, 1.5, -2.5, 2.5].astype(dtype)
    np.testing.assert_array_equal(run("llrint", x, out=np.int64), [round(float(v)) for v in x])
    np.testing.assert_array_equal(run("llround", x, out=np.int64), [math.trunc(float(v) + math.copysign(0.5, v)) for v in x])
    np.testing.assert_array_equal(run("ilogb", x, out=np.int32), [math.frexp(float(v))[1] - 1 for v in x])


@triton.jit
def mixed_operands(x, o, i, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    tl.store(o + tl.arange(0, N), libdevice.pow(v, 2.0) + libdevice.fma(v, 2, 1.0) + libdevice.max(v, i))


def test_numbers_and_scalars_as_operands():
    x, o = np.linspace(0, 4, 32, dtype=np.float32), np.zeros(32, np.float32)
    mixed_operands[(1,)](x, o, 2.5, 32)
    np.testing.assert_allclose(o, x**2 + 2 * x + 1 + np.maximum(x, 2.5), rtol=1e-6)


@pytest.mark.parametrize("name, dtype", [("sin", np.int32), ("popc", np.float32), ("fast_sinf", np.float64)])
def test_operands_of_a_wrong_type(name, dtype):
    with pytest.raises(tandem.CompileError, match=f"libdevice.{name}.*takes"):
        run(name, np.zeros(32, dtype), out=dtype)
