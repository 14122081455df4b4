# Rows whose neighbours fill no words come an iteration ahead all the same, in registers: loaded while the products run, stored when
# the next iteration begins. Not where a thread has no registers for them beside the sums.
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 3 --signature '*fp16:16, *fp16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'BM=64, BN=128, BK=32' | FileCheck %s
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 3 --signature '*fp16:16, *fp16:16, *fp32:16, i32, i32:16, i32' \
# RUN:   --constexpr 'BM=64, BN=128, BK=32' | FileCheck %s --check-prefix=ONE
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 1 --signature '*fp16:16, *fp16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'BM=64, BN=128, BK=32' | FileCheck %s --check-prefix=NONE
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 3 --signature '*fp16:16, *fp16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'BM=128, BN=256, BK=128' | FileCheck %s --check-prefix=NONE
import triton
import triton.language as tl


# CHECK-COUNT-2: tile.load
# CHECK: scf.for
# CHECK-NOT: tile.load
# CHECK-COUNT-2: tgpu.local_store %arg
# CHECK: tgpu.wgmma
# CHECK-COUNT-2: tile.load
# CHECK: tgpu.wgmma_wait
# CHECK: scf.yield
# ONE: tile.load
# ONE: tgpu.copy_ring 3 ahead 2
# ONE: scf.for
# ONE-NOT: tile.load
# ONE: tgpu.local_store %arg
# ONE: tgpu.wgmma
# ONE: tile.load
# ONE: tgpu.wgmma_wait
# NONE: scf.for
# NONE-COUNT-2: tile.load
# NONE: tgpu.wgmma
@triton.jit
def product(a, b, c, K, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (i + k)[None, :], mask=(i + k)[None, :] < K, other=0.0)
        y = tl.load(b + (i + k)[:, None] * sb + n[None, :], mask=(i + k)[:, None] < K, other=0.0)
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * sc + n[None, :], acc)
