"""Attributes and methods of types, in kernels and on the host."""

import numpy as np
import pytest
import triton
import triton.language as tl

FACTS = [
    (tl.int8, "primitive_bitwidth", 8),
    (tl.int1, "primitive_bitwidth", 1),
    (tl.int16, "int_bitwidth", 16),
    (tl.float16, "fp_mantissa_width", 10),
    (tl.bfloat16, "exponent_bias", 127),
    (tl.float8e4nv, "exponent_bias", 7),
    (tl.float64, "itemsize", 8),
    (tl.float8e5, "name", "fp8e5"),
]
ANSWERS = [
    (tl.float8e5, "is_fp8", True),
    (tl.float16, "is_fp8", False),
    (tl.float8e5, "is_standard_floating", False),
    (tl.bfloat16, "is_floating", True),
    (tl.int32, "is_floating", False),
    (tl.uint8, "is_int_unsigned", True),
    (tl.int1, "is_bool", True),
    (tl.int32, "is_int_signed", True),
    (tl.float32, "is_fp32", True),
    (tl.float32, "is_ptr", False),
    (tl.float32, "is_block", False),
    (tl.float32, "is_const", False),
    (tl.int8, "get_int_max_value", 127),
    (tl.int64, "get_int_min_value", -(2**63)),
    (tl.uint64, "get_int_max_value", 2**64 - 1),
    (tl.float32, "codegen_name", "float32"),
    (tl.float32, "kind", 2),
]


@triton.jit
def checks(T: tl.constexpr, NAME: tl.constexpr, ANSWER: tl.constexpr, CALLS: tl.constexpr):
    if CALLS:
        tl.static_assert(getattr(T, NAME)() == ANSWER)
    else:
        tl.static_assert(getattr(T, NAME) == ANSWER)


@pytest.mark.parametrize("dtype, name, value", FACTS)
def test_attributes(dtype, name, value):
    assert getattr(dtype, name) == value
    checks[(1,)](dtype, name, value, False)


@pytest.mark.parametrize("dtype, name, value", ANSWERS)
def test_methods(dtype, name, value):
    assert getattr(dtype, name)() == value
    checks[(1,)](dtype, name, value, True)


def test_what_a_type_does_not_have():
    for dtype, name in ((tl.float32, "int_bitwidth"), (tl.int32, "exponent_bias"), (tl.float32, "get_int_max_value"), (tl.int8, "no")):
        assert not hasattr(dtype, name)
    assert tl.pointer_type(tl.float32).is_ptr() and not tl.pointer_type(tl.float32).is_floating()


@triton.jit
def of_values(x, c: tl.const, N: tl.constexpr):
    tile = tl.load(x + tl.arange(0, N))
    tl.static_assert(isinstance(x.dtype, tl.pointer_type) and isinstance(x.type, tl.pointer_type))
    tl.static_assert(isinstance(x.dtype, tl.dtype) and not isinstance(tile.dtype, tl.pointer_type))
    tl.static_assert(isinstance(tile.type, tl.block_type) and isinstance(tile.type, tl.dtype))
    tl.static_assert(not isinstance(tile.dtype, tl.block_type) and tile.type.is_block())
    tl.static_assert(tile.type.get_block_shapes() == (N,) and tile.type.nbytes == 4 * N)
    tl.static_assert(tile.type.is_floating() and tile.type.is_fp32() and tile.type.scalar == tl.float32)
    tl.static_assert(isinstance(N.type, tl.constexpr_type) and N.type.value == N)
    tl.static_assert(not isinstance(tile.type, tl.constexpr_type) and not isinstance(N.type, tl.block_type))
    tl.static_assert(c.dtype.is_const() and not x.dtype.is_const() and c.dtype.element_ty == tl.float32)
    tl.static_assert(c.dtype == tl.pointer_type(tl.float32, const=True) and c.dtype != x.dtype)
    tl.static_assert(x.dtype.element_ty.kind() == tl.dtype.KIND.FLOATING)
    tl.static_assert(tl.uint8.int_signedness == tl.dtype.SIGNEDNESS.UNSIGNED)
    tl.static_assert(tl.dtype.is_dtype("fp16") and not tl.dtype.is_dtype("fp17"))
    tl.store(x, tl.load(c))


def test_types_of_values():
    x = np.zeros(4, np.float32)
    of_values[(1,)](x, np.ones(4, np.float32), 4)
    assert x[0] == 1
