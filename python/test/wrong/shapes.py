"""Shapes and types that do not fit. Each kernel is wrong at the marked line."""

import tandem
import tandem.language as tl


@tandem.jit
def add(x_ptr):
    y = tl.arange(0, 16) + tl.arange(0, 32)  # <-- tl.arange(0, 16) + tl.arange(0, 32): 16
    tl.store(x_ptr + y, 0.0)


@tandem.jit
def compare(x_ptr):
    mask = tl.arange(0, 8) < tl.arange(0, 4)  # <-- tl.arange(0, 8) <: 8
    tl.store(x_ptr, 0.0, mask=mask)


@tandem.jit
def dot_inner(x_ptr):
    a = tl.zeros((16, 32), tl.float16)
    b = tl.zeros((16, 32), tl.float16)
    tl.store(x_ptr, tl.sum(tl.dot(a, b)))  # <-- tl.dot(a, b): `dot` operands have inner dimensions 32 and 16


@tandem.jit
def dot_rank(x_ptr):
    a = tl.zeros((16, 16), tl.float16)
    b = tl.zeros((16,), tl.float16)
    tl.store(x_ptr, tl.sum(tl.dot(a, b)))  # <-- tl.dot(a, b): `dot`


@tandem.jit
def dot_types(x_ptr):
    a = tl.zeros((16, 16), tl.float16)
    b = tl.zeros((16, 16), tl.float32)
    tl.store(x_ptr, tl.sum(tl.dot(a, b)))  # <-- tl.dot(a, b): fp16


@tandem.jit
def dot_accumulator(x_ptr):
    a = tl.zeros((16, 16), tl.float16)
    tl.store(x_ptr, tl.sum(tl.dot(a, a, acc=tl.zeros((32, 16), tl.float32))))  # <-- tl.dot(a, a: 32


@tandem.jit
def dot_scalars(x_ptr, f):
    tl.store(x_ptr, tl.dot(f, f))  # <-- tl.dot(f, f): `dot`


@tandem.jit
def store_value(x_ptr):
    tl.store(x_ptr + tl.arange(0, 16), tl.zeros((32,), tl.float32))  # <-- tl.store(: 32


@tandem.jit
def store_mask(x_ptr):
    tl.store(x_ptr + tl.arange(0, 16), 0.0, mask=tl.arange(0, 8) < 4)  # <-- tl.store(: 8


@tandem.jit
def store_scalar_pointer(x_ptr):
    tl.store(x_ptr, tl.zeros((32,), tl.float32))  # <-- tl.store(: 32


@tandem.jit
def store_to_integer(n):
    tl.store(n, 1.0)  # <-- tl.store(n: pointer


@tandem.jit
def load_from_float(f):
    tl.load(f)  # <-- tl.load(f): pointer


@tandem.jit
def load_mask_type(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr, mask=x_ptr))  # <-- tl.load(: mask


@tandem.jit
def load_other_alone(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr, other=0.0))  # <-- tl.load(: `other`


@tandem.jit
def where_shapes(x_ptr):
    y = tl.where(tl.arange(0, 4) < 2, tl.zeros((8,), tl.float32), 0.0)  # <-- tl.where(: 8
    tl.store(x_ptr, tl.sum(y))


@tandem.jit
def reshape_count(x_ptr):
    y = tl.reshape(tl.arange(0, 16), (4, 8))  # <-- tl.reshape(: 16
    tl.store(x_ptr, tl.sum(y))


@tandem.jit
def broadcast_to_shape(x_ptr):
    y = tl.broadcast_to(tl.arange(0, 16), (8, 8))  # <-- tl.broadcast_to(: 16
    tl.store(x_ptr, tl.sum(y))


@tandem.jit
def trans_axes(x_ptr):
    y = tl.trans(tl.zeros((4, 4), tl.float32), 0, 2)  # <-- tl.trans(
    tl.store(x_ptr, tl.sum(y))


@tandem.jit
def sum_axis(x_ptr):
    tl.store(x_ptr, tl.sum(tl.arange(0, 16), axis=1))  # <-- tl.sum(: 1


@tandem.jit
def cumsum_axis(x_ptr):
    tl.store(x_ptr + tl.arange(0, 16), tl.cumsum(tl.arange(0, 16), axis=2))  # <-- tl.cumsum(: 2


@tandem.jit
def arange_runtime(x_ptr, n):
    tl.store(x_ptr + tl.arange(0, n), 0.0)  # <-- tl.arange(0, n): known when the kernel is compiled


@tandem.jit
def arange_not_power(x_ptr):
    tl.store(x_ptr + tl.arange(0, 10), 0.0)  # <-- tl.arange(0, 10): power of 2


