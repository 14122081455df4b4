# What a loop carries changes threads before it, not in each turn, whatever product is the first in the kernel.
# RUN: tandemc %s --emit=layouts --target sm_90a --signature '*fp16:16, *fp16:16, *fp32:16, i32' | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def first_and_others(a, b, o, n):
    # CHECK: tile.dot
    # CHECK: tgpu.convert_layout {{.*}}tensor<16x64xf32>
    # CHECK: scf.for
    # CHECK-NOT: tgpu.convert_layout {{.*}}tensor<16x64xf32>
    # CHECK: tile.dot
    # CHECK-NOT: tgpu.convert_layout {{.*}}tensor<16x64xf32>
    # CHECK: scf.yield
    m, k, d = tl.arange(0, 16), tl.arange(0, 16), tl.arange(0, 64)
    x = tl.load(a + m[:, None] * 16 + k[None, :])
    acc = tl.dot(x, tl.load(b + k[:, None] * 64 + d[None, :]))
    batches = tl.broadcast_to(x[:, None, :], (16, 16, 16))
    for i in range(n):
        y = tl.load(b + i * 16384 + m[:, None, None] * 1024 + k[None, :, None] * 64 + d[None, None, :])
        acc += tl.sum(tl.dot(batches, y), 1)
    tl.store(o + m[:, None] * 64 + d[None, :], acc)
