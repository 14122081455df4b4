"""Random numbers: the integers are exact, the floats made from them too, the normal ones to rounding."""

import triton
import triton.language as tl
from cases import bell, case, out


@triton.jit
def random_integers(o, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.randint(seed, i))
    a, b, c, d = tl.randint4x(seed, i + 100)
    tl.store(o + N + i, a)
    tl.store(o + 2 * N + i, b)
    tl.store(o + 3 * N + i, c)
    tl.store(o + 4 * N + i, d)
    tl.store(o + 5 * N + i, tl.randint(seed, i.to(tl.int64) * 2**33, n_rounds=6))


@triton.jit
def random_words(o, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c, d = tl.philox(seed, i, i * 0 + 1, i * 0 + 2, i * 0 + 3)
    tl.store(o + i, a ^ b)
    tl.store(o + N + i, c ^ d)


@triton.jit
def random_uniform(o, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.rand(seed, i))
    a, b, c, d = tl.rand4x(seed, i)
    tl.store(o + N + i, a)
    tl.store(o + 2 * N + i, b)
    tl.store(o + 3 * N + i, c)
    tl.store(o + 4 * N + i, d)


@triton.jit
def random_normal(o, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.randn(seed, i))
    a, b, c, d = tl.randn4x(seed, i)
    tl.store(o + N + i, a)
    tl.store(o + 2 * N + i, d)


@triton.jit
def dropout(x, o, n, p, seed, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    inside = i < n
    keep = tl.rand(seed, i) > p
    tl.store(o + i, tl.where(keep, tl.load(x + i, mask=inside) / (1 - p), 0.0), mask=inside)


for seed in [0, 1, 42, -7, 2**31, 2**40 + 3]:
    case(random_integers, out((6, 32), "uint32"), seed, N=32, tag=str(seed))
    case(random_words, out((2, 32), "uint32"), seed, N=32, tag=str(seed))
    case(random_uniform, out((5, 32)), seed, N=32, tag=str(seed))
case(random_normal, out((3, 64)), 7, N=64, rtol=1e-3, atol=1e-4)
case(dropout, bell(100, seed=1), out(100), 100, 0.4, 123, N=64, grid=2, rtol=1e-6)
