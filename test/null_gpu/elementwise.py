# Masked accesses go by vectors of sixteen bytes, the exponential is the special function unit's.
# RUN: tandemc %s:scale --emit=tile --signature '*fp32:16, *fp32:16, i32:16' --constexpr BLOCK=512 | tandem-null | FileCheck %s
# RUN: tandemc %s:half --emit=tile --signature '*fp32:16, *fp16:16' | tandem-null | FileCheck %s --check-prefix=HALF
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    # CHECK: block id 0 -> i32
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # CHECK-NEXT: load masked of ptr addrspace(1) -> <4 x float>
    x = tl.load(x_ptr + at, mask=at < n)
    # CHECK-COUNT-4: approximate exp2 of float -> float
    # CHECK-NEXT: store masked of float, float, float, float, ptr addrspace(1)
    # CHECK-NEXT: kernel scale
    tl.store(y_ptr + at, tl.exp(x) * 2, mask=at < n)


# A cast goes by two elements.
@triton.jit
def half(x_ptr, y_ptr):
    at = tl.arange(0, 512)
    # HALF-COUNT-2: pack floats of float, float -> <2 x half>
    # HALF-NOT: pack floats
    tl.store(y_ptr + at, tl.load(x_ptr + at).to(tl.float16))
