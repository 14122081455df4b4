# Where a chain of operations has more values under way than a thread has registers, each is computed just before what needs it: the first
# root is added before the last one is taken. Where registers are enough, all elements go through an operation before the next one.
# RUN: tandemc %s:roots --emit=ptx --target sm_90a --num-warps 2 --constexpr 'BLOCK=16384' --signature '*fp32' \
# RUN:   | FileCheck %s --check-prefix=MANY
# RUN: tandemc %s:roots --emit=ptx --target sm_90a --num-warps 2 --constexpr 'BLOCK=2048' --signature '*fp32' \
# RUN:   | FileCheck %s --check-prefix=FEW
import triton
import triton.language as tl


# MANY: sqrt.rn.f32
# MANY: add.f32
# MANY: sqrt.rn.f32
# FEW-COUNT-32: sqrt.rn.f32
# FEW: add.f32
# FEW-NOT: sqrt
@triton.jit
def roots(o, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK) * 7 + 3
    tl.store(o, tl.sum(tl.sqrt_rn(i.to(tl.float32))))
