# Programs whose loops are longer start first, unless programs may wait for one another.
# RUN: tandemc %s:sums --emit=gpu --constexpr 'WHAT="grows"' --signature '*fp32:16, *fp32:16, i32' | FileCheck %s --check-prefix=LAST
# RUN: tandemc %s:sums --emit=ptx --constexpr 'WHAT="grows"' --signature '*fp32:16, *fp32:16, i32' | FileCheck %s --check-prefix=PTX
# Shorter with the number; of one length; one loop longer and one shorter; a factor that may be negative; a program that others count on:
# RUN: tandemc %s:sums --emit=gpu --constexpr 'WHAT="shrinks"' --signature '*fp32:16, *fp32:16, i32' | FileCheck %s --check-prefix=FIRST
# RUN: tandemc %s:sums --emit=gpu --constexpr 'WHAT="same"' --signature '*fp32:16, *fp32:16, i32' | FileCheck %s --check-prefix=FIRST
# RUN: tandemc %s:sums --emit=gpu --constexpr 'WHAT="both"' --signature '*fp32:16, *fp32:16, i32' | FileCheck %s --check-prefix=FIRST
# RUN: tandemc %s:sums --emit=gpu --constexpr 'WHAT="factor"' --signature '*fp32:16, *fp32:16, i32' | FileCheck %s --check-prefix=FIRST
# RUN: tandemc %s:sums --emit=gpu --constexpr 'WHAT="counts"' --signature '*fp32:16, *fp32:16, i32' | FileCheck %s --check-prefix=FIRST
import triton
import triton.language as tl


# LAST:     tgpu.longest_first = 0
# PTX-DAG:  mov.u32 %[[N:r[0-9]+]], %nctaid.x;
# PTX-DAG:  div.u32 %[[FEWER:r[0-9]+]], 127, %[[N]];
# PTX-DAG:  add.s32 %r{{[0-9]+}}, %[[FEWER]], 1;
# FIRST-NOT: tgpu.longest_first
@triton.jit
def sums(x_ptr, o_ptr, N, WHAT: tl.constexpr):
    m = tl.program_id(0)
    n = tl.arange(0, 128)
    total = tl.zeros([128], tl.float32)
    low, high = 0, m * 128 + 128
    if WHAT == "shrinks":
        low, high = m * 128, N
    elif WHAT == "same":
        low = m * 128
    elif WHAT == "factor":
        high = m * N
    for i in range(low, high, 128):
        total += tl.load(x_ptr + i + n)
    if WHAT == "both":
        for i in range(high, N, 128):
            total *= tl.load(x_ptr + i + n)
    if WHAT == "counts":
        tl.atomic_add(o_ptr, 1.0)
    tl.store(o_ptr + tl.program_id(1) * N + m * 128 + n, total)
