# Functions of Triton's standard library, in the language they are used from.
import triton
import triton.language as tl


@triton.jit
def cdiv(x, div):
    return (x + (div - 1)) // div


@triton.jit
def _smear(n, distance):
    return n | (n >> distance)


@triton.jit
def next_power_of_2(n):
    return _smear(_smear(_smear(_smear(_smear(n - 1, 1), 2), 4), 8), 16) + 1


@triton.jit
def sigmoid(x):
    return 1 / (1 + tl.exp(-x))


@triton.jit
def softmax(x, dim=None, keep_dims=False, ieee_rounding=False):
    if dim is None:
        axis: tl.constexpr = 0
    else:
        axis: tl.constexpr = dim
    shifted = x - max(x, axis, keep_dims=True)
    exponential = tl.exp(shifted)
    return tl.fdiv(exponential, sum(exponential, axis, keep_dims=True), ieee_rounding)


@triton.jit
def ravel(x, can_reorder=False):
    return tl.reshape(x, [x.numel], can_reorder=can_reorder)


@triton.jit
def squeeze(x, dim: tl.constexpr):
    tl.static_assert(x.shape[dim] == 1, "`squeeze` needs a dimension of size 1")
    return tl.reshape(x, x.shape[:dim] + x.shape[dim + 1:])


@triton.jit
def unsqueeze(x, dim: tl.constexpr):
    return tl.reshape(x, x.shape[:dim] + (1,) + x.shape[dim:])


@triton.jit
def swizzle2d(i, j, size_i, size_j, size_g):
    # Walks groups of `size_g` rows column by column.
    index = i * size_j + j
    group_size = size_g * size_j
    group = index // group_size
    first_row = group * size_g
    rows = tl.minimum(size_i - first_row, size_g)
    index = index % group_size
    return first_row + index % rows, index // rows


@triton.jit
def _add(a, b):
    return a + b


@triton.jit
def _multiply(a, b):
    return a * b


@triton.jit
def _xor(a, b):
    return a ^ b


@triton.jit
def _or(a, b):
    return a | b


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def _smaller(a, b):
    return tl.minimum(a, b)


@triton.jit
def _larger_first(value1, index1, value2, index2):
    keep = (value1 > value2) | ((value1 == value2) & (index1 < index2))
    return tl.where(keep, value1, value2), tl.where(keep, index1, index2)


@triton.jit
def _larger_any(value1, index1, value2, index2):
    keep = value1 > value2
    return tl.where(keep, value1, value2), tl.where(keep, index1, index2)


@triton.jit
def _smaller_first(value1, index1, value2, index2):
    keep = (value1 < value2) | ((value1 == value2) & (index1 < index2))
    return tl.where(keep, value1, value2), tl.where(keep, index1, index2)


@triton.jit
def _smaller_any(value1, index1, value2, index2):
    keep = value1 < value2
    return tl.where(keep, value1, value2), tl.where(keep, index1, index2)


@triton.jit
def _without_bfloat16(x):
    if x.dtype.is_bf16():
        return x.to(tl.float32)
    else:
        return x


# Extrema of narrow types are taken, and given, in 32 bits.
@triton.jit
def _widened(x):
    if x.dtype.primitive_bitwidth < 32:
        if x.dtype.is_floating():
            return x.to(tl.float32)
        else:
            return x.to(tl.int32)
    else:
        return x


# Sums of narrow integers are taken in 32 bits.
@triton.jit
def _summand(x, dtype: tl.constexpr):
    if dtype is not None:
        return x.to(dtype)
    elif x.dtype.is_int_signed() and x.dtype.primitive_bitwidth < 32:
        return x.to(tl.int32)
    elif x.dtype.is_int_unsigned() and x.dtype.primitive_bitwidth < 32:
        return x.to(tl.uint32)
    else:
        return x


@triton.jit
def sum(input, axis=None, keep_dims=False, dtype=None):
    return tl.reduce(_summand(input, dtype), axis, _add, keep_dims=keep_dims)


@triton.jit
def max(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    tl.static_assert(axis is None or isinstance(axis, int),
                     "the second argument of `tl.max` is a dimension; of two values use `tl.maximum(x, y)`")
    if return_indices:
        if return_indices_tie_break_left:
            return tl._reduce_with_indices(_without_bfloat16(input), axis, _larger_first, keep_dims=keep_dims)
        else:
            return tl._reduce_with_indices(_without_bfloat16(input), axis, _larger_any, keep_dims=keep_dims)
    else:
        return tl.reduce(_widened(input), axis, _larger, keep_dims=keep_dims)


@triton.jit
def min(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    tl.static_assert(axis is None or isinstance(axis, int),
                     "the second argument of `tl.min` is a dimension; of two values use `tl.minimum(x, y)`")
    if return_indices:
        if return_indices_tie_break_left:
            return tl._reduce_with_indices(_without_bfloat16(input), axis, _smaller_first, keep_dims=keep_dims)
        else:
            return tl._reduce_with_indices(_without_bfloat16(input), axis, _smaller_any, keep_dims=keep_dims)
    else:
        return tl.reduce(_widened(input), axis, _smaller, keep_dims=keep_dims)


@triton.jit
def argmax(input, axis, tie_break_left=True, keep_dims=False):
    value, index = max(input, axis, True, tie_break_left, keep_dims)
    return index


@triton.jit
def argmin(input, axis, tie_break_left=True, keep_dims=False):
    value, index = min(input, axis, True, tie_break_left, keep_dims)
    return index


@triton.jit
def xor_sum(input, axis=None, keep_dims=False):
    tl.static_assert(input.dtype.is_int(), "`xor_sum` needs integers")
    return tl.reduce(input, axis, _xor, keep_dims=keep_dims)


@triton.jit
def reduce_or(input, axis, keep_dims=False):
    tl.static_assert(input.dtype.is_int(), "`reduce_or` needs integers")
    return tl.reduce(input, axis, _or, keep_dims=keep_dims)


@triton.jit
def cumsum(input, axis=0, reverse=False, dtype=None):
    return tl.associative_scan(_summand(_without_bfloat16(input), dtype), axis, _add, reverse)


@triton.jit
def cumprod(input, axis=0, reverse=False):
    return tl.associative_scan(_without_bfloat16(input), axis, _multiply, reverse)


@triton.jit
def item(input):
    tl.static_assert(input.numel == 1, "`item` needs a tensor of one element")
    if len(input.shape) == 0:
        return input
    else:
        return tl.reduce(input, None, _add)