@tandem.jit
def arange_backwards(x_ptr):
    tl.store(x_ptr + tl.arange(16, 0), 0.0)  # <-- tl.arange(16, 0)


@tandem.jit
def arange_empty(x_ptr):
    tl.store(x_ptr + tl.arange(4, 4), 0.0)  # <-- tl.arange(4, 4)


@tandem.jit
def arange_huge(x_ptr):
    tl.store(x_ptr + tl.arange(0, 1 << 40), 0.0)  # <-- tl.arange(0, 1 << 40)


@tandem.jit
def zeros_runtime(x_ptr, n):
    tl.store(x_ptr, tl.sum(tl.zeros((n,), tl.float32)))  # <-- tl.zeros(: known when the kernel is compiled


@tandem.jit
def zeros_negative(x_ptr):
    tl.store(x_ptr, tl.sum(tl.zeros((-4,), tl.float32)))  # <-- tl.zeros(: -4


@tandem.jit
def zeros_not_power(x_ptr):
    tl.store(x_ptr, tl.sum(tl.zeros((3,), tl.float32)))  # <-- tl.zeros(: power of 2


@tandem.jit
def zeros_too_large(x_ptr):
    tl.store(x_ptr, tl.sum(tl.zeros((1 << 20, 1 << 20), tl.float32)))  # <-- tl.zeros(


@tandem.jit
def zeros_no_type(x_ptr):
    tl.store(x_ptr, tl.sum(tl.zeros((4,), 5)))  # <-- tl.zeros(: dtype


@tandem.jit
def full_string(x_ptr):
    tl.store(x_ptr, tl.sum(tl.full((4,), "x", tl.float32)))  # <-- tl.full(


@tandem.jit
def float_modulo_pointer(x_ptr):
    tl.store(x_ptr % 4, 0.0)  # <-- x_ptr % 4: invalid operands of type `pointer<fp32>` and `int32`


@tandem.jit
def pointer_plus_float(x_ptr, f):
    tl.store(x_ptr + f, 0.0)  # <-- x_ptr + f


@tandem.jit
def pointer_plus_pointer(x_ptr, y_ptr):
    tl.store(x_ptr + y_ptr, 0.0)  # <-- x_ptr + y_ptr


@tandem.jit
def and_of_floats(x_ptr, f):
    tl.store(x_ptr, f & f)  # <-- f & f


@tandem.jit
def shift_of_float(x_ptr, f):
    tl.store(x_ptr, f << 2)  # <-- f << 2


@tandem.jit
def invert_float(x_ptr, f):
    tl.store(x_ptr, ~f)  # <-- ~f


@tandem.jit
def add_string(x_ptr, n):
    tl.store(x_ptr, n + "a")  # <-- n + "a"


@tandem.jit
def add_none(x_ptr, n):
    tl.store(x_ptr, n + None)  # <-- n + None


@tandem.jit
def add_tuple(x_ptr, n):
    tl.store(x_ptr, n + (1, 2))  # <-- n + (1, 2)


