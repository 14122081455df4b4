# Four warpgroups have 32 of the 128 columns each, two in each box of 64: the third one's begin in the next box, 4,096 bytes on, not behind
# the second's.
# RUN: tandemc %s --emit=ptx --num-warps 16 --num-stages 1 --signature '*fp16:16, *fp16:16, *fp16:16' | FileCheck %s
import triton
import triton.language as tl


# CHECK: shfl.sync.idx.b32 [[WARP:%r[0-9]+]]
# CHECK: shl.b32 [[PART:%r[0-9]+]], [[WARP]], 4;
# CHECK-NEXT: and.b32 {{.*}}, [[PART]], 64;
# CHECK-NEXT: shl.b32 [[BOX:%r[0-9]+]], [[WARP]], 9;
# CHECK: wgmma.mma_async.sync.aligned.m64n32k16
@triton.jit
def product(a, b, c):
    m, n, k = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 32)
    z = tl.dot(tl.load(a + m[:, None] * 32 + k[None, :]), tl.load(b + k[:, None] * 128 + n[None, :]))
    tl.store(c + m[:, None] * 128 + n[None, :], z.to(tl.float16))
