# A sum goes by shuffles within a warp and through shared memory between warps; a maximum of int32, which the null target has no
# instruction for, too.
# RUN: tandemc %s:total --emit=tile --signature '*fp32:16, *fp32:16' | tandem-null | FileCheck %s
# RUN: tandemc %s:total --emit=tile --signature '*i32:16, *i32:16' | tandem-null | FileCheck %s --check-prefix=INTEGER
# RUN: tandemc %s:running --emit=tile --num-warps 1 --signature '*fp32:16, *fp32:16' | tandem-null | FileCheck %s --check-prefix=SCAN
import triton
import triton.language as tl


@triton.jit
def total(x_ptr, y_ptr):
    # CHECK: load of ptr addrspace(1) -> <4 x float>
    # CHECK-NEXT: shuffle butterfly by 16 of float, i32 -> float
    # CHECK-NEXT: shuffle butterfly by 8 of float, i32 -> float
    # CHECK-NEXT: shuffle butterfly by 4 of float, i32 -> float
    # CHECK-NEXT: shuffle butterfly by 2 of float, i32 -> float
    # CHECK-NEXT: shuffle butterfly by 1 of float, i32 -> float
    # CHECK-NEXT: block barrier
    # CHECK-NEXT: block barrier
    # CHECK-NEXT: store masked of float, ptr addrspace(1)
    # INTEGER: load of ptr addrspace(1) -> <4 x i32>
    # INTEGER-COUNT-5: shuffle butterfly {{.*}} of i32, i32 -> i32
    # INTEGER: store masked of i32, ptr addrspace(1)
    tl.store(y_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, 512)), axis=0))


@triton.jit
def running(x_ptr, y_ptr):
    at = tl.arange(0, 128)
    # SCAN-COUNT-6: shuffle up {{.*}} of float, i32 -> float
    # SCAN: store of float, float, float, float, ptr addrspace(1)
    tl.store(y_ptr + at, tl.cumsum(tl.load(x_ptr + at), axis=0))
