# A producer is told the numbers that all threads make of a tile, and those that only one may take from memory: the consumers store
# each, let the producer pass, and go on when it has read the number. Numbers with nothing between them that others could see are told at
# one meeting. In each iteration of a loop with copies it is not told.
# RUN: tandemc %s:tiles --emit=gpu --num-warps 4 --num-stages 2 --signature '*fp16:16, *fp16:16, *fp16:16, *i32:16, i32, i32:16' \
# RUN:   --constexpr 'EACH=False' | FileCheck %s
# RUN: tandemc %s:tiles --emit=ptx --num-warps 4 --num-stages 2 --signature '*fp16:16, *fp16:16, *fp16:16, *i32:16, i32, i32:16' \
# RUN:   --constexpr 'EACH=False' | FileCheck %s --check-prefix=PTX
# RUN: tandemc %s:tiles --remarks --num-warps 4 --num-stages 2 --signature '*fp16:16, *fp16:16, *fp16:16, *i32:16, i32, i32:16' \
# RUN:   --constexpr 'EACH=True' 2>&1 | FileCheck %s --check-prefix=NOT
# RUN: tandemc %s:tickets --emit=gpu --num-warps 4 --num-stages 2 \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, *i32:16, i32:16, i32:16, i32:16' | FileCheck %s --check-prefix=TICKET
# RUN: tandemc %s:tickets --emit=ptx --num-warps 4 --num-stages 2 \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, *i32:16, i32:16, i32:16, i32:16' | FileCheck %s --check-prefix=TICKETPTX
import triton
import triton.language as tl


# CHECK: %[[GATE:.*]] = tgpu.ring 1 bytes 0
# CHECK-DAG: %[[SUM:.*]] = simt.smem_alloc -> !tile.smem<1xi32>
# CHECK-DAG: %[[MOST:.*]] = simt.smem_alloc -> !tile.smem<1xi32>
# CHECK: tgpu.warp_specialize consumer
# CHECK: %[[TOTAL:.*]] = tile.reduce
# CHECK: simt.smem_store %[[TOTAL]], %[[A:.*]][
# CHECK-NOT: tgpu.release
# CHECK: tile.reduce
# CHECK: simt.smem_store %{{.*}}, %[[B:.*]][
# CHECK-NEXT: tgpu.release %[[GATE]]
# CHECK-NEXT: tgpu.await %[[GATE]]
# CHECK-NEXT: tgpu.advance %[[GATE]]
# CHECK-NOT: tgpu.release %[[GATE]]
# CHECK: producer
# CHECK-NOT: tile.reduce
# CHECK: tgpu.acquire %[[GATE]]
# CHECK: simt.smem_load %[[A]][
# CHECK: simt.smem_load %[[B]][
# CHECK-NEXT: tgpu.commit %[[GATE]]
# CHECK-NOT: tgpu.acquire %[[GATE]]
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
def tiles(a_ptr, b_ptr, c_ptr, counts_ptr, K, N, EACH: tl.constexpr):
    counts = tl.load(counts_ptr + tl.arange(0, 128))
    blocks = tl.sum(counts)
    most = tl.max(counts)
    a = tl.make_tensor_descriptor(a_ptr, [blocks * 64, K], [K, 1], [64, 64])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [64, 64])
    for tile in range(tl.program_id(0), blocks, tl.num_programs(0)):
        acc = tl.zeros((64, 64), tl.float32)
        for k in range(most):
            if EACH:
                k = tl.sum(tl.load(counts_ptr + k * 128 + tl.arange(0, 128)))
            acc = tl.dot(a.load([tile * 64, k * 64]), b.load([0, k * 64]).T, acc)
        rows, columns = tile * 64 + tl.arange(0, 64), tl.arange(0, 64)
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc.to(tl.float16))


# TICKET: tgpu.warp_specialize consumer
# TICKET: %[[FIRST:.*]] = tile.atomic_rmw add
# TICKET: simt.smem_store %[[FIRST]], %[[A:.*]][
# TICKET: scf.while
# TICKET: tile.block_store
# TICKET: %[[NEXT:.*]] = tile.atomic_rmw add
# TICKET: simt.smem_store %[[NEXT]], %[[B:.*]][
# TICKET-NEXT: tgpu.release %[[GATE:.*]]
# TICKET-NEXT: tgpu.await %[[GATE]]
# TICKET-NEXT: tgpu.advance %[[GATE]]
# TICKET: producer
# TICKET-NOT: tile.atomic_rmw
# TICKET: tgpu.acquire %[[GATE]]
# TICKET: simt.smem_load %[[A]][
# TICKET: tgpu.commit %[[GATE]]
# TICKET: scf.while
# TICKET: tgpu.tma_load
# TICKET: tgpu.acquire %[[GATE]]
# TICKET: %[[READ:.*]] = simt.smem_load %[[B]][
# TICKET-NEXT: tgpu.commit %[[GATE]]
# TICKET: scf.yield %[[READ]]
# TICKETPTX-COUNT-2: atom.
# TICKETPTX-NOT: atom.
@triton.jit
def tickets(a_ptr, b_ptr, c_ptr, counter, M, N, K):
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [64, 64])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [64, 64])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [64, 64])
    columns = N // 64
    tile = tl.atomic_add(counter, 1)
    while tile < M // 64 * columns:
        acc = tl.zeros((64, 64), tl.float32)
        for k in range(0, K, 64):
            acc = tl.dot(a.load([tile // columns * 64, k]), b.load([tile % columns * 64, k]).T, acc)
        c.store([tile // columns * 64, tile % columns * 64], acc.to(tl.float16))
        tile = tl.atomic_add(counter, 1)
