"""Products of many tiles in one program: the next tile's copies start under this one's stores, unless these write what is copied."""

import numpy as np
import triton
import triton.language as tl
from cases import Output
from checks import check, normal, poisoned, wide


@triton.jit
def strided(a, b, o, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    columns = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * columns, tl.num_programs(0), flatten=True):
        m = tile // columns * BM + tl.arange(0, BM)
        n = tile % columns * BN + tl.arange(0, BN)
        k = tl.arange(0, BK)
        acc = tl.zeros([BM, BN], tl.float32)
        for at in range(0, tl.cdiv(K, BK)):
            left = K - at * BK
            x = tl.load(a + tl.where(m < M, m, 0)[:, None] * K + (at * BK + k)[None, :], mask=k[None, :] < left, other=0.0)
            y = tl.load(b + tl.where(n < N, n, 0)[None, :] * K + (at * BK + k)[:, None], mask=k[:, None] < left, other=0.0)
            acc = tl.dot(x, y, acc)
        tl.store(o + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def in_one_loop(a, b, o, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, COUNT: tl.constexpr):
    """One loop over the steps of all tiles of a program: places and sums begin again under branches."""
    first, columns, steps = tl.program_id(0), tl.cdiv(N, BN), tl.cdiv(K, BK)
    tiles = tl.cdiv(M, BM) * columns
    mine = tiles // COUNT
    if first < tiles % COUNT:
        mine += 1
    tile, step = first - COUNT, -1
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for _ in range(0, steps * mine):
        step = tl.where(step == steps - 1, 0, step + 1)
        if step == 0:
            tile += COUNT
            m, n = tile // columns * BM + tl.arange(0, BM), tile % columns * BN + tl.arange(0, BN)
        left = K - step * BK
        x = tl.load(a + m[:, None] * K + (step * BK + k)[None, :], mask=(m[:, None] < M) & (k[None, :] < left), other=0.0)
        y = tl.load(b + n[None, :] * K + (step * BK + k)[:, None], mask=(n[None, :] < N) & (k[:, None] < left), other=0.0)
        acc = tl.dot(x, y, acc)
        if step == steps - 1:
            tl.store(o + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))
            acc = tl.zeros([BM, BN], tl.float32)


