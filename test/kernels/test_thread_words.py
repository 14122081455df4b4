"""Threads: loads, stores, vectors and atomics of every width; shuffles and ballots of some lanes; barriers, fences, registers."""

import ml_dtypes
import numpy as np
import pytest
import tandem
import triton
import triton.language as tl
import triton_dist.language as dl
from triton_dist.language.extra import language_extra as extra
from triton_dist.language.extra.language_extra import (
    __ballot_sync,
    __shfl_down_sync_i32,
    __shfl_sync_i32,
    __shfl_up_sync_i32,
    __shfl_xor_sync_i32,
    __syncthreads,
    atomic_add,
    atomic_cas,
    fence,
    ld,
    ld_vector,
    membar,
    pack,
    st,
    st_vector,
    tid,
    unpack,
)

DTYPES = [
    np.int8,
    np.uint8,
    np.int16,
    np.uint16,
    np.int32,
    np.uint32,
    np.int64,
    np.uint64,
    np.float16,
    ml_dtypes.bfloat16,
    np.float32,
    np.float64,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
]


@triton.jit
def copy_word(x, o, SCOPE: tl.constexpr, LOAD: tl.constexpr, STORE: tl.constexpr):
    t = tid(0)
    st(o + t, ld(x + t, scope=SCOPE, semantic=LOAD), scope=SCOPE, semantic=STORE)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scope", ["cta", "gpu", "sys"])
@pytest.mark.parametrize("load, store", [("relaxed", "relaxed"), ("acquire", "release"), ("weak", "weak")])
def test_words(dtype, scope, load, store):
    x, o = (np.arange(32) - (0 if np.dtype(dtype).kind == "u" else 16)).astype(dtype), np.zeros(32, dtype)
    copy_word[(1,)](x, o, scope, load, store, num_warps=1)
    np.testing.assert_array_equal(o.view(np.uint8), x.view(np.uint8))


@triton.jit
def copy_vector(x, o, V: tl.constexpr):
    t = tid(0)
    v = ld_vector(x + t * V, V)
    st_vector(o + t * V, v + v)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("length", [1, 2, 4, 8, 16])
def test_vectors(dtype, length):
    x, o = (np.arange(32 * length) % 60).astype(dtype), np.zeros(32 * length, dtype)
    copy_vector[(1,)](x, o, length, num_warps=1)
    np.testing.assert_array_equal(o, x + x)


@triton.jit
def recast_words(x, o, p, q):
    t = tid(0)
    halves = ld_vector(x + t * 8, 8)
    words = halves.recast(tl.uint32)
    st_vector(o + t * 4, words)
    st_vector(p + t * 8, words.recast(tl.float16).to(tl.float32))
    back = dl.make_vector([halves[7], halves[6], halves[5], halves[4], halves[3], halves[2], halves[1], halves[0]])
    st_vector(q + t * 8, back * 2)


def test_recast_and_elements():
    x = np.random.default_rng(0).standard_normal(256).astype(np.float16)
    o, p, q = np.zeros(128, np.uint32), np.zeros(256, np.float32), np.zeros(256, np.float16)
    recast_words[(1,)](x, o, p, q, num_warps=1)
    np.testing.assert_array_equal(o, x.view(np.uint32))
    np.testing.assert_array_equal(p, x.astype(np.float32))
    np.testing.assert_array_equal(q, x.reshape(32, 8)[:, ::-1].ravel() * np.float16(2))


@triton.jit
def packed_and_unpacked(x, o, p):
    t = tid(0)
    v = ld_vector(x + t * 4, 4)
    word = pack(v, tl.uint64)
    st(o + t, word)
    u = unpack(word, tl.uint16)
    st_vector(p + t * 4, dl.make_vector([u[3], u[2], u[1], u[0]]))


def test_pack_and_unpack():
    x, o, p = np.arange(128, dtype=np.uint16) * 511, np.zeros(32, np.uint64), np.zeros(128, np.uint16)
    packed_and_unpacked[(1,)](x, o, p, num_warps=1)
    np.testing.assert_array_equal(o, x.view(np.uint64))
    np.testing.assert_array_equal(p, x.reshape(32, 4)[:, ::-1].ravel())


@triton.jit
def words_of_four(x, o, p):
    t = tid(0)
    a, b, c, d = extra.load_v4_u32(x + t * 4)
    extra.st_v4_u32(o + t * 4, d, c, b, a)
    lo, hi = extra.load_v2_b64(x + t * 4)
    extra.st_v2_u32(p + t * 2, lo.to(tl.uint32), hi.to(tl.uint32))


