"""Programs that Triton refuses; so must Tandem."""

import triton
import triton.language as tl
from cases import bell, case, out


@triton.jit
def size_not_power_of_two(o):
    tl.store(o + tl.arange(0, 12), 1.0)


@triton.jit
def shapes_that_differ(o):
    tl.store(o + tl.arange(0, 8), tl.arange(0, 8) + tl.arange(0, 16))


@triton.jit
def unknown_name(o):
    tl.store(o, nowhere)  # noqa: F821


@triton.jit
def failing_assertion(o, N: tl.constexpr):
    tl.static_assert(N == 4, "four")
    tl.store(o, N)


@triton.jit
def type_changes_in_loop(o, n):
    v = 0
    for k in range(n):
        v = v + 0.5
    tl.store(o, v)


@triton.jit
def different_types_in_branches(o, n):
    if n > 3:
        v = tl.arange(0, 4)
    else:
        v = tl.arange(0, 8)
    tl.store(o, tl.sum(v))


@triton.jit
def dot_dimensions(o):
    a = tl.zeros((16, 32), tl.float16)
    b = tl.zeros((16, 32), tl.float16)
    i = tl.arange(0, 16)
    tl.store(o + i, tl.sum(tl.dot(a, b), 1))


@triton.jit
def dot_types(o):
    a = tl.zeros((16, 16), tl.float16)
    b = tl.zeros((16, 16), tl.float32)
    tl.store(o + tl.arange(0, 16), tl.sum(tl.dot(a, b), 1))


@triton.jit
def plain_global(o):
    tl.store(o, WIDTH)


@triton.jit
def store_to_value(o):
    tl.store(tl.arange(0, 4), 1.0)


@triton.jit
def float_pointer_offset(o):
    tl.store(o + 0.5, 1.0)


@triton.jit
def bitwise_on_floats(x, o):
    tl.store(o, tl.load(x) & 1)


@triton.jit
def bitcast_widths(x, o):
    tl.store(o, tl.load(x).to(tl.int16, bitcast=True))


@triton.jit
def reshape_size(o):
    v = tl.reshape(tl.arange(0, 16), (4, 8))
    tl.store(o, tl.sum(v))


@triton.jit
def reduce_axis(o):
    tl.store(o, tl.sum(tl.arange(0, 16), axis=1))


@triton.jit
def branch_on_tile(o):
    if tl.arange(0, 4) > 2:
        tl.store(o, 1.0)


@triton.jit
def missing_argument(o):
    tl.store(o, tl.full((4,)))


@triton.jit
def unknown_argument(o):
    tl.store(o, 1.0, masc=True)


@triton.jit
def list_comprehension_over_tile(o, n):
    v = [k for k in tl.arange(0, 4)]
    tl.store(o, v[0])


@triton.jit
def return_in_loop(o, n):
    for k in range(n):
        if k == 3:
            return
    tl.store(o, 1.0)


@triton.jit
def break_in_loop(o, n):
    for k in range(n):
        if k == 3:
            break
    tl.store(o, 1.0)


@triton.jit
def undefined_in_one_branch(o, n):
    if n > 2:
        v = 1.0
    tl.store(o, v)


@triton.jit
def negative_to_unsigned(o):
    v = tl.zeros((4,), tl.uint32) - (-1)
    tl.store(o + tl.arange(0, 4), v)


@triton.jit
def mask_without_broadcast(x, o):
    i = tl.arange(0, 4)
    tl.store(o + i, tl.load(x + i, mask=tl.arange(0, 8) < 4))


@triton.jit
def scalar_pointer_block_mask(x, o):
    tl.store(o, tl.load(x, mask=tl.arange(0, 8) < 4))


@triton.jit
def other_without_mask(x, o):
    i = tl.arange(0, 4)
    tl.store(o + i, tl.load(x + i, other=0.0))


@triton.jit
def constexpr_reassigned(o, N: tl.constexpr):
    M: tl.constexpr = N
    M = tl.load(o)
    tl.store(o, M)


@triton.jit
def power_of_tensor(x, o):
    tl.store(o, tl.load(x) ** 2)


@triton.jit
def chained_comparison(x, o):
    v = tl.load(x)
    tl.store(o, 0 < v < 10)


@triton.jit
def negative_range_bound(o):
    tl.store(o + tl.arange(4, 2), 1.0)


@triton.jit
def join_shapes(o):
    tl.store(o, tl.sum(tl.join(tl.arange(0, 4), tl.arange(0, 8))))


@triton.jit
def exp_of_integer(o):
    tl.store(o, tl.exp(tl.program_id(0)))


@triton.jit
def floor_divide_floats(x, o):
    tl.store(o, tl.load(x) // 2.0)


@triton.jit
def unary_plus(x, o):
    tl.store(o, +tl.load(x))


@triton.jit
def rounded_root_of_fp64(x, o):
    tl.store(o, tl.sqrt_rn(tl.load(x).to(tl.float64)))


@triton.jit
def hint_of_wrong_length(o):
    tl.store(o + tl.max_contiguous(tl.program_id(0), 4), 1.0)


@triton.jit
def flip_without_axis(o):
    tl.store(o, tl.sum(tl.flip(tl.zeros((4, 8), tl.float32))))


WIDTH = 4

for kernel in [
    size_not_power_of_two,
    shapes_that_differ,
    unknown_name,
    dot_dimensions,
    dot_types,
    plain_global,
    store_to_value,
    float_pointer_offset,
    reshape_size,
    reduce_axis,
    branch_on_tile,
    missing_argument,
    unknown_argument,
    negative_to_unsigned,
    negative_range_bound,
    join_shapes,
    exp_of_integer,
    hint_of_wrong_length,
    flip_without_axis,
]:
    case(kernel, out(32))
for kernel in [
    bitwise_on_floats,
    bitcast_widths,
    mask_without_broadcast,
    scalar_pointer_block_mask,
    other_without_mask,
    power_of_tensor,
    unary_plus,
    rounded_root_of_fp64,
    chained_comparison,
    floor_divide_floats,
]:
    case(kernel, bell(32), out(32))
for kernel in [
    type_changes_in_loop,
    different_types_in_branches,
    list_comprehension_over_tile,
    return_in_loop,
    break_in_loop,
    undefined_in_one_branch,
]:
    case(kernel, out(32), 5)
for kernel in [failing_assertion, constexpr_reassigned]:
    case(kernel, out(32), N=8)
