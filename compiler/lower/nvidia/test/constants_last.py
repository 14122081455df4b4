# Rows of a tile that a loop finds: a thread keeps its first one over the loop, not each of them. Of rows that lie a power of two apart
# it has the first one's address, and adds to that.
# RUN: tandemc %s:rows --emit=ptx --signature '*fp16:16, *i32:16, i32, i32' | FileCheck %s
# RUN: tandemc %s:apart --emit=ptx --signature '*fp16:16, *fp32:16' | FileCheck %s --check-prefix=APART
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


# APART: add.s64 {{%rd[0-9]+}}, [[FIRST:%rd[0-9]+]], 2048;
# APART: add.s64 {{%rd[0-9]+}}, [[FIRST]], 6144;
@triton.jit
def apart(x, o):
    row = tl.program_id(0) * 64 + tl.arange(0, 64)
    v = tl.load(x + row[:, None] * 64 + tl.arange(0, 64)[None, :])
    tl.store(o + row, tl.sum(v.to(tl.float32), 1))
