# Atomic updates say their order and scope. Where the target has no instruction, a loop swaps.
# RUN: tandemc %s:count --emit=tile --signature '*i32:16, *i32:16' | tandem-null | FileCheck %s
# RUN: tandemc %s:add --emit=tile --signature '*fp32:16, *fp32:16' | tandem-null | FileCheck %s --check-prefix=ADD
# RUN: tandemc %s:add --emit=tile --signature '*fp16:16, *fp16:16' | tandem-null | FileCheck %s --check-prefix=SWAP
import triton
import triton.language as tl


@triton.jit
def count(x_ptr, y_ptr):
    # CHECK: block barrier
    # CHECK: atomic add u32 acquire-release device masked of ptr addrspace(1), i32 -> i32
    old = tl.atomic_add(x_ptr, 1)
    # CHECK: block barrier
    # CHECK: store masked of i32, ptr addrspace(1)
    tl.store(y_ptr, old)


@triton.jit
def add(x_ptr, y_ptr):
    at = tl.arange(0, 128)
    # ADD: load
    # ADD-NEXT: reduce add f32 relaxed system of ptr addrspace(1), float
    # SWAP: load
    # SWAP: load relaxed system of ptr addrspace(1) -> i16
    # SWAP-NEXT: compare and swap relaxed system of ptr addrspace(1), i16, i16 -> i16
    tl.atomic_add(y_ptr + at, tl.load(x_ptr + at), sem="relaxed", scope="sys")
