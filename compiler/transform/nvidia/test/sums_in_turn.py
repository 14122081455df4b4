# Blocks that programs add to memory in an order: the signaller waits for the program's turn, adds the block and tells that it has been
# added; consumers leave it in shared memory and go on. The turned result of a product goes to shared memory once, where wgmma reads it in
# either order; loads for the next iteration stay behind the products, where the author has put them.
# RUN: tandemc %s:in_turn --emit=gpu --num-warps 8 --num-stages 2 \
# RUN:   --signature '*bf16:16, *bf16:16, *fp32:16, *fp32:16, *fp32:16, *i32:16, i32:16' --constexpr 'D=128, WAITS=True, READS=False' \
# RUN:   | FileCheck %s
# RUN: tandemc %s:in_turn --emit=gpu --num-warps 8 --num-stages 2 \
# RUN:   --signature '*bf16:16, *bf16:16, *fp32:16, *fp32:16, *fp32:16, *i32:16, i32:16' --constexpr 'D=128, WAITS=False, READS=False' \
# RUN:   | FileCheck %s --check-prefix=FREE
# RUN: tandemc %s:in_turn --emit=gpu --num-warps 8 --num-stages 2 \
# RUN:   --signature '*bf16:16, *bf16:16, *fp32:16, *fp32:16, *fp32:16, *i32:16, i32:16' --constexpr 'D=128, WAITS=True, READS=True' \
# RUN:   | FileCheck %s --check-prefix=OWN
# RUN: tandemc %s:in_turn --emit=gpu --num-warps 8 --num-stages 3 \
# RUN:   --signature '*bf16:16, *bf16:16, *fp32:16, *fp32:16, *fp32:16, *i32:16, i32:16' --constexpr 'D=256, WAITS=True, READS=False' \
# RUN:   | FileCheck %s --check-prefix=OWN
# RUN: tandemc %s:in_turn --emit=ptx --target sm_90a --remarks --num-warps 8 --num-stages 2 \
# RUN:   --signature '*bf16:16, *bf16:16, *fp32:16, *fp32:16, *fp32:16, *i32:16, i32:16' --constexpr 'D=128, WAITS=True, READS=False' 2>&1 \
# RUN:   | FileCheck %s --check-prefix=PTX
import triton
import triton.language as tl
import tandem.dist as dl


# CHECK: %[[BUFFER:.*]] = tgpu.alloc {{.*}}smem<128x64xbf16>
# CHECK: consumer
# CHECK: scf.for
# CHECK: %[[S:.*]] = tgpu.wgmma {{.*}}rhsTransposed
# CHECK: tgpu.local_store {{.*}}, %[[BUFFER]]
# CHECK: %[[Q:.*]] = tgpu.wgmma %[[BUFFER]], {{.*}}lhsTransposed
# CHECK: %[[K:.*]] = tgpu.wgmma
# CHECK-NOT: dist.wait
# CHECK: tgpu.acquire %[[STAGED:.*]]
# CHECK-NEXT: tgpu.wgmma_wait %[[Q]] pending 1
# CHECK-NEXT: tgpu.stage {{.*}} of %[[STAGED]]
# CHECK-NOT: tile.atomic_rmw
# CHECK: tile.load
# CHECK: tgpu.wgmma_wait %[[K]] pending 0
# CHECK: signaller
# CHECK: scf.for
# CHECK: dist.wait
# CHECK: tgpu.await %[[STAGED]]
# CHECK: tgpu.tma_store %arg2 {{.*}} reduce fadd
# CHECK: tgpu.release %[[STAGED]]
# CHECK: tile.atomic_rmw {{.*}}xchg
# FREE-NOT: dist.wait
# FREE: signaller
# FREE: tgpu.tma_store %arg2 {{.*}} reduce fadd
# What the program reads back, or what shared memory has no room for beside the slots, it adds and tells itself.
# OWN-NOT: mailbox
# OWN: consumer
# OWN: dist.wait
# OWN: tile.block_store {{.*}} reduce fadd
# OWN: tile.atomic_rmw {{.*}}xchg
# OWN-NOT: signaller
# PTX-NOT: are spilled
# PTX: stmatrix.sync.aligned.m8n8.x4
# PTX: cp.reduce.async.bulk.tensor.2d.global.shared::cta.add
# PTX: cp.async.bulk.wait_group.read 0
# PTX: cp.async.bulk.wait_group 0
# PTX: atom.release.gpu.global.exch
# PTX: ld.acquire.gpu
@triton.jit
def in_turn(q_ptr, k_ptr, sums_ptr, lse_ptr, out_ptr, turns, N, D: tl.constexpr, WAITS: tl.constexpr, READS: tl.constexpr):
    q = tl.make_tensor_descriptor(q_ptr, shape=[N, D], strides=[D, 1], block_shape=[64, D])
    k = tl.make_tensor_descriptor(k_ptr, shape=[N, D], strides=[D, 1], block_shape=[128, D])
    sums = tl.make_tensor_descriptor(sums_ptr, shape=[N, D], strides=[D, 1], block_shape=[64, D])
    own, m, n, d = tl.program_id(0), tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, D)
    keys = k.load([own * 128, 0])
    acc = tl.zeros((128, D), dtype=tl.float32)
    lse = tl.load(lse_ptr + m)
    for start in range(0, N, 64):
        x = q.load([start, 0])
        p = tl.exp2(tl.dot(keys, x.T) - lse[None, :]).to(q_ptr.dtype.element_ty)
        of_x = tl.dot(p.T, keys)
        acc = tl.dot(p, x, acc)
        row = start
        if WAITS:
            row = dl.consume_token(row, dl.wait(turns + start // 64, 1, "gpu", "acquire", waitValue=own, compare="ge"))
        sums.atomic_add([row, 0], of_x)
        tl.atomic_xchg(turns + start // 64, own + 1, sem="release", scope="gpu")
        lse = tl.load(lse_ptr + start + 64 + m, mask=start + 64 + m < N, other=0.0)
    if READS:
        acc += tl.load(sums_ptr + n[:, None] * D + d[None, :])
    tl.store(out_ptr + (own * 128 + n)[:, None] * D + d[None, :], acc)
