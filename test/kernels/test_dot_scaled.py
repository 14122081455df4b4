"""`tl.dot_scaled`: every pair of formats, scales on either side, packing along either dimension, accumulators, what is refused."""

import ml_dtypes
import numpy as np
import pytest
import tandem
import triton
import triton.language as tl

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float64)
DTYPES = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "bf16": ml_dtypes.bfloat16, "fp16": np.float16}


def pair_up(codes, axis):
    """Two 4-bit codes that follow each other along `axis` share a byte, the first in the low half."""
    low, high = np.take(codes, range(0, codes.shape[axis], 2), axis), np.take(codes, range(1, codes.shape[axis], 2), axis)
    return (low | high << 4).astype(np.uint8)


def operand(rng, form, shape, packed_axis):
    """Returns the bytes that the kernel reads, and the numbers that they mean."""
    if form == "e2m1":
        codes = rng.integers(0, 16, shape)
        return pair_up(codes, packed_axis), E2M1[codes]
    values = rng.standard_normal(shape).astype(DTYPES[form])
    return values, values.astype(np.float64)


def scaled_by(values, scales, axis):
    """Scales are [outer, K / 32] exponents, or [outer, K / 16] numbers of e4m3."""
    if scales.dtype == np.uint8:
        factors = np.repeat(2.0 ** (scales.astype(np.float64) - 127), 32, axis=1)
    else:
        factors = np.repeat(scales.astype(np.float64), 16, axis=1)
    return values * (factors if axis == 1 else factors.T)


@triton.jit
def product(
    a,
    sa,
    b,
    sb,
    c,
    o,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    FA: tl.constexpr,
    FB: tl.constexpr,
    PA: tl.constexpr,
    PB: tl.constexpr,
    HAS_SA: tl.constexpr,
    HAS_SB: tl.constexpr,
    HAS_C: tl.constexpr,
    BLOCK: tl.constexpr = 32,
):
    AR: tl.constexpr = M // 2 if FA == "e2m1" and not PA else M
    AC: tl.constexpr = K // 2 if FA == "e2m1" and PA else K
    BR: tl.constexpr = K // 2 if FB == "e2m1" and PB else K
    BC: tl.constexpr = N // 2 if FB == "e2m1" and not PB else N
    S: tl.constexpr = K // BLOCK
    m, n, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, S)
    x = tl.load(a + tl.arange(0, AR)[:, None] * AC + tl.arange(0, AC)[None, :])
    y = tl.load(b + tl.arange(0, BR)[:, None] * BC + tl.arange(0, BC)[None, :])
    scale_x = tl.load(sa + m[:, None] * S + s[None, :]) if HAS_SA else None
    scale_y = tl.load(sb + n[:, None] * S + s[None, :]) if HAS_SB else None
    at = m[:, None] * N + n[None, :]
    acc = tl.load(c + at) if HAS_C else None
    tl.store(o + at, tl.dot_scaled(x, scale_x, FA, y, scale_y, FB, acc=acc, lhs_k_pack=PA, rhs_k_pack=PB))


