# Numbers of 16 bits travel as words: a default is chosen once for two, and at compile time where it is known.
# RUN: tandemc %s:masked --emit=ptx --target sm_90a --signature '*bf16:16, *bf16:16, i32:16' | FileCheck %s
import triton
import triton.language as tl


# CHECK-LABEL: .entry masked
# CHECK-NOT: cvt.rn.bf16x2
# CHECK: ld.global.v2.b32
# CHECK: st.global.v2.b32
@triton.jit
def masked(x, y, n):
    at = tl.program_id(0) * 512 + tl.arange(0, 512)
    a = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + at, tl.fma(a, a, a), mask=at < n)
