# A row of weights, of which each thread has one element, does not place the rows that it scales: a thread would have a whole column of
# them, and each sum of a row would go through all lanes.
# RUN: tandemc %s:normalised --emit=layouts --target sm_90a --signature '*bf16:16, *fp32:16, *bf16:16, *fp32:16, i32:16' | FileCheck %s
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK: tile.reduce
# CHECK-NOT: layout<[64], registers = [1, 2, 4, 8, 16, 32]
# CHECK: scf.yield
@triton.jit
def normalised(x, g, w, o, n):
    i, c = tl.arange(0, 64), tl.arange(0, 64)
    scale = tl.load(g + c)
    product = tl.zeros((32, 64), tl.float32)
    for k in range(0, n, 64):
        rows = tl.load(x + (k + i)[:, None] * 64 + c).to(tl.float32)
        y = (rows - tl.sum(rows, 1)[:, None] / 64) * scale[None, :]
        columns = tl.load(w + (k + i)[:, None] * 32 + tl.arange(0, 32))
        product += tl.dot(tl.trans(columns), y.to(tl.bfloat16))
    tl.store(o + tl.arange(0, 32)[:, None] * 64 + c, product)
