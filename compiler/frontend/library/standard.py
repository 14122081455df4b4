# Functions of Triton's standard library, in the language they are used from.
import triton
import triton.language as tl


@triton.jit
def cdiv(x, div):
    """The quotient of `x` and `div`, rounded up."""
    return (x + (div - 1)) // div


@triton.jit
def _smear(n, distance):
    return n | (n >> distance)


@triton.jit
def next_power_of_2(n):
    """The smallest power of two that is not less than `n`."""
    return _smear(_smear(_smear(_smear(_smear(n - 1, 1), 2), 4), 8), 16) + 1


@triton.jit
def sigmoid(x):
    """1 / (1 + exp(-x)) of each element."""
    return 1 / (1 + tl.exp(-x))


@triton.jit
def softmax(x, dim=None, keep_dims=False, ieee_rounding=False):
    """exp(x) over its sum along `dim`, computed without overflow."""
    if dim is None:
        axis: tl.constexpr = 0
    else:
        axis: tl.constexpr = dim
    shifted = x - max(x, axis, keep_dims=True)
    exponential = tl.exp(shifted)
    return tl.fdiv(exponential, sum(exponential, axis, keep_dims=True), ieee_rounding)


@triton.jit
def ravel(x, can_reorder=False):
    """The elements of `x` in row-major order, in one dimension."""
    return tl.reshape(x, [x.numel], can_reorder=can_reorder)


@triton.jit
def squeeze(x, dim: tl.constexpr):
    """`x` without its dimension `dim`, which has size 1."""
    tl.static_assert(x.shape[dim] == 1, "`squeeze` needs a dimension of size 1")
    return tl.reshape(x, x.shape[:dim] + x.shape[dim + 1:])


@triton.jit
def unsqueeze(x, dim: tl.constexpr):
    """`x` with a dimension of size 1 at `dim`."""
    return tl.reshape(x, x.shape[:dim] + (1,) + x.shape[dim:])


@triton.jit
def swizzle2d(i, j, size_i, size_j, size_g):
    """The tile (i, j) of a grid of `size_i` × `size_j` in an order that takes `size_g` rows at a time, column by column."""
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
    """The sum along `axis`, or of all elements. Narrow integers are summed as 32-bit ones unless `dtype` says otherwise."""
    return tl.reduce(_summand(input, dtype), axis, _add, keep_dims=keep_dims)


@triton.jit
def max(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False):
    """The largest element along `axis`, or of all; with `return_indices` its position, too."""
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
    """The smallest element along `axis`, or of all; with `return_indices` its position, too."""
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
    """The position of the largest element along `axis`, the first one unless `tie_break_left` is false."""
    value, index = max(input, axis, True, tie_break_left, keep_dims)
    return index


@triton.jit
def argmin(input, axis, tie_break_left=True, keep_dims=False):
    """The position of the smallest element along `axis`, the first one unless `tie_break_left` is false."""
    value, index = min(input, axis, True, tie_break_left, keep_dims)
    return index


@triton.jit
def xor_sum(input, axis=None, keep_dims=False):
    """The exclusive or of the elements along `axis`, or of all."""
    tl.static_assert(input.dtype.is_int(), "`xor_sum` needs integers")
    return tl.reduce(input, axis, _xor, keep_dims=keep_dims)


@triton.jit
def reduce_or(input, axis, keep_dims=False):
    """The bitwise or of the elements along `axis`."""
    tl.static_assert(input.dtype.is_int(), "`reduce_or` needs integers")
    return tl.reduce(input, axis, _or, keep_dims=keep_dims)


@triton.jit
def cumsum(input, axis=0, reverse=False, dtype=None):
    """The sums of the elements along `axis` up to each one."""
    return tl.associative_scan(_summand(_without_bfloat16(input), dtype), axis, _add, reverse)


@triton.jit
def cumprod(input, axis=0, reverse=False):
    """The products of the elements along `axis` up to each one."""
    return tl.associative_scan(_without_bfloat16(input), axis, _multiply, reverse)


@triton.jit
def item(input):
    """The only element of `input`."""
    tl.static_assert(input.numel == 1, "`item` needs a tensor of one element")
    if len(input.shape) == 0:
        return input
    else:
        return tl.reduce(input, None, _add)
