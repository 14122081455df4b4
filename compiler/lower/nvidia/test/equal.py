# What is known to be equal for neighbours, as long as they are compared with a multiple of their number or divided by it, is computed
# once for all of them.
# RUN: tandemc %s:masked --emit=ptx --target sm_90a --signature '*fp16:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=ONCE
# RUN: tandemc %s:masked --emit=ptx --target sm_90a --signature '*fp16:16, *fp32:16, i32' | FileCheck %s --check-prefix=EACH
# RUN: tandemc %s:groups --emit=ptx --target sm_90a --signature '*i32:16, i32' | FileCheck %s --check-prefix=GROUP
import triton
import triton.language as tl

# A thread has two runs of four, or compares each of its elements.
# ONCE-COUNT-2: setp.lt.s32
# ONCE-NOT: setp.lt.s32
# ONCE-COUNT-8: selp
# EACH-COUNT-16: setp.lt.s32


@triton.jit
def masked(x, y, n):
    at = tl.arange(0, 1024)
    v = tl.load(x + at, at < n, 0.0).to(tl.float32)
    tl.store(y + at, tl.where(at < n, v - 1.0, 0.0))


# GROUP: mul.lo.s32
# GROUP-NOT: mul.lo.s32
# GROUP: st.global.v4.b32


@triton.jit
def groups(y, step):
    at = tl.arange(0, 512)
    tl.store(y + at, at // 32 * step)