def test_words_of_128_bits():
    x, o, p = np.arange(128, dtype=np.uint32) * 7, np.zeros(128, np.uint32), np.zeros(64, np.uint32)
    words_of_four[(1,)](x, o, p, num_warps=1)
    np.testing.assert_array_equal(o, x.reshape(32, 4)[:, ::-1].ravel())
    np.testing.assert_array_equal(p, x[::2])


@triton.jit
def added(total, old, ONE: tl.constexpr, SCOPE: tl.constexpr, SEMANTIC: tl.constexpr):
    t = tid(0) + tl.program_id(0) * 64
    st(old + t, atomic_add(total, ONE, scope=SCOPE, semantic=SEMANTIC))


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64])
@pytest.mark.parametrize("semantic", ["relaxed", "acquire", "release", "acq_rel"])
@pytest.mark.parametrize("scope", ["cta", "gpu", "sys"])
def test_each_thread_adds(dtype, scope, semantic):
    total, old = np.zeros(1, dtype), np.zeros(64, dtype)
    added[(1,)](total, old, 1, scope, semantic, num_warps=2)
    assert total[0] == 64 and sorted(old) == list(range(64))


@triton.jit
def claimed(slot, winner):
    t = tid(0)
    if atomic_cas(slot, 0, t + 1, "gpu", "acq_rel") == 0:
        atomic_add(winner, t + 1, "gpu", "relaxed")


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_one_thread_claims(dtype):
    slot, winner = np.zeros(1, dtype), np.zeros(1, dtype)
    claimed[(1,)](slot, winner, num_warps=4)
    assert slot[0] == winner[0] != 0


@triton.jit
def shuffled(o, MASK: tl.constexpr, COUNT: tl.constexpr, DOWN: tl.constexpr):
    t = tid(0)
    lane = t % 32
    v = t * 3
    if lane < COUNT:
        st(o + t, __shfl_sync_i32(MASK, v, 2))
        st(o + 64 + t, __shfl_up_sync_i32(MASK, v, 1))
        if DOWN:
            st(o + 128 + t, __shfl_down_sync_i32(MASK, v, 1))
        st(o + 192 + t, __shfl_xor_sync_i32(MASK, v, 1))
        st(o + 256 + t, __ballot_sync(MASK, lane % 3 == 0).to(tl.int32, bitcast=True))


def test_shuffles_of_all_lanes():
    o = np.zeros((5, 64), np.int32)
    shuffled[(1,)](o, 0xFFFFFFFF, 32, True, num_warps=2)
    t = np.arange(64)
    lane = t % 32
    ballot = np.uint32(sum(1 << k for k in range(0, 32, 3))).view(np.int32)
    np.testing.assert_array_equal(o[0], (t - lane + 2) * 3)
    np.testing.assert_array_equal(o[1], np.where(lane == 0, t, t - 1) * 3)
    np.testing.assert_array_equal(o[2], np.where(lane == 31, t, t + 1) * 3)
    np.testing.assert_array_equal(o[3], (t ^ 1) * 3)
    np.testing.assert_array_equal(o[4], np.full(64, ballot))


@pytest.mark.parametrize("mask", [0x0000FFFF, 0x000000FF])
def test_shuffles_of_some_lanes(mask):
    o = np.full((5, 64), -7, np.int32)
    shuffled[(1,)](o, mask, mask.bit_length(), False, num_warps=2)
    t = np.arange(64)
    lane, count = t % 32, mask.bit_length()
    ballot = sum(1 << k for k in range(0, count, 3))
    inside = lane < count
    np.testing.assert_array_equal(o[0], np.where(inside, (t - lane + 2) * 3, -7))
    np.testing.assert_array_equal(o[3], np.where(inside, (t ^ 1) * 3, -7))
    np.testing.assert_array_equal(o[4], np.where(inside, ballot, -7))


def test_a_shuffle_from_an_inactive_lane():
    with pytest.raises(tandem.SimulationError, match="thread 15 reads thread 16"):
        shuffled[(1,)](np.zeros((5, 64), np.int32), 0xFFFF, 16, True, num_warps=2)


@triton.jit
def named(ring, o):
    t = tid(0)
    if t < 32:
        st(ring + t, t + 1)
        extra.named_barrier_arrive(3, 64)
    elif t < 64:
        extra.named_barrier_sync(3, 64)
        st(o + t - 32, ld(ring + 63 - t))
    else:
        extra.named_barrier_sync(4, 64)
        st(o + t - 32, t)
    __syncthreads()