@tandem.jit
def divide_by_zero(x_ptr):
    tl.store(x_ptr, 1 // 0)  # <-- 1 // 0: zero


@tandem.jit
def modulo_by_zero(x_ptr, Z: tl.constexpr = 0):
    tl.store(x_ptr, 7 % Z)  # <-- 7 % Z: zero


@tandem.jit
def negative_shift(x_ptr):
    tl.store(x_ptr, 1 << -1)  # <-- 1 << -1


@tandem.jit
def huge_power(x_ptr):
    tl.store(x_ptr, 10 ** 100000)  # <-- 10 ** 100000


@tandem.jit
def huge_shift(x_ptr):
    tl.store(x_ptr, 1 << 100000000000)  # <-- 1 << 100000000000


@tandem.jit
def huge_integer(x_ptr, n):
    tl.store(x_ptr, n + 2 ** 70)  # <-- n + 2 ** 70


@tandem.jit
def condition_of_tensor(x_ptr):
    if tl.arange(0, 4) < 2:  # <-- tl.arange(0, 4) < 2
        tl.store(x_ptr, 0.0)


@tandem.jit
def condition_of_pointer(x_ptr):
    while x_ptr + tl.arange(0, 4):  # <-- x_ptr
        tl.store(x_ptr, 0.0)


@tandem.jit
def and_of_tensors(x_ptr):
    tl.store(x_ptr, 0.0, mask=not tl.arange(0, 4))  # <-- tl.store(: 4


@tandem.jit
def slice_of_tensor(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(x_ptr, x[0:4])  # <-- x[


@tandem.jit
def index_of_tensor(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(x_ptr, x[3])  # <-- x[


@tandem.jit
def too_many_new_axes(x_ptr):
    x = tl.arange(0, 16)
    tl.store(x_ptr, x[:, :, None])  # <-- x[


@tandem.jit
def index_of_scalar(x_ptr, n):
    tl.store(x_ptr, n[0])  # <-- n[0]


@tandem.jit
def assign_into_tensor(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    x[0] = 1.0  # <-- x[0]


@tandem.jit
def tuple_index(x_ptr):
    t = (1.0, 2.0)
    tl.store(x_ptr, t[2])  # <-- t[2]: 2


@tandem.jit
def tuple_runtime_index(x_ptr, n):
    t = (1.0, 2.0)
    tl.store(x_ptr, t[n])  # <-- t[n]: known when the kernel is compiled


@tandem.jit
def cast_to_nothing(x_ptr, n):
    tl.store(x_ptr, n.to(tl.float31))  # <-- tl.float31: `float31`


@tandem.jit
def cast_to_number(x_ptr, n):
    tl.store(x_ptr, n.to(3))  # <-- n.to(3)


@tandem.jit
def cast_pointer_to_float(x_ptr):
    tl.store(x_ptr, x_ptr.to(tl.float32))  # <-- x_ptr.to(


@tandem.jit
def bitcast_sizes(x_ptr, n):
    tl.store(x_ptr, n.to(tl.float64, bitcast=True))  # <-- n.to(: 64


@tandem.jit
def math_of_integer(x_ptr, n):
    tl.store(x_ptr, tl.exp(n))  # <-- tl.exp(n): int32


@tandem.jit
def join_shapes(x_ptr):
    tl.store(x_ptr, tl.sum(tl.join(tl.zeros((4,), tl.float32), tl.zeros((8,), tl.float32))))  # <-- tl.join(: 4


@tandem.jit
def cat_shapes(x_ptr):
    y = tl.cat(tl.zeros((4,), tl.float32), tl.zeros((8,), tl.int32), can_reorder=True)  # <-- tl.cat(
    tl.store(x_ptr, tl.sum(y))


@tandem.jit
def split_last(x_ptr):
    a, b = tl.split(tl.zeros((4, 4), tl.float32))  # <-- tl.split(: 4
    tl.store(x_ptr, tl.sum(a))


@tandem.jit
def expand_axis(x_ptr):
    tl.store(x_ptr, tl.sum(tl.expand_dims(tl.arange(0, 4), 5)))  # <-- tl.expand_dims(: 5


@tandem.jit
def permute_count(x_ptr):
    tl.store(x_ptr, tl.sum(tl.permute(tl.zeros((4, 4), tl.float32), (0, 1, 2))))  # <-- tl.permute(


@tandem.jit
def atomic_of_float_or(x_ptr):
    tl.atomic_or(x_ptr, 1.0)  # <-- tl.atomic_or(


@tandem.jit
def atomic_value_shape(x_ptr):
    tl.atomic_add(x_ptr + tl.arange(0, 4), tl.zeros((8,), tl.float32))  # <-- tl.atomic_add(: 8


@tandem.jit
def descriptor_block(x_ptr):
    d = tl.make_tensor_descriptor(x_ptr, shape=[64], strides=[1], block_shape=[16, 16])  # <-- tl.make_tensor
    tl.store(x_ptr, tl.sum(d.load([0])))


@tandem.jit
def block_pointer_check(x_ptr):
    b = tl.make_block_ptr(x_ptr, (8, 8), (8, 1), offsets=(0,), block_shape=(4, 4), order=(1, 0))  # <-- tl.make_block
    tl.store(b, tl.zeros((4, 4), tl.float32))


@tandem.jit
def reduce_without_combine(x_ptr):
    tl.store(x_ptr, tl.reduce(tl.arange(0, 4), 0, 5))  # <-- tl.reduce(


@tandem.jit
def max_of_pointer(x_ptr):
    tl.store(x_ptr, tl.maximum(x_ptr, x_ptr))  # <-- tl.maximum(


@tandem.jit
def clamp_types(x_ptr, n):
    tl.store(x_ptr, tl.clamp(n, 0, 5))  # <-- tl.clamp(


@tandem.jit
def constant_annotation(x_ptr, n):
    y: tl.constexpr = n + 1
    tl.store(x_ptr + tl.arange(0, y), 0.0)  # <-- tl.arange: `end` must be


@tandem.jit
def static_failure(x_ptr, B: tl.constexpr = 3):
    tl.static_assert(B == 4, "B must be four")  # <-- tl.static_assert(: B must be four


@tandem.jit
def static_runtime(x_ptr, n):
    tl.static_assert(n == 4)  # <-- tl.static_assert(: known at compile time


@tandem.jit
def mask_without_pointer_block(x_ptr):
    tl.store(x_ptr, 0.0, mask=tl.arange(0, 4) < 2)  # <-- tl.store(: 4
