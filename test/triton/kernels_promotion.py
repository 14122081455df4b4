"""The type that every operator computes in: tensors of every two types, and tensors with Python numbers on either side."""

import triton
import triton.language as tl
from cases import array, case, out

N = 16
TYPES = ["int1", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "fp16", "bf16", "fp32", "fp64"]


@triton.jit
def keep(r, slot: tl.constexpr, codes, ints, floats):
    N: tl.constexpr = r.shape[0]
    t: tl.constexpr = r.dtype
    i = slot * N + tl.arange(0, N)
    tl.store(codes + slot, t.primitive_bitwidth * 8 + t.is_floating() * 4 + t.is_int_signed() * 2 + t.is_bf16())
    if t.is_floating():
        tl.store(floats + i, r.to(tl.float64))
    else:
        tl.store(ints + i, r.to(tl.int64))


@triton.jit
def operate(x, y, codes, ints, floats, GROUP: tl.constexpr):
    if GROUP == "linear":
        keep(x + y, 0, codes, ints, floats)
        keep(x - y, 1, codes, ints, floats)
        keep(x * y, 2, codes, ints, floats)
        keep(x < y, 3, codes, ints, floats)
        keep(x == y, 4, codes, ints, floats)
    elif GROUP == "truediv":
        keep(x / y, 0, codes, ints, floats)
    elif GROUP == "floordiv":
        keep(x // y, 0, codes, ints, floats)
    elif GROUP == "mod":
        keep(x % y, 0, codes, ints, floats)
    elif GROUP == "bits":
        keep(x & y, 0, codes, ints, floats)
        keep(x | y, 1, codes, ints, floats)
        keep(x ^ y, 2, codes, ints, floats)
    elif GROUP == "shift":
        keep(x << y, 0, codes, ints, floats)
        keep(x >> y, 1, codes, ints, floats)
    elif GROUP == "extremum":
        keep(tl.minimum(x, y), 0, codes, ints, floats)
        keep(tl.maximum(x, y), 1, codes, ints, floats)
        keep(tl.where(x > y, x, y), 2, codes, ints, floats)


@triton.jit
def two_tensors(a, b, codes, ints, floats, N: tl.constexpr, GROUP: tl.constexpr):
    i = tl.arange(0, N)
    operate(tl.load(a + i), tl.load(b + i), codes, ints, floats, GROUP)


@triton.jit
def tensor_and_number(a, codes, ints, floats, N: tl.constexpr, GROUP: tl.constexpr, NUMBER: tl.constexpr):
    operate(tl.load(a + tl.arange(0, N)), NUMBER, codes, ints, floats, GROUP)


@triton.jit
def number_and_tensor(a, codes, ints, floats, N: tl.constexpr, GROUP: tl.constexpr, NUMBER: tl.constexpr):
    operate(NUMBER, tl.load(a + tl.arange(0, N)), codes, ints, floats, GROUP)


@triton.jit
def tensor_and_scalar(a, s, codes, ints, floats, N: tl.constexpr, GROUP: tl.constexpr):
    operate(tl.load(a + tl.arange(0, N)), tl.load(s), codes, ints, floats, GROUP)


def left(dtype):
    if dtype == "int1":
        return array([0, 1] * 8, dtype)
    if dtype.startswith("u"):
        return array([0, 1, 2, 3, 5, 7, 12, 100, 127, 128, 200, 255, 90, 77, 64, 33], dtype)
    if dtype.startswith("int"):
        return array([0, 1, -1, 3, -5, 7, -12, 100, 127, -127, 99, -100, 90, -77, 64, 33], dtype)
    return array([0, 1, -1, 2.5, -5.25, 7, -12.75, 100, 0.3, -0.7, 1.1, -100, 90.5, 1e-3, 64, 1000], dtype)


def right(dtype, group):
    if dtype == "int1":
        return array([1] * 16, dtype)
    if group == "shift":
        return array([0, 1, 2, 3, 4, 5, 6, 7] * 2, dtype)
    if dtype.startswith("u"):
        return array([3, 1, 2, 9, 5, 250, 7, 13, 127, 100, 201, 255, 80, 11, 3, 34], dtype)
    if dtype.startswith("int"):
        return array([3, -1, -1, 2, 5, -7, 5, -13, 27, 100, 127, -3, 80, 11, -3, 34], dtype)
    return array([3, -1, 1, 2, 2.5, -7.5, 5.3, -13, 0.11, 0.45, 1.3, -3, 80, 11, -3.5, 1000], dtype)


def tolerance(group):
    return {"truediv": 3e-7, "mod": 1e-4}.get(group, 0.0)


def results():
    return out(5, "int32"), out((5, N), "int64"), out((5, N), "fp64")


GROUPS = ["linear", "truediv", "floordiv", "mod", "bits", "shift", "extremum"]
NUMBERS = {"true": True, "three": 3, "minus_three": -3, "two_to_31": 2**31, "two_to_40": 2**40, "two_and_half": 2.5, "big_float": 1e300}
SHIFTS = ("true", "three")

for a in TYPES:
    for group in GROUPS:
        for b in TYPES:
            if group == "shift" and a == b == "int1":
                continue  # a shift by the whole width has no meaning
            case(
                two_tensors,
                left(a),
                right(b, group),
                *results(),
                N=N,
                GROUP=group,
                tag=f"{group}.{a}.{b}",
                rtol=tolerance(group),
                atol=1e-4 if group == "mod" else 0,
            )
        for word, number in NUMBERS.items():
            if group == "shift" and (word not in SHIFTS or (a == "int1" and word == "true")):
                continue
            case(
                tensor_and_number,
                left(a),
                *results(),
                N=N,
                GROUP=group,
                NUMBER=number,
                tag=f"{group}.{a}.{word}",
                rtol=tolerance(group),
                atol=1e-4 if group == "mod" else 0,
            )
            if group == "mod" and abs(number) > 1e6:
                continue  # the GPU's remainder loses all digits of such quotients
            case(
                number_and_tensor,
                right(a, group),
                *results(),
                N=N,
                GROUP=group,
                NUMBER=number,
                tag=f"{group}.{word}.{a}",
                rtol=tolerance(group),
                atol=1e-4 if group == "mod" else 0,
            )
for a, b in [
    ("int8", "int32"),
    ("fp16", "fp32"),
    ("int32", "fp16"),
    ("bf16", "fp16"),
    ("int1", "int8"),
    ("uint8", "int8"),
    ("fp32", "int64"),
]:
    case(tensor_and_scalar, left(a), right(b, "linear")[:1], *results(), N=N, GROUP="linear", tag=f"{a}.{b}")
