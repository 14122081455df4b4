# Rows that an index names are copied by the warpgroup that also copies blocks by TMA, to the same slots; the threads that multiply find
# both as if TMA had brought them. Where another ring is filled in the same loop, they copy the rows: each group of four warps those that it
# alone multiplies, and meets alone.
# RUN: tandemc %s:rows --emit=gpu --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *i32:16, *bf16:16, *bf16:16, *fp32:16, i32, i32:16, i32:16' \
# RUN:   --constexpr 'TWO=False, SCALED=False' | FileCheck %s
# RUN: tandemc %s:rows --emit=gpu --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *i32:16, *bf16:16, *bf16:16, *fp32:16, i32, i32:16, i32:16' \
# RUN:   --constexpr 'TWO=True, SCALED=False' | FileCheck %s --check-prefix=BOTH
# RUN: tandemc %s:rows --emit=ptx --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *i32:16, *bf16:16, *bf16:16, *fp32:16, i32, i32:16, i32:16' \
# RUN:   --constexpr 'TWO=True, SCALED=False' | FileCheck %s --check-prefix=WIDE
# RUN: tandemc %s:rows --emit=ptx --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *i32:16, *bf16:16, *bf16:16, *fp32:16, i32, i32:16, i32:16' \
# RUN:   --constexpr 'TWO=False, SCALED=False' | FileCheck %s --check-prefix=PTX
# Where rows cannot be copied 16 bytes at a time, or the tile changes before it is multiplied, threads copy both:
# RUN: tandemc %s:rows --emit=gpu --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16, *i32:16, *bf16:16, *bf16:16, *fp32:16, i32, i32:16, i32' \
# RUN:   --constexpr 'TWO=False, SCALED=False' | FileCheck %s --check-prefix=NARROW
# RUN: tandemc %s:rows --emit=gpu --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *i32:16, *bf16:16, *bf16:16, *fp32:16, i32, i32:16, i32:16' \
# RUN:   --constexpr 'TWO=False, SCALED=True' | FileCheck %s --check-prefix=NARROW
# RUN: tandemc %s:scaled_sums --emit=gpu --num-warps 8 --num-stages 4 \
# RUN:   --signature '*fp8e4nv:16, *i32:16, *fp8e4nv:16, *fp32:16, *fp32:16, i32, i32:16, i32:16' \
# RUN:   --constexpr 'TWO=False, APART=False' | FileCheck %s --check-prefix=SUMS
# RUN: tandemc %s:scaled_sums --emit=gpu --num-warps 8 --num-stages 4 \
# RUN:   --signature '*fp8e4nv:16, *i32:16, *fp8e4nv:16, *fp32:16, *fp32:16, i32, i32:16, i32:16' \
# RUN:   --constexpr 'TWO=True, APART=False' | FileCheck %s --check-prefix=PAIR
# RUN: tandemc %s:scaled_sums --emit=gpu --num-warps 8 --num-stages 4 \
# RUN:   --signature '*fp8e4nv:16, *i32:16, *fp8e4nv:16, *fp32:16, *fp32:16, i32, i32:16, i32:16' \
# RUN:   --constexpr 'TWO=True, APART=True' | FileCheck %s --check-prefix=BESIDE
# RUN: tandemc %s:scaled_sums --emit=ptx --num-warps 8 --num-stages 4 \
# RUN:   --signature '*fp8e4nv:16, *i32:16, *fp8e4nv:16, *fp32:16, *fp32:16, i32, i32:16, i32:16' \
# RUN:   --constexpr 'TWO=True, APART=True' | FileCheck %s --check-prefix=GROUPS
import triton
import triton.language as tl


