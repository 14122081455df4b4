"""Loops and branches: bounds of every type, steps of either sign, several carried values, early returns, grids of three axes."""

import numpy as np
import pytest
import tandem
import triton
import triton.language as tl
from triton.language.core import _aggregate


@triton.jit
def counted(o, start, stop, step):
    n = 0
    last = start * 0 - 99
    for i in range(start, stop, step):
        n += 1
        last = i
    tl.store(o, n)
    tl.store(o + 1, last)


@pytest.mark.parametrize(
    "start, stop, step", [(0, 10, 3), (0, 0, 1), (5, 2, 1), (-5, 5, 4), (2**31 - 4, 2**31 - 1, 1), (2**40, 2**40 + 7, 3)]
)
def test_bounds(start, stop, step):
    o, want = np.zeros(2, np.int64), list(range(start, stop, step))
    counted[(1,)](o, start, stop, step)
    np.testing.assert_array_equal(o, [len(want), want[-1] if want else -99])


@triton.jit
def counted_down(o, start, stop):
    for i in range(start, stop, -2):
        tl.store(o + i, i)


def test_constant_negative_step():
    o = np.zeros(16, np.int32)
    counted_down[(1,)](o, 15, 2)
    want = np.zeros(16, np.int32)
    want[list(range(15, 2, -2))] = range(15, 2, -2)
    np.testing.assert_array_equal(o, want)


@triton.jit
def unsigned_bounds(o, start, count):
    low = start.to(tl.uint32, bitcast=True)
    n = 0
    for i in range(low, low + count.to(tl.uint32)):
        n += 1
    tl.store(o, n)


def test_unsigned_bounds():
    o = np.zeros(1, np.int32)
    unsigned_bounds[(1,)](o, np.uint32(3_000_000_000).astype(np.int64).item() - 2**32, 5)
    assert o[0] == 5


@triton.jit
def many_carried(x, o, n, B: tl.constexpr):
    src = tl.make_block_ptr(x, (n,), (1,), (0,), (B,), (0,))
    total, pair, ptr, turn = tl.zeros((B,), tl.float32), (0, tl.cast(1, tl.int64)), x, 0
    while turn < n // B:
        total += tl.load(src) * pair[1].to(tl.float32) + tl.load(ptr)
        pair = (pair[0] + 1, pair[1] * 2)
        src = tl.advance(src, (B,))
        ptr += B
        turn += 1
    tl.store(o + tl.arange(0, B), total)
    tl.store(o + B, pair[0])
    tl.store(o + B + 1, pair[1])


def test_a_loop_that_carries_tuples_and_pointers():
    x, o = np.arange(64, dtype=np.float32), np.zeros(10, np.float32)
    many_carried[(1,)](x, o, 64, 8)
    rows = x.reshape(8, 8)
    want = sum(rows[k] * 2.0**k + rows[k, 0] for k in range(8))
    np.testing.assert_allclose(o, np.r_[want, 8, 256], rtol=1e-6)


@triton.jit
def classify(v):
    if v < 0:
        if v < -10:
            if v < -100:
                return -3
            return -2
        else:
            return -1
    for _ in range(1):
        v += 0
    if v == 0:
        return 0
    elif v > 100:
        if v > 1000:
            return 4
    else:
        if v > 10:
            return 2
        return 1
    return 3


