# A left operand of products in a loop comes from shared memory by words, each in a register of its own: an instruction takes four that
# stand together, and those of one load would be parts of several. What is read once goes by the widest loads.
# RUN: tandemc %s:scores --emit=ptx --target sm_90a --num-warps 1 --signature '*fp16:16, *fp16:16, *fp32:16, i32' | FileCheck %s
# RUN: tandemc %s:once --emit=ptx --target sm_90a --num-warps 1 --signature '*fp16:16, *fp16:16, *fp32:16' \
# RUN:   | FileCheck %s --check-prefix=ONCE
import triton
import triton.language as tl


# CHECK: stmatrix
# CHECK-NOT: ld.shared.v
# CHECK: ld.volatile.shared.b32
# CHECK-NOT: ld.shared.v
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


# ONCE: ld.shared.v
# ONCE: mma.sync.aligned.m16n8k16
@triton.jit
def once(q, k, out):
    row, d, key = tl.arange(0, 16), tl.arange(0, 64), tl.arange(0, 32)
    x = tl.load(q + row[:, None] * 64 + d[None, :])
    y = tl.load(k + key[:, None] * 64 + d[None, :])
    tl.store(out + row, tl.max(tl.dot(x, y.T), 1))
