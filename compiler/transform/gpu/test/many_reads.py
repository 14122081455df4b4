# Threads meet for accesses that something must follow. Reads of memory that the kernel does not write are none of these, however many.
# RUN: tandemc %s:summed --emit=layouts --signature '*i32, *i32, i32' --constexpr 'WRITTEN=False' | FileCheck %s
# RUN: tandemc %s:summed --emit=layouts --signature '*i32, *i32, i32' --constexpr 'WRITTEN=True' | FileCheck %s --check-prefix=BOTH
import triton
import triton.language as tl


# CHECK-NOT: simt.barrier
# BOTH: simt.barrier
@triton.jit
def summed(p, o, n, WRITTEN: tl.constexpr):
    total = 0
    for i in tl.static_range(40):
        total += tl.load(p + i * 3)
    for i in range(n):
        total += tl.load(p + 120 + i)
    tl.store(o + tl.arange(0, 128), total)
    if WRITTEN:
        tl.store(p, total)
