"""The first elements in either order, with the name that Triton's library has for both."""

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.language.standard import sort_impl


@triton.jit
def first_ones(x, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, DOWN: tl.constexpr):
    v = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(o + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :], sort_impl(v, K, descending=DOWN))


@pytest.mark.parametrize("count", [1, 4, 16, 32])
@pytest.mark.parametrize("down", [False, True])
def test_first_ones(count, down):
    x = np.random.default_rng(count).integers(-50, 50, (4, 32)).astype(np.int32)
    o = np.zeros((4, count), np.int32)
    first_ones[(1,)](x, o, 4, 32, count, down)
    np.testing.assert_array_equal(o, np.sort(x * (-1 if down else 1), axis=1)[:, :count] * (-1 if down else 1))
