"""Integers: division and remainder of negatives, shifts, unsigned comparisons, wide constants, bit operations."""

import triton
import triton.language as tl
from cases import array, bits, case, integers, out


@triton.jit
def divide(a, b, q, r, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(a + i), tl.load(b + i)
    tl.store(q + i, x // y)
    tl.store(r + i, x % y)


@triton.jit
def divide_constant(a, q, r, N: tl.constexpr, D: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    tl.store(q + i, x // D)
    tl.store(r + i, x % D)


@triton.jit
def constants_divided(o, A: tl.constexpr, B: tl.constexpr):
    tl.store(o, A // B)
    tl.store(o + 1, A % B)
    tl.store(o + 2, (A * 1.0) // B)
    tl.store(o + 3, A / B * 8)


@triton.jit
def shifts(a, s, left, right, N: tl.constexpr):
    i = tl.arange(0, N)
    x, n = tl.load(a + i), tl.load(s + i)
    tl.store(left + i, x << n)
    tl.store(right + i, x >> n)


@triton.jit
def compare_all(a, b, o, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(a + i), tl.load(b + i)
    r = (x < y).to(tl.int32) + 2 * (x <= y) + 4 * (x > y) + 8 * (x >= y) + 16 * (x == y) + 32 * (x != y)
    tl.store(o + i, r)


@triton.jit
def bit_operations(a, b, o, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(a + i), tl.load(b + i)
    tl.store(o + i, ~x & y | (x ^ -y))


@triton.jit
def high_product(a, b, o, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.umulhi(tl.load(a + i), tl.load(b + i)))


@triton.jit
def wide_constants(o):
    tl.store(o, 0x80000000)
    tl.store(o + 1, 0xFFFFFFFF)
    tl.store(o + 2, 2**31 - 1)
    tl.store(o + 3, 0x7FFFFFFFFFFFFFFF)
    tl.store(o + 4, 1 << 40)
    tl.store(o + 5, -2147483648)
    tl.store(o + 6, 0b1011 + 0o17 + 1_000)
    tl.store(o + 7, -(2**40) // 3)


@triton.jit
def wide_arithmetic(x, o):
    v = tl.load(x)
    tl.store(o, v + 0x80000000)
    tl.store(o + 1, v * 3000000000)
    tl.store(o + 2, v & 0xFFFFFFFF)
    tl.store(o + 3, v - 0x100000000)
    tl.store(o + 4, (v * v).to(tl.int64))
    tl.store(o + 5, v.to(tl.int64) * v)


@triton.jit
def rounding_up(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(o + i, tl.cdiv(v, 7))
    tl.store(o + N + i, tl.cdiv(N * 5, 3) + 0 * v)


@triton.jit
def negate(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(o + i, -v)
    tl.store(o + N + i, tl.abs(v))
    tl.store(o + 2 * N + i, ~v)


@triton.jit
def wrap(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(o + i, v * v * v + v - 100)


@triton.jit
def offsets_beyond_32_bits(o, stride):
    i = tl.arange(0, 4).to(tl.int64)
    far = (i + 2**33) * stride
    tl.store(o + i, far)
    tl.store(o + 4 + i, tl.program_id(0).to(tl.int64) * 2**34 + i, mask=tl.program_id(0) == 1)


for t in ["int8", "int16", "int32", "int64"]:
    x = integers(64, -100, 100, t, 1)
    y = integers(64, 1, 12, t, 2) * (integers(64, 0, 2, t, 3) * 2 - 1)
    case(divide, x, y, out(64, t), out(64, t), N=64, tag=t)
    case(divide_constant, x, out(64, t), out(64, t), N=64, D=-7, tag=t)
for t in ["uint8", "uint16", "uint32", "uint64"]:
    x = bits(64, 4).astype(t)
    y = integers(64, 1, 200, t, 5)
    case(divide, x, y, out(64, t), out(64, t), N=64, tag=t)
    case(divide_constant, x, out(64, t), out(64, t), N=64, D=10, tag=t)
for a, b in [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, -3)]:
    case(constants_divided, out(4, "fp32"), A=a, B=b, tag=f"{a}.{b}")
for t in ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]:
    x, y = bits(64, 6).astype(t), bits(64, 7).astype(t)
    y[::4] = x[::4]
    case(shifts, x, integers(64, 0, x.itemsize * 8, t, 8), out(64, t), out(64, t), N=64, tag=t)
    case(compare_all, x, y, out(64, "int32"), N=64, tag=t)
    case(bit_operations, x, y, out(64, t), N=64, tag=t)
    case(negate, x, out((3, 64), t), N=64, tag=t)
    case(wrap, x, out(64, t), N=64, tag=t)
for t in ["int32", "uint32", "int64", "uint64"]:
    case(high_product, bits(64, 9).astype(t), bits(64, 10).astype(t), out(64, t), N=64, tag=t)
case(wide_constants, out(8, "int64"))
case(wide_constants, out(8, "int32"), tag="to_int32")
for t in ["int32", "uint32", "int64"]:
    case(wide_arithmetic, array([123456], t), out(6, "int64"), tag=t)
case(rounding_up, integers(16, 0, 100, "int32", 11), out((2, 16), "int32"), N=16)
case(offsets_beyond_32_bits, out(8, "int64"), 3, grid=2)
