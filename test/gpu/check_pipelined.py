"""Loops whose loads are copied ahead: every number of stages and iterations, masks, gathers, element sizes, loops inside loops."""

import numpy as np
import triton
import triton.language as tl
from cases import Output
from checks import check, normal, poisoned, wide


@triton.jit
def row_sums(x, o, columns, stride, BM: tl.constexpr, BN: tl.constexpr, STAGES: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    total = tl.zeros([BM, BN], tl.float32)
    for start in tl.range(0, columns, BN, num_stages=STAGES):
        v = tl.load(x + m[:, None] * stride + start + n[None, :], mask=(start + n)[None, :] < columns, other=2)
        total += v.to(tl.float32) * 0.5
    tl.store(o + m, tl.sum(total, 1))


@triton.jit
def gathered(a, rows, b, o, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    row = tl.load(rows + m)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + row[:, None] * K + (start + k)[None, :], mask=(row[:, None] >= 0) & ((start + k)[None, :] < K), other=0.0)
        y = tl.load(b + n[None, :] * K + (start + k)[:, None], mask=(start + k)[:, None] < K, other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(o + m[:, None] * N + n[None, :], acc)


@triton.jit
def described(numbers, sizes, a, b, o, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Descriptors made again for each problem, of sizes, strides and places that are loaded; rows end anywhere, a problem may be empty."""
    for g in range(tl.load(numbers)):
        m, n, k = tl.load(sizes + g * 6), tl.load(sizes + g * 6 + 1), tl.load(sizes + g * 6 + 2)
        stride = (k + 7) // 8 * 8
        da = tl.make_tensor_descriptor(a + tl.load(sizes + g * 6 + 3), shape=[m, k], strides=[stride, 1], block_shape=[BM, BK])
        db = tl.make_tensor_descriptor(b + tl.load(sizes + g * 6 + 4), shape=[n, k], strides=[stride, 1], block_shape=[BN, BK])
        do = tl.make_tensor_descriptor(o + tl.load(sizes + g * 6 + 5), shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
        for i in range(0, m, BM):
            for j in range(0, n, BN):
                acc = tl.zeros([BM, BN], tl.float32)
                for at in range(0, k, BK):
                    acc = tl.dot(da.load([i, at]), db.load([j, at]).T, acc)
                do.store([i, j], acc)


@triton.jit
def batches(places, a, b, o, M, N, K, steps, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Descriptors of three dimensions under `if`, made by each program of places that it loads; tiles in a `while` loop."""
    for s in range(steps):
        place = tl.load(places + tl.program_id(0) * steps + s)
        if place >= 0:
            at = place.to(tl.int64)
            da = tl.make_tensor_descriptor(a + at * M * K, shape=[2, M, K], strides=[M * K, K, 1], block_shape=[1, BM, BK])
            db = tl.make_tensor_descriptor(b + at * N * K, shape=[2, N, K], strides=[N * K, K, 1], block_shape=[1, BN, BK])
            do = tl.make_tensor_descriptor(o + at * M * N, shape=[2, M, N], strides=[M * N, N, 1], block_shape=[1, BM, BN])
            columns = tl.cdiv(N, BN)
            tiles = tl.cdiv(M, BM) * columns
            tile = 0
            while tile < 2 * tiles:
                h, i, j = tile // tiles, tile % tiles // columns * BM, tile % columns * BN
                acc = tl.zeros([BM, BN], tl.float32)
                for k in range(0, K, BK):
                    acc = tl.dot(da.load([h, i, k]).reshape(BM, BK), db.load([h, j, k]).reshape(BN, BK).T, acc)
                do.store([h, i, j], acc.to(o.dtype.element_ty).reshape(1, BM, BN))
                tile += 1


@triton.jit
def changed(places, a, o, steps, BM: tl.constexpr, BK: tl.constexpr):
    """A descriptor of another place in each iteration of the loop whose product reads it."""
    m = tl.arange(0, BM)
    for r in range(3):
        acc = tl.zeros([BM, BM], tl.float32)
        for s in range(steps):
            d = tl.make_tensor_descriptor(a + tl.load(places + s) * BK, shape=[BM - s, BK], strides=[BK, 1], block_shape=[BM, BK])
            x = d.load([0, 0])
            acc = tl.dot(x, x.T, acc)
        tl.store(o + (r * BM + m[:, None]) * BM + m[None, :], acc)


@triton.jit
def chased(x, places, o, steps, W: tl.constexpr, STAGES: tl.constexpr):
    """Addresses that are loaded themselves, and a bound that the loop must not run beyond."""
    n = tl.arange(0, W)
    total = tl.zeros([W], tl.float32)
    for s in tl.range(0, steps, num_stages=STAGES):
        total += tl.load(x + tl.load(places + s) * W + n).to(tl.float32)
    tl.store(o + n, total)


@triton.jit
def nested(x, o, rows, columns, BN: tl.constexpr, STAGES: tl.constexpr):
    """The ring begins anew for each row; an inner value decides the next row's address."""
    n = tl.arange(0, BN)
    row = 0
    for r in range(0, rows):
        total = tl.zeros([BN], tl.float32)
        for start in tl.range(0, columns, BN, num_stages=STAGES):
            total += tl.load(x + row * columns + start + n)
        sums = tl.sum(total, 0)
        tl.store(o + r, sums)
        row = tl.where(sums > 0, (row + 1) % rows, (row + 2) % rows)


@triton.jit
def written(x, steps, W: tl.constexpr, STAGES: tl.constexpr):
    """Each row is made from the one before: nothing may be loaded ahead."""
    n = tl.arange(0, W)
    for s in tl.range(0, steps, num_stages=STAGES):
        tl.store(x + (s + 1) * W + n, tl.load(x + s * W + (n ^ 1)) + 1.0)


def _row_sums(x, o, columns, stride):
    return (wide(x)[:, :columns].sum(1) + 2.0 * (-columns % 64)) * 0.5


def _gathered(a, rows, b, o, N, K):
    picked = np.where(rows[:, None] >= 0, wide(a)[np.maximum(rows, 0)], 0)
    return picked @ wide(b).T


def _described(numbers, sizes, a, b, o):
    out = np.array(o)
    for m, n, k, x, y, z in sizes[: numbers[0]]:
        stride = (k + 7) // 8 * 8
        left, right = wide(a)[x : x + m * stride].reshape(m, stride), wide(b)[y : y + n * stride].reshape(n, stride)
        out[z : z + m * n] = (left[:, :k] @ right[:, :k].T).reshape(-1)
    return out


def _batches(places, a, b, o, M, N, K, steps):
    out = np.array(o)
    for place in places.reshape(-1):
        if place >= 0:
            out[place : place + 2] = wide(a)[place : place + 2] @ wide(b)[place : place + 2].swapaxes(1, 2)
    return out


def _changed(places, a, o, steps):
    out = np.zeros((64, 64))
    for s, place in enumerate(places[:steps]):
        x = np.array(wide(a)[place : place + 64])
        x[64 - s :] = 0
        out += x @ x.T
    return np.concatenate([out] * 3)


def _chased(x, places, o, steps):
    return wide(x)[places[:steps]].sum(0)


def _nested(x, o, rows, columns):
    out, row = [], 0
    for _ in range(rows):
        out.append(wide(x)[row].sum())
        row = (row + 1) % rows if out[-1] > 0 else (row + 2) % rows
    return np.array(out)


for _stages in (1, 2, 3, 4, 6):
    for _dtype in ("fp32", "fp16", "int8", "fp64"):
        for _columns in (0, 64, 128, 200, 1000):

            def make(rng, columns=_columns, dtype=_dtype):
                return [normal(rng, (32, max(columns, 16)), dtype), poisoned((32,)), columns, max(columns, 16)]

            check(
                row_sums,
                make,
                _row_sums,
                f"{_dtype}.{_columns}.s{_stages}",
                (2,),
                1e-5,
                1e-5,
                BM=16,
                BN=64,
                STAGES=_stages,
                num_warps=(1, 4)[_stages % 2],
            )
    for _steps in (0, 1, 2, 5, 40):

        def make(rng, steps=_steps):
            return [normal(rng, (16, 512), "fp16"), rng.integers(0, 16, max(steps, 1)).astype(np.int32), poisoned((512,)), steps]

        check(chased, make, _chased, f"{_steps}.s{_stages}", (1,), 1e-5, 1e-5, W=512, STAGES=_stages, num_warps=4)

    make = lambda rng: [Output(normal(rng, (9, 256))), 8]
    check(written, make, None, f"s{_stages}", (1,), 0.0, 0.0, W=256, STAGES=_stages, num_warps=4)
    make = lambda rng: [normal(rng, (7, 640)) + np.float32(0.05), poisoned((7,)), 7, 640]
    check(nested, make, _nested, f"s{_stages}", (1,), 1e-4, 1e-4, BN=128, STAGES=_stages, num_warps=4)
    for _warps, _bm in ((4, 64), (8, 128), (4, 16)):
        for _k in (32, 72, 512):

            def make(rng, K=_k):
                rows = rng.integers(-1, 40, 128).astype(np.int32)
                return [normal(rng, (40, K), "fp16"), rows, normal(rng, (64, K), "fp16"), poisoned((128, 64)), 64, K]

            check(
                gathered,
                make,
                _gathered,
                f"{_bm}.{_k}.w{_warps}.s{_stages}",
                (128 // _bm, 1),
                1e-5,
                1e-5,
                BM=_bm,
                BN=64,
                BK=32,
                num_warps=_warps,
                num_stages=_stages,
            )


def _problems(rng):
    sizes, at = [], [0, 0, 0]
    for m, n, k in ((128, 128, 64), (100, 72, 40), (0, 64, 64), (7, 4, 33), (64, 260, 200), (130, 64, 0), (1, 8, 8)):
        stride = (k + 7) // 8 * 8
        sizes.append([m, n, k, *at])
        at = [at[0] + m * stride, at[1] + n * stride, at[2] + m * n]
    a, b = normal(rng, (at[0] + 8,), "fp16"), normal(rng, (at[1] + 8,), "fp16")
    return [np.array([len(sizes)], np.int32), np.array(sizes, np.int32), a, b, poisoned((at[2] + 5,))]


for _warps, _bm, _bn in ((4, 64, 64), (8, 128, 64), (4, 128, 256)):
    for _stages in (2, 3):
        check(
            described,
            _problems,
            _described,
            f"{_bm}x{_bn}.w{_warps}.s{_stages}",
            (1,),
            1e-5,
            1e-5,
            BM=_bm,
            BN=_bn,
            BK=64,
            num_warps=_warps,
            num_stages=_stages,
        )


for _dtype, _warps, _bm, _bn, _bk in (
    ("fp16", 4, 64, 64, 64),
    ("bf16", 8, 128, 128, 64),
    ("fp32", 4, 64, 64, 32),
    ("fp8e4nv", 4, 64, 128, 128),
    ("fp16", 4, 128, 64, 32),
):
    for _m, _n, _k in ((64, 64, 64), (200, 136, 112), (72, 64, 0), (16, 16, 640)):

        def make(rng, M=_m, N=_n, K=_k, dtype=_dtype):
            places = rng.permutation(12)[:10].astype(np.int32) * 2
            places[rng.integers(0, 10, 3)] = -1
            out = np.full((24, M, N), np.nan, np.float32)
            return [places, normal(rng, (24, M, K), dtype), normal(rng, (24, N, K), dtype), Output(out), M, N, K, 5]

        tolerance = {"fp32": 2e-3, "fp8e4nv": 2e-3}.get(_dtype, 1e-5)  # sums of products of 8 bits are kept less exact
        check(
            batches,
            make,
            _batches,
            f"{_dtype}.{_m}x{_n}x{_k}.{_bm}x{_bn}x{_bk}.w{_warps}",
            (2,),
            tolerance,
            tolerance,
            BM=_bm,
            BN=_bn,
            BK=_bk,
            num_warps=_warps,
        )

for _steps in (0, 1, 2, 9, 40):

    def make(rng, steps=_steps):
        places = rng.integers(0, 64, max(steps, 1)).astype(np.int32)
        return [places, normal(rng, (128, 64), "fp16"), poisoned((192, 64)), steps]

    check(changed, make, _changed, f"{_steps}", (1,), 1e-4, 1e-4, BM=64, BK=64, num_warps=4)
