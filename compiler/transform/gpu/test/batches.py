# Matrices of a batch are divided among lanes and warps before their rows are, so that a thread has few addresses; rows
# shorter than a line of memory stay beside their neighbours.
# RUN: tandemc %s --emit=layouts --target sm_90a --signature '*fp16:16, *i64, *fp32:16' --constexpr 'D=64' | FileCheck %s
# RUN: tandemc %s --emit=layouts --target sm_90a --signature '*fp16:16, *i64, *fp32:16' --constexpr 'D=8' | FileCheck %s --check-prefix THIN
import triton
import triton.language as tl


# CHECK: tile.atomic_rmw {{.*}}lanes = [4, 8, 16, 32, 1024], warps = [2048, 4096]{{.*}} : tensor<16x16x64x!tile.ptr<f32>>
# THIN: tile.atomic_rmw {{.*}}lanes = [4, 8, 16, 32, 64], warps = [128, 256]{{.*}} : tensor<16x16x8x!tile.ptr<f32>>
@triton.jit
def gathered(k, index, out, D: tl.constexpr):
    b, n, d = tl.arange(0, 16), tl.arange(0, 16), tl.arange(0, D)
    rows = tl.load(index + b)[:, None] * 16 + n[None, :]
    x = tl.load(k + rows[:, :, None] * D + d[None, None, :])
    tl.atomic_add(out + rows[:, :, None] * D + d[None, None, :], x.to(tl.float32))
