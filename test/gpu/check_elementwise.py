"""Elementwise operations of every type, conversions between all types, broadcasting and strided memory."""

import numpy as np
import triton
import triton.language as tl
from checks import DTYPES, any_bits, check, normal, poisoned

INTEGERS = [f"{s}int{b}" for b in (8, 16, 32, 64) for s in ("", "u")]
FLOATS = ["fp16", "bf16", "fp32", "fp64"]
NARROW = ["fp8e4nv", "fp8e5"]
ULP = {"fp16": 1e-3, "bf16": 8e-3, "fp32": 1e-6, "fp64": 1e-14}


@triton.jit
def whole(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    a, b = tl.load(x + i, m, other=1), tl.load(y + i, m, other=1)
    tl.store(o + i, a + b, m)
    tl.store(o + n + i, a - b, m)
    tl.store(o + 2 * n + i, a * b, m)
    tl.store(o + 3 * n + i, tl.minimum(a, b), m)
    tl.store(o + 4 * n + i, tl.maximum(a, b), m)
    tl.store(o + 5 * n + i, tl.where(a < b, a, b), m)
    tl.store(o + 6 * n + i, -a, m)


@triton.jit
def integral(x, y, o, n, B: tl.constexpr, BITS: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    a, b = tl.load(x + i, m, other=1), tl.load(y + i, m, other=1)
    c = tl.where(b == 0, 3, b).to(a.dtype)
    s = (b & (BITS - 1)).to(a.dtype)
    tl.store(o + i, a // c, m)
    tl.store(o + n + i, a % c, m)
    tl.store(o + 2 * n + i, a & b, m)
    tl.store(o + 3 * n + i, a | b, m)
    tl.store(o + 4 * n + i, a ^ b, m)
    tl.store(o + 5 * n + i, ~a, m)
    tl.store(o + 6 * n + i, a << s, m)
    tl.store(o + 7 * n + i, a >> s, m)
    few, zero_too = a & 63, b & 15
    tl.store(o + 8 * n + i, a // zero_too, m)
    tl.store(o + 9 * n + i, a % zero_too, m)
    tl.store(o + 10 * n + i, few // zero_too, m)
    tl.store(o + 11 * n + i, few % zero_too, m)


def integral_reference(x, y, o, n, *rest):
    bits = x.dtype.itemsize * 8
    with np.errstate(all="ignore"):
        wrap = lambda v: np.array([int(e) & (2**bits - 1) for e in v], np.uint64).astype(f"u{bits // 8}").view(x.dtype)

        def divided(a, b):
            a, b = a.astype(object), b.astype(object)
            quotient = np.array([-1 if d == 0 else abs(n) // abs(d) * (1 if (n < 0) == (d < 0) else -1) for n, d in zip(a, b)], object)
            return [wrap(quotient), wrap(a - quotient * b)]

        mask = lambda v, bits: (v & np.array(bits, x.dtype)).astype(x.dtype)
        c, s, zero_too = np.where(y == 0, 3, y).astype(x.dtype), mask(y, bits - 1), mask(y, 15)
        parts = [*divided(x, c), x & y, x | y, x ^ y, ~x, x << s, x >> s, *divided(x, zero_too), *divided(mask(x, 63), zero_too)]
        return np.concatenate(parts)


@triton.jit
def functions(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    a = tl.load(x + i, m, other=1)
    p = tl.abs(a) + 0.5
    tl.store(o + i, tl.exp(a), m)
    tl.store(o + n + i, tl.log(p), m)
    tl.store(o + 2 * n + i, tl.sin(a), m)
    tl.store(o + 3 * n + i, tl.cos(a), m)
    tl.store(o + 4 * n + i, tl.sqrt(p), m)
    tl.store(o + 5 * n + i, tl.rsqrt(p), m)
    tl.store(o + 6 * n + i, tl.floor(a), m)
    tl.store(o + 7 * n + i, tl.ceil(a), m)
    tl.store(o + 8 * n + i, tl.fma(a, p, a), m)
    tl.store(o + 9 * n + i, tl.erf(a), m)
    tl.store(o + 10 * n + i, tl.exp2(a), m)
    tl.store(o + 11 * n + i, tl.log2(p), m)
    tl.store(o + 12 * n + i, a / p, m)
    tl.store(o + 13 * n + i, tl.sigmoid(a), m)


def functions_reference(x, o, n, *rest):
    import math

    a = x.astype(np.float64)
    p = np.abs(a) + 0.5
    erf = np.array([math.erf(v) for v in a])
    return np.concatenate(
        [
            np.exp(a),
            np.log(p),
            np.sin(a),
            np.cos(a),
            np.sqrt(p),
            1 / np.sqrt(p),
            np.floor(a),
            np.ceil(a),
            a * p + a,
            erf,
            np.exp2(a),
            np.log2(p),
            a / p,
            1 / (1 + np.exp(-a)),
        ]
    )


def whole_reference(x, y, o, n, *rest):
    with np.errstate(all="ignore"):
        if x.dtype.kind in "iu":
            parts = [x + y, x - y, x * y]
        else:
            a, b = x.astype(np.float64), y.astype(np.float64)
            parts = [a + b, a - b, a * b]
        return np.concatenate([*parts, np.minimum(x, y), np.maximum(x, y), np.where(x < y, x, y), -x])


def _pair(dtype, n, outputs):
    def make(rng):
        values = (lambda: any_bits(rng, n, dtype)) if "int" in dtype else (lambda: normal(rng, n, dtype))
        return [values(), values(), poisoned(outputs * n, dtype), n]

    return make


for at, dtype in enumerate([*INTEGERS, *FLOATS]):
    for warps, n, block in [(1, 1000, 64), (4, 4096, 1024), (8, 2999, 512), (16, 777, 2048)]:
        tag, grid = f"{dtype}.w{warps}", (-(-n // block),)
        check(whole, _pair(dtype, n, 7), whole_reference, tag, grid, ULP.get(dtype, 0), 0.0, B=block, num_warps=warps)
        if dtype in INTEGERS:
            bits = np.dtype(DTYPES[dtype]).itemsize * 8
            check(integral, _pair(dtype, n, 12), integral_reference, tag, grid, B=block, BITS=bits, num_warps=warps)
        elif dtype in ("fp32", "fp64"):
            make = lambda rng, n=n, dtype=dtype: [normal(rng, n, dtype), poisoned(14 * n, dtype), n]
            check(
                functions,
                make,
                functions_reference,
                tag,
                grid,
                {"fp32": 3e-7, "fp64": 1e-14}[dtype],
                {"fp32": 3e-7, "fp64": 1e-14}[dtype],
                B=block,
                num_warps=warps,
            )


@triton.jit
def convert(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, i < n).to(o.dtype.element_ty), i < n)


def converted(x, o, n, *rest):
    if o.dtype == np.bool_:
        return x != 0
    with np.errstate(all="ignore"):
        if o.dtype.kind in "iu":
            return np.trunc(x.astype(np.float64)).astype(np.int64).astype(o.dtype) if x.dtype.kind not in "iub" else x.astype(o.dtype)
        if x.dtype.kind in "iub" and o.dtype.itemsize < 4:
            return None
        return x.astype(o.dtype)


def _source(rng, n, source, dest):
    """Numbers that fit both types."""
    if "int" in source and "int" in dest:
        return any_bits(rng, n, source)
    if "int" in source:
        return rng.integers(0, 2 if source == "int1" else 100, n).astype(DTYPES[source])
    if "int" in dest:
        return (np.abs(normal(rng, n)) * 20).astype(DTYPES[source])
    return normal(rng, n, source)


def _through_fp32(x, o, n, *rest):
    result = converted(x, o, n)
    return x.astype(np.float32).astype(o.dtype) if result is None else result


ALL = ["int1", *INTEGERS, *FLOATS, *NARROW]
for a, source in enumerate(ALL):
    for b, dest in enumerate(ALL):
        if source != dest and not (source == "int1" and dest in NARROW) and not (dest == "int1" and source in NARROW):
            n, warps = 500 + 37 * a + b, (1, 2, 4, 8)[(a + b) % 4]
            make = lambda rng, n=n, s=source, d=dest: [_source(rng, n, s, d), poisoned(n, d), n]
            narrow = {source, dest} & set(NARROW) and ("int" in source or "int" in dest or "fp64" in (source, dest))
            check(convert, make, None if narrow else _through_fp32, f"{source}.{dest}", (-(-n // 256),), B=256, num_warps=warps)


@triton.jit
def outer(x, y, o, M, N, sm, sn, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    v = tl.load(x + m, m < M) * 2 + tl.load(y + n, n < N)
    tl.store(o + m * sm + n * sn, v, (m < M) & (n < N))


def outer_reference(x, y, o, M, N, sm, sn, *rest):
    r = x[:, None].astype(np.float64) * 2 + y[None, :]
    return r if sn == 1 else r.T


for at, (bm, bn) in enumerate([(1, 128), (16, 16), (64, 32), (128, 1), (2, 256), (32, 128)]):
    for transposed in (False, True):
        M, N = 3 * bm + 5, 2 * bn + 3
        shape = (N, M) if transposed else (M, N)
        make = lambda rng, M=M, N=N, s=shape, t=transposed: [
            normal(rng, M),
            normal(rng, N),
            poisoned(s),
            M,
            N,
            1 if t else N,
            M if t else 1,
        ]
        check(
            outer,
            make,
            outer_reference,
            f"{bm}x{bn}{'.transposed' * transposed}",
            (-(-M // bm), -(-N // bn)),
            1e-6,
            BM=bm,
            BN=bn,
            num_warps=(1, 2, 4, 8, 16)[at % 5],
        )


@triton.jit
def moved(x, o, M: tl.constexpr, N: tl.constexpr, KIND: tl.constexpr):
    m, n = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    v = tl.load(x + m * N + n)
    if KIND == "trans":
        tl.store(o + tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :], tl.trans(v))
    elif KIND == "reshape":
        tl.store(o + tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :], tl.reshape(v, (N, M)))
    elif KIND == "ravel":
        tl.store(o + tl.arange(0, M * N), tl.ravel(v))
    elif KIND == "split":
        a, b = tl.split(tl.reshape(v, (M, N // 2, 2)))
        h: tl.constexpr = N // 2
        tl.store(o + m * h + tl.arange(0, h)[None, :], a)
        tl.store(o + M * h + m * h + tl.arange(0, h)[None, :], b)
    elif KIND == "join":
        j = tl.join(v, v + v)
        tl.store(o + m[:, :, None] * 2 * N + n[:, :, None] * 2 + tl.arange(0, 2)[None, None, :], j)
    elif KIND == "interleave":
        tl.store(o + m * 2 * N + tl.arange(0, 2 * N)[None, :], tl.interleave(v, v + v))
    elif KIND == "permute":
        p = tl.permute(tl.reshape(v, (M, N // 4, 4)), (2, 0, 1))
        q: tl.constexpr = N // 4
        a, b, c = tl.arange(0, 4)[:, None, None], tl.arange(0, M)[None, :, None], tl.arange(0, q)[None, None, :]
        tl.store(o + a * M * q + b * q + c, p)
    elif KIND == "flip0":
        tl.store(o + m * N + n, tl.flip(v, 0))
    elif KIND == "flip1":
        tl.store(o + m * N + n, tl.flip(v, 1))
    elif KIND == "broadcast":
        w = tl.broadcast_to(tl.reshape(tl.sum(v, 1).to(v.dtype), (M, 1)), (M, N))
        tl.store(o + m * N + n, w)


def moved_reference(kind, M, N):
    def reference(x, o, *rest):
        v = x.reshape(M, N)
        s = v + v
        total = v.astype(np.float64).sum(1, keepdims=True)  # exact for integers, which wrap around when they are stored
        if v.dtype.kind == "i":
            total = total.astype(np.int64).astype(v.dtype)
        result = {
            "trans": lambda: v.T,
            "reshape": lambda: v,
            "ravel": lambda: v,
            "join": lambda: np.stack([v, s], -1),
            "split": lambda: np.stack([v[:, ::2], v[:, 1::2]]),
            "interleave": lambda: np.stack([v, s], -1),
            "permute": lambda: v.reshape(M, N // 4, 4).transpose(2, 0, 1),
            "flip0": lambda: v[::-1],
            "flip1": lambda: v[:, ::-1],
            "broadcast": lambda: np.repeat(total, N, 1),
        }[kind]()
        return np.ascontiguousarray(result).reshape(-1)

    return reference


for at, kind in enumerate(["trans", "reshape", "ravel", "split", "join", "interleave", "permute", "flip0", "flip1", "broadcast"]):
    for k, (M, N) in enumerate([(16, 16), (64, 4), (4, 128), (32, 64), (128, 128)]):
        for dtype in ("fp32", "fp16", "int8", "fp64")[(at + k) % 2 :: 2]:
            size = M * N * (2 if kind in ("join", "interleave") else 1)
            make = lambda rng, M=M, N=N, d=dtype, s=size: [normal(rng, M * N, d), poisoned(s, d)]
            check(
                moved,
                make,
                moved_reference(kind, M, N),
                f"{kind}.{M}x{N}.{dtype}",
                (1,),
                1e-2 if kind == "broadcast" else 0.0,
                simulated=1e-2 if kind == "broadcast" and dtype != "int8" else 0.0,
                M=M,
                N=N,
                KIND=kind,
                num_warps=(1, 2, 4, 8, 16)[(at + k) % 5],
            )
