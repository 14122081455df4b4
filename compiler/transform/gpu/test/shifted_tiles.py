# A large tile that meets one whose rows begin anywhere is loaded by the same lanes, element by element: neither changes threads.
# RUN: tandemc %s:products --emit=layouts --target sm_90a --signature '*fp32:16, *fp32:16, *fp32:16, i32:16, i32' | FileCheck %s
import triton
import triton.language as tl


# CHECK: tile.load {{.*}} lanes = [1, 2, 4, 8, {{.*}} -> tensor<32x16x16xf32>
# CHECK-NOT: tgpu.convert_layout {{.*}} : tensor<32x16x16xf32>
# CHECK: arith.mulf
@triton.jit
def products(x, y, o, n, shift):
    c, i, j = tl.arange(0, 32)[:, None, None], tl.arange(0, 16)[None, :, None], tl.arange(0, 16)[None, None, :]
    one = tl.load(x + c * n * n + i * n + j)
    other = tl.load(y + c * n * n + i * n + j + shift)
    tl.store(o + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :], tl.sum(one * other, axis=0))
