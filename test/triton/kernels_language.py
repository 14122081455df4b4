"""Forms of the language that kernels in use rely on: methods, annotations, Python built-ins, pointers as numbers, bool arrays."""

import triton
import triton.language as tl
from cases import array, bell, case, inout, integers, out


@triton.jit
def methods(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(o, v.sum())
    tl.store(o + 1, v.max(0))
    tl.store(o + 2, v.min(axis=0))
    tl.store(o + 3, v.argmax(0))
    tl.store(o + 4, v.argmin(axis=0))
    tl.store(o + 5 + i, v.abs().sqrt() + v.exp().log2() * v.floor() + v.cumsum(0) + v.sigmoid())
    w = (v > 0).logical_and(v < 1).logical_or(v > 2)
    tl.store(o + 5 + N + i, w)
    tl.store(o + 5 + 2 * N + i, v.reshape(N // 2, 2).trans(1, 0).reshape(N).to(tl.float16))


@triton.jit
def annotations(x, o, n, N: tl.constexpr):
    """A docstring is nothing."""
    i: tl.tensor = tl.arange(0, N)
    half: tl.constexpr = N // 2
    total: tl.float32 = 0.0
    assert N > 2, "never"
    pass
    for _ in range(n):
        total += tl.sum(tl.load(x + i)) / half
    tl.store(o, total)
    if tl.constexpr(half) == 8:
        tl.store(o + 1, half)
    return


@triton.jit
def python_builtins(x, o, n, N: tl.constexpr):
    p = tl.program_id(0)
    v = tl.load(x + p)
    tl.store(o, min(n, 5) + max(n, 3, 7))
    tl.store(o + 1, min(v, 0.5) + max(v, 0.25))
    tl.store(o + 2, tl.abs(v))
    tl.store(o + 3, float("inf") if v > 100 else float(N))
    tl.store(o + 4, tl.cdiv(n, 4) + triton.cdiv(N, 3) + triton.next_power_of_2(N - 1))
    tl.store(o + 5, len((1, 2, 3)) + int(N > 3))
    tl.store(o + 6, isinstance(N, int))


@triton.jit
def conditional_expressions(x, o, n, FLAG: tl.constexpr):
    v = tl.load(x)
    tl.store(o, v if n > 2 else v * 2)
    tl.store(o + 1, 1 if FLAG else v)
    tl.store(o + 2, n if n > 100 else (n + 1 if n > 50 else n - 1))
    k = None if FLAG else 3
    if k is None:
        tl.store(o + 3, 5)


@triton.jit
def range_of_int64(x, o, n):
    last = tl.load(n)
    total = tl.zeros((), tl.int64)
    for k in range(last):
        total += k
    for k in range(tl.program_id(0) + 3, 0, -1):
        total += k * 100
    tl.store(o, total)
    tl.store(o + 1, tl.sum(tl.arange(16, 32)))


@triton.jit
def addresses(x, o):
    tl.store(o, (x + 4).to(tl.int64) - x.to(tl.int64))
    p = (x.to(tl.int64) + 8).to(tl.pointer_type(tl.float32))
    tl.store(o + 1, (tl.load(p) * 100).to(tl.int64))


@triton.jit
def pointers_in_tiles(x, y, o, N: tl.constexpr):
    i = tl.arange(0, N)
    p = tl.where(i % 2 == 0, x + i, y + i)
    q = x if tl.program_id(0) == 0 else y
    tl.store(o + i, tl.load(p) + tl.load(q + i))


@triton.jit
def bool_arrays(x, b, o, N: tl.constexpr):
    i = tl.arange(0, N)
    f = tl.load(b + i)
    tl.store(o + i, tl.where(f, tl.load(x + i), -1))
    tl.store(b + i, tl.load(x + i) > 0)
    tl.store(o + N, tl.sum(f.to(tl.int32)))
    tl.store(o + N + 1 + i, ~f & (tl.load(x + i) < 0.5))
    tl.store(o + 2 * N + 1, tl.max(f.to(tl.int32)) + tl.load(b))


@triton.jit(noinline=True)
def not_inlined(a, b):
    return a * b + 1


@triton.jit
def inner(v, K: tl.constexpr):
    if K == 0:
        return v
    else:
        return inner_next(v, K)


@triton.jit
def inner_next(v, K: tl.constexpr):
    return v * 2 + K


@triton.jit
def calls(o, n):
    tl.store(o, not_inlined(n, 3))
    tl.store(o + 1, inner(n, 0) + inner(n, 4) + inner(v=n, K=1))


@triton.jit
def assembly(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    r = tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [v * 2], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(o + i, r)


@triton.jit
def pair_order(a, b):
    if a > b:
        return a, b
    return b, a


@triton.jit
def mapped(x, y, o, N: tl.constexpr):
    i = tl.arange(0, N)
    high, low = tl.map_elementwise(pair_order, tl.load(x + i), tl.load(y + i))
    tl.store(o + i, high)
    tl.store(o + N + i, low)


@triton.jit
def larger_with_place(va, ia, vb, ib):
    take = (va > vb) | ((va == vb) & (ia < ib))
    return tl.where(take, va, vb), tl.where(take, ia, ib)


@triton.jit
def running_place(x, o, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + at)
    k = tl.arange(0, N)[None, :] + tl.zeros((M, N), tl.int32)
    m, p = tl.associative_scan((v, k), 1, larger_with_place)
    tl.store(o + at, m + p)
    a, b = tl.max(v, axis=1, return_indices=True, keep_dims=True)
    tl.store(o + M * N + at, v - a + b)
    tl.store(o + 2 * M * N + at, tl.argmin(v, 0, keep_dims=True) + tl.max(v, keep_dims=True))


@triton.jit
def atomics_in_two_axes(x, o, old, n, M: tl.constexpr, N: tl.constexpr):
    m, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    r = tl.atomic_add(o + m * N + k, tl.load(x + m * N + k), mask=(m < n) & (k > 1), sem="relaxed")
    tl.store(old + m * N + k, r, mask=(m < n) & (k > 1))


@triton.jit
def carried_pointers(x, o, n, N: tl.constexpr):
    p = x + tl.arange(0, N)
    total = tl.zeros((N,), tl.float32)
    state = (0, 1.0)
    for k in range(n):
        total += tl.load(p) * state[1]
        p += N
        state = (state[0] + k, state[1] * 0.5)
    tl.store(o + tl.arange(0, N), total)
    tl.store(o + N, state[0])


@triton.jit
def narrow_stores(x, o8, o16, ou, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(o8 + i, v)
    tl.store(o16 + i, v * 1.5)
    tl.store(ou + i, v)
    tl.store(ou + N, 300)


@triton.jit
def float_literals(o, scale):
    tl.store(o, 1e-3 + scale)
    tl.store(o + 1, 1e10 * scale)
    tl.store(o + 2, -0.0)
    tl.store(o + 3, 3.4e38 * 10)
    tl.store(o + 4, 1 / 3 + scale * 0)
    tl.store(o + 5, (scale * 0 + 7) // 1 if False else 2**0.5)
    tl.store(o + 6, 5 % 3 + 7 // 2 - -7 // 2)


case(methods, bell(16, seed=1), out(53), N=16, rtol=1e-5, atol=1e-5)
case(annotations, bell(16, seed=2), out(2), 3, N=16, rtol=1e-5, atol=1e-6)
case(python_builtins, bell(4, seed=3), out(7), 6, N=16)
for flag in (True, False):
    case(conditional_expressions, bell(4, seed=4), out(4), 60, FLAG=flag, tag=str(flag))
case(range_of_int64, bell(4, seed=4), out(2, "int64"), integers(1, 9, 10, "int64"))
case(addresses, bell(4, seed=5), out(2, "int64"))
case(pointers_in_tiles, bell(16, seed=6), bell(16, seed=7), out(16), N=16)
case(bool_arrays, bell(16, seed=8), inout(integers(16, 0, 2, "int1", 9)), out(34), N=16)
case(calls, out(2, "int32"), 5)
case(assembly, bell(32, seed=10), out(32), N=32, rtol=1e-3, atol=1e-4)
case(mapped, integers(32, -99, 99, "int32", 11), integers(32, -99, 99, "int32", 12), out((2, 32), "int32"), N=32)
case(running_place, integers((4, 16), -9, 9, "fp32", 13), out((3, 4, 16)), M=4, N=16)
case(atomics_in_two_axes, bell((8, 4), seed=14), inout(bell((8, 4), seed=15)), out((8, 4)), 5, M=8, N=4)
case(carried_pointers, bell((5, 16), seed=16), out(17), 5, N=16, rtol=1e-6, atol=1e-6)
case(narrow_stores, array([0, 1, -1, 127, 128, -129, 300, 70000], "int32"), out(8, "int8"), out(8, "fp16"), out(9, "uint16"), N=8)
case(float_literals, out(7), 0.3, rtol=1e-6)
