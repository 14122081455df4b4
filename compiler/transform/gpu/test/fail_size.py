# A kernel that no assembler takes in reasonable time names the line that makes it long.
# RUN: not tandemc %s --emit=gpu --target sm_90a --signature '*i32, i32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def long(x, n):
    tl.store(x, n)
    # CHECK: fail_size.py:[[#@LINE+3]]:{{.*}}error: the kernel is too large for a GPU: it has {{[0-9]+}} operations after unrolling
    # CHECK-SAME: at most 200000 are compiled
    for i in tl.static_range(150000):
        tl.store(x + i * n, n)
