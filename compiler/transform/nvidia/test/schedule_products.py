# RUN: tandemc %s:backward --emit=gpu --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, i32' | FileCheck %s
# RUN: tandemc %s:several --emit=gpu --signature '*i64:16, *i32:16, *i32:16, *fp16:16, i32' | FileCheck %s --check-prefix=SEVERAL
# RUN: tandemc %s:waiting --emit=gpu --signature '*fp16:16, *fp16:16, *fp16:16, i32' | FileCheck %s --check-prefix=WAITING
# RUN: tandemc %s:begun --emit=gpu --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=BEGUN
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


# The producer has the part of a `while` that its copies need. It does not count, so it stays one.
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
        tile += tile + 132


# What the second sum begins with is computed before the first product starts; a product is awaited with the first later one that is, and
# frees the registers of its left operand; what is loaded for the next iteration behind the products stays there.
# BEGUN: scf.for
# BEGUN: %[[SUMS:.*]] = arith.subf
# BEGUN-NEXT: %[[BEGIN:.*]] = tgpu.wgmma_wait %[[SUMS]] pending 0
# BEGUN-NEXT: %[[S:.*]] = tgpu.wgmma
# BEGUN-NOT: arith
# BEGUN: %[[DP:.*]] = tgpu.wgmma %{{.*}}, %{{.*}}, %[[BEGIN]]
# BEGUN: tgpu.wgmma_wait %[[S]] pending 1
# BEGUN: %[[DV:.*]] = tgpu.wgmma
# BEGUN: tgpu.wgmma_wait %[[DP]] pending 1
# BEGUN: %[[E:.*]] = tgpu.wgmma
# BEGUN: %[[DK:.*]] = tgpu.wgmma
# BEGUN: tgpu.wgmma_wait %[[E]] pending 1
# BEGUN: tgpu.wgmma_wait %[[DV]] pending 1
# BEGUN: tile.store
# BEGUN: tile.load
# BEGUN: tgpu.wgmma_wait %[[DK]] pending 0
# BEGUN: scf.yield
@triton.jit
def begun(q, k, v, do, delta, out, N):
    n, d, m = tl.arange(0, 64), tl.arange(0, 32), tl.arange(0, 32)
    own = tl.program_id(0) * 64 + n
    kk, vv = tl.load(k + own[:, None] * 32 + d[None, :]), tl.load(v + own[:, None] * 32 + d[None, :])
    dv = tl.zeros((64, 32), tl.float32)
    dk = tl.zeros((64, 32), tl.float32)
    sums = tl.load(delta + m)
    for start in range(0, N, 32):
        x = tl.load(q + (start + m)[None, :] * 32 + d[:, None])
        y = tl.load(do + (start + m)[:, None] * 32 + d[None, :])
        s = tl.dot(kk, x)
        dp = tl.dot(vv, tl.trans(y), tl.zeros((64, 32), tl.float32) - sums[None, :])
        p = tl.exp2(s)
        dv = tl.dot(p.to(tl.float16), y, dv)
        ds = (p * dp).to(tl.float16)
        e = tl.dot(ds, tl.trans(x))
        dk = tl.dot(ds, y, dk)
        tl.store(out + (own + start * N)[:, None] * 32 + d[None, :], e)
        sums = tl.load(delta + start + 32 + m, mask=start + 32 + m < N, other=0.0)
    tl.store(out + own[:, None] * 32 + d[None, :], dv)
    tl.store(out + (own + N)[:, None] * 32 + d[None, :], dk)
