# A kernel that multiplies the matrices of a batch divides them among lanes and warps before their rows, so that a thread has few
# addresses. Rows shorter than a line of memory stay beside their neighbours, and so do those of a kernel that only adds.
# RUN: tandemc %s --emit=layouts --target sm_90a --signature '*fp16:16, *i64, *fp32:16, *fp32' \
# RUN:     --constexpr 'D=64, PRODUCT=True' | FileCheck %s
# RUN: tandemc %s --emit=layouts --target sm_90a --signature '*fp16:16, *i64, *fp32:16, *fp32' \
# RUN:     --constexpr 'D=8, PRODUCT=False' | FileCheck %s --check-prefix THIN
# RUN: tandemc %s --emit=layouts --target sm_90a --signature '*fp16:16, *i64, *fp32:16, *fp32' \
# RUN:     --constexpr 'D=64, PRODUCT=False' | FileCheck %s --check-prefix ADDED
import triton
import triton.language as tl


# CHECK: tile.atomic_rmw {{.*}}lanes = [4, 8, 16, 32, 1024], warps = [2048, 4096]{{.*}} : tensor<16x16x64x!tile.ptr<f32>>
# THIN: tile.atomic_rmw {{.*}}lanes = [4, 8, 16, 32, 64], warps = [128, 256]{{.*}} : tensor<16x16x8x!tile.ptr<f32>>
# ADDED: tile.atomic_rmw {{.*}}lanes = [4, 8, 16, 32, 64], warps = [128, 256]{{.*}} : tensor<16x16x64x!tile.ptr<f32>>
@triton.jit
def gathered(k, index, out, scores, D: tl.constexpr, PRODUCT: tl.constexpr):
    b, n, d = tl.arange(0, 16), tl.arange(0, 16), tl.arange(0, D)
    rows = tl.load(index + b)[:, None] * 16 + n[None, :]
    x = tl.load(k + rows[:, :, None] * D + d[None, None, :])
    tl.atomic_add(out + rows[:, :, None] * D + d[None, None, :], x.to(tl.float32))
    if PRODUCT:
        tl.store(scores + rows[:, :, None] * 16 + n[None, None, :], tl.dot(x, tl.permute(x, (0, 2, 1))))
