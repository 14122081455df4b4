# Neighbours that are compared with a multiple of their number, or divided by it, are known to be equal and are computed once.
# RUN: tandemc %s:masked --emit=ptx --target sm_90a --signature '*fp16:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=ONCE
# RUN: tandemc %s:masked --emit=ptx --target sm_90a --signature '*fp16:16, *fp32:16, i32' | FileCheck %s --check-prefix=EACH
# RUN: tandemc %s:groups --emit=ptx --target sm_90a --signature '*i32:16, i32' | FileCheck %s --check-prefix=GROUP
# RUN: tandemc %s:wrapped --emit=ptx --target sm_90a --num-warps 1 --signature '*i32:16' | FileCheck %s --check-prefix=WRAPPED
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


# The sign of 1024 numbers in 8 bits changes every 128 elements, which are four of each thread of a warp.
# WRAPPED: st.global.v4.b32 {{.*}}, {[[FIRST:%r[0-9]+]],
# WRAPPED-NOT: {[[FIRST]],
# WRAPPED: st.global.v4.b32


@triton.jit
def wrapped(y):
    at = tl.arange(0, 1024)
    tl.store(y + at, tl.where(at.to(tl.int8) < 0, 1, 2))
