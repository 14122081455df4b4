# The loop carries what each thread has of a fold; behind it the threads fold that together.
# RUN: tandemc %s:row --emit=layouts --target sm_90a --signature '*fp32:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=ROW
# RUN: tandemc %s:row --emit=ptx --target sm_90a --signature '*fp32:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=PTX
# RUN: tandemc %s:columns --emit=layouts --target sm_90a --signature '*fp32:16, *fp32:16, i32' | FileCheck %s --check-prefix=COLUMNS
# RUN: tandemc %s:looked_at --emit=layouts --target sm_90a --signature '*fp32:16, *fp32:16, i32' | FileCheck %s --check-prefix=LOOKED
# RUN: tandemc %s:product --emit=layouts --target sm_90a --signature '*bf16:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=PRODUCT
import triton
import triton.language as tl


@triton.jit
def row(x, o, n):
    total, top = 1.0, 0
    for i in range(0, n, 4096):
        at = i + tl.arange(0, 4096)
        v = tl.load(x + at, mask=at < n, other=0.0)
        total += tl.sum(v)
        total += tl.sum(v * v)
        top = tl.maximum(top, tl.max(at))
    tl.store(o, total + top)
    # ROW: scf.for {{.*}} -> (tensor<128xi32>, tensor<128xf32>)
    # ROW: tile.reduce({{.*}} along 2 {{.*}}(tensor<8x128x4xf32>) -> tensor<8x128xf32>
    # ROW: tile.reduce({{.*}} along 0 {{.*}}(tensor<8x128xf32>) -> tensor<128xf32>
    # ROW-NOT: -> f32
    # ROW: scf.yield
    # ROW: tile.reduce({{.*}} along 0 : (tensor<128xf32>) -> f32
    # PTX: ld.global
    # PTX-NOT: {{shfl|bar.sync}}
    # PTX: @%p{{[0-9]+}} bra
    # PTX: shfl


# Two loops: the outer one carries what the inner one leaves.
@triton.jit
def columns(x, o, n):
    c, total = tl.arange(0, 32), tl.zeros([32], tl.float32)
    for i in range(n):
        for j in range(n):
            total += tl.sum(tl.load(x + ((i * n + j) * 128 + tl.arange(0, 128)[:, None]) * 32 + c[None, :]), 0)
    tl.store(o + c, total)
    # COLUMNS: scf.for {{.*}} -> (tensor<16x32xf32>)
    # COLUMNS: scf.for {{.*}} -> (tensor<16x32xf32>)
    # COLUMNS: scf.yield {{.*}} tensor<16x32xf32>
    # COLUMNS: scf.yield {{.*}} tensor<16x32xf32>
    # COLUMNS: tile.reduce({{.*}} along 0 {{.*}}(tensor<16x32xf32>) -> tensor<32xf32>


# Each iteration stores the total.
@triton.jit
def looked_at(x, o, n):
    total = 0.0
    for i in range(n):
        total += tl.sum(tl.load(x + i * 256 + tl.arange(0, 256)))
        tl.store(o + i, total)
    # LOOKED: scf.for {{.*}} -> (f32)


@triton.jit
def product(x, o, n):
    i, total = tl.arange(0, 64), 0.0
    for k in range(n):
        v = tl.load(x + k * 4096 + i[:, None] * 64 + i[None, :])
        total += tl.sum(tl.dot(v, v))
    tl.store(o, total)
    # PRODUCT: scf.for {{.*}} -> (f32
