"""Atomic operations: old values, types, masks, orders and scopes."""

import numpy as np
import triton
import triton.language as tl
from cases import array, bell, case, inout, integers, out


@triton.jit
def apply(p, v, mask, OP: tl.constexpr):
    if OP == "add":
        return tl.atomic_add(p, v, mask=mask)
    elif OP == "max":
        return tl.atomic_max(p, v, mask=mask)
    elif OP == "min":
        return tl.atomic_min(p, v, mask=mask)
    elif OP == "and":
        return tl.atomic_and(p, v, mask=mask)
    elif OP == "or":
        return tl.atomic_or(p, v, mask=mask)
    elif OP == "xor":
        return tl.atomic_xor(p, v, mask=mask)
    else:
        return tl.atomic_xchg(p, v, mask=mask)


@triton.jit
def masked(target, x, old, n, N: tl.constexpr, OP: tl.constexpr):
    i = tl.arange(0, N)
    r = apply(target + i, tl.load(x + i), i < n, OP)
    tl.store(old + i, r, mask=i < n)


@triton.jit
def counter(total, x, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.atomic_add(total, tl.sum(tl.load(x + i)))


@triton.jit
def same_address(target, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_add(target + i % 4, i)
    tl.atomic_max(target + 4 + i % 2, i)
    tl.atomic_or(target + 6 + i * 0, 1 << (i % 16))


@triton.jit
def compare_and_swap(target, old):
    five = tl.full([], 5, target.dtype.element_ty)
    tl.store(old, tl.atomic_cas(target, five, five + 4))
    tl.store(old + 1, tl.atomic_cas(target, five, five + 6))
    tl.store(old + 2, tl.atomic_cas(target, five + 4, five + 7, sem="acquire", scope="sys"))
    tl.store(old + 3, tl.load(target))


@triton.jit
def compare_and_swap_tile(target, expected, desired, old, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(old + i, tl.atomic_cas(target + i, tl.load(expected + i), tl.load(desired + i)))


@triton.jit
def ordered(target, old):
    tl.store(old, tl.atomic_add(target, 1, sem="relaxed", scope="gpu"))
    tl.store(old + 1, tl.atomic_add(target, 2, sem="acquire", scope="cta"))
    tl.store(old + 2, tl.atomic_add(target, 3, sem="release", scope="sys"))
    tl.store(old + 3, tl.atomic_xchg(target, 4, sem="acq_rel"))
    tl.store(old + 4, tl.atomic_max(target, 100, sem="relaxed"))
    tl.store(old + 5, tl.atomic_min(target, -1))


@triton.jit
def histogram_by_atomics(x, counts, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + i, mask=i < n, other=0)
    tl.atomic_add(counts + v, 1, mask=i < n)


for t in ["int32", "uint32", "int64", "uint64"]:
    low = -(2**30) if t.startswith("int") else 0
    for op in ["add", "max", "min", "and", "or", "xor", "xchg"]:
        case(masked, inout(integers(32, low, 2**30, t, 1)), integers(32, low, 2**30, t, 2), out(32, t), 27, N=32, OP=op, tag=f"{op}.{t}")
for t in ["fp16", "bf16", "fp32", "fp64"]:
    case(masked, inout(bell(32, t, 3)), bell(32, t, 4), out(32, t), 27, N=32, OP="add", tag=f"add.{t}")
for t in ["fp32", "fp64"]:
    for op in ["max", "min", "xchg"]:
        case(masked, inout(bell(32, t, 5)), bell(32, t, 6), out(32, t), 27, N=32, OP=op, tag=f"{op}.{t}")
zeros = array([0.0, -0.0, -1.0, 1.0, np.inf, -np.inf, -2.0, 3.0], "fp32")
case(masked, inout(zeros), zeros[::-1].copy(), out(8), 8, N=8, OP="max", tag="max.edges")
case(masked, inout(zeros), zeros[::-1].copy(), out(8), 8, N=8, OP="min", tag="min.edges")
case(counter, inout(np.zeros(1, np.int32)), integers(128, -50, 50, "int32", 7), N=32, grid=4)
case(counter, inout(np.zeros(1, np.float32)), integers(128, -50, 50, "fp32", 7), N=32, grid=4, tag="fp32")
case(same_address, inout(np.zeros(8, np.int32)), N=64)
case(compare_and_swap, inout(np.array([5], np.int32)), out(4, "int32"))
case(compare_and_swap, inout(np.array([5], np.int64)), out(4, "int64"), tag="int64")
case(
    compare_and_swap_tile,
    inout(integers(32, 0, 3, "int32", 8)),
    integers(32, 0, 3, "int32", 9),
    integers(32, 50, 90, "int32", 9),
    out(32, "int32"),
    N=32,
)
case(ordered, inout(np.array([10], np.int32)), out(6, "int32"))
case(histogram_by_atomics, integers(100, 0, 8, "int32", 10), inout(np.zeros(8, np.int32)), 100, N=32, grid=4)
