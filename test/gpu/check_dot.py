"""Matrix products: every element type, sizes 1 to 256, every number of warps, transposed operands, loops, batches, chains."""

import numpy as np
import triton
import triton.language as tl
from checks import DTYPES, check, normal, poisoned


@triton.jit
def product(a, b, c, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TA: tl.constexpr, TB: tl.constexpr, PRECISION: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + k[:, None] * M + m[None, :]).T if TA else tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + n[:, None] * K + k[None, :]).T if TB else tl.load(b + k[:, None] * N + n[None, :])
    at = m[:, None] * N + n[None, :]
    tl.store(o + at, tl.dot(x, y, tl.load(c + at), input_precision=PRECISION))


@triton.jit
def looped(a, b, o, M, N, K, sam, sak, sbk, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    pa = a + m[:, None] * sam + k[None, :] * sak
    pb = b + k[:, None] * sbk + n[None, :] * sbn
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(pa, (m[:, None] < M) & (k[None, :] < K - start), other=0.0)
        y = tl.load(pb, (k[:, None] < K - start) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
        pa += BK * sak
        pb += BK * sbk
    tl.store(o + m[:, None] * N + n[None, :], acc.to(o.dtype.element_ty), (m[:, None] < M) & (n[None, :] < N))


@triton.jit
def by_descriptors(a, b, o, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TB: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    do = tl.make_tensor_descriptor(o, [M, N], [N, 1], [BM, BN])
    if TB:
        db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    else:
        db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        if TB:
            acc = tl.dot(da.load([row, k]), db.load([column, k]).T, acc)
        else:
            acc = tl.dot(da.load([row, k]), db.load([k, column]), acc)
    do.store([row, column], acc.to(o.dtype.element_ty))


@triton.jit
def columns(a, b, o, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BN1: tl.constexpr, BK: tl.constexpr, STEP: tl.constexpr):
    """Products that share an operand and a ring; stores of two widths, round by round, of rows that the round before stored too."""
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN1, BK])
    do = tl.make_tensor_descriptor(o, [M, N], [N, 1], [BM, BN])
    dp = tl.make_tensor_descriptor(o, [M, N], [N, 1], [BM, BN1])
    column = tl.program_id(0) * (BN + BN1)
    for row in range(0, M, STEP):
        acc, acc1 = tl.zeros((BM, BN), tl.float32), tl.zeros((BM, BN1), tl.float32)
        for k in range(0, K, BK):
            x = da.load([row, k])
            acc = tl.dot(x, db.load([column, k]).T, acc)
            acc1 = tl.dot(x, dc.load([column + BN, k]).T, acc1)
        do.store([row, column], acc.to(o.dtype.element_ty))
        dp.store([row, column + BN], acc1.to(o.dtype.element_ty))


@triton.jit
def shifted(a, b, o, M, N, K, row, column, first, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STEPS: tl.constexpr):
    """Blocks that begin before their tensors and within 16 bytes of a row."""
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    for step in range(STEPS):
        k = first + step * BK
        acc = tl.dot(da.load([row, k]), db.load([k, column]), acc)
    tl.store(o + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :], acc)


def shifted_reference(bm, bn, bk, steps):
    def reference(a, b, o, M, N, K, row, column, first):
        cut = lambda x, r, c, h, w: np.array(
            [[x[i, j] if 0 <= i < x.shape[0] and 0 <= j < x.shape[1] else 0 for j in range(c, c + w)] for i in range(r, r + h)], np.float64
        )
        return cut(a, row, first, bm, bk * steps) @ cut(b, first, column, bk * steps, bn)

    return reference


@triton.jit
def batched(a, b, o, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    z = tl.arange(0, B)[:, None, None]
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + z * M * K + m[None, :, None] * K + k[None, None, :])
    y = tl.load(b + z * K * N + k[None, :, None] * N + n[None, None, :])
    tl.store(o + z * M * N + m[None, :, None] * N + n[None, None, :], tl.dot(x, y))


