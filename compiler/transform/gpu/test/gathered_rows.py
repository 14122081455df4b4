# Rows that lie anywhere, each from any element on, meet rows that begin at whole words: a thread has several neighbours of a row in both,
# so that it keeps the addresses of few rows, and no tile changes threads.
# RUN: tandemc %s:products --emit=layouts --target sm_90a --signature '*fp16:16, *fp16:16, *i32:16, *fp32:16' | FileCheck %s
import triton
import triton.language as tl


# CHECK-COUNT-2: tile.load {{.*}}registers = [1, 2, 4, {{.*}} : tensor<64x64x!tile.ptr<f16>>
# CHECK-NOT: tgpu.convert_layout{{.*}}tensor<64x64x
@triton.jit
def products(x, y, begins, out):
    i, c = tl.arange(0, 64), tl.arange(0, 64)
    a = tl.load(x + i[:, None] * 64 + c[None, :])
    b = tl.load(y + tl.load(begins + i)[:, None] + c[None, :])
    tl.store(out + i, tl.sum(a.to(tl.float32) * b.to(tl.float32), 1))
