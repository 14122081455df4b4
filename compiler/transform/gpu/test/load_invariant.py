# Memory that a loop does not change is loaded once before it, if the loop runs; not where the loop stores there, nor where it may not run.
# RUN: tandemc %s:similar --emit=layouts --signature '*fp32:16, *fp32:16, i32' --constexpr 'N=8, WHAT="reads"' | FileCheck %s
# RUN: tandemc %s:similar --emit=layouts --signature '*fp32:16, *fp32:16, i32' --constexpr 'N=8, WHAT="writes"' \
# RUN:   | FileCheck %s --check-prefix=STAYS
# RUN: tandemc %s:similar --emit=layouts --signature '*fp32:16, *fp32:16, i32' --constexpr 'N=8, WHAT="perhaps"' \
# RUN:   | FileCheck %s --check-prefix=STAYS
import triton
import triton.language as tl


# CHECK: tile.load
# CHECK: scf.for
# CHECK: tile.load
# CHECK-NOT: tile.load
# CHECK: return
# STAYS-NOT: tile.load
# STAYS: scf.for
# STAYS: tile.load
# STAYS: tile.load
@triton.jit
def similar(x, o, n, N: tl.constexpr, WHAT: tl.constexpr):
    i = tl.arange(0, 1024)
    total = 0.0
    for j in range(n if WHAT == "perhaps" else N):
        a = tl.load(x + tl.program_id(0) * 1024 + i)
        total += tl.sum(a * tl.load(x + j * 1024 + i))
        if WHAT == "writes":
            tl.store(x + j * 1024 + i, a)
    tl.store(o + tl.program_id(0), total)