@triton.jit
def counted(a, b, o, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, DOWN: tl.constexpr):
    """Loops that say how long they go on, up or down."""
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    at = K if DOWN else 0
    while (at > 0) if DOWN else (at < K):
        start = K - at if DOWN else at
        x = tl.load(a + m[:, None] * K + (start + k)[None, :], mask=(m[:, None] < M) & (start + k[None, :] < K), other=0.0)
        y = tl.load(b + n[None, :] * K + (start + k)[:, None], mask=(n[None, :] < N) & (start + k[:, None] < K), other=0.0)
        acc += tl.dot(x, y)
        at = at - BK if DOWN else at + BK
    tl.store(o + m[:, None] * N + n[None, :], acc + at, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def carried(a, b, o, places, tiles, K, W: tl.constexpr, BK: tl.constexpr):
    """The outer loop carries where it reads, rows in an order that TMA does not know."""
    w, k = tl.arange(0, W), tl.arange(0, BK)
    at = tl.program_id(0)
    for tile in range(0, tiles):
        acc = tl.zeros([W, W], tl.float32)
        for start in range(0, K, BK):
            x = tl.load(a + (at * W + (w ^ 1))[:, None] * K + (start + k)[None, :])
            y = tl.load(b + w[None, :] * K + (start + k)[:, None])
            acc += tl.dot(x, y)
        out = o + ((tl.program_id(0) * tiles + tile) * W + w[:, None]) * W + w[None, :]
        tl.store(out, acc * (tile + 1))
        at = at * 3 % places


@triton.jit
def in_place(x, b, steps, W: tl.constexpr, BK: tl.constexpr):
    """Each block of rows is the product of the one before: nothing of it may be copied before that is stored."""
    w, k = tl.arange(0, W), tl.arange(0, BK)
    for s in range(0, steps):
        acc = tl.zeros([W, W], tl.float32)
        for start in range(0, W, BK):
            left = tl.load(x + (s * W + w)[:, None] * W + (start + k)[None, :])
            right = tl.load(b + (start + k)[:, None] * W + w[None, :])
            acc = tl.dot(left, right, acc)
        tl.store(x + ((s + 1) * W + w)[:, None] * W + w[None, :], acc.to(x.dtype.element_ty))
        tl.debug_barrier()


@triton.jit
def tickets(a, b, o, counter, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, CHAINED: tl.constexpr):
    """Programs draw their tiles. With CHAINED the ticket is what another one leads to: the loop's end comes from memory that changes."""
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    do = tl.make_tensor_descriptor(o, [M, N], [N, 1], [BM, BN])
    columns = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * columns
    tile = tl.atomic_add(counter, 1)
    while tile < tiles:
        if CHAINED:
            tl.atomic_add(counter + 1, 1)
            tile = tiles - 1 - tile
        m, n = tile // columns * BM, tile % columns * BN
        acc = tl.zeros([BM, BN], tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(da.load([m, k]), db.load([n, k]).T, acc)
        do.store([m, n], acc)
        tile = tl.atomic_add(counter, 1)
        if CHAINED:
            tile = tl.where(tl.load(counter + 1, volatile=True) < 0, 0, tile)


def _tickets(a, b, o, counter, M, N, K):
    return wide(a) @ wide(b).T


def _strided(a, b, o, M, N, K):
    return wide(a)[:M, :K] @ wide(b)[:N, :K].T


def _counted(a, b, o, M, N, K, BK, down):
    steps = -(-K // BK) * BK
    return wide(a) @ wide(b).T + (K - steps if down else steps)


def _carried(a, b, o, places, tiles, K):
    out = []
    for at in range(2):
        for tile in range(tiles):
            out.append(wide(a)[at * 64 + (np.arange(64) ^ 1)] @ wide(b).T * (tile + 1))
            at = at * 3 % places
    return np.concatenate(out)


def _in_place(x, b, steps):
    out = [np.array(x[:64])]
    for _ in range(steps):
        out.append((wide(out[-1]) @ wide(b)).astype(x.dtype))
    return np.concatenate(out)


for _dtype, _bm, _bn, _bk, _warps, _stages in (
    ("fp16", 128, 128, 64, 4, 3),
    ("fp16", 128, 256, 64, 8, 3),
    ("bf16", 64, 128, 32, 4, 4),
    ("bf16", 128, 64, 64, 8, 2),
    ("fp16", 32, 32, 32, 4, 3),
    ("fp32", 64, 64, 32, 4, 3),
    ("fp8e4nv", 64, 64, 128, 4, 3),
):
    for _m, _n, _k in ((256, 256, 192), (300, 136, 80), (64, 64, 16), (513, 257, 520), (1, 16, 1024)):

        def make(rng, M=_m, N=_n, K=_k, dtype=_dtype):
            return [normal(rng, (M, K), dtype), normal(rng, (N, K), dtype), poisoned((M, N)), M, N, K]

        tolerance = {"fp32": 2e-3, "fp8e4nv": 2e-3}.get(_dtype, 1e-4)
        for _programs in (1, 3, 64):
            check(
                strided,
                make,
                _strided,
                f"{_dtype}.{_m}x{_n}x{_k}.{_bm}x{_bn}x{_bk}.w{_warps}.s{_stages}.p{_programs}",
                (_programs,),
                tolerance,
                tolerance,
                BM=_bm,
                BN=_bn,
                BK=_bk,
                num_warps=_warps,
                num_stages=_stages,
            )

        for _programs in (1, 3, 64):
            check(
                in_one_loop,
                make,
                _strided,
                f"{_dtype}.{_m}x{_n}x{_k}.{_bm}x{_bn}x{_bk}.w{_warps}.s{_stages}.p{_programs}",
                (_programs,),
                tolerance,
                tolerance,
                BM=_bm,
                BN=_bn,
                BK=_bk,
                COUNT=_programs,
                num_warps=_warps,
                num_stages=_stages,
            )

for _down in (False, True):
    for _k in (1, 64, 200):

        def make(rng, K=_k):
            return [normal(rng, (300, K), "fp16"), normal(rng, (72, K), "fp16"), poisoned((300, 72)), 300, 72, K]

        def reference(*args, down=_down):
            return _counted(*args, 32, down)

        name = f"{_k}{'.down' * _down}"
        check(counted, make, reference, name, (3,), 1e-4, 1e-4, BM=128, BN=128, BK=32, DOWN=_down, num_warps=4, num_stages=3)

for _bm, _bn, _warps, _stages in ((64, 64, 4, 3), (128, 128, 4, 3), (128, 128, 8, 3), (128, 256, 8, 3), (64, 128, 4, 1)):
    for _m, _n, _k in ((256, 256, 192), (520, 264, 72), (64, 64, 64), (1, 8, 1024)):

        def make(rng, M=_m, N=_n, K=_k):
            return [normal(rng, (M, K), "fp16"), normal(rng, (N, K), "fp16"), poisoned((M, N)), np.zeros(2, np.int32), M, N, K]

        for _chained in (False, True):
            for _programs in (1, 3, 64):
                check(
                    tickets,
                    make,
                    _tickets,
                    f"{_m}x{_n}x{_k}.{_bm}x{_bn}.w{_warps}.s{_stages}.p{_programs}{'.chained' * _chained}",
                    (_programs,),
                    1e-4,
                    1e-4,
                    BM=_bm,
                    BN=_bn,
                    BK=64,
                    CHAINED=_chained,
                    num_warps=_warps,
                    num_stages=_stages,
                )

for _tiles in (1, 2, 7):
    for _k in (32, 256):

        def make(rng, tiles=_tiles, K=_k):
            return [normal(rng, (5 * 64, K), "fp16"), normal(rng, (64, K), "fp16"), poisoned((2 * tiles * 64, 64)), 5, tiles, K]

        check(carried, make, _carried, f"{_tiles}.{_k}", (2,), 1e-3, 1e-3, W=64, BK=32, num_warps=4, num_stages=3)

for _steps in (1, 4):

    def make(rng, steps=_steps):
        x = np.zeros(((steps + 1) * 64, 64), np.float16)
        x[:64] = normal(rng, (64, 64), "fp16")
        return [Output(x), normal(rng, (64, 64), "fp16") * np.float16(0.125), steps]

    check(in_place, make, _in_place, f"{_steps}", (1,), 2e-2, 2e-2, W=64, BK=32, num_warps=4, num_stages=3)
