"""Integer division by zero: scalars and blocks give the same, and the run goes on."""

import numpy as np
import pytest
import triton
import triton.language as tl

TYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


@triton.jit
def scalars(x, y, o, N: tl.constexpr):
    for i in range(N):
        n, d = tl.load(x + i), tl.load(y + i)
        tl.store(o + i, n // d)
        tl.store(o + N + i, n % d)
        tl.store(o + 2 * N + i, tl.where(d != 0, n // d, 0))


@triton.jit
def blocks(x, y, o, N: tl.constexpr):
    i = tl.arange(0, N)
    n, d = tl.load(x + i), tl.load(y + i)
    tl.store(o + i, n // d)
    tl.store(o + N + i, n % d)
    tl.store(o + 2 * N + i, tl.where(d != 0, n // d, 0))


@pytest.mark.parametrize("dtype", TYPES)
def test_a_scalar_gives_what_a_block_gives(dtype):
    info = np.iinfo(dtype)
    x = np.array([7, 0, info.max, info.min, info.min, 5, 1, 2], dtype)
    y = np.array([0, 0, 0, 0, -1 if info.min else 1, 3, 1, 0], np.int64).astype(dtype)
    of_scalars, of_blocks = np.zeros((3, 8), dtype), np.zeros((3, 8), dtype)
    scalars[(1,)](x, y, of_scalars, 8)
    blocks[(1,)](x, y, of_blocks, 8)
    np.testing.assert_array_equal(of_scalars, of_blocks)
    zero = y == 0
    assert (of_scalars[0][zero] == np.int64(-1).astype(dtype)).all()
    np.testing.assert_array_equal(of_scalars[1][zero], x[zero])
    assert (of_scalars[2][zero] == 0).all()


@triton.jit
def by_arguments(o, n, d, ZERO: tl.constexpr):
    zero = ZERO
    tl.store(o, tl.where(d != 0, n // d, 5))
    tl.store(o + 1, n // zero)
    tl.store(o + 2, n % zero)
    tl.store(o + 3, 1 if d == 0 else n // d)


def test_arguments_and_constants():
    o = np.zeros(4, np.int32)
    by_arguments[(1,)](o, 9, 0, 0)
    np.testing.assert_array_equal(o, [5, -1, 9, 1])
