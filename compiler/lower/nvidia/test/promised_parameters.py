# A promise about a parameter that the launch has found to be false is not believed: each element keeps its own comparison.
# RUN: tandemc %s:rows --emit=tile --signature '*fp32:16, *fp32:16, i32' | FileCheck %s --check-prefix=REFUTED
# RUN: tandemc %s:rows --emit=tile --signature '*fp32:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=BELIEVED
import triton
import triton.language as tl


# REFUTED-NOT: tile.multiple_of = 32
# BELIEVED: tile.multiple_of = 32
@triton.jit
def rows(x, o, n):
    tl.multiple_of(n, 32)
    i = tl.arange(0, 128)
    tl.store(o + i, tl.load(x + i * 3, mask=i < n, other=0.0), mask=i < n)
