"""Atomics of single threads through `tl.atomic_*`, multicast stores of every width, and tiles put one after the other."""

import numpy as np
import pytest
import tandem
import triton
import triton.language as tl
from triton_dist.language.extra import libshmem_device
from triton_dist.language.extra.language_extra import (
    multimem_ld_reduce_v4,
    multimem_st_b32,
    multimem_st_b64,
    multimem_st_v2,
    multimem_st_v4,
    st,
    tid,
)


@triton.jit
def updates(p, old_ptr, OP: tl.constexpr):
    t = tid(0)
    value = t * 37 % 101 - 50
    if OP == "max":
        old = tl.atomic_max(p + t % 8, value)
    elif OP == "min":
        old = tl.atomic_min(p + t % 8, value)
    elif OP == "and":
        old = tl.atomic_and(p + t % 8, value)
    elif OP == "or":
        old = tl.atomic_or(p + t % 8, value)
    elif OP == "xor":
        old = tl.atomic_xor(p + t % 8, value)
    else:
        old = tl.atomic_xchg(p + t % 8, value)
    st(old_ptr + t, old)


COMBINE = {"max": max, "min": min, "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "xchg": lambda a, b: b}


@pytest.mark.parametrize("op", COMBINE)
def test_atomics_of_threads(everywhere, op):
    def main(team):
        start = np.arange(8, dtype=np.int32) * 5 - 17
        p, old = start.copy(), np.zeros(64, np.int32)
        updates[(1,)](p, old, op, num_warps=2)
        want = start.copy()
        for t in range(64):
            assert old[t] == want[t % 8]
            want[t % 8] = COMBINE[op](int(want[t % 8]), t * 37 % 101 - 50)
        np.testing.assert_array_equal(p, want)

    everywhere(main, ranks=(1,))


@triton.jit
def only_some(p):
    t = tid(0)
    if t % 2 == 1:
        tl.atomic_max(p, t)


def test_threads_that_are_not_there_update_nothing():
    p = np.zeros(1, np.int32)
    only_some[(1,)](p, num_warps=1)
    assert p[0] == 31


@triton.jit
def everybody_stores(symm_ptr, rank, WIDTH: tl.constexpr):
    t = tid(0)
    p = libshmem_device.remote_mc_ptr(libshmem_device.NVSHMEMX_TEAM_NODE, symm_ptr)
    if rank == 0:
        if WIDTH == 32:
            multimem_st_b32(p + t, t + 1)
        elif WIDTH == 64:
            multimem_st_b64(p + t * 2, (t * 2 + 1).to(tl.int64) | (t * 2 + 2).to(tl.int64) << 32)
        elif WIDTH == 2:
            multimem_st_v2(p + t * 2, t * 2 + 1, t * 2 + 2)
        else:
            multimem_st_v4(p + t * 4, t * 4 + 1, t * 4 + 2, t * 4 + 3, t * 4 + 4)


@pytest.mark.parametrize("width, words", [(32, 1), (64, 2), (2, 2), (4, 4)])
def test_multicast_stores(everywhere, width, words):
    def main(team):
        x = team.zeros(32 * words, "int32", name="x")
        team.barrier()
        everybody_stores[(1,)](x, team.rank, width, num_warps=1)
        team.barrier()
        np.testing.assert_array_equal(x, np.arange(32 * words) + 1)

    everywhere(main, ranks=(1, 2, 4))


@triton.jit
def sums(symm_ptr, out_ptr):
    t = tid(0)
    p = libshmem_device.remote_mc_ptr(libshmem_device.NVSHMEMX_TEAM_NODE, symm_ptr)
    a, b, c, d = multimem_ld_reduce_v4(p + t * 4)
    st(out_ptr + t * 4, a)
    st(out_ptr + t * 4 + 1, b)
    st(out_ptr + t * 4 + 2, c)
    st(out_ptr + t * 4 + 3, d)


def test_multicast_sums(everywhere):
    def main(team):
        x, out = team.zeros(128, "float32", name="x"), np.zeros(128, np.float32)
        x[...] = np.arange(128) * (team.rank + 1)
        team.barrier()
        sums[(1,)](x, out, num_warps=1)
        team.barrier()
        np.testing.assert_array_equal(out, np.arange(128) * (team.size * (team.size + 1) // 2))

    everywhere(main, ranks=(1, 2, 4))


@triton.jit
def one_after_the_other(x, y, o, N: tl.constexpr):
    i = tl.arange(0, N)
    both = tl.cat(tl.load(x + i), tl.load(y + i), can_reorder=True)
    tl.static_assert(both.shape == (2 * N,))
    tl.store(o + tl.arange(0, 2 * N), both)


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.int64])
def test_cat(dtype):
    x, y = np.arange(16).astype(dtype), np.arange(100, 116).astype(dtype)
    o = np.zeros(32, dtype)
    one_after_the_other[(1,)](x, y, o, 16)
    np.testing.assert_array_equal(np.sort(o), np.sort(np.r_[x, y]))


@triton.jit
def of_two_types(x, y):
    i = tl.arange(0, 8)
    tl.cat(tl.load(x + i), tl.load(y + i), can_reorder=True)


def test_cat_is_refused_where_it_has_no_meaning():
    with pytest.raises(tandem.CompileError, match="cat"):
        of_two_types[(1,)](np.zeros(8, np.int32), np.zeros(8, np.float32))
