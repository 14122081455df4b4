# Where a producer reads a table ahead of the consumers' stores, the consumers meet before their own loads no more than it does: parameters
# lie apart. What they compute of these only for the store stands behind the products.
# RUN: tandemc %s:tiles --emit=layouts --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *i32:16, i32, i32:16, i32:16' \
# RUN:   --constexpr 'TABLE=False' | FileCheck %s
# RUN: tandemc %s:tiles --emit=ptx --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *bf16:16, *i32:16, i32, i32:16, i32:16' \
# RUN:   --constexpr 'TABLE=False' | FileCheck %s --check-prefix=PTX
# A table that the kernel writes is read when the threads have met:
# RUN: tandemc %s:tiles --emit=layouts --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *i32:16, i32, i32:16, i32:16' \
# RUN:   --constexpr 'TABLE=True' | FileCheck %s --check-prefix=WRITTEN
import triton
import triton.language as tl


# CHECK: tgpu.warp_specialize consumer
# CHECK-NOT: simt.barrier
# CHECK: tile.load
# CHECK-NOT: arith.remsi
# CHECK: tgpu.wgmma
# CHECK: arith.remsi
# CHECK: tile.store
# CHECK: producer
# CHECK: arith.remsi
# CHECK: tgpu.tma_load
# PTX: setmaxnreg.inc
# PTX-NOT: bar.sync
# PTX: setmaxnreg.dec
# WRITTEN: simt.barrier
# WRITTEN: tile.load
@triton.jit
def tiles(a_ptr, b_ptr, c_ptr, table_ptr, blocks, N, K, TABLE: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[blocks * 128, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[256, 64])
    for tile in tl.range(tl.program_id(0), blocks, tl.num_programs(0)):
        entry = tl.load(table_ptr + tile)
        row = entry % 1024 * 128
        acc = tl.zeros((128, 256), dtype=tl.float32)
        for k in range(tl.cdiv(K, 64)):
            acc = tl.dot(a.load([row, k * 64]), b.load([0, k * 64]).T, acc)
        m = row + tl.arange(0, 128)
        n = tl.arange(0, 256)
        tl.store(c_ptr + m[:, None] * N + n[None, :], acc.to(c_ptr.dtype.element_ty), mask=(n < N)[None, :])
        if TABLE:
            tl.store(table_ptr + tile + n, entry, mask=n < 1)
