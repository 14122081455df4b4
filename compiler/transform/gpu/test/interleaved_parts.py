# Real and imaginary parts that lie side by side are never one element: no thread waits between their stores.
# RUN: tandemc %s:negated --emit=layouts --target sm_90a --signature '*fp32:16, i32' | FileCheck %s --check-prefix=PARTS
# RUN: tandemc %s:shifted --emit=layouts --target sm_90a --signature '*fp32:16, i32' | FileCheck %s --check-prefix=SHIFTED
import triton
import triton.language as tl


# PARTS-COUNT-2: tile.store
# PARTS-NOT: simt.barrier
@triton.jit
def negated(x, n):
    i = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    real = tl.load(x + 2 * i, mask=i < n)
    tl.store(x + 2 * i, -real, mask=i < n)
    imaginary = tl.load(x + 2 * i + 1, mask=i < n)
    tl.store(x + 2 * i + 1, -imaginary, mask=i < n)


# Two elements on are those of another thread.
# SHIFTED: tile.store
# SHIFTED: simt.barrier
# SHIFTED: tile.load
@triton.jit
def shifted(x, n):
    i = tl.arange(0, 1024)
    tl.store(x + 2 * i, tl.load(x + 2 * i) + n)
    tl.store(x + 2 * i + 1, tl.load(x + 2 * i + 2))
