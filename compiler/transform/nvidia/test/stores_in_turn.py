# Stores by TMA of one loop: where a group's part of a tile is never another's, its own thread waits for the store before; else all meet.
# RUN: tandemc %s:rounds --emit=layouts --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'STEP=128' | FileCheck %s --check-prefix=OWN
# RUN: tandemc %s:rounds --emit=layouts --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'STEP=64' | FileCheck %s --check-prefix=SHIFTED
# RUN: tandemc %s:rounds --emit=layouts --num-warps 4 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'STEP=64' | FileCheck %s --check-prefix=OWN
# RUN: tandemc %s:rounds --emit=ptx --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'STEP=128' | FileCheck %s --check-prefix=PTX
# RUN: tandemc %s:rounds --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'STEP=128' | FileCheck %s --check-prefix=ONCE
# RUN: tandemc %s:rounds --emit=gpu --num-warps 8 --num-ctas 2 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'STEP=128' | FileCheck %s --check-prefix=CLUSTER
# Threads meet for stores of their own, not for those under way by TMA.
# RUN: tandemc %s:rounds --emit=layouts --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16, *fp32:16' \
# RUN:   --constexpr 'STEP=128' | FileCheck %s --check-prefix=BESIDE
import triton
import triton.language as tl


# OWN-NOT: simt.barrier
# OWN: tile.block_store {{.*}}tgpu.completes_own
# SHIFTED: simt.barrier completing
# SHIFTED-NEXT: tile.block_store
# SHIFTED-NOT: completes_own
# BESIDE: simt.barrier{{$}}
# BESIDE-NEXT: tile.store
# BESIDE-NOT: simt.barrier
# BESIDE: tile.block_store {{.*}}tgpu.completes_own
# PTX: createpolicy.fractional.L2::evict_first
# PTX-NOT: fence.proxy.async;
# PTX: cp.async.bulk.wait_group 0;
# PTX: cp.async.bulk.tensor.2d.global.shared::cta.bulk_group
# Each block of B is read by one program where A has no more rows than a tile; a block of A where B has none more.
# ONCE: producer
# ONCE: %[[N:.*]] = arith.extsi %arg4
# ONCE: %[[WIDTH:.*]] = arith.constant 64 : i64
# ONCE: %[[NARROW:.*]] = arith.cmpi sle, {{.*}}, %[[WIDTH]]
# ONCE: scf.if %[[NARROW]]
# ONCE-NEXT: tgpu.tma_load %arg0 {{.*}}evictFirst
# ONCE: else
# ONCE-NOT: evict_first
# ONCE: %[[HEIGHT:.*]] = arith.constant 128 : i64
# ONCE: %[[LOW:.*]] = arith.cmpi sle, {{.*}}, %[[HEIGHT]]
# ONCE: scf.if %[[LOW]]
# ONCE-NEXT: tgpu.tma_load %arg1 {{.*}}evictFirst
# A cluster's rows are those of all its blocks.
# CLUSTER: tgpu.tma_load %arg0
# CLUSTER: %[[HEIGHT:.*]] = arith.constant 128 : i64
# CLUSTER: %[[LOW:.*]] = arith.cmpi sle, {{.*}}, %[[HEIGHT]]
# CLUSTER: scf.if %[[LOW]]
# CLUSTER-NEXT: tgpu.tma_load %arg1 {{.*}} multicast {evictFirst}
@triton.jit
def rounds(a_ptr, b_ptr, c_ptr, M, N, K, sums_ptr=None, STEP: tl.constexpr = 128):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[64, 64])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[128, 64])
    for tile in range(tl.program_id(0), M // STEP, 132):
        acc = tl.zeros((128, 64), dtype=tl.float32)
        for k in range(0, K, 64):
            acc = tl.dot(a.load([tile * STEP, k]), b.load([0, k]).T, acc)
        if sums_ptr is not None:
            tl.store(sums_ptr + tile * STEP + tl.arange(0, 128), tl.sum(acc, 1))
        c.store([tile * STEP, 0], acc.to(c_ptr.dtype.element_ty))
