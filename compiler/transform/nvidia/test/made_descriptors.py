# Descriptors that a kernel makes of what it has loaded: their rows are aligned, and end anywhere.
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --signature '*i64:16, *fp16:16, *i32:16' | FileCheck %s
# RUN: tandemc %s:product --emit=ptx --num-warps 8 --signature '*i64:16, *fp16:16, *i32:16' | FileCheck %s --check-prefix=PTX
# RUN: tandemc %s:product --remarks --num-warps 8 --signature '*i64:16, *fp16:16, *i32:16' 2>&1 | FileCheck %s --check-prefix=SAYS
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


# CHECK: tgpu.copy_ring 3
# CHECK: scf.for
# CHECK: tgpu.copy_async %{{.*}} mask %{{.*}} end %{{.*}} if %{{.*}} {tgpu.vector = array<i32: 8, 1>} : tensor<128x64x!tile.ptr<f16>>
# CHECK: tgpu.copy_async %{{.*}} mask %{{.*}} end %{{.*}} if %{{.*}} {tgpu.vector = array<i32: 8, 1>} : tensor<128x64x!tile.ptr<f16>>
# CHECK: tgpu.wgmma
# The bytes of a copy that lie in the row are a number of their own; stores of whole rows move 16 bytes.
# PTX: cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16, %r{{[0-9]+}};
# PTX: wgmma.mma_async
# PTX-DAG: st.global.v4.b32
# PTX-DAG: st.global.b16
# SAYS: copied by cp.async 2 iterations ahead, 16 bytes a thread at once, into a ring of 3 slots
# SAYS: copied by cp.async 2 iterations ahead, 16 bytes a thread at once, into a ring of 3 slots
@triton.jit
def product(pointers, c, sizes):
    m, n, k = tl.load(sizes), tl.load(sizes + 1), tl.load(sizes + 2)
    a_ptr = tl.load(pointers).to(tl.pointer_type(tl.float16))
    b_ptr = tl.load(pointers + 1).to(tl.pointer_type(tl.float16))
    a = tl.make_tensor_descriptor(a_ptr, shape=[m, k], strides=[k, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[n, k], strides=[k, 1], block_shape=[128, 64])
    o = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[128, 128])
    i, j = tl.program_id(0) * 128, tl.program_id(1) * 128
    acc = tl.zeros((128, 128), tl.float32)
    for at in range(0, k, 64):
        acc = tl.dot(a.load([i, at]), b.load([j, at]).T, acc)
    o.store([i, j], acc.to(tl.float16))


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
