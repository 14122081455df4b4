"""Calls of functions that constants steer: recursion, and named tuples made inside of kernels."""

from collections import namedtuple
from typing import NamedTuple

import numpy as np
import pytest
import triton
import triton.language as tl


class Window(NamedTuple):
    pointer: tl.tensor
    size: tl.constexpr = 4


Total = namedtuple("Total", "sum count", defaults=[0])


@triton.jit
def total(window, FROM: tl.constexpr, TO: tl.constexpr):
    """Adds the elements [FROM, TO), by halves."""
    if TO - FROM == 1:
        return Total(tl.load(window.pointer + FROM), 1)
    low = total(window, FROM, (FROM + TO) // 2)
    high = total(window, (FROM + TO) // 2, TO)
    return Total(count=low.count + high.count, sum=low.sum + high.sum)


@triton.jit
def totals(x, o, rows, N: tl.constexpr):
    found = Total(0.0)
    for row in range(rows):
        part = total(Window(x + row * N, N), 0, N)
        found = Total(found.sum + part.sum, found[1] + part[1])
    tl.store(o, found.sum)
    tl.store(o + 1, found.count)
    tl.store(o + 2, Window(x).size)


@pytest.mark.parametrize("rows, n", [(0, 4), (1, 1), (3, 5), (2, 64)])
def test_recursion_over_named_tuples(rows, n):
    x, o = np.arange(rows * n + 1, dtype=np.float32), np.zeros(3, np.float32)
    totals[(1,)](x, o, rows, n)
    np.testing.assert_array_equal(o, [x[:-1].sum(), rows * n, 4])
