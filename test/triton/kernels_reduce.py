"""Reductions: types of sums, ties, NaN, indices, several axes, combinations of one's own."""

import triton
import triton.language as tl
from cases import array, bell, case, integers, out


@triton.jit
def sums(x, o, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + at)
    tl.store(o + tl.arange(0, N), tl.sum(v, axis=0))
    tl.store(o + N + tl.arange(0, M), tl.sum(v, 1))
    tl.store(o + N + M, tl.sum(v))
    tl.store(o + N + M + 1, v.sum(axis=-1).sum(0))
    tl.store(o + N + M + 2, tl.sum(tl.sum(v, 0, keep_dims=True), keep_dims=False))


@triton.jit
def sum_type(x, o, wide, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    s = tl.sum(v)
    t: tl.constexpr = s.dtype
    tl.store(o, t.primitive_bitwidth * 4 + t.is_floating() * 2 + t.is_int_signed())
    tl.store(wide, s.to(tl.float64))
    m = tl.max(v)
    u: tl.constexpr = m.dtype
    tl.store(o + 1, u.primitive_bitwidth * 4 + u.is_floating() * 2 + u.is_int_signed())
    tl.store(wide + 1, m.to(tl.float64))
    tl.store(wide + 2, tl.min(v).to(tl.float64))
    w, k = tl.max(v, 0, return_indices=True)
    p: tl.constexpr = w.dtype
    q: tl.constexpr = k.dtype
    tl.store(o + 2, p.primitive_bitwidth * 4 + p.is_floating() * 2 + p.is_int_signed())
    tl.store(o + 3, q.primitive_bitwidth * 4 + q.is_floating() * 2 + q.is_int_signed())
    tl.store(wide + 3, w.to(tl.float64))
    tl.store(wide + 4, k.to(tl.float64))


@triton.jit
def sum_in(x, o, N: tl.constexpr, T: tl.constexpr):
    tl.store(o, tl.sum(tl.load(x + tl.arange(0, N)), dtype=T))


@triton.jit
def extrema(x, values, where, M: tl.constexpr, N: tl.constexpr):
    m = tl.arange(0, M)
    v = tl.load(x + m[:, None] * N + tl.arange(0, N)[None, :])
    a, i = tl.max(v, 1, return_indices=True)
    b, j = tl.min(v, axis=1, return_indices=True, return_indices_tie_break_left=True)
    tl.store(values + m, a)
    tl.store(values + M + m, b)
    tl.store(values + 2 * M + m, tl.max(v, 1))
    tl.store(values + 3 * M + m, tl.min(v, 1))
    tl.store(where + m, i)
    tl.store(where + M + m, j)
    tl.store(where + 2 * M + m, tl.argmax(v, axis=1))
    tl.store(where + 3 * M + m, tl.argmin(v, 1))


@triton.jit
def kept_axes(x, o, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + at)
    centred = v - tl.sum(v, axis=1, keep_dims=True) / N
    scaled = centred / tl.max(tl.abs(centred), keep_dims=True)
    k = tl.argmax(scaled, 0, keep_dims=True)
    tl.store(o + at, scaled + k)


@triton.jit
def exclusive_or(x, o, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + at)
    tl.store(o + tl.arange(0, N), tl.xor_sum(v, 0))
    tl.store(o + N, tl.xor_sum(v))
    tl.store(o + N + 1 + tl.arange(0, M), tl.reduce_or(v, 1))


@triton.jit
def product(a, b):
    return a * b


@triton.jit
def mean_and_square(count_a, mean_a, square_a, count_b, mean_b, square_b):
    delta = mean_b - mean_a
    count = count_a + count_b
    share = count_b / count
    return count, mean_a + delta * share, square_a + square_b + delta * delta * count_a * share


@triton.jit
def largest_magnitude(va, ia, vb, ib):
    take = tl.abs(va) > tl.abs(vb)
    return tl.where(take, va, vb), tl.where(take, ia, ib)


@triton.jit
def own_combinations(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(o, tl.reduce(v, 0, product))
    count, mean, square = tl.reduce((tl.full((N,), 1.0, tl.float32), v, tl.zeros((N,), tl.float32)), 0, mean_and_square)
    tl.store(o + 1, count)
    tl.store(o + 2, mean)
    tl.store(o + 3, square / count)
    far, k = tl.reduce((v, i), axis=0, combine_fn=largest_magnitude)
    tl.store(o + 4, far)
    tl.store(o + 5, k)


@triton.jit
def three_axes(x, o, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
    v = tl.load(x + (a[:, None, None] * B + b[None, :, None]) * C + c[None, None, :])
    r = tl.sum(v, 1)
    tl.store(o + a[:, None] * C + c[None, :], r)
    tl.store(o + A * C + b, tl.max(tl.max(v, 2), 0))


for t in ["int32", "fp32", "fp64", "int64"]:
    case(sums, integers((8, 16), -50, 50, t, 1), out(27, t), M=8, N=16, tag=t)
case(sums, bell((8, 16), seed=1), out(27), M=8, N=16, tag="rounded", rtol=1e-5, atol=1e-5)
for t in ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "fp16", "bf16", "fp32", "fp64"]:
    case(sum_type, integers(64, 0, 127, t, 2), out(4, "int32"), out(5, "fp64"), N=64, tag=t, rtol=8e-3 if t in ("fp16", "bf16") else 0)
case(sum_in, integers(64, -128, 128, "int8", 3), out(1, "int64"), N=64, T=tl.int64, tag="int64")
case(sum_in, integers(64, -128, 128, "int8", 3), out(1, "int64"), N=64, T=tl.int8, tag="int8")
case(sum_in, integers(64, 0, 2, "int1", 3), out(1, "int64"), N=64, T=tl.int32, tag="int1")
case(sum_in, integers(64, 0, 2, "int1", 3), out(1, "int64"), N=64, T=None, tag="int1_default")
case(sum_in, bell(64, "fp16", 3), out(1), N=64, T=tl.float32, rtol=1e-5, tag="fp32")


@triton.jit
def nan_places(x, values, where, M: tl.constexpr, N: tl.constexpr):
    m = tl.arange(0, M)
    v = tl.load(x + m[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(where + m, tl.argmax(v, 1, tie_break_left=True))
    tl.store(where + M + m, tl.argmin(v, 1))
    tl.store(values + m, tl.max(v, 1))


nan = float("nan")
case(nan_places, array([[1, 2, 3, nan], [nan, 1, 2, 3], [4, nan, 5, 5], [7, 7, nan, nan]], "fp32"), out(4), out((2, 4), "int32"), M=4, N=4)
ties = array([[1, 5, 5, 2, 5, 0, 0, 3], [7] * 8, [-1, -2, -1, -3, -3, -9, -9, -1], [0, 1, 2, 3, 4, 5, 6, 6]], "fp32")
case(extrema, ties, out((4, 4)), out((4, 4), "int32"), M=4, N=8, tag="ties")
case(extrema, ties.astype("int32"), out((4, 4), "int32"), out((4, 4), "int32"), M=4, N=8, tag="ties_int")
case(extrema, integers((4, 8), 0, 2**32, "uint32", 4), out((4, 4), "uint32"), out((4, 4), "int32"), M=4, N=8, tag="unsigned")
case(extrema, integers((4, 8), 0, 255, "uint8", 4), out((4, 4), "uint8"), out((4, 4), "int32"), M=4, N=8, tag="uint8")
case(extrema, bell((8, 32), "bf16", 4), out((4, 8)), out((4, 8), "int32"), M=8, N=32, tag="bf16")
case(
    extrema,
    array([[0.0, -0.0, 1, -1], [float("inf"), 1, float("-inf"), 2]], "fp32"),
    out((4, 2)),
    out((4, 2), "int32"),
    M=2,
    N=4,
    tag="zeros",
)
case(kept_axes, bell((8, 16), seed=5), out((8, 16)), M=8, N=16, rtol=1e-5, atol=1e-5)
case(exclusive_or, integers((8, 16), -(2**31), 2**31, "int32", 6), out(25, "int32"), M=8, N=16)
case(own_combinations, bell(32, seed=7), out(6), N=32, rtol=1e-5, atol=1e-6)
case(three_axes, integers((4, 8, 16), -9, 9, "fp32", 8), out(72), A=4, B=8, C=16)


@triton.jit
def nan_extrema(x, o, M: tl.constexpr, N: tl.constexpr):
    m = tl.arange(0, M)
    v = tl.load(x + m[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(o + m, tl.max(v, 1))
    tl.store(o + M + m, tl.min(v, 1))


case(nan_extrema, array([[nan, 1, 2, 3], [1, nan, 3, 2], [nan, nan, nan, nan], [3, 2, 1, nan]], "fp32"), out((2, 4)), M=4, N=4)
