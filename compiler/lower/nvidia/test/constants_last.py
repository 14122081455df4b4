# Rows of a tile that a loop finds: a thread keeps its first one over the loop, not each of them.
# RUN: tandemc %s:rows --emit=ptx --signature '*fp16:16, *i32:16, i32, i32' | FileCheck %s
import triton
import triton.language as tl


# CHECK: mov.u32 {{.*}}, %tid.x
# CHECK-NOT: or.b32
# CHECK: $L__BB0_2:
# CHECK: shl.b32 [[AT:%r[0-9]+]], {{.*}}, 5;
# CHECK: or.b32 [[ROW:%r[0-9]+]], {{.*}}[[AT]]
# CHECK-DAG: or.b32 {{.*}}, [[ROW]], 4;
# CHECK-DAG: or.b32 {{.*}}, [[ROW]], 28;
@triton.jit
def rows(o, starts, ld, n):
    column = tl.arange(0, 32)
    for i in range(n):
        row = tl.load(starts + i) * 32 + tl.arange(0, 32)
        tl.store(o + row[:, None] * ld + column[None, :], i.to(tl.float16))
