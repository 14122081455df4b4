"""Element types through arithmetic, shape changes, reductions, scans and products: narrow integers, bool, bf16, fp8, three dimensions."""

import ml_dtypes
import numpy as np
import pytest
import triton
import triton.language as tl

INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
FP8 = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]


@triton.jit
def arithmetic(x, y, o, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(o + i, tl.where(a > b, a * b - a, (a + b) * 3))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap(dtype):
    info = np.iinfo(dtype)
    x, y = np.random.default_rng(0).integers(info.min, info.max, (2, 64), dtype, endpoint=True)
    o = np.zeros(64, dtype)
    arithmetic[(1,)](x, y, o, 64)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(o, np.where(x > y, x * y - x, (x + y) * dtype(3)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats(dtype):
    x, y = np.random.default_rng(0).standard_normal((2, 64)).astype(dtype)
    o = np.zeros(64, dtype)
    arithmetic[(1,)](x, y, o, 64)
    eps = float(ml_dtypes.finfo(dtype).eps)
    want = np.where(x > y, x * y - x, (x + y) * dtype(3)).astype(np.float64)
    np.testing.assert_allclose(o.astype(np.float64), want, rtol=4 * eps, atol=4 * eps)


@triton.jit
def through_float(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(o + i, (a.to(tl.float32) * 1.5 + 0.25).to(a.dtype))


@pytest.mark.parametrize("dtype", FP8 + FLOATS)
def test_eight_bit_floats_round_to_nearest(dtype):
    x, o = np.random.default_rng(0).standard_normal(128).astype(dtype), np.zeros(128, dtype)
    through_float[(1,)](x, o, 128)
    np.testing.assert_array_equal(
        o.astype(np.float64), (x.astype(np.float32) * np.float32(1.5) + np.float32(0.25)).astype(dtype).astype(np.float64)
    )


@triton.jit
def booleans(x, flags, o, N: tl.constexpr):
    i = tl.arange(0, N)
    a, f = tl.load(x + i), tl.load(flags + i)
    g = (a > 3) ^ f
    tl.store(o + i, g)
    tl.store(o + N + i, ~g & (f | (a == 0)))
    tl.store(o + 2 * N + i, tl.load(flags + i, mask=i < 5, other=True))
    tl.store(o + 3 * N + i, a, mask=f)


def test_bool_arrays():
    rng = np.random.default_rng(0)
    x, f, o = rng.integers(0, 8, 32).astype(np.int32), rng.integers(0, 2, 32).astype(bool), np.zeros((4, 32), bool)
    booleans[(1,)](x, f, o, 32)
    g = (x > 3) ^ f
    np.testing.assert_array_equal(o, [g, ~g & (f | (x == 0)), np.where(np.arange(32) < 5, f, True), (x != 0) & f])


@triton.jit
def product_of_batches(a, b, o, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    z, m, n, k = tl.arange(0, B)[:, None, None], tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + z * M * K + m[None, :, None] * K + k[None, None, :])
    y = tl.load(b + z * K * N + k[None, :, None] * N + n[None, None, :])
    acc = tl.full((B, M, N), 1.0, tl.float32)
    tl.store(o + z * M * N + m[None, :, None] * N + n[None, None, :], tl.dot(x, y, acc, input_precision="ieee"))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32] + FP8)
def test_products_in_three_dimensions(dtype):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((4, 16, 32)).astype(dtype), rng.standard_normal((4, 32, 16)).astype(dtype)
    o = np.zeros((4, 16, 16), np.float32)
    product_of_batches[(1,)](a, b, o, 4, 16, 16, 32)
    np.testing.assert_allclose(o, a.astype(np.float64) @ b.astype(np.float64) + 1, rtol=1e-4, atol=1e-4)


@triton.jit
def larger_pair(va, ia, vb, ib):
    take = (va > vb) | ((va == vb) & (ia < ib))
    return tl.where(take, va, vb), tl.where(take, ia, ib)


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def middle_axis(x, values, places, scanned, back, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    i, j, k = tl.arange(0, A)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, C)[None, None, :]
    at = (i * B + j) * C + k
    v = tl.load(x + at)
    best, where = tl.reduce((v, tl.broadcast_to(j, (A, B, C))), 1, larger_pair)
    flat = tl.arange(0, A)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(values + flat, best)
    tl.store(places + flat, where)
    tl.store(scanned + at, tl.associative_scan(v, 1, plus))
    tl.store(back + at, tl.associative_scan(v, 1, plus, reverse=True))


@pytest.mark.parametrize("dtype", INTEGERS + [np.float32, np.float64])
def test_the_middle_axis(dtype):
    x = np.random.default_rng(0).integers(0, 30, (4, 8, 2)).astype(dtype)
    values, places = np.zeros((4, 2), dtype), np.zeros((4, 2), np.int32)
    scanned, back = np.zeros_like(x), np.zeros_like(x)
    middle_axis[(1,)](x, values, places, scanned, back, 4, 8, 2)
    np.testing.assert_array_equal(values, x.max(axis=1))
    np.testing.assert_array_equal(places, x.argmax(axis=1))
    np.testing.assert_array_equal(scanned, x.cumsum(axis=1, dtype=dtype))
    np.testing.assert_array_equal(back, x[:, ::-1].cumsum(axis=1, dtype=dtype)[:, ::-1])


@triton.jit
def gathered(x, index, o, AXIS: tl.constexpr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    at = (tl.arange(0, A)[:, None, None] * B + tl.arange(0, B)[None, :, None]) * C + tl.arange(0, C)[None, None, :]
    tl.store(o + at, tl.gather(tl.load(x + at), tl.load(index + at), AXIS))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_gather_along_each_axis(axis):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 8, 2)).astype(np.float32)
    index, o = rng.integers(0, x.shape[axis], x.shape).astype(np.int32), np.zeros_like(x)
    gathered[(1,)](x, index, o, axis, 4, 8, 2)
    np.testing.assert_array_equal(o, np.take_along_axis(x, index, axis))


@triton.jit
def counts(x, o, n, N: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + tl.arange(0, B), tl.histogram(tl.load(x + i), B, mask=i < n))


@pytest.mark.parametrize("n", [0, 1, 77, 128])
def test_histogram_with_a_mask(n):
    x, o = np.random.default_rng(0).integers(0, 16, 128).astype(np.int32), np.zeros(16, np.int32)
    counts[(1,)](x, o, n, 128, 16)
    np.testing.assert_array_equal(o, np.bincount(x[:n], minlength=16))


@triton.jit
def ternary(x, y, z, f, c, p, N: tl.constexpr):
    i = tl.arange(0, N)
    a, low, high = tl.load(x + i), tl.load(y + i), tl.load(z + i)
    tl.store(f + i, tl.fma(a, low, high))
    tl.store(c + i, tl.clamp(a, low, high))
    tl.store(p + i, tl.clamp(a, low, high, propagate_nan=tl.PropagateNan.ALL))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_fused_product_and_clamp(dtype):
    x = np.r_[np.random.default_rng(0).standard_normal(31), np.nan].astype(dtype)
    y, z = np.full(32, -0.5, dtype), np.full(32, 0.75, dtype)
    f, c, p = np.zeros((3, 32), dtype)
    ternary[(1,)](x, y, z, f, c, p, 32)
    eps = float(np.finfo(dtype).eps)
    np.testing.assert_allclose(f, x.astype(np.longdouble) * y + z, rtol=2 * eps, atol=eps)
    np.testing.assert_array_equal(p, np.clip(x, y, z))
    np.testing.assert_array_equal(c[:31], np.clip(x, y, z)[:31])
    assert c[31] == dtype(-0.5)
