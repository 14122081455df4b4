# Slots of a ring: as many as fit beside the panels by which stores go, two a group of warps or the one that it has; fewer where more
# happens to the products' tiles than that they are stored.
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 8 --constexpr 'BM=128, BN=64, BN1=32, ADD=False' \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16' | FileCheck %s --check-prefix=ONE
# RUN: tandemc %s:product --emit=gpu --num-warps 4 --num-stages 8 --constexpr 'BM=64, BN=128, BN1=128, ADD=False' \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16' | FileCheck %s --check-prefix=TWO
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 8 --constexpr 'BM=128, BN=128, BN1=64, ADD=False' \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16' | FileCheck %s --check-prefix=FOUR
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 8 --constexpr 'BM=128, BN=64, BN1=32, ADD=True' \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16' | FileCheck %s --check-prefix=ADDED
# RUN: tandemc %s:product --emit=bundle -o %t --num-warps 8 --num-stages 8 --constexpr 'BM=128, BN=64, BN1=32, ADD=False' \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16' && FileCheck %s --check-prefix=BYTES < %t/product.json
import triton
import triton.language as tl


# ONE: tgpu.ring 7 bytes 28672
# BYTES: "shared_bytes": 217216
# TWO: tgpu.ring 5 bytes 40960
# FOUR: tgpu.ring 4 bytes 40960
# ADDED: tgpu.ring 6 bytes 28672
@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, K, BM: tl.constexpr, BN: tl.constexpr, BN1: tl.constexpr, ADD: tl.constexpr):
    N: tl.constexpr = BN + BN1
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, 64])
    b1 = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN1, 64])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    c1 = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN1])
    row = tl.program_id(0) * BM
    acc, acc1 = tl.zeros((BM, BN), tl.float32), tl.zeros((BM, BN1), tl.float32)
    for k in range(0, K, 64):
        x = a.load([row, k])
        acc = tl.dot(x, b.load([0, k]).T, acc)
        acc1 = tl.dot(x, b1.load([BN, k]).T, acc1)
    if ADD:
        acc += tl.load(b_ptr + tl.arange(0, BN))[None, :]
    c.store([row, 0], (acc * 2).to(tl.bfloat16))
    c1.store([row, BN], (acc1 * 2).to(tl.bfloat16))
