# A producer is told the numbers that all threads make of a tile: the consumers store each and let the producer pass. A sum in a loop it
# cannot be told.
# RUN: tandemc %s:tiles --emit=gpu --num-warps 4 --num-stages 2 --signature '*fp16:16, *fp16:16, *fp16:16, *i32:16, i32, i32:16' \
# RUN:   --constexpr 'LOOP=False' | FileCheck %s
# RUN: tandemc %s:tiles --emit=ptx --num-warps 4 --num-stages 2 --signature '*fp16:16, *fp16:16, *fp16:16, *i32:16, i32, i32:16' \
# RUN:   --constexpr 'LOOP=False' | FileCheck %s --check-prefix=PTX
# RUN: tandemc %s:tiles --remarks --num-warps 4 --num-stages 2 --signature '*fp16:16, *fp16:16, *fp16:16, *i32:16, i32, i32:16' \
# RUN:   --constexpr 'LOOP=True' 2>&1 | FileCheck %s --check-prefix=NOT
import triton
import triton.language as tl


# CHECK: %[[GATE:.*]] = tgpu.ring 1 bytes 0
# CHECK-DAG: %[[SUM:.*]] = simt.smem_alloc -> !tile.smem<1xi32>
# CHECK-DAG: %[[MOST:.*]] = simt.smem_alloc -> !tile.smem<1xi32>
# CHECK: tgpu.warp_specialize consumer
# CHECK: %[[TOTAL:.*]] = tile.reduce
# CHECK: simt.smem_store %[[TOTAL]], %[[A:.*]][
# CHECK-NEXT: tgpu.release %[[GATE]]
# CHECK-NEXT: tgpu.await %[[GATE]]
# CHECK-NEXT: tgpu.advance %[[GATE]]
# CHECK: tile.reduce
# CHECK: simt.smem_store %{{.*}}, %[[B:.*]][
# CHECK: producer
# CHECK-NOT: tile.reduce
# CHECK: tgpu.acquire %[[GATE]]
# CHECK-NEXT: tgpu.commit %[[GATE]]
# CHECK: simt.smem_load %[[A]][
# CHECK: tgpu.acquire %[[GATE]]
# CHECK: simt.smem_load %[[B]][
# CHECK: tgpu.tma_load
# PTX: setmaxnreg.inc
# PTX: st.shared.b32 [[A:.tandem_shared.*]], %r
# PTX: mbarrier.arrive.shared
# PTX: setmaxnreg.dec
# PTX: mbarrier.try_wait
# PTX: ld.shared.b32 {{.*}}, [[A]];
# PTX: cp.async.bulk.tensor
# NOT-NOT: by a producer warp
# NOT: a producer warp cannot run ahead of what decides the loop or its addresses
@triton.jit
def tiles(a_ptr, b_ptr, c_ptr, counts_ptr, K, N, LOOP: tl.constexpr):
    counts = tl.load(counts_ptr + tl.arange(0, 128))
    blocks = tl.sum(counts)
    if LOOP:
        for i in range(1, 4):
            blocks += tl.sum(tl.load(counts_ptr + i * 128 + tl.arange(0, 128)))
    most = tl.max(counts)
    a = tl.make_tensor_descriptor(a_ptr, [blocks * 64, K], [K, 1], [64, 64])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [64, 64])
    for tile in range(tl.program_id(0), blocks, tl.num_programs(0)):
        acc = tl.zeros((64, 64), tl.float32)
        for k in range(most):
            acc = tl.dot(a.load([tile * 64, k * 64]), b.load([0, k * 64]).T, acc)
        rows, columns = tile * 64 + tl.arange(0, 64), tl.arange(0, 64)
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc.to(tl.float16))
