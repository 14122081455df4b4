"""Reductions, scans, sorting and gathers, in every axis, by every number of warps and from several layouts."""

import numpy as np
import triton
import triton.language as tl
from checks import DTYPES, WARPS, check, normal, poisoned

SHAPES = [(1, 32), (2, 1), (16, 16), (8, 128), (128, 8), (64, 64), (4, 1024), (256, 2), (32, 256)]


@triton.jit
def tile(x, M: tl.constexpr, N: tl.constexpr, FROM: tl.constexpr):
    """The same values in the layout of a load, of a transposed load, or after a broadcast."""
    m, n = tl.arange(0, M), tl.arange(0, N)
    if FROM == "trans":
        v = tl.trans(tl.load(x + m[None, :] * N + n[:, None]))
    elif FROM == "reshape":
        v = tl.reshape(tl.load(x + tl.arange(0, M * N)), (M, N))
    else:
        v = tl.load(x + m[:, None] * N + n[None, :])
    return v


@triton.jit
def reduced(x, o, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, FROM: tl.constexpr):
    v = tile(x, M, N, FROM)
    COUNT: tl.constexpr = N if AXIS == 0 else M
    i = tl.arange(0, COUNT)
    tl.store(o + i, tl.sum(v, AXIS))
    tl.store(o + COUNT + i, tl.max(v, AXIS))
    tl.store(o + 2 * COUNT + i, tl.min(v, AXIS))
    tl.store(o + 3 * COUNT, tl.sum(v))
    tl.store(o + 3 * COUNT + 1, tl.max(v))


def reduced_reference(M, N, axis):
    def reference(x, o, *rest):
        v = x.reshape(M, N)
        w = v.astype(np.int64 if v.dtype.kind in "iu" else np.float64)
        flat = np.concatenate([w.sum(axis), w.max(axis), w.min(axis), [w.sum(), w.max()]])
        return flat.astype(o.dtype) if v.dtype.kind in "iu" else flat

    return reference


@triton.jit
def places(x, v, o, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, FROM: tl.constexpr):
    t = tile(x, M, N, FROM)
    COUNT: tl.constexpr = N if AXIS == 0 else M
    i = tl.arange(0, COUNT)
    a, b = tl.max(t, AXIS, return_indices=True)
    tl.store(v + i, a)
    tl.store(o + i, b)
    tl.store(o + COUNT + i, tl.argmin(t, AXIS))


@triton.jit
def moments(n1, m1, s1, n2, m2, s2):
    n = n1 + n2
    d = m2 - m1
    r = n2 / tl.maximum(n, 1.0)
    return n, m1 + d * r, s1 + s2 + d * d * n1 * r


@triton.jit
def welford(x, o, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, FROM: tl.constexpr):
    v = tile(x, M, N, FROM)
    COUNT: tl.constexpr = N if AXIS == 0 else M
    n, m, s = tl.reduce((v * 0 + 1, v, v * 0), AXIS, moments)
    i = tl.arange(0, COUNT)
    tl.store(o + i, n)
    tl.store(o + COUNT + i, m)
    tl.store(o + 2 * COUNT + i, s)


def welford_reference(M, N, axis):
    def reference(x, o, *rest):
        v = x.reshape(M, N).astype(np.float64)
        return np.concatenate([np.full(v.sum(axis).shape, v.shape[axis]), v.mean(axis), v.var(axis) * v.shape[axis]])

    return reference


@triton.jit
def recurrence(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def scanned(x, o, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, FROM: tl.constexpr, REVERSE: tl.constexpr):
    v = tile(x, M, N, FROM)
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(o + at, tl.cumsum(v, AXIS, reverse=REVERSE))
    a, b = tl.associative_scan((v * 0 + 0.5, v), AXIS, recurrence, reverse=REVERSE)
    tl.store(o + M * N + at, b)


def scanned_reference(M, N, axis, reverse):
    def reference(x, o, *rest):
        v = x.reshape(M, N).astype(np.float64)
        v = np.flip(v, axis) if reverse else v
        b, rows = np.zeros_like(v), np.moveaxis(v, axis, 0)
        moved = np.moveaxis(b, axis, 0)
        last = 0
        for k in range(v.shape[axis]):
            last = moved[k] = last * 0.5 + rows[k]
        out = [v.cumsum(axis), b]
        return np.concatenate([(np.flip(t, axis) if reverse else t).reshape(-1) for t in out])

    return reference


@triton.jit
def ordered(x, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FROM: tl.constexpr):
    v = tile(x, M, N, FROM)
    m, n = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.store(o + m * N + n, tl.sort(v))
    tl.store(o + M * N + m * N + n, tl.sort(v, descending=True))
    tl.store(o + 2 * M * N + m * K + tl.arange(0, K)[None, :], tl.topk(v, K))


def ordered_reference(M, N, K):
    def reference(x, o, *rest):
        v = np.sort(x.reshape(M, N), 1)
        return np.concatenate([v.reshape(-1), v[:, ::-1].reshape(-1), v[:, ::-1][:, :K].reshape(-1)])

    return reference


@triton.jit
def picked(x, at, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, AXIS: tl.constexpr, FROM: tl.constexpr):
    v = tile(x, M, N, FROM)
    P: tl.constexpr = K if AXIS == 0 else M
    Q: tl.constexpr = N if AXIS == 0 else K
    i = tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :]
    tl.store(o + i, tl.gather(v, tl.load(at + i), AXIS))


