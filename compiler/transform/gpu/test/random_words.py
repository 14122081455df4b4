# The four words of a random counter meet four neighbours of a loaded tile in one thread: nothing is exchanged.
# RUN: tandemc %s --emit=ptx --target sm_90a --signature '*fp32:16, *fp32:16, i32:16, fp32, i32' --constexpr 'BLOCK=1024' | FileCheck %s
import triton
import triton.language as tl


# CHECK-LABEL: .entry fused_dropout
# CHECK-NOT: {{bar\.|shfl|st\.shared}}
# CHECK: st.global.v4.b32
# CHECK-NOT: {{bar\.|shfl|st\.shared}}
# CHECK: ret;
@triton.jit
def fused_dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    a, b, c, d = tl.rand4x(seed, tl.program_id(0) * (BLOCK // 4) + tl.arange(0, BLOCK // 4))
    keep = tl.interleave(tl.interleave(a, c), tl.interleave(b, d)) > p
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)
