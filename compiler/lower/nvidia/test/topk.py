# The largest k are found by orders of runs of k, and halvings: 6 steps, then 4 times a halving and 3 steps, instead of 28.
# RUN: tandemc %s --emit=tile --signature '*i64:16, *i64:16' --constexpr 'M=16, N=128, K=8' | FileCheck %s
import triton
import triton.language as tl


# CHECK-COUNT-22: arith.cmpi sgt
# CHECK-NOT: arith.cmpi sgt
@triton.jit
def largest(x, y, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    v = tl.load(x + m * N + tl.arange(0, N)[None, :])
    tl.store(y + m * K + tl.arange(0, K)[None, :], tl.topk(v, K))
