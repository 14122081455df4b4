"""Conditions of one element, functions that end without a value on some paths, and pairs of two elements."""

import numpy as np
import pytest
import tandem
import triton
import triton.language as tl


@triton.jit
def conditions(x, o):
    one = tl.load(x + tl.arange(0, 1))
    if one > 0:
        tl.store(o, 1)
    if tl.reshape(one, (1, 1)):
        tl.store(o + 1, 1)
    tl.store(o + 2, 3 if one > 0 else 4)
    n = 0
    while one > 0:
        one -= 2
        n += 1
    tl.store(o + 3, n)


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.int8, np.float16])
@pytest.mark.parametrize("x", [0, 5, -1])
def test_one_element_is_a_condition(x, dtype):
    o = np.zeros(4, np.int32)
    conditions[(1,)](np.array([x], dtype), o)
    np.testing.assert_array_equal(o, [x > 0, x != 0, 3 if x > 0 else 4, (x + 1) // 2 if x > 0 else 0])


@triton.jit
def of_two(x, o):
    if tl.load(x + tl.arange(0, 2)) > 0:
        tl.store(o, 1)


def test_two_elements_are_none():
    with pytest.raises(tandem.CompileError, match=r"a condition is a scalar, not a `int1\[2\]` tensor"):
        of_two[(1,)](np.zeros(2, np.int32), np.zeros(1, np.int32))


@triton.jit
def positive_root(x):
    if x > 0:
        return tl.sqrt(x), 1


@triton.jit
def nested(x):
    if x > 10:
        if x > 20:
            return x * 2
        x += 1
    elif x > 5:
        return x * 3


@triton.jit
def only_where_returned(x, o):
    v = tl.load(x)
    root, found = positive_root(v)
    if v > 0:
        tl.store(o, root + found)
    more = nested(v)
    if (v > 20) | ((v > 5) & (v <= 10)):
        tl.store(o + 1, more)


@pytest.mark.parametrize("x", [4.0, -4.0, 9.0, 16.0, 25.0])
def test_a_path_without_a_return(x):
    o = np.full(2, -1, np.float32)
    only_where_returned[(1,)](np.array([x], np.float32), o)
    returned = x * 2 if x > 20 else x * 3 if 5 < x <= 10 else -1
    np.testing.assert_array_equal(o, [np.sqrt(x) + 1 if x > 0 else -1, returned])


@triton.jit
def pairs(x, o):
    a, b = tl.split(tl.load(x + tl.arange(0, 2)))
    tl.store(o, a - b)
    c, d = tl.split(tl.arange(0, 2))
    tl.store(o + 1, c + 10 * d)
    e, f = tl.split(tl.join(a, b) * 2)
    tl.store(o + 2, e + f)


def test_pairs_become_scalars():
    o = np.zeros(3, np.int32)
    pairs[(1,)](np.array([7, 3], np.int32), o)
    np.testing.assert_array_equal(o, [4, 10, 20])


@triton.jit
def subscripts(x, o):
    tl.static_assert(x[None, None, :].shape == (1, 1))
    tl.static_assert(x[:].dtype == x.dtype)
    tl.store(o + tl.arange(0, 1)[None, :], tl.load(x[None, None, :]))


def test_subscripts_of_scalars():
    o = np.zeros(1, np.int32)
    subscripts[(1,)](np.array([5], np.int32), o)
    assert o[0] == 5


@triton.jit
def shaped(x, o):
    one = tl.load(x + tl.arange(0, 1))
    if one.reshape(()) > 3:
        tl.store(o, tl.reshape(one[:, None], []) + one.view(()))


def test_one_element_in_the_shape_of_a_scalar():
    o = np.zeros(1, np.int32)
    shaped[(1,)](np.array([5], np.int32), o)
    assert o[0] == 10
