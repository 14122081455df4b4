# Queries that every warp multiplies whole are stored once and read by ldmatrix in the loop, on GPUs without asynchronous copies, too.
# Nothing but threads reads them: there is no fence for others.
# RUN: tandemc %s --emit=ptx --target sm_80 --num-stages 1 --signature '*bf16:16, *bf16:16, *fp32:16, i32:16' | FileCheck %s
# RUN: tandemc %s --emit=ptx --num-stages 1 --signature '*bf16:16, *bf16:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=HOPPER
import triton
import triton.language as tl


# CHECK-NOT: fence.proxy
# CHECK: st.shared
# CHECK: bar.sync
# CHECK: ldmatrix
# CHECK: mma.sync
# CHECK-NOT: fence.proxy
# HOPPER-NOT: fence.proxy
# HOPPER: st.shared
# HOPPER: bar.sync
# HOPPER: ldmatrix
# HOPPER: mma.sync
# HOPPER-NOT: fence.proxy
@triton.jit
def scores(q, k, o, length):
    row, wide, few = tl.arange(0, 16), tl.arange(0, 512), tl.arange(0, 32)
    a = tl.load(q + row[:, None] * 512 + wide[None, :])
    total = tl.zeros([16, 32], tl.float32)
    for at in range(0, length, 32):
        total += tl.dot(a, tl.load(k + (at + few)[None, :] * 512 + wide[:, None]))
    tl.store(o + row[:, None] * 32 + few[None, :], total)