def check(fa, fb, pa=True, pb=True, has_sa=True, has_sb=True, has_c=False, m=16, n=32, k=64):
    rng = np.random.default_rng(7)
    a, x = operand(rng, fa, (m, k), 1 if pa else 0)
    b, y = operand(rng, fb, (k, n), 0 if pb else 1)
    sa, sb = (rng.integers(122, 132, (outer, k // 32)).astype(np.uint8) for outer in (m, n))
    c, o = rng.standard_normal((m, n)).astype(np.float32), np.zeros((m, n), np.float32)
    product[(1,)](a, sa, b, sb, c, o, m, n, k, fa, fb, pa, pb, has_sa, has_sb, has_c)
    want = (scaled_by(x, sa, 1) if has_sa else x) @ (scaled_by(y, sb, 0) if has_sb else y)
    np.testing.assert_allclose(o, want + (c if has_c else 0), rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("fb", ["e2m1", "e4m3", "e5m2", "bf16", "fp16"])
@pytest.mark.parametrize("fa", ["e2m1", "e4m3", "e5m2", "bf16", "fp16"])
def test_every_pair_of_formats(fa, fb):
    scaled = ("e2m1", "e4m3", "e5m2")
    check(fa, fb, has_sa=fa in scaled, has_sb=fb in scaled)


@pytest.mark.parametrize("pb", [True, False])
@pytest.mark.parametrize("pa", [True, False])
def test_pairs_along_either_dimension(pa, pb):
    check("e2m1", "e2m1", pa, pb)


@pytest.mark.parametrize("has_sa, has_sb", [(True, False), (False, True), (False, False)])
def test_scales_of_one_side_or_none(has_sa, has_sb):
    check("e4m3", "e5m2", has_sa=has_sa, has_sb=has_sb, has_c=True)


@pytest.mark.parametrize("m, n, k", [(16, 16, 32), (64, 16, 128), (128, 128, 256)])
def test_sizes(m, n, k):
    check("e2m1", "e4m3", has_c=True, m=m, n=n, k=k)


@pytest.mark.parametrize("fb", ["e2m1", "e4m3", "e5m2", "bf16", "fp16"])
@pytest.mark.parametrize("m, n, k", [(16, 16, 16), (32, 16, 64)])
def test_scales_of_e4m3_serve_16_elements(fb, m, n, k):
    rng = np.random.default_rng(5)
    a, x = operand(rng, "e2m1", (m, k), 1)
    b, y = operand(rng, fb, (k, n), 0)
    sa, sb = (rng.uniform(0.1, 4, (outer, k // 16)).astype(DTYPES["e4m3"]) for outer in (m, n))
    c, o = rng.standard_normal((m, n)).astype(np.float32), np.zeros((m, n), np.float32)
    product[(1,)](a, sa, b, sb, c, o, m, n, k, "e2m1", fb, True, True, True, True, True, 16)
    np.testing.assert_allclose(o, scaled_by(x, sa, 1) @ scaled_by(y, sb, 0) + c, rtol=1e-5, atol=1e-3)


@triton.jit
def mixed_scales(a, sa, b, sb, o):
    i, k = tl.arange(0, 16), tl.arange(0, 32)
    x, y = tl.load(a + i[:, None] * 32 + k[None, :]), tl.load(b + k[:, None] * 16 + i[None, :])
    scale_x = tl.load(sa + i[:, None] * 2 + tl.arange(0, 2)[None, :])
    scale_y = tl.load(sb + i[:, None] + tl.arange(0, 1)[None, :])
    tl.store(o + i[:, None] * 16 + i[None, :], tl.dot_scaled(x, scale_x, "e4m3", y, scale_y, "e5m2"))


def test_scales_of_either_side_have_their_own_type():
    rng = np.random.default_rng(6)
    (a, x), (b, y) = operand(rng, "e4m3", (16, 32), 1), operand(rng, "e5m2", (32, 16), 0)
    sa = rng.uniform(0.1, 4, (16, 2)).astype(DTYPES["e4m3"])
    sb, o = rng.integers(122, 132, (16, 1)).astype(np.uint8), np.zeros((16, 16), np.float32)
    mixed_scales[(1,)](a, sa, b, sb, o)
    np.testing.assert_allclose(o, scaled_by(x, sa, 1) @ scaled_by(y, sb, 0), rtol=1e-5, atol=1e-3)


@triton.jit
def formats_as_bits(a, b, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    x = tl.load(a + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :])
    y = tl.load(b + tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(o + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], tl.dot_scaled(x, None, "e4m3", y, None, "e5m2"))


def test_bytes_are_read_as_the_format():
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((16, 32)).astype(DTYPES["e4m3"]), rng.standard_normal((32, 16)).astype(DTYPES["e5m2"])
    o = np.zeros((16, 16), np.float32)
    formats_as_bits[(1,)](a.view(np.uint8), b.view(np.uint8), o, 16, 16, 32)
    np.testing.assert_allclose(o, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-4)


@triton.jit
def nan_scale(a, sa, b, o):
    i = tl.arange(0, 16)
    k = tl.arange(0, 32)
    x = tl.load(a + i[:, None] * 32 + k[None, :])
    y = tl.load(b + k[:, None] * 16 + i[None, :])
    scale = tl.load(sa + i[:, None] + tl.arange(0, 1)[None, :])
    tl.store(o + i[:, None] * 16 + i[None, :], tl.dot_scaled(x, scale, "e4m3", y, None, "bf16"))


def test_scale_255_is_nan_and_0_is_the_smallest():
    a, b = np.ones((16, 32), DTYPES["e4m3"]), np.ones((32, 16), DTYPES["bf16"])
    sa, o = np.full((16, 1), 127, np.uint8), np.zeros((16, 16), np.float32)
    sa[3], sa[5] = 255, 0
    nan_scale[(1,)](a, sa, b, o)
    assert np.isnan(o[3]).all() and (o[5] == 32 * 2.0**-127).all() and (np.delete(o, [3, 5], axis=0) == 32).all()


@triton.jit
def batch(a, b, o):
    z, i, k = tl.arange(0, 2)[:, None, None], tl.arange(0, 16), tl.arange(0, 32)
    x = tl.load(a + z * 512 + i[None, :, None] * 32 + k[None, None, :])
    y = tl.load(b + z * 512 + k[None, :, None] * 16 + i[None, None, :])
    tl.store(o + z * 256 + i[None, :, None] * 16 + i[None, None, :], tl.dot_scaled(x, None, "e4m3", y, None, "e4m3"))


def test_batches():
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, 16, 32)).astype(DTYPES["e4m3"]), rng.standard_normal((2, 32, 16)).astype(DTYPES["e4m3"])
    o = np.zeros((2, 16, 16), np.float32)
    batch[(1,)](a, b, o)
    np.testing.assert_allclose(o, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-4)


@triton.jit
def wrong(FA: tl.constexpr, TA: tl.constexpr, PA: tl.constexpr, SA: tl.constexpr, K: tl.constexpr, TS: tl.constexpr):
    x, y = tl.zeros((16, K), TA), tl.zeros((K, 16), tl.float8e4nv)
    s = tl.full((16, SA), 1, TS) if SA else None
    tl.dot_scaled(x, s, FA, y, None, "e4m3", lhs_k_pack=PA)


@pytest.mark.parametrize(
    "fa, ta, pa, sa, k, ts, text",
    [
        ("e3m2", tl.uint8, True, 0, 32, tl.uint8, "e3m2"),
        ("e4m3", tl.float32, True, 0, 32, tl.uint8, "fp32"),
        ("e4m3", tl.float8e4nv, False, 0, 32, tl.uint8, "packed"),
        ("e4m3", tl.float8e4nv, True, 4, 64, tl.uint8, r"\[16, 4\]"),
        ("e4m3", tl.float8e4nv, True, 1, 16, tl.uint8, "16"),
        ("e4m3", tl.float8e4nv, True, 2, 64, tl.float8e4nv, r"\[16, 2\], not \[16, 4\]"),
        ("e4m3", tl.float8e4nv, True, 2, 64, tl.float8e5, "fp8e5"),
    ],
)
def test_refused(fa, ta, pa, sa, k, ts, text):
    with pytest.raises(tandem.CompileError, match=text):
        wrong[(1,)](fa, ta, pa, sa, k, ts)
