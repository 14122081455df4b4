# Two operands that the program's threads load element by element are stored one behind the other: threads meet before the first and
# behind the last.
# RUN: tandemc %s:apart --emit=ptx --target sm_90a --signature '*fp16, *fp16, *fp32:16, i32, i32, i32' | FileCheck %s
import triton
import triton.language as tl


# CHECK: ld.global.b16
# CHECK: bar.sync 0
# CHECK: st.shared
# CHECK-NOT: bar.sync 0
# CHECK: fence.proxy.async
# CHECK-NOT: st.shared
# CHECK: bar.sync 0
# CHECK: wgmma.mma_async
# CHECK-NOT: bar.sync 0
# CHECK: ret
@triton.jit
def apart(x, y, o, n, row, column):
    i, k = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    total = tl.zeros((64, 64), tl.float32)
    for s in range(n):
        a = tl.load(x + i * row + k * column + s)
        b = tl.load(y + i * row + k * column + s)
        total += tl.dot(a, b)
    tl.store(o + i * 64 + k, total)
