# A product's result that another one reads turned, on its left, changes threads through shared memory anyway: it is stored once there, by
# stmatrix, and wgmma reads it where it lies. What the same block reads as it is stays in registers. A tile from before the loop has
# one place in shared memory for both of its orders, on either side.
# RUN: tandemc %s:turned --emit=gpu --num-warps 8 --num-stages 2 --signature '*bf16:16, *bf16:16, *fp32:16, i32:16' | FileCheck %s
# RUN: tandemc %s:turned --emit=ptx --target sm_90a --remarks --num-warps 8 --num-stages 2 \
# RUN:   --signature '*bf16:16, *bf16:16, *fp32:16, i32:16' 2>&1 | FileCheck %s --check-prefix=PTX
# RUN: tandemc %s:before --emit=gpu --num-warps 8 --num-stages 2 --signature '*bf16:16, *bf16:16, *fp32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=BEFORE
import triton
import triton.language as tl


# CHECK: %[[BUFFER:.*]] = tgpu.alloc 1 x !tile.smem<128x64xbf16>
# CHECK: scf.for
# CHECK: tgpu.wgmma {{.*}}rhsTransposed
# CHECK: %[[P:.*]] = tile.fp_to_fp
# CHECK: tgpu.local_store %[[P]], %[[BUFFER]]
# CHECK: tgpu.wgmma %[[BUFFER]], {{.*}}lhsTransposed
# CHECK: tgpu.wgmma %[[P]],
# PTX: left operand from a buffer that threads store to in between
# PTX-COUNT-4: stmatrix.sync.aligned.m8n8.x4
@triton.jit
def turned(q_ptr, k_ptr, out_ptr, N):
    q = tl.make_tensor_descriptor(q_ptr, shape=[N, 128], strides=[128, 1], block_shape=[64, 128])
    k = tl.make_tensor_descriptor(k_ptr, shape=[N, 128], strides=[128, 1], block_shape=[128, 128])
    m, n, d = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 128)
    keys = k.load([0, 0])
    of_q, of_k = tl.zeros((64, 128), dtype=tl.float32), tl.zeros((128, 128), dtype=tl.float32)
    for start in range(0, N, 64):
        x = q.load([start, 0])
        p = tl.exp2(tl.dot(keys, x.T)).to(q_ptr.dtype.element_ty)
        of_q = tl.dot(p.T, keys, of_q)
        of_k = tl.dot(p, x, of_k)
    tl.store(out_ptr + m[:, None] * 128 + d[None, :], of_q)
    tl.store(out_ptr + (64 + n)[:, None] * 128 + d[None, :], of_k)


# BEFORE: %[[KEYS:.*]] = tgpu.alloc 1 x !tile.smem<128x128xbf16>
# BEFORE: tgpu.local_store %{{.*}}, %[[KEYS]]
# BEFORE: scf.for
# BEFORE: tgpu.wgmma %[[KEYS]], {{.*}}rhsTransposed
# BEFORE: tgpu.wgmma %[[KEYS]], {{.*}}lhsTransposed
@triton.jit
def before(q_ptr, k_ptr, out_ptr, N):
    q = tl.make_tensor_descriptor(q_ptr, shape=[N, 128], strides=[128, 1], block_shape=[32, 128])
    k = tl.make_tensor_descriptor(k_ptr, shape=[N, 128], strides=[128, 1], block_shape=[128, 128])
    m, d = tl.arange(0, 32), tl.arange(0, 128)
    keys = k.load([0, 0]) * 2
    of_q = tl.zeros((128, 32), dtype=tl.float32)
    for start in range(0, N, 32):
        p = tl.exp2(tl.dot(keys, q.load([start, 0]).T)).to(q_ptr.dtype.element_ty)
        of_q = tl.dot(keys.T, p, of_q)
    tl.store(out_ptr + d[:, None] * 32 + m[None, :], of_q)