def test_named_barriers():
    ring, o = np.zeros(32, np.int32), np.zeros(96, np.int32)
    named[(1,)](ring, o, num_warps=4)
    np.testing.assert_array_equal(o, np.r_[np.arange(32, 0, -1), np.arange(64, 128)])


@triton.jit
def fences(x, o, SCOPE: tl.constexpr):
    t = tid(0)
    st(o + t, ld(x + t))
    membar(SCOPE)
    fence("sc", SCOPE)
    fence("acq_rel", SCOPE)
    fence()
    membar()
    extra.__syncwarp()
    tl.debug_barrier()
    st(o + t, ld(o + t) + 1)


@pytest.mark.parametrize("scope", ["cta", "gpu", "sys"])
def test_fences(scope):
    x, o = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    fences[(1,)](x, o, scope, num_warps=1)
    np.testing.assert_array_equal(o, x + 1)


@triton.jit
def registers(elected, times, sms, sizes):
    t = tid(0)
    st(elected + t, 0)
    if extra.elect_one_sync():
        st(elected + t, 1)
    before = extra.globaltimer()
    __syncthreads()
    after = extra.globaltimer()
    st(times + t, after - before)
    st(sms + t, extra.smid())
    if t == 0:
        st(sizes, extra.ntid(0))
        st(sizes + 1, extra.num_warps())
        st(sizes + 2, extra.num_threads())
        st(sizes + 3, extra.threads_per_warp())
        st(sizes + 4, tid(1) + tid(2))


@pytest.mark.parametrize("num_warps", [1, 2, 8, 16])
def test_registers(num_warps):
    n = 32 * num_warps
    elected, times, sms, sizes = (np.zeros(n, np.int32), np.zeros(n, np.int64), np.full(n, -1, np.int32), np.zeros(5, np.int32))
    registers[(1,)](elected, times, sms, sizes, num_warps=num_warps)
    np.testing.assert_array_equal(elected.reshape(num_warps, 32).sum(axis=1), 1)
    assert (times >= 0).all() and (sms == sms[0]).all() and sms[0] >= 0
    np.testing.assert_array_equal(sizes, [n, num_warps, n, 32, 0])


@triton.jit
def refused(o, CASE: tl.constexpr):
    if CASE == 0:
        ld(o, semantic="release")
    elif CASE == 1:
        st(o, 1, scope="warp")
    elif CASE == 2:
        ld_vector(o, 3)
    elif CASE == 3:
        extra.named_barrier_sync(16, 64)
    elif CASE == 4:
        pack(ld_vector(o, 2), tl.uint32)
    elif CASE == 5:
        tid(3)
    elif CASE == 6:
        extra.__syncwarp(0xFFFF)
    else:
        atomic_add(o.to(tl.pointer_type(tl.int8)), 1)


@pytest.mark.parametrize("case, text", enumerate(["release", "warp", "3", "16", "pack", "3", "65535", "int8"]))
def test_refused(case, text):
    with pytest.raises(tandem.CompileError, match=text):
        refused[(1,)](np.zeros(4, np.int32), case)


@triton.jit
def vector_elements(x, o, n, V: tl.constexpr):
    t = tid(0)
    v = ld_vector(x + t * V, V)
    sums = dl.zeros_vector(V, tl.float32)
    for turn in range(n):
        for i in tl.static_range(V):
            sums[i] = sums[i] + v[V - 1 - i].to(tl.float32)
        if turn == 1:
            sums[0] += 100
    sums[-1] = 7
    st_vector(o + t * V, sums)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_elements_of_vectors_are_assigned(n):
    x, o = np.arange(128, dtype=np.int32), np.zeros((32, 4), np.float32)
    vector_elements[(1,)](x, o, n, 4, num_warps=1)
    want = n * x.reshape(32, 4)[:, ::-1].astype(np.float32)
    want[:, 0] += 100 if n > 1 else 0
    want[:, 3] = 7
    np.testing.assert_array_equal(o, want)


@triton.jit
def outside_a_vector(o, I: tl.constexpr):
    v = dl.zeros_vector(4, tl.float32)
    v[I] = 1


def test_an_element_outside_a_vector():
    with pytest.raises(tandem.CompileError, match="index 4 is outside a vector of 4 elements"):
        outside_a_vector[(1,)](np.zeros(4, np.float32), 4)
