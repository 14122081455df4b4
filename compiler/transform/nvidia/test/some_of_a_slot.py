# A loop that brings some of the tiles of a loop before it fills its slots, which it leaves unfilled in part: tiles of whole columns and
# of half of them have one ring. Rows that the producer's threads copy come to the same slots, too.
# RUN: tandemc %s:widths --emit=gpu --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *i32:16, i32:16, i32:16, i32:16, i32' --constexpr 'GATHER=False' | FileCheck %s
# RUN: tandemc %s:widths --emit=gpu --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *i32:16, i32:16, i32:16, i32:16, i32' --constexpr 'GATHER=True' \
# RUN:   | FileCheck %s --check-prefix=ROWS
# RUN: tandemc %s:widths --emit=ptx --target sm_90a --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *i32:16, i32:16, i32:16, i32:16, i32' --constexpr 'GATHER=False' \
# RUN:   | FileCheck %s --check-prefix=PTX
# RUN: tandemc %s:larger_later --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=LATER
import triton
import triton.language as tl


# CHECK: %[[RING:.*]] = tgpu.ring 4 bytes 49152
# CHECK-NOT: tgpu.ring
# CHECK: %[[A:.*]] = tgpu.alloc 4 x !tile.smem<128x64xbf16>
# CHECK: %[[B:.*]] = tgpu.alloc 4 x !tile.smem<128x64xbf16>
# CHECK: %[[C:.*]] = tgpu.alloc 4 x !tile.smem<128x64xbf16>
# CHECK: consumer
# CHECK: tgpu.wgmma %[[A]] of %[[RING]], %[[B]] of %[[RING]]
# CHECK: tgpu.wgmma %[[A]] of %[[RING]], %[[C]] of %[[RING]], {{.*}}joinsPrevious
# CHECK: else
# CHECK: tgpu.wgmma %[[A]] of %[[RING]], %[[B]] of %[[RING]]
# CHECK-NOT: tgpu.wgmma %
# CHECK: producer
# CHECK: tgpu.acquire %[[RING]]{{$}}
# CHECK-COUNT-3: tgpu.tma_load
# CHECK: else
# CHECK: tgpu.acquire %[[RING]] bytes 32768
# CHECK: tgpu.tma_load {{.*}} into %[[A]] of %[[RING]]
# CHECK: tgpu.tma_load {{.*}} into %[[B]] of %[[RING]]
# CHECK-NOT: into %[[C]]
# PTX: wgmma.mma_async.sync.aligned.m64n256k16
# PTX: wgmma.mma_async.sync.aligned.m64n128k16
# PTX: mov.b32 %[[ALL:.*]], 49152;
# PTX: mbarrier.arrive.expect_tx.{{.*}}, %[[ALL]];
# PTX: mov.b32 %[[SOME:.*]], 32768;
# PTX: mbarrier.arrive.expect_tx.{{.*}}, %[[SOME]];
# ROWS: %[[RING:.*]] = tgpu.ring 4 bytes 32768
# ROWS-NOT: tgpu.ring
# ROWS: producer
# ROWS: tgpu.acquire %[[RING]]{{$}}
# ROWS: tgpu.copy_async {{.*}} %[[A:[^ ]*]] of %[[RING]]
# ROWS-COUNT-2: tgpu.tma_load
# ROWS: tgpu.acquire %[[RING]] bytes 16384
# ROWS: tgpu.copy_async {{.*}} %[[A]] of %[[RING]]
# ROWS: tgpu.tma_load
@triton.jit
def widths(a_ptr, b_ptr, c_ptr, rows_ptr, M, N, K, whole, GATHER: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[128, 64])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[128, 128])
    columns = tl.cdiv(N, 256)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, 128) * columns, tl.num_programs(0)):
        row = tile // columns * 128
        column = tile % columns * 256
        rows = tl.load(rows_ptr + row + tl.arange(0, 128))
        a_ptrs = a_ptr + rows[:, None].to(tl.int64) * K + tl.arange(0, 64)[None, :]
        first, second = tl.zeros((128, 128), dtype=tl.float32), tl.zeros((128, 128), dtype=tl.float32)
        if tile < whole:
            for k in range(0, K, 64):
                x = tl.load(a_ptrs + k) if GATHER else a.load([row, k])
                first = tl.dot(x, b.load([column, k]).T, first)
                second = tl.dot(x, b.load([column + 128, k]).T, second)
        else:
            for k in range(0, K, 64):
                x = tl.load(a_ptrs + k) if GATHER else a.load([row, k])
                first = tl.dot(x, b.load([column, k]).T, first)
        c.store([row, column], first.to(tl.bfloat16))
        c.store([row, column + 128], second.to(tl.bfloat16))


# A ring is made for the first loop: one behind it whose slots are larger has its own.
# LATER-COUNT-2: tgpu.ring
@triton.jit
def larger_later(a_ptr, b_ptr, c_ptr, N, K):
    a = tl.make_tensor_descriptor(a_ptr, shape=[128, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[64, 64])
    first, second = tl.zeros((128, 64), dtype=tl.float32), tl.zeros((128, 64), dtype=tl.float32)
    for k in range(0, K, 64):
        first = tl.dot(a.load([0, k]), b.load([0, k]).T, first)
    for k in range(0, K, 64):
        x = a.load([0, k])
        first = tl.dot(x, b.load([64, k]).T, first)
        second = tl.dot(x, b.load([128, k]).T, second)
    i, j = tl.arange(0, 128)[:, None], tl.arange(0, 64)[None, :]
    tl.store(c_ptr + i * N + j, (first + second).to(tl.bfloat16))
