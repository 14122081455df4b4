"""Threads that act for themselves, and what much code for one thread is compiled by: sorts of long rows, tiles in local memory, bounds on
registers."""

import numpy as np
import triton
import triton.language as tl
from checks import check, normal, poisoned, wide
from cases import Output
from tandem.simt import tid


@triton.jit
def stores(x, o):
    """Scalars that threads store and load under their own conditions; 128 threads."""
    t = tid(0)
    tl.store(o + t, tl.load(x + t) + t)
    if t == 32:
        tl.store(o + 128, 7)
    if t >= 96:
        if tl.load(x + t) > 0:
            tl.store(o + 128 + t, 5)
        else:
            tl.store(o + 128 + t, tl.load(x + t - 96))
        tl.store(o + 129, tl.load(x + t), mask=t == 100)
    for k in range(t % 4):
        tl.store(o + 256 + 4 * t + k, k * t)


def stores_reference(x, o):
    o, t = o.copy(), np.arange(128)
    o[:128] = x + t
    o[128:130] = 7, x[100]
    o[224:256] = np.where(x[96:] > 0, 5, x[:32])
    for thread in t:
        o[256 + 4 * thread + np.arange(thread % 4)] = np.arange(thread % 4) * thread
    return o


@triton.jit
def atomics(c):
    """What threads add under their own conditions, and the program before; the old values are theirs too."""
    t = tid(0)
    tl.atomic_add(c, 1)
    if t >= 32:
        old = tl.atomic_add(c + 1, 1)
        tl.atomic_add(c + 2, old * old)
    if t == 40:
        tl.atomic_xchg(c + 3, 9)
        tl.atomic_add(c + 4, tl.atomic_cas(c + 5, 0, 4))
        tl.atomic_add(c + 4, tl.atomic_cas(c + 5, 4, 6))
    for k in range(t // 32):
        tl.atomic_max(c + 6, t * k)
        tl.atomic_add(c + 7, 1)


check(stores, lambda rng: [normal(rng, 128, "int32"), poisoned(1024, "int32")], stores_reference, num_warps=4)
check(
    atomics,
    lambda rng: [Output(np.zeros(8, np.int32))],
    lambda c: np.array([1, 96, sum(k * k for k in range(96)), 9, 4, 6, 254, 192]),
    num_warps=4,
)


@triton.jit
def sorted_rows(x, o, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(o + at, tl.sort(tl.load(x + at), descending=True))


@triton.jit
def far_apart(x, o, stride, M: tl.constexpr, N: tl.constexpr):
    """Every element at an address of its own, by a multiplication each."""
    m, n = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    v = tl.load(x + m * stride + n * 3)
    tl.store(o + m * N + n, v * tl.sum(v, 1)[:, None] + tl.load(x + m * stride + n * 3 + 1))


def far_apart_reference(M, N):
    def reference(x, o, stride):
        v = wide(x)[:M, : 3 * N : 3]
        return v * v.sum(1, keepdims=True) + wide(x)[:M, 1 : 3 * N : 3]

    return reference


for warps, M, N in ((1, 1, 2048), (1, 8, 256), (2, 4, 1024), (4, 32, 128)):
    make = lambda rng, M=M, N=N: [normal(rng, (M, N)), poisoned((M, N))]
    check(sorted_rows, make, lambda x, o: -np.sort(-x, 1), f"{M}x{N}.w{warps}", M=M, N=N, num_warps=warps)
for warps, M, N in ((1, 64, 128), (4, 8, 16), (4, 128, 256)):
    make = lambda rng, M=M, N=N: [normal(rng, (M, 3 * N + 5)), poisoned((M, N)), 3 * N + 5]
    check(far_apart, make, far_apart_reference(M, N), f"{M}x{N}.w{warps}", (1,), 1e-5, 1e-5, M=M, N=N, num_warps=warps)


@triton.jit
def bounded(a, b, o, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        acc = tl.dot(tl.load(a + m[:, None] * K + (start + k)[None, :]), tl.load(b + (start + k)[:, None] * BN + n[None, :]), acc)
    tl.store(o + m[:, None] * BN + n[None, :], acc)


for warps, registers in ((4, 64), (4, 96), (4, 168), (8, 96), (8, 255)):
    make = lambda rng: [normal(rng, (128, 256), "fp16"), normal(rng, (256, 64), "fp16"), poisoned((128, 64)), 256]
    check(
        bounded,
        make,
        lambda a, b, o, K: wide(a) @ wide(b),
        f"w{warps}.r{registers}",
        (1,),
        1e-5,
        1e-5,
        BM=128,
        BN=64,
        BK=64,
        num_warps=warps,
        maxnreg=registers,
    )
