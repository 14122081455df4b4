"""`tl.map_elementwise`: a scalar function of one or several elements at a time, with branches and several results."""

import numpy as np
import pytest
import tandem
import triton
import triton.language as tl

N = 64


@triton.jit
def collatz_step(v):
    if v % 2 == 0:
        r = v // 2
    else:
        r = 3 * v + 1
    return r


@triton.jit
def sum_and_difference(a, b):
    return a + b, a - b


@triton.jit
def swapped(a0, a1):
    return a1, a0


@triton.jit
def dot_and_first(a0, a1, b0, b1):
    s = a0 * b0 + a1 * b1
    return s, s, a0, a1


@triton.jit
def rotated(a0, a1, a2, a3):
    return a1, a2, a3, a0


@triton.jit
def one(x, o, FN: tl.constexpr, PACK: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.map_elementwise(FN, tl.load(x + i), pack=PACK))


@triton.jit
def two(x, y, o, p, FN: tl.constexpr, PACK: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    r, s = tl.map_elementwise(FN, tl.load(x + i), tl.load(y + i), pack=PACK)
    tl.store(o + i, r)
    tl.store(p + i, s)


@triton.jit
def steps_to_one(v):
    n = 0
    while v != 1:
        if v % 2 == 0:
            v = v // 2
        else:
            v = 3 * v + 1
        n += 1
    return n


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def matrix_and_column(x, y, o, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    at = i[:, None] * N + j[None, :]
    tl.store(o + at, tl.map_elementwise(plus, tl.load(x + at), tl.load(y + i)[:, None]))


def test_branches():
    x, o = np.arange(1, N + 1, dtype=np.int32), np.zeros(N, np.int32)
    one[(1,)](x, o, collatz_step, 1, N)
    np.testing.assert_array_equal(o, np.where(x % 2 == 0, x // 2, 3 * x + 1))


def test_loops_of_different_lengths():
    x, o = np.arange(1, N + 1, dtype=np.int32), np.zeros(N, np.int32)
    one[(1,)](x, o, steps_to_one, 1, N)

    def count(v):
        return 0 if v == 1 else 1 + count(v // 2 if v % 2 == 0 else 3 * v + 1)

    np.testing.assert_array_equal(o, [count(int(v)) for v in x])


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float16, np.float32, np.int64, np.float64])
def test_two_results(dtype):
    x, y = np.arange(N).astype(dtype), (np.arange(N)[::-1] // 2).astype(dtype)
    o, p = np.zeros(N, dtype), np.zeros(N, dtype)
    two[(1,)](x, y, o, p, sum_and_difference, 1, N)
    np.testing.assert_array_equal(o, x + y)
    np.testing.assert_array_equal(p, x - y)


def test_pairs_and_fours():
    x, o = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
    one[(1,)](x, o, swapped, 2, N)
    np.testing.assert_array_equal(o, x.reshape(-1, 2)[:, ::-1].ravel())
    one[(1,)](x, o, rotated, 4, N)
    np.testing.assert_array_equal(o, np.roll(x.reshape(-1, 4), -1, axis=1).ravel())


def test_pairs_of_two_sources_and_two_results():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 100, (2, N)).astype(np.int32)
    o, p = np.zeros(N, np.int32), np.zeros(N, np.int32)
    two[(1,)](x, y, o, p, dot_and_first, 2, N)
    np.testing.assert_array_equal(o, np.repeat((x * y).reshape(-1, 2).sum(axis=1), 2))
    np.testing.assert_array_equal(p, x)


def test_sources_are_broadcast():
    x, y, o = (np.arange(32, dtype=np.float32).reshape(4, 8), np.arange(4, dtype=np.float32), np.zeros((4, 8), np.float32))
    matrix_and_column[(1,)](x, y, o, 4, 8)
    np.testing.assert_array_equal(o, x + y[:, None])


@pytest.mark.parametrize("function, pack, text", [(collatz_step, 3, "3"), (rotated, 2, "a2"), (collatz_step, 0, "0")])
def test_refused(function, pack, text):
    x, o = np.arange(N, dtype=np.int32), np.zeros(N, np.int32)
    with pytest.raises(tandem.CompileError, match=text):
        one[(1,)](x, o, function, pack, N)