@triton.jit
def classes(x, o, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    v = tl.load(x + pid)
    if v == 13:
        tl.store(o + pid, -13)
        return
    tl.store(o + pid, classify(v))


def test_early_returns():
    x = np.array([-1000, -50, -5, 0, 5, 50, 500, 5000, 13, 7], np.int32)
    o = np.full(10, 77, np.int32)
    classes[(12,)](x, o, 9)
    np.testing.assert_array_equal(o, [-3, -2, -1, 0, 1, 2, 3, 4, -13, 77])


@triton.jit
def three_axes(o):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(axis=2)
    nx, ny, nz = tl.num_programs(0), tl.num_programs(1), tl.num_programs(axis=2)
    tl.store(o + (z * ny + y) * nx + x, x + 10 * y + 100 * z + 1000 * nx + 10000 * ny + 100000 * nz)


@pytest.mark.parametrize("slots", [None, 1, 2, 3])
@pytest.mark.parametrize("num_warps", [1, 2, 16])
@pytest.mark.parametrize("grid", [(5, 3, 2), (1, 1, 7), (4, 6)])
def test_three_axes(grid, num_warps, slots):
    full = (*grid, 1)[:3]
    o = np.zeros(full[::-1], np.int32)
    tandem.launch(lambda team: three_axes[grid](o, num_warps=num_warps), slots_per_rank=slots)
    z, y, x = np.indices(full[::-1])
    np.testing.assert_array_equal(o, x + 10 * y + 100 * z + 1000 * full[0] + 10000 * full[1] + 100000 * full[2])


@triton.jit
def swizzled(o, M, N, G: tl.constexpr):
    i, j = tl.swizzle2d(tl.program_id(0), tl.program_id(1), M, N, G)
    tl.store(o + tl.program_id(0) * N + tl.program_id(1), i * 100 + j)


@pytest.mark.parametrize("m, n, g", [(4, 4, 2), (5, 3, 2), (7, 4, 3)])
def test_swizzle(m, n, g):
    o, want = np.zeros((m, n), np.int32), []
    swizzled[(m, n)](o, m, n, g)
    for first in range(0, m, g):
        size = min(g, m - first)
        want += [(first + k % size) * 100 + k // size for k in range(size * n)]
    np.testing.assert_array_equal(o.ravel(), want)


@pytest.mark.parametrize("step", [0, -1, -3])
def test_a_step_that_turns_out_not_positive_is_an_error_of_its_line(step):
    with pytest.raises(tandem.SimulationError, match="the step of a loop must be positive") as error:
        counted[(1,)](np.zeros(2, np.int64), 0, 10, step)
    assert "for i in range(start, stop, step)" in str(error.value)


@triton.jit
def endless(o):
    while 1:
        pass
    tl.store(o, 1)


@triton.jit
def endless_when(o, n):
    x = n
    while x > 0:
        x = x * 1
    tl.store(o, 1)


def test_a_loop_without_effects_that_never_ends_is_reported():
    o = np.zeros(1, np.int32)
    with pytest.raises(tandem.SimulationError, match="loops without end") as error:
        endless[(1,)](o)
    assert "while 1:" in str(error.value) and "livelock" in str(error.value)
    endless_when[(1,)](o, 0)
    assert o[0] == 1
    with pytest.raises(tandem.SimulationError, match="loops without end") as error:
        endless_when[(1,)](o, 1)
    assert "while x > 0:" in str(error.value)


@_aggregate
class Cursor:
    at: tl.tensor
    sum: tl.tensor
    step: tl.constexpr

    def __init__(self, at, sum, step):
        self.at = at
        self.sum = sum
        self.step = step

    @triton.jit
    def next(self, x):
        return Cursor(self.at + self.step, self.sum + tl.load(x + self.at), self.step)


@triton.jit
def walks(x, o, n):
    c = Cursor(n * 0, tl.cast(0.0, tl.float32), tl.constexpr(3))
    while c.at < n:
        c = c.next(x)
    tl.store(o, c.sum)
    tl.store(o + 1, c.at)


@pytest.mark.parametrize("n", [0, 1, 10, 12])
def test_a_while_loop_carries_aggregates(n):
    x, o = np.arange(16, dtype=np.float32), np.zeros(2, np.float32)
    walks[(1,)](x, o, n)
    np.testing.assert_array_equal(o, [x[:n:3].sum(), (n + 2) // 3 * 3])


@_aggregate
class Place:
    cursor: Cursor
    row: tl.tensor


@triton.jit
def holds(o, n):
    c = Cursor(n, n, 1)
    for i in range(n):
        place = Place(c, i)
        tl.store(o + place.row, place.cursor.sum)
    if n > 3:
        for i in range(2):
            tl.store(o + i, c.at + i)


@pytest.mark.parametrize("n, expected", [(3, [3, 3, 3, 0, 0]), (5, [5, 6, 5, 5, 5])])
def test_an_object_of_a_loop_is_not_there_behind_it(n, expected):
    """Though it holds one that is, and that a branch behind the loop may change."""
    o = np.zeros(5, np.int32)
    holds[(1,)](o, n)
    np.testing.assert_array_equal(o, expected)


@triton.jit
def after_loops(o, start, stop):
    for i in range(start, stop, step=3):
        for j in range(i, 0, -2):
            pass
        tl.store(o + i, j)
    tl.store(o + 30, i)


def test_variables_of_loops_that_are_over():
    o = np.zeros(31, np.int32)
    after_loops[(1,)](o, 1, 20)
    want = np.zeros(31, np.int32)
    for i in range(1, 20, 3):
        want[i] = range(i, 0, -2)[-1]
    want[30] = 19
    np.testing.assert_array_equal(o, want)


@tl.constexpr
def doubled(n):
    return 2 * n


@triton.jit
def constants_of_functions(o, n, N: tl.constexpr):
    m: tl.constexpr = n + doubled(N)
    tl.store(o + tl.arange(0, doubled(N)), m)


def test_functions_under_constexpr():
    o = np.zeros(16, np.int32)
    constants_of_functions[(1,)](o, 5, 8)
    assert (o == 21).all() and doubled(3) == 6


@triton.jit
def upper_bits(N: tl.constexpr):
    bits = tl.full((1,), 0xFFFF0000, dtype=tl.uint32)
    bits = tl.constexpr(bits)
    return bits


@triton.jit
def masked(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.load(x + i) & upper_bits(N))


def test_constexpr_around_a_tensor():
    x, o = np.random.default_rng(1).integers(0, 1 << 32, 16, np.uint32), np.zeros(16, np.uint32)
    masked[(1,)](x, o, 16)
    assert (o == (x & 0xFFFF0000)).all()


@triton.jit
def skipping(x, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros([N], tl.float32)
    kept = 0
    row = n
    for k in range(n):
        t = k
        if k % 5 == 0:
            t = 0.5  # of another type than behind the loop's `if`
            kept += 100
            continue
        elif k > 7:
            if k % 2:
                acc += t
                continue
            kept += 10
        acc += tl.load(x + t * N + i)
        kept += 1
    while row > 0:
        row -= 1
        for j in tl.static_range(3):
            if row % 3 == j:
                continue
            acc -= j
        if row == 2:
            continue
        kept += row
    tl.store(o + i, acc + kept)


def test_continue_goes_on_with_the_next_iteration():
    n, width = 13, 4
    x = np.random.default_rng(0).standard_normal((n, width)).astype(np.float32)
    o = np.zeros(width, np.float32)
    skipping[(1,)](x, o, n, width)
    rows = [k for k in range(n) if k % 5 and (k <= 7 or k % 2 == 0)]
    want = sum(x[k] for k in rows) + sum(k for k in range(8, n) if k % 2 and k % 5)
    want = want - sum(3 - r % 3 for r in range(n))
    want = want + 100 * len(range(0, n, 5)) + 10 * sum(k > 7 for k in rows) + len(rows) + sum(range(n)) - 2
    np.testing.assert_allclose(o, want, rtol=1e-5)
