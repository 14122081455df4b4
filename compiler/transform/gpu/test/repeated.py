# A small tile that many threads hold, as a product leaves it, does not make each of them hold much of a large tile that repeats it.
# RUN: tandemc %s:outer --emit=layouts --target sm_90a --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16' | FileCheck %s
import triton
import triton.language as tl


# CHECK: arith.mulf {{.*}}registers = [{{[0-9]+, [0-9]+, [0-9]+, [0-9]+, [0-9]+, [0-9]+, [0-9]+}}], lanes{{.*}} : tensor<16x16x64xf32>
@triton.jit
def outer(q, k, v, out):
    b, m, n, d = tl.arange(0, 16), tl.arange(0, 16), tl.arange(0, 16), tl.arange(0, 64)
    x = tl.load(q + b[:, None, None] * 1024 + m[None, :, None] * 64 + d[None, None, :])
    y = tl.load(k + b[:, None, None] * 1024 + n[None, None, :] * 64 + d[None, :, None])
    p = tl.sum(tl.exp(tl.dot(x, y)), 1)
    rows = tl.load(v + b[:, None] * 64 + d[None, :]).to(tl.float32)
    at = b[:, None, None] * 1024 + n[None, :, None] * 64 + d[None, None, :]
    tl.atomic_add(out + at, p[:, :, None] * rows[:, None, :])
