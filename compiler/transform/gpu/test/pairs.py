# Pairs that are split or joined lie in one thread, and no thread holds what another holds already: sorting stays in 32 registers a thread.
# RUN: tandemc %s:ordered --emit=layouts --target sm_90a --signature '*i64:16, *i64:16' --num-warps 1 | FileCheck %s
import triton
import triton.language as tl


# CHECK: tile.split
# CHECK-NOT: tile.{{split|join}} {{.*}}lanes = [{{([0-9]+, )*}}0{{[],]}}
# CHECK: return
@triton.jit
def ordered(x, o):
    m, n = tl.arange(0, 8)[:, None], tl.arange(0, 128)[None, :]
    tl.store(o + m * 128 + n, tl.sort(tl.load(x + m * 128 + n)))
