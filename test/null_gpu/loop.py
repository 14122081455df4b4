# A loop's requests stand in its body, once; a tile that changes threads goes through shared memory.
# RUN: tandemc %s:rounds --emit=tile --signature '*fp32:16, *fp32:16, i32' | tandem-null --llvm | FileCheck %s
# RUN: tandemc %s:turn --emit=tile --signature '*fp32:16, *fp32:16' | tandem-null | FileCheck %s --check-prefix=TURN
import triton
import triton.language as tl


@triton.jit
def rounds(x_ptr, y_ptr, n):
    at = tl.arange(0, 128)
    sum = tl.zeros((128,), tl.float32)
    # CHECK: load of ptr addrspace(1) -> float
    # CHECK-NEXT: store of float, ptr addrspace(1)
    # CHECK-NEXT: kernel rounds
    # CHECK: for:
    # CHECK: phi float
    # CHECK: body:
    # CHECK: call float @"null.load.ptr addrspace(1).float"
    # CHECK: done:
    for i in range(n):
        sum += tl.load(x_ptr + i * 128 + at)
    tl.store(y_ptr + at, sum)


@triton.jit
def turn(x_ptr, y_ptr):
    row = tl.arange(0, 32)[:, None]
    column = tl.arange(0, 32)[None, :]
    # TURN: load
    # TURN: block barrier
    # TURN: block barrier
    # TURN: store
    tl.store(y_ptr + column * 32 + row, tl.load(x_ptr + row * 32 + column))
