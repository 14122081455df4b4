# Descriptors that a kernel makes of what it has loaded: their rows are aligned, and end anywhere.
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --signature '*i64:16, *fp16:16, *i32:16' | FileCheck %s
# RUN: tandemc %s:product --remarks --num-warps 8 --signature '*i64:16, *fp16:16, *i32:16' 2>&1 | FileCheck %s --check-prefix=SAYS
# RUN: tandemc %s:in_place --emit=gpu --num-warps 8 --signature '*i64:16, *i32:16' | FileCheck %s --check-prefix=SAME
# RUN: tandemc %s:in_place --emit=ptx --num-warps 8 --signature '*i64:16, *i32:16' | FileCheck %s --check-prefix=PTX
# RUN: tandemc %s:in_place --remarks --num-warps 8 --signature '*i64:16, *i32:16' 2>&1 | FileCheck %s --check-prefix=WHY
# RUN: tandemc %s:product --remarks --num-warps 8 --num-ctas 2 --signature '*i64:16, *fp16:16, *i32:16' 2>&1 \
# RUN:   | FileCheck %s --check-prefix=BLOCKS
# RUN: tandemc %s:one_tile --remarks --num-warps 8 --signature '*i64:16, *fp16:16, i32:16' 2>&1 | FileCheck %s --check-prefix=ONE
# RUN: tandemc %s:masked --emit=gpu --target sm_80 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32' --constexpr 'FORM="places"' \
# RUN:   | FileCheck %s --check-prefix=MASKED
# RUN: tandemc %s:masked --emit=gpu --target sm_80 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32' --constexpr 'FORM="rest"' \
# RUN:   | FileCheck %s --check-prefix=MASKED
# RUN: tandemc %s:masked --emit=gpu --target sm_80 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32' --constexpr 'FORM="both"' \
# RUN:   | FileCheck %s --check-prefix=MASKED
# RUN: tandemc %s:masked --emit=gpu --target sm_80 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32' --constexpr 'FORM="odd"' \
# RUN:   | FileCheck %s --check-prefix=ODD
import triton
import triton.language as tl


# CHECK: tgpu.warp_specialize consumer
# CHECK: } producer {
# CHECK: scf.for
# CHECK: tgpu.tma_load
# CHECK: tgpu.tma_load
# SAYS: copied by TMA, by a producer warp, into a ring of 3 slots
# SAYS: copied by TMA, by a producer warp, into a ring of 3 slots
# BLOCKS: not copied by TMA: the kernel makes the descriptor, and a program is several blocks
@triton.jit
def product(pointers, c, sizes):
    for g in range(tl.load(sizes + 3)):
        m, n, k = tl.load(sizes), tl.load(sizes + 1), tl.load(sizes + 2)
        a_ptr = tl.load(pointers + g).to(tl.pointer_type(tl.float16))
        b_ptr = tl.load(pointers + g + 1).to(tl.pointer_type(tl.float16))
        a = tl.make_tensor_descriptor(a_ptr, shape=[m, k], strides=[k, 1], block_shape=[128, 64])
        b = tl.make_tensor_descriptor(b_ptr, shape=[n, k], strides=[k, 1], block_shape=[128, 64])
        o = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[128, 128])
        i, j = tl.program_id(0) * 128, tl.program_id(1) * 128
        acc = tl.zeros((128, 128), tl.float32)
        for at in range(0, k, 64):
            acc = tl.dot(a.load([i, at]), b.load([j, at]).T, acc)
        o.store([i, j], acc.to(tl.float16))


# A map for one tile would take longer to make than it saves.
# ONE-DAG: not copied by TMA: the kernel makes the descriptor for one tile
# ONE-DAG: copied by cp.async
@triton.jit
def one_tile(pointers, c, k):
    a_ptr = tl.load(pointers).to(tl.pointer_type(tl.float16))
    a = tl.make_tensor_descriptor(a_ptr, shape=[128, k], strides=[k, 1], block_shape=[128, 64])
    acc = tl.zeros((128, 128), tl.float32)
    for at in range(0, k, 64):
        x = a.load([0, at])
        acc = tl.dot(x, x.T, acc)
    m = tl.arange(0, 128)
    tl.store(c + m[:, None] * 128 + m[None, :], acc.to(tl.float16))


# One array has the pointers of what is read and of what is written: a later tile may read what an earlier one has written, so nothing
# runs ahead of the stores. The bytes of a copy that lie in the row are a number of their own.
# SAME: tgpu.copy_ring 3
# SAME: scf.for
# SAME: tgpu.copy_async %{{.*}} mask %{{.*}} end %{{.*}} if %{{.*}} {tgpu.vector = array<i32: 8, 1>} : tensor<128x64x!tile.ptr<f16>>
# SAME: tgpu.copy_async %{{.*}} mask %{{.*}} end %{{.*}} if %{{.*}} {tgpu.vector = array<i32: 8, 1>} : tensor<128x64x!tile.ptr<f16>>
# SAME: tgpu.wgmma
# PTX: cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16, %r{{[0-9]+}};
# PTX: wgmma.mma_async
# WHY: not copied by TMA: line [[#]] may write what it reads
# WHY: copied by cp.async 2 iterations ahead, 16 bytes a thread at once, into a ring of 3 slots
@triton.jit
def in_place(pointers, sizes):
    m, n, k = tl.load(sizes), tl.load(sizes + 1), tl.load(sizes + 2)
    for g in range(tl.load(sizes + 3)):
        a_ptr = tl.load(pointers + g).to(tl.pointer_type(tl.float16))
        b_ptr = tl.load(pointers + g + 1).to(tl.pointer_type(tl.float16))
        c_ptr = tl.load(pointers + g + 2).to(tl.pointer_type(tl.float16))
        a = tl.make_tensor_descriptor(a_ptr, shape=[m, k], strides=[k, 1], block_shape=[128, 64])
        b = tl.make_tensor_descriptor(b_ptr, shape=[n, k], strides=[k, 1], block_shape=[128, 64])
        o = tl.make_tensor_descriptor(c_ptr, shape=[m, n], strides=[n, 1], block_shape=[128, 128])
        acc = tl.zeros((128, 128), tl.float32)
        for at in range(0, k, 64):
            acc = tl.dot(a.load([0, at]), b.load([0, at]).T, acc)
        o.store([0, 0], acc.to(tl.float16))


# A mask that rows end by, of numbers from 0 or from a scalar on, alone or beside other conditions.
# MASKED: tgpu.copy_async {{.*}}end %{{.*}} if %{{.*}} {tgpu.vector = array<i32: 8, 1>} : tensor<64x32x!tile.ptr<f16>>
# Every second column is another matter.
# ODD-NOT: tgpu.copy_async {{.*}} : tensor<64x32x!tile.ptr<f16>>
@triton.jit
def masked(a, b, c, stride, K, FORM: tl.constexpr):
    m, k = tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros((64, 64), tl.float32)
    for at in range(0, K, 32):
        if FORM == "places":
            mask = (at + k)[None, :] < K
        elif FORM == "rest":
            mask = k[None, :] < K - at
        elif FORM == "both":
            mask = (m[:, None] < stride) & (k[None, :] < K - at)
        else:
            mask = (k * 2)[None, :] < K - at
        x = tl.load(a + m[:, None] * stride + (at + k)[None, :], mask=mask, other=0.0)
        y = tl.load(b + (at + k)[:, None] * 64 + m[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * 64 + m[None, :], acc)