@triton.jit
def chained(a, b, c, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """(A B) scaled by its rows' largest value, times C: the first product's result is an operand."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    s = tl.dot(x, tl.load(b + k[:, None] * N + n[None, :]))
    s = s / tl.max(tl.abs(s), 1)[:, None]
    y = tl.load(c + n[:, None] * K + k[None, :])
    tl.store(o + m[:, None] * K + k[None, :], tl.dot(s.to(y.dtype), y))


@triton.jit
def attention(q, k, v, o, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    rows, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    base = tl.program_id(1) * n * D
    x = tl.load(q + base + rows[:, None] * D + d[None, :], rows[:, None] < n, other=0.0)
    m = tl.full([BM], -float("inf"), tl.float32)
    l = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    last = tl.minimum(n, (tl.program_id(0) + 1) * BM) if CAUSAL else n
    for start in range(0, last, BN):
        columns = start + tl.arange(0, BN)
        kt = tl.load(k + base + columns[None, :] * D + d[:, None], columns[None, :] < n, other=0.0)
        s = tl.dot(x, kt) * scale
        inside = columns[None, :] < n
        if CAUSAL:
            inside = inside & (columns[None, :] <= rows[:, None])
        s = tl.where(inside, s, -float("inf"))
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        alpha = tl.exp(m - new)
        l = l * alpha + tl.sum(p, 1)
        y = tl.load(v + base + columns[:, None] * D + d[None, :], columns[:, None] < n, other=0.0)
        acc = tl.dot(p.to(y.dtype), y, acc * alpha[:, None])
        m = new
    tl.store(o + base + rows[:, None] * D + d[None, :], (acc / l[:, None]).to(o.dtype.element_ty), rows[:, None] < n)


TOLERANCE = {
    "fp16": 1e-5,
    "bf16": 1e-5,
    "fp32": 1e-6,
    "tf32": 2e-3,
    "tf32x3": 3e-6,
    "fp8e4nv": 3e-3,
    "fp8e5": 3e-3,
    "fp64": 1e-14,
    "int8": 0,
}
RESULT = {"int8": "int32", "fp64": "fp64"}
ROUNDED = {"fp16": 1e-3, "bf16": 6e-3, "fp32": 2e-3}


def _wide(a):
    return a.astype(np.int64 if a.dtype.kind in "iu" else np.float64)


def _numbers(rng, shape, dtype):
    return rng.integers(-128, 128, shape).astype(np.int8) if dtype == "int8" else normal(rng, shape, dtype)


def _product(dtype, M, N, K, ta, tb):
    def make(rng):
        result = RESULT.get(dtype, "fp32")
        return [
            _numbers(rng, (K, M) if ta else (M, K), dtype),
            _numbers(rng, (N, K) if tb else (K, N), dtype),
            normal(rng, (M, N), result),
            poisoned((M, N), result),
        ]

    def reference(a, b, c, o):
        r = _wide(a.T if ta else a) @ _wide(b.T if tb else b) + c
        return r.astype(np.int32) if dtype == "int8" else r

    return make, reference


SIZES = [
    (1, 128, 32),
    (4, 64, 64),
    (8, 8, 128),
    (16, 16, 16),
    (16, 32, 64),
    (32, 16, 32),
    (64, 16, 16),
    (64, 64, 64),
    (64, 128, 32),
    (128, 64, 16),
    (128, 128, 64),
    (128, 256, 64),
    (256, 128, 32),
    (16, 256, 32),
    (256, 16, 64),
    (64, 8, 32),
    (64, 4, 32),
    (4, 2, 64),
    (256, 256, 32),
    (128, 32, 128),
]
for s, (M, N, K) in enumerate(SIZES):
    for t, (dtype, precision) in enumerate(
        [
            ("fp16", "ieee"),
            ("bf16", "ieee"),
            ("fp32", "tf32"),
            ("fp32", "ieee"),
            ("fp32", "tf32x3"),
            ("fp8e4nv", "ieee"),
            ("fp8e5", "ieee"),
            ("int8", "ieee"),
            ("fp64", "ieee"),
        ]
    ):
        if (dtype in ("fp64",) or precision in ("ieee", "tf32x3") and dtype == "fp32") and M * N > 128 * 64:
            continue
        K_ = max(K, 32) if dtype[:3] in ("fp8", "int") else K
        for w, warps in enumerate((1, 2, 4, 8)):
            if M * N > 16384 and warps < 4:
                continue
            ta, tb = [(False, False), (False, True), (True, False), (True, True)][(s + t + w) % 4]
            tolerance = TOLERANCE[precision if dtype == "fp32" and precision != "ieee" else dtype]
            make, reference = _product(dtype, M, N, K_, ta, tb)
            check(
                product,
                make,
                reference,
                f"{dtype}.{precision}.{M}x{N}x{K_}{'.ta' * ta}{'.tb' * tb}.w{warps}",
                (1,),
                tolerance,
                tolerance,
                M=M,
                N=N,
                K=K_,
                TA=ta,
                TB=tb,
                PRECISION=precision,
                num_warps=warps,
            )

for t, dtype in enumerate(["fp16", "bf16", "fp32", "fp8e4nv"]):
    for s, (M, N, K, bm, bn, bk) in enumerate(
        [
            (100, 90, 70, 32, 32, 32),
            (256, 256, 256, 128, 128, 64),
            (130, 260, 200, 64, 128, 32),
            (64, 64, 1000, 16, 16, 64),
            (512, 128, 384, 128, 128, 64),
            (77, 300, 33, 64, 64, 16),
            (256, 512, 128, 128, 256, 64),
        ]
    ):
        for stages in (1, 2, 3, 4):
            warps = (4, 8, 2, 1)[(t + s + stages) % 4] if bm * bn <= 4096 else (4, 8)[stages % 2]
            ta, tb = bool((s + stages) % 2), bool((s + stages) // 2 % 2)
            bk_ = max(bk, 32) if dtype == "fp8e4nv" else bk
            result = "fp32" if dtype == "fp8e4nv" else dtype

            def make(rng, M=M, N=N, K=K, ta=ta, tb=tb, dtype=dtype, result=result):
                a, b = normal(rng, (K, M) if ta else (M, K), dtype), normal(rng, (N, K) if tb else (K, N), dtype)
                return [a, b, poisoned((M, N), result), M, N, K, *((1, M) if ta else (K, 1)), *((1, K) if tb else (N, 1))]

            def reference(a, b, o, *rest, ta=ta, tb=tb):
                return _wide(a.T if ta else a) @ _wide(b.T if tb else b)

            check(
                looped,
                make,
                reference,
                f"{dtype}.{M}x{N}x{K}.{bm}x{bn}x{bk_}{'.ta' * ta}{'.tb' * tb}.s{stages}.w{warps}",
                (-(-M // bm), -(-N // bn)),
                ROUNDED.get(result, 3e-3) if dtype != "fp8e4nv" else 3e-3,
                ROUNDED.get(result, 3e-3),
                BM=bm,
                BN=bn,
                BK=bk_,
                num_warps=warps,
                num_stages=stages,
            )
            if dtype == "fp32" or s in (3, 5):
                continue
            multiple = 16 // np.dtype(DTYPES[dtype]).itemsize
            M_, N_, K_ = M, -(-N // 16) * 16, -(-K // multiple) * multiple
            straight = tb or dtype == "fp8e4nv"

            def make(rng, M=M_, N=N_, K=K_, tb=straight, dtype=dtype, result=result):
                return [normal(rng, (M, K), dtype), normal(rng, (N, K) if tb else (K, N), dtype), poisoned((M, N), result), M, N, K]

            check(
                by_descriptors,
                make,
                lambda a, b, o, *rest, tb=straight: _wide(a) @ _wide(b.T if tb else b),
                f"{dtype}.{M_}x{N_}x{K_}.{bm}x{bn}x{bk_}{'.tb' * straight}.s{stages}.w{warps}",
                (-(-M_ // bm), -(-N_ // bn)),
                ROUNDED.get(result, 3e-3) if dtype != "fp8e4nv" else 3e-3,
                ROUNDED.get(result, 3e-3),
                BM=bm,
                BN=bn,
                BK=bk_,
                TB=straight,
                num_warps=warps,
                num_stages=stages,
            )

for t, dtype in enumerate(["fp16", "bf16"]):
    for s, (M, N, K, bn, bn1, bk, step) in enumerate(
        [(300, 400, 256, 128, 64, 64, 128), (256, 640, 200, 256, 64, 64, 64), (128, 96, 64, 64, 32, 64, 128), (500, 96, 64, 32, 64, 32, 32)]
    ):
        for warps in (4, 8):
            if bn * 128 > 16384 and warps == 4:
                continue

            def make(rng, M=M, N=N, K=K, dtype=dtype):
                return [normal(rng, (M, K), dtype), normal(rng, (N, K), dtype), poisoned((M, N), dtype), M, N, K]

            check(
                columns,
                make,
                lambda a, b, o, *rest: _wide(a) @ _wide(b.T),
                f"{dtype}.{M}x{N}x{K}.{bn}x{bn1}.every{step}.w{warps}",
                (-(-N // (bn + bn1)),),
                ROUNDED[dtype],
                ROUNDED[dtype],
                BM=128,
                BN=bn,
                BN1=bn1,
                BK=bk,
                STEP=step,
                num_warps=warps,
                num_stages=3,
            )

# These shapes use as many slots as fit beside the staging memory of stores, and 256 columns by one instruction of four
# warps.
for bm, bn, bn1, bk, warps, ctas in [(128, 64, 32, 64, 8, 1), (64, 128, 128, 64, 4, 1), (64, 64, 64, 128, 4, 1), (256, 64, 32, 64, 8, 2)]:

    def make(rng):
        return [normal(rng, (500, 1504), "bf16"), normal(rng, (768, 1504), "bf16"), poisoned((500, 768), "bf16"), 500, 768, 1504]

    check(
        columns,
        make,
        lambda a, b, o, *rest: _wide(a) @ _wide(b.T),
        f"bf16.slots.{bm}x{bn}x{bn1}x{bk}.w{warps}.c{ctas}",
        (768 // (bn + bn1),),
        ROUNDED["bf16"],
        ROUNDED["bf16"],
        BM=bm,
        BN=bn,
        BN1=bn1,
        BK=bk,
        STEP=bm,
        num_warps=warps,
        num_stages=8,
        **({"num_ctas": ctas} if ctas > 1 else {}),
    )

for t, dtype in enumerate(["fp16", "bf16", "fp32", "int8"]):
    for s, (B, M, N, K) in enumerate([(1, 16, 16, 16), (2, 32, 16, 32), (4, 64, 64, 32), (8, 16, 32, 64), (4, 1, 4, 64)]):
        K_ = max(K, 32)
        result = RESULT.get(dtype, "fp32")
        make = lambda rng, B=B, M=M, N=N, K=K_, d=dtype, r=result: [
            _numbers(rng, (B, M, K), d),
            _numbers(rng, (B, K, N), d),
            poisoned((B, M, N), r),
        ]
        reference = lambda a, b, o: (_wide(a) @ _wide(b)).astype(np.int32 if a.dtype == np.int8 else np.float64)
        check(
            batched,
            make,
            reference,
            f"{dtype}.{B}x{M}x{N}x{K_}",
            (1,),
            (1e-5, 1e-5, 2e-3, 0)[t],
            (1e-5, 1e-5, 2e-3, 0)[t],
            B=B,
            M=M,
            N=N,
            K=K_,
            num_warps=(1, 2, 4, 8)[(s + t) % 4],
        )

for t, dtype in enumerate(["fp16", "bf16"]):
    for s, (M, N, K) in enumerate([(16, 16, 16), (64, 64, 64), (128, 64, 128), (128, 128, 64), (64, 128, 32)]):
        for warps in (1, 4, 8) if M * N < 8192 else (4, 8):
            make = lambda rng, M=M, N=N, K=K, d=dtype: [
                normal(rng, (M, K), d),
                normal(rng, (K, N), d),
                normal(rng, (N, K), d),
                poisoned((M, K)),
            ]

            def reference(a, b, c, o):
                p = _wide(a) @ _wide(b)
                return (p / np.abs(p).max(1, keepdims=True)) @ _wide(c)

            check(
                chained,
                make,
                reference,
                f"{dtype}.{M}x{N}x{K}.w{warps}",
                (1,),
                (1e-3, 6e-3)[t],
                (1e-3, 6e-3)[t],
                M=M,
                N=N,
                K=K,
                num_warps=warps,
            )
    for s, (n, D, bm, bn) in enumerate([(128, 64, 64, 32), (200, 64, 64, 64), (300, 128, 128, 64), (100, 32, 16, 32), (256, 64, 128, 128)]):
        for causal in (False, True):
            for warps in (4, 8):
                make = lambda rng, n=n, D=D, d=dtype: [*(normal(rng, (2, n, D), d) for _ in range(3)), poisoned((2, n, D), d), n, D**-0.5]

                def reference(q, k, v, o, n, scale, causal=causal):
                    p = _wide(q) @ _wide(k).swapaxes(1, 2) * scale
                    p = np.where(np.tri(n, dtype=bool) if causal else True, p, -np.inf)
                    p = np.exp(p - p.max(2, keepdims=True))
                    return p / p.sum(2, keepdims=True) @ _wide(v)

                check(
                    attention,
                    make,
                    reference,
                    f"{dtype}.{n}x{D}.{bm}x{bn}{'.causal' * causal}.w{warps}",
                    (-(-n // bm), 2),
                    (1.5e-3, 1e-2)[t],
                    (1.5e-3, 1e-2)[t],
                    BM=bm,
                    BN=bn,
                    D=D,
                    CAUSAL=causal,
                    num_warps=warps,
                    num_stages=2 + s % 2,
                )

for row, column, first in [(0, 0, 0), (-3, 0, 0), (0, 3, 0), (0, 0, 5), (0, -8, -16), (7, 9, -3), (100, 0, 8)]:
    for dtype in ("fp16", "bf16"):
        for stages in (1, 3):
            make = lambda rng, d=dtype, at=(row, column, first): [
                normal(rng, (96, 128), d),
                normal(rng, (128, 80), d),
                poisoned((64, 64)),
                *(96, 80, 128),
                *at,
            ]
            options = dict(BM=64, BN=64, BK=32, STEPS=3, num_warps=4, num_stages=stages)
            check(shifted, make, shifted_reference(64, 64, 32, 3), f"{dtype}.{row}.{column}.{first}.s{stages}", (1,), 1e-5, 1e-5, **options)
