# An operand of a product that is computed from a slot is computed once, where the product takes it, and so are the sums of its rows.
# RUN: tandemc %s:weights --emit=layouts --target sm_90a --signature '*bf16:16, *bf16:16, *bf16:16, i32:16' | FileCheck %s
# RUN: tandemc %s:weights --emit=layouts --target sm_90a --signature '*bf16:16, *bf16:16, *bf16:16, i32:16' --num-warps 2 | FileCheck %s
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK: math.exp2
# CHECK-NOT: math.exp2
# CHECK-NOT: tgpu.convert_layout
# CHECK: scf.yield
@triton.jit
def weights(b, v, o, n):
    i, j, d = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 32)
    product, sums = tl.zeros((64, 32), tl.float32), tl.zeros((64,), tl.float32)
    for k in range(0, n, 128):
        p = tl.exp2(tl.load(b + i[:, None] * n + (k + j)[None, :]).to(tl.float32))
        sums += tl.sum(p, 1)
        product = tl.dot(p.to(tl.bfloat16), tl.load(v + (k + j)[:, None] * 32 + d), product)
    tl.store(o + i[:, None] * 32 + d, (product / sums[:, None]).to(tl.bfloat16))
