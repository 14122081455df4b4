"""Loads and stores: masks, other values, broadcasting, block pointers, tensor descriptors."""

import triton
import triton.language as tl
from cases import array, bell, case, inout, integers, out, uniform


@triton.jit
def masked_copy(x, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.load(x + i, mask=i < n, other=-1.5), mask=i % 3 != 1)


@triton.jit
def other_converts(x, o, n, N: tl.constexpr, OTHER: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.load(x + i, mask=i < n, other=OTHER))


@triton.jit
def other_tensor(x, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.load(x + i, i < n, i * 2))


@triton.jit
def scalar_masked(x, o, n):
    p = tl.program_id(0)
    v = tl.load(x + p, mask=p < n, other=9.0)
    tl.store(o + p, v + 1, mask=p != 2)


@triton.jit
def cached(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i, cache_modifier=".cg")
    w = tl.load(x + i, cache_modifier=".ca") + tl.load(x + i, eviction_policy="evict_first")
    u = tl.load(x + i, eviction_policy="evict_last")
    tl.store(o + i, v + w + u + tl.load(x + i, volatile=True), cache_modifier=".wb")


@triton.jit
def outer_product(x, y, o, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    tl.store(o + m[:, None] * N + n[None, :], tl.load(x + m)[:, None] * tl.load(y + n)[None, :] + m[:, None])


@triton.jit
def broadcast_forms(x, o, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    at = m[:, None] * N + n
    v = tl.load(x + m)
    a, b = tl.broadcast(v[:, None], n[None, :])
    c = tl.broadcast_to(tl.expand_dims(v, 1), (M, N))
    d = tl.broadcast_to(v[:, None], M, N)
    tl.store(o + at, a + b + c * 2 + d * 4)


@triton.jit
def where_forms(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(o + i, tl.where(v > 0, v, 0))
    tl.store(o + N + i, tl.where(v > 0, 1, v))
    tl.store(o + 2 * N + i, tl.where(i, v, -v))
    tl.store(o + 3 * N + i, tl.where(True, v, 0.0))
    tl.store(o + 4 * N + i, tl.where(v < 0, float("inf"), float("-inf")))


@triton.jit
def scattered(x, index, o, N: tl.constexpr):
    i = tl.arange(0, N)
    at = tl.load(index + i)
    tl.store(o + at, tl.load(x + N - 1 - at))


@triton.jit
def pointer_arithmetic(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    p = x + N
    p -= 1
    q = 1 + o
    tl.store(q - 1 + i, tl.load(p - i))


@triton.jit
def typed_pointer(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    words = x.to(tl.pointer_type(tl.int32))
    tl.store(o.to(tl.pointer_type(tl.int32), bitcast=True) + i, tl.load(words + i) ^ 1)


@triton.jit
def block_pointer_copy(x, o, M, N, stride, BM: tl.constexpr, BN: tl.constexpr, PADDING: tl.constexpr):
    source = tl.make_block_ptr(x, (M, N), (stride, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))
    target = tl.make_block_ptr(o, (32, 32), (32, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))
    for _ in range(2):
        v = tl.load(source, boundary_check=(0, 1), padding_option=PADDING)
        tl.store(target, v)
        source = tl.advance(source, (0, BN))
        target = tl.advance(target, [0, BN])


@triton.jit
def block_pointer_store(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_block_ptr(x, shape=(BM, BN), strides=(1, BM), offsets=(0, 0), block_shape=(BM, BN), order=(0, 1))
    target = tl.make_block_ptr(o, shape=(M, N), strides=(N, 1), offsets=(2, -3), block_shape=(BM, BN), order=(1, 0))
    tl.store(target, tl.load(source), boundary_check=(0, 1))


@triton.jit
def block_pointer_vector(x, o, n, B: tl.constexpr):
    source = tl.make_block_ptr(x, (n,), (1,), (tl.program_id(0) * B,), (B,), (0,))
    v = tl.load(source, boundary_check=(0,))
    tl.store(o + tl.program_id(0) * B + tl.arange(0, B), v)


@triton.jit
def descriptor_copy(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr, PADDING: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[BM, BN], padding_option=PADDING)
    target = tl.make_tensor_descriptor(o, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    r, c = tl.program_id(0) * BM, tl.program_id(1) * BN
    v = source.load([r, c])
    target.store([r, c], v * 2)


@triton.jit
def descriptor_padding(x, o, M, N, ROW, COLUMN, BM: tl.constexpr, BN: tl.constexpr, PADDING: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN], padding_option=PADDING)
    v = tl.load_tensor_descriptor(source, [ROW, COLUMN])
    i = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    tl.store(o + i, v)


@triton.jit
def descriptor_accumulate(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
    target = tl.make_tensor_descriptor(o, [M, N], [N, 1], [BM, BN])
    i = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    target.atomic_add([M - 4, 0], tl.load(x + i))
    target.atomic_add([0, 0], tl.load(x + i))


@triton.jit
def descriptor_three(x, o, A, B, C, BLOCK: tl.constexpr):
    d = tl.make_tensor_descriptor(x, [A, B, C], [B * C, C, 1], [1, BLOCK, BLOCK])
    v = d.load([1, 0, 0]).reshape(BLOCK, BLOCK)
    i = tl.arange(0, BLOCK)
    tl.store(o + i[:, None] * BLOCK + i[None, :], v)


@triton.jit
def descriptor_extrema(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
    target = tl.make_tensor_descriptor(o, [M, N], [N, 1], [BM, BN])
    i = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    v = tl.load(x + i)
    target.atomic_max([0, 0], v)
    target.atomic_min([BM, 0], v)
    target.atomic_xor([M - 4, N - BN], v)


@triton.jit
def descriptor_shape_members(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
    d = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    tl.store(o, d.shape[0] * 1000 + d.shape[1])
    tl.store(o + 1, d.block_shape[0] * 1000 + d.block_shape[1])
    tl.store(o + 2, d.strides[0])
    tl.store(o + 3, d.dtype.primitive_bitwidth)


case(descriptor_extrema, integers((8, 16), -99, 99, "int32", 17), inout(integers((20, 32), -99, 99, "int32", 18)), 20, 32, BM=8, BN=16)
case(descriptor_shape_members, bell((20, 32), "fp16", 19), out(4, "int32"), 20, 32, BM=8, BN=16)
case(masked_copy, bell(64, seed=1), out(64, fill=5), 40, N=64)
for t in ["int8", "int32", "fp16", "bf16", "fp32", "uint8", "int64"]:
    case(other_converts, integers(32, 0, 50, t, 2), out(32, t), 20, N=32, OTHER=7, tag=t)
    case(other_converts, integers(32, 0, 50, t, 2), out(32, t), 20, N=32, OTHER=2.75, tag=f"{t}.float")
    case(other_tensor, integers(32, 0, 50, t, 2), out(32, t), 20, N=32, tag=t)
case(scalar_masked, bell(4, seed=3), out(4), 2, grid=4)
case(cached, bell(32, seed=4), out(32), N=32)
case(outer_product, bell(16, seed=5), bell(32, seed=6), out((16, 32)), M=16, N=32, rtol=1e-6)
case(broadcast_forms, bell(8, seed=7), out((8, 16)), M=8, N=16)
case(where_forms, bell(32, seed=8), out((5, 32)), N=32)
case(where_forms, integers(32, -9, 9, "int32", 8), out((5, 32)), N=32, tag="int32")
case(scattered, bell(16, seed=9), array([(7 * k + 5) % 16 for k in range(16)], "int32"), out(16), N=16)
case(pointer_arithmetic, bell(16, seed=10), out(16), N=16)
case(typed_pointer, bell(16, seed=11), out(16), N=16)
for padding in ["zero", "nan"]:
    case(block_pointer_copy, bell((20, 30), seed=12), out((32, 32)), 20, 27, 30, BM=16, BN=16, PADDING=padding, grid=2, tag=padding)
    case(descriptor_copy, bell((20, 32), seed=14), out((20, 32)), 20, 32, BM=8, BN=16, PADDING=padding, grid=(3, 2), tag=padding)
    for row, column in [(17, 24), (-2, 4), (3, -4), (40, 0)]:
        case(
            descriptor_padding,
            bell((20, 32), seed=14),
            out((8, 16)),
            20,
            32,
            row,
            column,
            BM=8,
            BN=16,
            PADDING=padding,
            tag=f"{padding}.{row}.{column}",
        )
case(block_pointer_store, bell((16, 16), seed=13), out((16, 16), fill=3), 14, 16, BM=16, BN=16)
case(block_pointer_vector, bell(40, seed=13), out(48), 40, B=16, grid=3)
case(descriptor_accumulate, uniform((8, 16), 1, 2, seed=15), out((16, 16), fill=1), 16, 16, BM=8, BN=16)
case(descriptor_three, bell((3, 10, 16), seed=16), out((16, 16)), 3, 10, 16, BLOCK=16)
