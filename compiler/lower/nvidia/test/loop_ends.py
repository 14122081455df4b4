# A loop whose end is met from elsewhere, too, is repeated by its last branch: ptxas unrolls it.
# RUN: tandemc %s --emit=ptx --target sm_90a --signature '*fp32, *fp32, *fp32, i32' | FileCheck %s
import triton
import triton.language as tl


# CHECK: [[LOOP:[$]L__BB[0-9_]+]]:
# CHECK: st.global
# CHECK-NOT: bra.uni
# CHECK: @%p{{[0-9]+}} bra [[LOOP]];
# CHECK-NOT: bra
# CHECK: ret;
@triton.jit
def recurrence(a, b, x, n):
    for i in range(1, n):
        tl.store(x + i, tl.load(x + i - 1) * tl.load(a + i) + tl.load(b + i))
