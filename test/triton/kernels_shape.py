"""Shapes: reshaping, permuting, joining, splitting, sorting, gathering, histograms."""

import numpy as np
import triton
import triton.language as tl
from cases import array, bell, case, integers, out


@triton.jit
def sort_rows(x, o, M: tl.constexpr, N: tl.constexpr, DOWN: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + at)
    tl.store(o + at, tl.sort(v, dim=1, descending=DOWN))
    tl.store(o + M * N + at, tl.sort(v, descending=not DOWN))


@triton.jit
def largest(x, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    v = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(o + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :], tl.topk(v, K))


@triton.jit
def flip_axes(x, o, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + at)
    tl.store(o + at, tl.flip(v, 0))
    tl.store(o + M * N + at, tl.flip(v, 1) * 2)


@triton.jit
def flip_first(x, o, N: tl.constexpr):
    tl.store(o + tl.arange(0, N), tl.flip(tl.load(x + tl.arange(0, N)), 0))


@triton.jit
def gather_rows(x, index, o, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(o + at, tl.gather(tl.load(x + at), tl.load(index + at), AXIS))


@triton.jit
def count_values(x, o, N: tl.constexpr, B: tl.constexpr):
    tl.store(o + tl.arange(0, B), tl.histogram(tl.load(x + tl.arange(0, N)), B))


@triton.jit
def count_masked(x, o, n, N: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + tl.arange(0, B), tl.histogram(tl.load(x + i), B, mask=i < n))


@triton.jit
def joins(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(o + i[:, None] * 2 + tl.arange(0, 2)[None, :], tl.join(v, v * 10))
    tl.store(o + 2 * N + tl.arange(0, 2 * N), tl.interleave(v, -v))
    a, b = tl.split(tl.join(v, v + 1))
    tl.store(o + 4 * N + i, a - b * 3)


@triton.jit
def split_pairs(x, o, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, 2 * N))
    a, b = v.reshape((N, 2)).split()
    tl.store(o + tl.arange(0, N), a * 100 + b)


@triton.jit
def permutations(x, o, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
    v = tl.load(x + a[:, None, None] * B * C + b[None, :, None] * C + c[None, None, :])
    n: tl.constexpr = A * B * C
    i = tl.arange(0, n)
    tl.store(o + i, tl.permute(v, (2, 0, 1)).reshape(n))
    tl.store(o + n + i, tl.permute(v, 1, 2, 0).reshape([n]))
    tl.store(o + 2 * n + i, tl.ravel(tl.trans(v, 0, 2, 1)))
    tl.store(o + 3 * n + i, tl.reshape(v, n))
    tl.store(o + 4 * n + i, tl.view(tl.trans(v, (1, 0, 2)), (n,)))


@triton.jit
def transposed(x, o, M: tl.constexpr, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    at = tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :]
    tl.store(o + at, tl.trans(v))
    tl.store(o + M * N + at, v.T + 1)


@triton.jit
def reshaped(x, o, M: tl.constexpr, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, M * N)).reshape(M, N)
    w = tl.reshape(v, (M // 2, 2, N))
    tl.store(o + tl.arange(0, M // 2)[:, None] * N + tl.arange(0, N)[None, :], tl.sum(w, 1))
    z = tl.reshape(v, (N, M))
    tl.store(o + M * N // 2 + tl.arange(0, M), tl.sum(z, 0))


@triton.jit
def added_axes(x, o, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    w = v[None, :, None]
    u = tl.expand_dims(v, [0, 2])
    y = v.expand_dims(-1)[:, :]
    tl.store(o + tl.arange(0, N), tl.reshape(w + u, (N,)) + tl.sum(y, 1))


@triton.jit
def concatenated(x, y, o, N: tl.constexpr):
    c = tl.cat(tl.load(x + tl.arange(0, N)), tl.load(y + tl.arange(0, N)), can_reorder=True)
    tl.store(o + tl.arange(0, 2 * N), tl.sort(c))


@triton.jit
def shapes_as_values(x, o, M: tl.constexpr, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(o, v.shape[0])
    tl.store(o + 1, v.shape[-1])
    tl.store(o + 2, v.numel)
    tl.store(o + 3, len(v.shape))
    tl.store(o + 4, v.T.shape[0])
    tl.store(o + 5, v.dtype.primitive_bitwidth)
    tl.store(o + 6, v.type.scalar.primitive_bitwidth)
    tl.store(o + 7, x.dtype.element_ty.primitive_bitwidth)


@triton.jit
def more_axes(x, o, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    n: tl.constexpr = A * B * C
    v = tl.load(x + tl.arange(0, n)).reshape(A, B, C)
    i = tl.arange(0, n)
    tl.store(o + i, tl.sort(v).reshape(n))
    tl.store(o + n + i, tl.cumsum(v, 1).reshape(n))
    tl.store(o + 2 * n + i, tl.flip(v, 1).reshape(n))
    tl.store(o + 3 * n + i, tl.flip(v, 2).reshape(n))
    tl.store(o + 4 * n + i, tl.join(v, v).permute(3, 0, 1, 2).sum(0).reshape(n))
    tl.store(o + 5 * n + i, (v - v.max(2, keep_dims=True) + tl.argmin(v, 1)[:, None, :]).reshape(n))
    tl.store(o + 6 * n + i, tl.interleave(tl.sum(v, 2), tl.max(v, 2)).reshape(2 * A * B).to(tl.float32).sum() + v.reshape(n))


for down in (False, True):
    tag = "down" if down else "up"
    case(sort_rows, bell((4, 32), seed=1), out((2, 4, 32)), M=4, N=32, DOWN=down, tag=tag)
    case(sort_rows, integers((4, 32), -9, 9, "int32", 1), out((2, 4, 32), "int32"), M=4, N=32, DOWN=down, tag=tag + ".int32")
    case(sort_rows, integers((2, 16), 0, 255, "uint8", 1), out((2, 2, 16), "uint8"), M=2, N=16, DOWN=down, tag=tag + ".uint8")
    case(sort_rows, bell((2, 16), "fp16", 1), out((2, 2, 16), "fp16"), M=2, N=16, DOWN=down, tag=tag + ".fp16")
case(more_axes, integers((4, 8, 4), -50, 50, "int32", 14), out((7, 128)), A=4, B=8, C=4)
case(largest, bell((4, 32), seed=2), out((4, 8)), M=4, N=32, K=8)
case(largest, bell((4, 32), seed=2), out((4, 1)), M=4, N=32, K=1, tag="one")
case(flip_axes, bell((8, 16), seed=3), out((2, 8, 16)), M=8, N=16)
case(flip_first, bell(32, seed=3), out(32), N=32)
case(gather_rows, bell((8, 16), seed=4), integers((8, 16), 0, 8, "int32", 4), out((8, 16)), M=8, N=16, AXIS=0, tag="axis0")
case(gather_rows, bell((8, 16), seed=4), integers((8, 16), 0, 16, "int64", 4), out((8, 16)), M=8, N=16, AXIS=1, tag="axis1")
case(count_values, integers(256, 0, 16, "int32", 5), out(16, "int32"), N=256, B=16)
case(count_masked, integers(256, 0, 16, "int32", 5), out(16, "int32"), 200, N=256, B=16)
case(joins, bell(16, seed=6), out(80), N=16, rtol=1e-6)
case(split_pairs, integers(64, 0, 99, "int32", 7), out(32, "int32"), N=32)
case(permutations, np.arange(128, dtype=np.int32), out(5 * 128, "int32"), A=4, B=8, C=4)
case(transposed, bell((8, 16), seed=8), out((2, 16, 8)), M=8, N=16)
case(reshaped, integers(128, 0, 50, "int32", 9), out(72, "int32"), M=8, N=16)
case(added_axes, bell(16, seed=10), out(16), N=16)
case(concatenated, bell(16, seed=11), bell(16, seed=12), out(32), N=16)
case(shapes_as_values, bell((8, 16), "fp16", 13), out(8, "int32"), M=8, N=16)
case(
    sort_rows, array([[3, float("inf"), -0.0, 0.0, float("-inf"), 1, 2, -7]], "fp32"), out((2, 1, 8)), M=1, N=8, DOWN=False, tag="infinite"
)
