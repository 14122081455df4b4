# What was loaded by 16 bytes is stored as it was loaded, and comes to products by ldmatrix, into the registers that an instruction takes
# together: vectors of what both layouts have in common would be put together from parts of four loads, and taken apart for four operands.
# RUN: tandemc %s --emit=ptx --target sm_90a --num-warps 1 --signature '*fp16:16, *fp16:16, *fp32:16, i32' | FileCheck %s
import triton
import triton.language as tl


# CHECK-NOT: ld.shared
# CHECK: st.shared.v4.b32
# CHECK-NOT: ld.shared
# CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
# CHECK-NOT: ld.shared
# CHECK: mma.sync.aligned.m16n8k16
@triton.jit
def scores(q, k, out, n):
    row, d, key = tl.arange(0, 16), tl.arange(0, 64), tl.arange(0, 32)
    x = tl.load(q + row[:, None] * 64 + d[None, :])
    most = tl.full((16,), -float("inf"), tl.float32)
    for start in tl.range(0, n, 32, num_stages=2):
        y = tl.load(k + (start + key)[:, None] * 64 + d[None, :])
        most = tl.maximum(most, tl.max(tl.dot(x, y.T), 1))
    tl.store(out + row, most)