# CHECK: tgpu.ring 4 bytes 16384
# CHECK-NOT: tgpu.copy_ring
# CHECK: warp_specialize consumer
# CHECK-NOT: tgpu.copy_async
# CHECK: scf.for
# CHECK: tgpu.await %[[RING:.*]]
# CHECK: tgpu.wgmma {{.*}} of %[[RING]], {{.*}} of %[[RING]]
# CHECK-NEXT: tgpu.wgmma_wait {{.*}} pending 1
# CHECK: scf.if
# CHECK-NEXT: tgpu.release %[[RING]]
# CHECK: tgpu.wgmma_wait {{.*}} pending 0
# CHECK-NEXT: tgpu.release %[[RING]]
# CHECK: producer
# CHECK: tile.load
# CHECK: scf.for
# CHECK: tgpu.acquire %[[RING]]
# CHECK: tgpu.copy_async {{.*}} of %[[RING]]
# CHECK: tgpu.tma_load
# CHECK: tgpu.commit %[[RING]]
# Sums of one copied left operand have one ring for their right ones, and one instruction.
# BOTH: tgpu.ring 4 bytes 32768
# BOTH-NOT: tgpu.ring
# BOTH: tgpu.await %[[RING:.*]]
# BOTH: tgpu.wgmma {{.*}} of %[[RING]], {{.*}} of %[[RING]]
# BOTH-NOT: tgpu.{{release|await|wgmma_wait}}
# BOTH: tgpu.wgmma {{.*}} of %[[RING]], {{.*}} of %[[RING]]{{.*}}joinsPrevious
# BOTH: tgpu.wgmma_wait {{.*}} pending 1
# BOTH: tgpu.release %[[RING]]
# BOTH: tgpu.acquire
# BOTH: tgpu.copy_async
# BOTH-COUNT-2: tgpu.tma_load
# BOTH: tgpu.commit
# WIDE: wgmma.mma_async.sync.aligned.m64n256k16
# WIDE-NOT: wgmma.mma_async.sync.aligned.m64n128k16
# Each of the group's 128 threads has an arrival at a slot's barrier, when its copies are there, and one that of TMA's bytes. No thread of
# the group meets another one.
# PTX: mbarrier.init.shared::cta.b64 {{.*}}
# PTX: setmaxnreg.inc
# PTX: mbarrier.try_wait
# PTX: fence.proxy.async.shared::cta
# PTX-NOT: bar.sync
# PTX: wgmma.mma_async
# PTX: setmaxnreg.dec.sync.aligned.u32 72
# PTX-NOT: bar.sync
# PTX: cp.async.mbarrier.arrive.noinc.shared::cta.b64
# PTX: cp.async.wait_group 0
# Each product is a sum of its own, which is scaled (what fp8 with scales asks for): it is awaited in its iteration.
# SUMS: %[[RING:.*]] = tgpu.ring 4
# SUMS-NOT: tgpu.copy_ring
# SUMS: tgpu.await %[[RING]]
# SUMS: tgpu.wgmma {{.*}} of %[[RING]], {{.*}} of %[[RING]]{{.*}} {rhsTransposed}
# SUMS-NEXT: tgpu.wgmma_wait {{.*}} pending 0
# SUMS: tgpu.release %[[RING]]
# SUMS: arith.mulf
# SUMS-NOT: simt.barrier
# SUMS: producer
# SUMS: tgpu.copy_async {{.*}} of %[[RING]]
# SUMS: tgpu.tma_load
# SUMS: tgpu.commit %[[RING]]
# Two such sums of one left operand have one ring; both results and both sums together are more than a thread's registers, so the second
# product starts when the first one's result has been added. Two groups of warps start theirs in turn.
# PAIR: tgpu.ring 4
# PAIR-NOT: tgpu.ring
# PAIR: tgpu.wgmma {{.*}} of %{{.*}} {givesTurn, rhsTransposed, takesTurn}
# PAIR: tgpu.wgmma_wait {{.*}} pending 0
# PAIR: arith.addf
# PAIR: tgpu.wgmma {{.*}} of %{{.*}} {givesTurn, rhsTransposed, takesTurn}
# PAIR: tgpu.wgmma_wait {{.*}} pending 0
# PAIR: tgpu.release
# PAIR: producer
# Threads that multiply copy the rows where the producer fills another product's ring.
# BESIDE: tgpu.copy_ring 4 ahead 3 of_groups
# BESIDE: tgpu.await %[[COPIES:.*]]
# BESIDE: tgpu.copy_async
# BESIDE: tgpu.wgmma {{.*}} of %[[COPIES]], {{.*}}
# GROUPS: bar.sync %r{{.*}}, 128
# GROUPS: wgmma.mma_async
# NARROW-NOT: warp_specialize
# NARROW-NOT: tma_load
@triton.jit
def rows(a_ptr, index_ptr, b_ptr, c_ptr, o_ptr, M, N, K, TWO: tl.constexpr, SCALED: tl.constexpr):
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[128, 64])
    c = tl.make_tensor_descriptor(c_ptr, shape=[N, K], strides=[K, 1], block_shape=[128, 64])
    m, n, k = tl.program_id(0) * 128 + tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 64)
    row = tl.load(index_ptr + m, mask=m < M, other=0)
    a = a_ptr + row[:, None] * K + k[None, :]
    acc = tl.zeros((128, 128), tl.float32)
    other = tl.zeros((128, 128), tl.float32)
    for step in range(tl.cdiv(K, 64)):
        x = tl.load(a)
        if SCALED:
            x *= 2
        acc = tl.dot(x, b.load([0, step * 64]).T, acc)
        if TWO:
            other = tl.dot(x, c.load([0, step * 64]).T, other)
        a += 64
    if TWO:
        acc += other
    tl.store(o_ptr + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])


@triton.jit
def scaled_sums(a_ptr, index_ptr, b_ptr, scale_ptr, o_ptr, M, N, K, TWO: tl.constexpr, APART: tl.constexpr):
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[128, 128])
    m, n, k = tl.program_id(0) * 128 + tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 128)
    row = tl.load(index_ptr + m, mask=m < M, other=0)
    a = a_ptr + row[:, None] * K + k[None, :]
    acc = tl.zeros((128, 128), tl.float32)
    other = tl.zeros((128, 128), tl.float32)
    for step in range(tl.cdiv(K, 128)):
        scale = tl.load(scale_ptr + step * M + m)
        x = tl.load(a)
        acc += tl.dot(x, b.load([0, step * 128]).T) * scale[:, None]
        if TWO:
            y = b.load([256, step * 128]) if APART else x
            other += tl.dot(y, b.load([128, step * 128]).T) * scale[:, None]
        a += 128
    if TWO:
        acc += other
    tl.store(o_ptr + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])
