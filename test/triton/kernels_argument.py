"""Arguments: numbers of every kind, 1 and None, tuples, defaults, functions, hints, specialisation."""

from collections import namedtuple

import triton
import triton.language as tl
from cases import bell, case, out

LIMIT = tl.constexpr(12)
NAMES = tl.constexpr(("a", "b"))
Layout = namedtuple("Layout", ["rows", "columns"])


@triton.jit
def number_types(o, f, i, j, k, b, u):
    tl.store(o, f.to(tl.float64))
    tl.store(o + 1, i)
    tl.store(o + 2, j)
    tl.store(o + 3, k)
    tl.store(o + 4, b)
    tl.store(o + 5, u)
    tl.store(o + 6, f.dtype.primitive_bitwidth)
    tl.store(o + 7, i.dtype.primitive_bitwidth)
    tl.store(o + 8, k.dtype.primitive_bitwidth)
    tl.store(o + 9, b.dtype.primitive_bitwidth)
    tl.store(o + 10, u.dtype.is_int_unsigned())


@triton.jit
def equal_to_one(x, o, stride, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i * stride, tl.load(x + i * stride) + stride)


@triton.jit(do_not_specialize=["n"])
def unspecialised(o, n):
    tl.store(o, n + 1)
    tl.store(o + 1, n.dtype.primitive_bitwidth)


@triton.jit(do_not_specialize=[1], do_not_specialize_on_alignment=["o"])
def unspecialised_position(o, n):
    tl.store(o, n * 2)


@triton.jit
def optional(x, y, o, N: tl.constexpr, scale=None):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    if y is not None:
        v += tl.load(y + i)
    if scale is None:
        v = v * 2
    else:
        v = v * scale
    tl.store(o + i, v)


@triton.jit
def tuple_argument(pointers, sizes, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(pointers[0] + i) + tl.load(pointers[1] + i)
    tl.store(o + i, v * sizes[0] + sizes[1])
    for k in tl.static_range(len(sizes)):
        tl.store(o + N + k, sizes[k])


@triton.jit
def named_tuple_argument(layout, o):
    tl.store(o, layout.rows * 10 + layout.columns)
    tl.store(o + 1, layout[1])


@triton.jit
def typed(o, n: tl.int64, m: "u8", f: tl.float64):  # noqa: F821
    tl.store(o, n * 2**33)
    tl.store(o + 1, m)
    tl.store(o + 2, f)
    tl.store(o + 3, n.dtype.primitive_bitwidth)


@triton.jit
def defaults(o, a, b=5, C: tl.constexpr = 7, D: tl.constexpr = None):
    tl.store(o, a + b * 10 + C * 100)
    if D is None:
        tl.store(o + 1, 1)


@triton.jit
def hints(x, o, n, N: tl.constexpr):
    n = tl.multiple_of(n, 8)
    i = tl.max_contiguous(tl.multiple_of(tl.arange(0, N), N), N)
    k = tl.max_constancy(i // 8, 8)
    tl.store(o + i, tl.load(x + i, mask=i < n, other=-1) + k)


@triton.jit
def globals_used(o):
    tl.store(o, LIMIT)
    tl.store(o + 1, LIMIT * 2 + 1)
    tl.store(o + 2, len(NAMES))
    if NAMES[1] == "b":
        tl.store(o + 3, 1)


@triton.jit
def negated(v):
    return -v


@triton.jit
def squared(v):
    return v * v


@triton.jit
def function_argument(x, o, ACTIVATION: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    if ACTIVATION is not None:
        v = ACTIVATION(v)
    tl.store(o + i, v)


@triton.jit
def constexpr_kinds(o, I: tl.constexpr, F: tl.constexpr, B: tl.constexpr, S: tl.constexpr, T: tl.constexpr, P: tl.constexpr):
    tl.store(o, I + F)
    if B:
        tl.store(o + 1, len(S))
    tl.store(o + 2, tl.full((), 300, T).to(tl.float32))
    tl.store(o + 3, P[0] + P[1])


case(number_types, out(11, "fp64"), 0.1, 5, -3, 2**35, True, 2**63 + 2048)
case(number_types, out(11, "fp64"), 1.0, 2**31 - 1, -(2**31), -(2**40), False, 2**64 - 1, tag="extreme")
case(equal_to_one, bell(32, seed=1), out(32), 1, N=16)
case(equal_to_one, bell(32, seed=1), out(32), 2, N=16, tag="two")
case(unspecialised, out(2, "int64"), 1)
case(unspecialised, out(2, "int64"), 2**40, tag="wide")
case(unspecialised_position, out(1, "int64"), 1)
case(optional, bell(16, seed=2), None, out(16), N=16)
case(optional, bell(16, seed=2), bell(16, seed=3), out(16), N=16, scale=0.3, tag="both")
case(tuple_argument, (bell(16, seed=4), bell(16, seed=5)), (3, 1, 2.5), out(19), N=16, rtol=1e-6)
case(named_tuple_argument, Layout(3, 1), out(2, "int32"))
case(typed, out(4, "fp64"), 3, 200, 0.1)
case(defaults, out(2, "int32"), 4)
case(defaults, out(2, "int32"), 4, 1, C=2, D=3, tag="given")
case(hints, bell(32, seed=6), out(32), 24, N=32)
case(globals_used, out(4, "int32"))
for activation in [None, negated, squared]:
    case(function_argument, bell(16, seed=7), out(16), ACTIVATION=activation, N=16, tag=activation.fn.__name__ if activation else "none")
case(constexpr_kinds, out(4), I=3, F=0.25, B=True, S="three", T=tl.int8, P=(1, 2))
