# RUN: tandemc %s:backward --emit=gpu --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, i32' | FileCheck %s
# RUN: tandemc %s:several --emit=gpu --signature '*i64:16, *i32:16, *i32:16, *fp16:16, i32' | FileCheck %s --check-prefix=SEVERAL
# RUN: tandemc %s:waiting --emit=gpu --signature '*fp16:16, *fp16:16, *fp16:16, i32' | FileCheck %s --check-prefix=WAITING
import triton
import triton.language as tl


# The backward pass of attention has such loops: two products whose operands are there at once come first, each is awaited at the first
# use of its result, and a slot is let go when its last product is done.
# CHECK: consumer
# CHECK: scf.for
# CHECK-NEXT: tgpu.await %[[Q:.*]]
# CHECK-NEXT: %[[S:.*]] = tgpu.wgmma %{{.*}}, %{{.*}} of %[[Q]],
# CHECK-NEXT: tgpu.await %[[D:.*]]
# CHECK-NEXT: %[[DP:.*]] = tgpu.wgmma %{{.*}}, %{{.*}} of %[[D]],
# CHECK: tgpu.wgmma_wait %[[S]] pending 1
# CHECK: %[[DV:.*]] = tgpu.wgmma %{{.*}}, %{{.*}} of %[[D]],
# CHECK-NEXT: tgpu.advance %[[D]]
# CHECK: tgpu.wgmma_wait %[[DP]] pending 1
# CHECK: %[[DK:.*]] = tgpu.wgmma %{{.*}}, %{{.*}} of %[[Q]],
# CHECK-NEXT: tgpu.advance %[[Q]]
# CHECK-NEXT: tgpu.wgmma_wait %[[DV]] pending 1
# CHECK-NEXT: tgpu.release %[[D]]
# CHECK-NEXT: tgpu.wgmma_wait %[[DK]] pending 0
# CHECK-NEXT: tgpu.release %[[Q]]
# CHECK-NEXT: scf.yield
@triton.jit
def backward(q, k, v, do, out, N):
    n, d, m = tl.arange(0, 128), tl.arange(0, 32), tl.arange(0, 32)
    own = tl.program_id(0) * 128 + n
    kk, vv = tl.load(k + own[:, None] * 32 + d[None, :]), tl.load(v + own[:, None] * 32 + d[None, :])
    dv = tl.zeros((128, 32), tl.float32)
    dk = tl.zeros((128, 32), tl.float32)
    for start in range(0, N, 32):
        x = tl.load(q + (start + m)[None, :] * 32 + d[:, None])
        p = tl.exp2(tl.dot(kk, x))
        y = tl.load(do + (start + m)[:, None] * 32 + d[None, :])
        dv += tl.dot(p.to(tl.float16), y)
        dp = tl.dot(vv, tl.trans(y))
        dk += tl.dot((p * dp).to(tl.float16), tl.trans(x))
    tl.store(out + own[:, None] * 32 + d[None, :], dv)
    tl.store(out + (own + N)[:, None] * 32 + d[None, :], dk)


# Pointers that come from memory, in a `while` within a `for`: what the author promises of those that the loop moves on holds of the first,
# so copies are of 16 bytes, and products read them where they are.
# SEVERAL: scf.while
# SEVERAL: tgpu.copy_async {{.*}} {tgpu.vector = array<i32: 8, 1>}
# SEVERAL: tgpu.copy_async {{.*}} {tgpu.vector = array<i32: 8, 1>}
# SEVERAL: scf.for
# SEVERAL: tgpu.await
# SEVERAL-NOT: tile.load
# SEVERAL-NOT: tgpu.local_store
# SEVERAL: tgpu.wgmma
# SEVERAL: tgpu.wgmma_wait {{.*}} pending 1
@triton.jit
def several(tables, sizes, strides, out, groups):
    tile, last = tl.program_id(0), 0
    m, n, k = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 64)
    for g in range(groups):
        tiles = tl.load(sizes + g)
        while tile >= last and tile < last + tiles:
            stride = tl.load(strides + g)
            a = tl.load(tables + 2 * g).to(tl.pointer_type(tl.float16)) + m[:, None] * stride + k[None, :]
            b = tl.load(tables + 2 * g + 1).to(tl.pointer_type(tl.float16)) + k[:, None] * stride + n[None, :]
            acc = tl.zeros((64, 128), tl.float32)
            for _ in range(tl.load(sizes + groups + g)):
                tl.multiple_of(a, [16, 16])
                tl.multiple_of(b, [16, 16])
                acc += tl.dot(tl.load(a), tl.load(b))
                a += 64
                b += 64 * stride
            tl.store(out + tile * 64 * 128 + m[:, None] * 128 + n[None, :], acc.to(tl.float16))
            tile += 132
        last += tiles


# The producer has the part of a `while` that its copies need.
# WAITING: producer
# WAITING: scf.while (%[[TILE:.*]] = %{{.*}}) : (i32) -> i32
# WAITING: scf.condition
# WAITING: scf.for
# WAITING: tgpu.acquire
# WAITING: tgpu.tma_load
# WAITING: tgpu.tma_load
# WAITING: tgpu.commit
# WAITING: arith.addi %{{.*}}, %c132
# WAITING: scf.yield %{{.*}} : i32
@triton.jit
def waiting(a, b, c, tiles):
    tile = tl.program_id(0)
    m, n, k = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 64)
    while tile < tiles:
        acc = tl.zeros((64, 128), tl.float32)
        for start in range(0, 512, 64):
            x = tl.load(a + (tile * 64 + m)[:, None] * 512 + (start + k)[None, :])
            acc += tl.dot(x, tl.load(b + (start + k)[:, None] * 128 + n[None, :]))
        tl.store(c + (tile * 64 + m)[:, None] * 128 + n[None, :], acc.to(tl.float16))
        tile += 132
