# A product falls to multiply-adds of the threads, with operands in shared memory.
# RUN: tandemc %s --emit=tile --signature '*fp16:16, *fp16:16, *fp32:16' | tandem-null --llvm | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr):
    at = tl.arange(0, 16)
    tile = at[:, None] * 16 + at[None, :]
    # CHECK: load {{.*}} -> i32
    # CHECK: load {{.*}} -> i32
    # CHECK: block barrier
    # CHECK: block barrier
    # CHECK: store {{.*}}float
    # CHECK: kernel product
    # CHECK: load {{.*}}, ptr addrspace(3)
    # CHECK: call float @llvm.fma.f32
    tl.store(c_ptr + tile, tl.dot(tl.load(a_ptr + tile), tl.load(b_ptr + tile)))