@triton.jit
def counted(x, o, n, N: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + tl.arange(0, BINS), tl.histogram(tl.load(x + i, i < n, other=0), BINS, mask=i < n))


FROMS = ("load", "trans", "reshape")
for k, (M, N) in enumerate(SHAPES):
    for axis in (0, 1):
        count = N if axis == 0 else M
        for w, warps in enumerate(WARPS):
            source = FROMS[(k + axis + w) % 3]
            tag = f"{M}x{N}.{axis}.{source}.w{warps}"
            options = dict(M=M, N=N, AXIS=axis, FROM=source, num_warps=warps)
            for d, dtype in enumerate(("fp32", "int32", "fp16", "fp64", "uint8", "int64", "bf16")):
                if (d + w + k) % 3 == 0:
                    tolerance = {"fp32": 1e-6, "fp16": 4e-3, "bf16": 3e-2, "fp64": 1e-14}.get(dtype, 0)
                    # The inputs have mean 1 where a sum is rounded at every step: a sum that cancels has no bound
                    # relative to itself.
                    mean = 1 if dtype in ("fp16", "bf16") else 0
                    make = lambda rng, c=count, d=dtype, M=M, N=N, mean=mean: [
                        (normal(rng, M * N, d) + mean).astype(DTYPES[d]),
                        poisoned(3 * c + 2, d),
                    ]
                    check(
                        reduced,
                        make,
                        reduced_reference(M, N, axis) if dtype != "uint8" else None,
                        f"{dtype}.{tag}",
                        (1,),
                        tolerance,
                        tolerance,
                        **options,
                    )
            make = lambda rng, c=count, M=M, N=N: [normal(rng, M * N, "int32"), poisoned(c, "int32"), poisoned(2 * c, "int32")]
            reference = lambda x, v, o, M=M, N=N, axis=axis: (
                x.reshape(M, N).max(axis),
                np.concatenate([x.reshape(M, N).argmax(axis), x.reshape(M, N).argmin(axis)]).astype(np.int32),
            )
            check(places, make, reference, tag, **options)
            make = lambda rng, c=count, M=M, N=N: [normal(rng, M * N), poisoned(3 * c)]
            check(welford, make, welford_reference(M, N, axis), tag, (1,), 2e-6, 2e-6, **options)
            for reverse in (False, True) if (w + k) % 2 else (bool(w % 2),):
                make = lambda rng, M=M, N=N: [normal(rng, M * N), poisoned(2 * M * N)]
                check(
                    scanned,
                    make,
                    scanned_reference(M, N, axis, reverse),
                    tag + ".reverse" * reverse,
                    (1,),
                    3e-6,
                    3e-6,
                    REVERSE=reverse,
                    **options,
                )
    for w, warps in enumerate(WARPS):
        source = FROMS[(k + w) % 3]
        if N >= 4 and M * N <= 4096:
            dtype = ("fp32", "int32", "fp16", "int64", "uint8")[(k + w) % 5]
            make = lambda rng, M=M, N=N, d=dtype: [normal(rng, M * N, d), poisoned(2 * M * N + M * (N // 4), d)]
            check(
                ordered,
                make,
                ordered_reference(M, N, N // 4),
                f"{dtype}.{M}x{N}.{source}.w{warps}",
                M=M,
                N=N,
                K=N // 4,
                FROM=source,
                num_warps=warps,
            )
        for axis in (0, 1):
            K = (M, N, 16, 64)[(k + w) % 4]
            P, Q = (K, N) if axis == 0 else (M, K)
            make = lambda rng, M=M, N=N, P=P, Q=Q, axis=axis: [
                normal(rng, (M, N)),
                rng.integers(0, (M, N)[axis], (P, Q)).astype(np.int32),
                poisoned((P, Q)),
            ]
            check(
                picked,
                make,
                lambda x, at, o, axis=axis: np.take_along_axis(x, at, axis),
                f"{M}x{N}.{axis}.{source}.w{warps}",
                M=M,
                N=N,
                K=K,
                AXIS=axis,
                FROM=source,
                num_warps=warps,
            )

for n, bins in [(64, 16), (1024, 8), (1024, 256), (4096, 2), (32, 512), (2048, 32)]:
    for warps in WARPS:
        real = n - n // 5
        make = lambda rng, n=n, bins=bins, real=real: [rng.integers(0, bins, n).astype(np.int32), poisoned(bins, "int32"), real]
        reference = lambda x, o, real, bins=bins: np.bincount(x[:real], minlength=bins).astype(np.int32)
        check(counted, make, reference, f"{n}.{bins}.w{warps}", N=n, BINS=bins, num_warps=warps)


@triton.jit
def three_dimensional(x, o, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr):
    a, b, c = tl.arange(0, A)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, C)[None, None, :]
    at = a * B * C + b * C + c
    v = tl.load(x + at)
    tl.store(o + at, v - tl.sum(v, AXIS, keep_dims=True))
    tl.store(o + A * B * C + at, tl.cumsum(v, AXIS))


for k, (A, B, C) in enumerate([(2, 4, 8), (8, 16, 32), (32, 2, 16), (1, 64, 64), (16, 16, 16)]):
    for axis in (0, 1, 2):
        make = lambda rng, s=(A, B, C): [normal(rng, s), poisoned((2, *s))]
        reference = lambda x, o, axis=axis: np.stack([(v := x.astype(np.float64)) - v.sum(axis, keepdims=True), v.cumsum(axis)])
        check(
            three_dimensional,
            make,
            reference,
            f"{A}x{B}x{C}.{axis}",
            (1,),
            3e-6,
            3e-6,
            A=A,
            B=B,
            C=C,
            AXIS=axis,
            num_warps=WARPS[(k + axis) % 5],
        )


@triton.jit
def carried(x, o, outer, inner, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, FROM: tl.constexpr):
    """Folds of two loops whose values nobody looks at before their end, and one whose value is stored in each step."""
    COUNT: tl.constexpr = N if AXIS == 0 else M
    i = tl.arange(0, COUNT)
    total, top, low = tl.full([COUNT], 3, x.dtype.element_ty), tl.full([COUNT], -1, x.dtype.element_ty), 1 << 30
    whole = tl.full([], 0, x.dtype.element_ty)
    for t in range(outer):
        for s in range(inner):
            v = tile(x + (t * inner + s) * M * N, M, N, FROM)
            total += tl.sum(v, AXIS).to(x.dtype.element_ty)
            total += tl.sum(v * v, AXIS).to(x.dtype.element_ty)
            top = tl.maximum(top, tl.max(v, AXIS))
            low = tl.minimum(low, tl.min((v * 100).to(tl.int32)))
            whole += tl.sum(v).to(x.dtype.element_ty)
            tl.store(o + 2 * COUNT + t * inner + s, whole)
    tl.store(o + i, total)
    tl.store(o + COUNT + i, top)
    tl.store(o + 2 * COUNT + outer * inner, low)


def carried_reference(axis, M, N):
    def reference(x, o, outer, inner, *rest):
        v = x.reshape(-1, M, N).astype(np.float64 if x.dtype.kind == "f" else np.int64)
        total = 3 + (v + v * v).sum((0, axis + 1))
        top = np.maximum(v.max((0, axis + 1)), -1)
        low = min((x * 100).astype(np.int32).min(), 1 << 30) if len(v) else 1 << 30
        return np.concatenate([total, top, v.sum((1, 2)).cumsum(), [low]]).astype(o.dtype if o.dtype.kind == "i" else np.float64)

    return reference


for k, (M, N) in enumerate([*SHAPES, (1, 4096), (64, 128), (16, 2048)]):
    for axis in (0, 1):
        for w, warps in enumerate(WARPS):
            dtype, source = ("fp32", "int32", "fp64")[(k + w) % 3], FROMS[(k + axis + w) % 3]
            outer, inner = ((3, 2), (1, 5), (2, 1))[(k + w + axis) % 3]
            count, steps = N if axis == 0 else M, outer * inner
            make = lambda rng, n=steps * M * N, o=2 * count + steps + 1, d=dtype, s=(outer, inner): [
                rng.integers(-50, 50, n).astype(np.int32) if d == "int32" else normal(rng, n, d),
                poisoned(o, d),
                *s,
            ]
            tolerance = {"fp32": 3e-6, "fp64": 1e-13}.get(dtype, 0)
            options = dict(M=M, N=N, AXIS=axis, FROM=source, num_warps=warps)
            tag = f"{dtype}.{M}x{N}.{axis}.{source}.w{warps}"
            check(carried, make, carried_reference(axis, M, N), tag, (1,), tolerance, tolerance, **options)
