# Products whose operands are blocks of strided tensors: a ring, a producer's copy of the loop, products under way across iterations.
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' --constexpr 'NK=False' | FileCheck %s --check-prefix=RING
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 4 --target sm_80 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' --constexpr 'NK=True' | FileCheck %s --check-prefix=PLAIN
# RUN: tandemc %s:product --emit=layouts --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' --constexpr 'NK=True' | FileCheck %s --check-prefix=LAYOUT
# RUN: tandemc %s:product --emit=ptx --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' --constexpr 'NK=True' | FileCheck %s --check-prefix=PTX
# RUN: tandemc %s:product --emit=ptx --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' --constexpr 'NK=True' | FileCheck %s --check-prefix=UNDERWAY
# RUN: tandemc %s:gram --emit=gpu --num-warps 4 --num-stages 4 --signature '*bf16:16, *bf16:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=GRAM
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, NK: tl.constexpr):
    # RING: %[[RING:.*]] = tgpu.ring 4 bytes 49152
    # RING: tgpu.alloc 4 x !tile.smem<128x64xbf16> swizzle 128
    # RING: tgpu.alloc 4 x !tile.smem<64x256xbf16> swizzle 128
    # RING: tgpu.warp_specialize consumer
    # RING: scf.if
    # RING: scf.for
    # RING: tgpu.await %[[RING]]
    # RING: tgpu.wgmma
    # RING: tgpu.wgmma_wait {{.*}} pending 1
    # RING: scf.if
    # RING: tgpu.release %[[RING]]
    # RING: tgpu.wgmma_wait {{.*}} pending 0
    # RING-NEXT: tgpu.release %[[RING]]
    # RING: } else {
    # RING: } producer {
    # RING: scf.for
    # RING-NOT: tensor<
    # RING: tgpu.acquire
    # RING-COUNT-2: tgpu.tma_load
    # RING: tgpu.commit
    # RING-NOT: block_store
    # PLAIN-NOT: tgpu.ring
    # PLAIN: tile.dot
    # LAYOUT: tgpu.wgmma {{.*}}#tgpu.layout<[128, 256], registers = [1, 2048, 8, 16, 32, 64, 128], lanes = [2, 4, 256, 512, 1024]
    # LAYOUT: tile.block_store {{.*}}tgpu.tma
    # An iteration's product runs until the next one's has started; only then its slot is let go.
    # UNDERWAY-COUNT-4: wgmma.mma_async
    # UNDERWAY-NOT: wgmma.mma_async
    # UNDERWAY: wgmma.commit_group
    # UNDERWAY-NOT: mbarrier.arrive
    # UNDERWAY: wgmma.wait_group.sync.aligned 1
    # UNDERWAY: mbarrier.arrive
    # UNDERWAY-NOT: wgmma.mma_async
    # UNDERWAY: wgmma.wait_group.sync.aligned 0
    # UNDERWAY-NOT: wgmma.mma_async
    # PTX: .reqntid 384
    # PTX-DAG: setmaxnreg.inc
    # PTX-DAG: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
    # PTX-DAG: stmatrix
    # PTX-DAG: cp.async.bulk.tensor.2d.global.shared::cta
    # PTX-DAG: setmaxnreg.dec
    # PTX-DAG: cp.async.bulk.tensor.2d.shared::cluster.global
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[128, 64])
    if NK:
        b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[256, 64])
    else:
        b = tl.make_tensor_descriptor(b_ptr, shape=[K, N], strides=[N, 1], block_shape=[64, 256])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[128, 256])
    row = tl.program_id(0) * 128
    column = tl.program_id(1) * 256
    acc = tl.zeros((128, 256), dtype=tl.float32)
    for k in range(tl.cdiv(K, 64)):
        if NK:
            acc = tl.dot(a.load([row, k * 64]), b.load([column, k * 64]).T, acc)
        else:
            acc = tl.dot(a.load([row, k * 64]), b.load([k * 64, column]), acc)
    c.store([row, column], acc.to(c_ptr.dtype.element_ty))


# A product whose operands are one tile is one product: no other may be under way when the slot of the iteration before is let go.
@triton.jit
def gram(x_ptr, o_ptr, M, K):
    # GRAM: scf.for
    # GRAM: tgpu.wgmma
    # GRAM: tgpu.wgmma_wait {{.*}} pending 1
    # GRAM: scf.if
    # GRAM: tgpu.release
    # GRAM: tgpu.wgmma_wait {{.*}} pending 0
    # GRAM-NEXT: tgpu.release
    x = tl.make_tensor_descriptor(x_ptr, shape=[M, K], strides=[K, 1], block_shape=[64, 64])
    o = tl.make_tensor_descriptor(o_ptr, shape=[M, M], strides=[M, 1], block_shape=[64, 64])
    acc = tl.zeros((64, 64), dtype=tl.float32)
    for k in range(tl.cdiv(K, 64)):
        tile = x.load([tl.program_id(0) * 64, k * 64])
        acc = tl.dot(tile, tile.T, acc)
    o.store([tl.program_id(0) * 64, 0], acc.to(o_ptr.dtype.element_ty))
