# Programs of several blocks: which dimension is divided, what the first block does alone, what is fetched once for all.
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 4 --num-ctas 2 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16' \
# RUN:   --constexpr 'BM=256, BN=128' | FileCheck %s --check-prefix=ROWS
# RUN: tandemc %s:product --emit=gpu --num-warps 4 --num-stages 4 --num-ctas 2 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16' \
# RUN:   --constexpr 'BM=64, BN=256' | FileCheck %s --check-prefix=COLUMNS
# RUN: tandemc %s:product --emit=ptx --num-warps 8 --num-stages 4 --num-ctas 2 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16' \
# RUN:   --constexpr 'BM=256, BN=128' | FileCheck %s --check-prefix=PTX
# RUN: tandemc %s:product --emit=ptx --num-warps 8 --num-stages 4 --num-ctas 4 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16' \
# RUN:   --constexpr 'BM=256, BN=128' | FileCheck %s --check-prefix=FOUR
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16' \
# RUN:   --constexpr 'BM=256, BN=128' | FileCheck %s --check-prefix=ALONE
# RUN: tandemc %s:pointers --emit=gpu --num-warps 8 --num-ctas 2 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' | FileCheck %s --check-prefix=POINTERS
# RUN: tandemc %s:add --emit=layouts --num-ctas 2 --signature '*fp32:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=ADD
# RUN: tandemc %s:add --emit=ptx --num-ctas 2 --signature '*fp32:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=ADDPTX
# RUN: tandemc %s:row_sums --emit=gpu --num-ctas 2 --signature '*fp32:16, *fp32:16' | FileCheck %s --check-prefix=KEPT
# RUN: tandemc %s:column_sums --emit=gpu --num-ctas 2 --signature '*fp32:16, *fp32:16' | FileCheck %s --check-prefix=OTHER
# RUN: tandemc %s:softmax --emit=gpu --num-ctas 4 --signature '*fp32:16, *fp32:16' | FileCheck %s --check-prefix=WHOLE
# RUN: tandemc %s:shapes --emit=gpu --num-ctas 2 --signature '*fp32:16, *fp32:16' | FileCheck %s --check-prefix=SHAPES
# RUN: tandemc %s:diagonal --emit=gpu --num-ctas 2 --signature '*fp32:16, *fp32:16' | FileCheck %s --check-prefix=DIAGONAL
# RUN: tandemc %s:persistent --emit=layouts --num-warps 8 --num-ctas 2 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16' \
# RUN:   --constexpr 'STEP=256, COLUMN=0' | FileCheck %s --check-prefix=PERSISTENT
# RUN: tandemc %s:persistent --emit=layouts --num-warps 8 --num-ctas 2 --constexpr 'STEP=256' \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, COLUMN=i32' | FileCheck %s --check-prefix=ANYWHERE
# RUN: tandemc %s:persistent --emit=layouts --num-warps 8 --num-ctas 2 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16' \
# RUN:   --constexpr 'STEP=128, COLUMN=0' | FileCheck %s --check-prefix=SHIFTED
import triton
import triton.language as tl


# Each block has half of the rows of A and C; of B, which both need, each fetches half for both.
# ROWS: %[[RING:.*]] = tgpu.ring 4 bytes 32768 cluster
# ROWS: tgpu.alloc 4 x !tile.smem<128x64xbf16>
# ROWS: tgpu.alloc 4 x !tile.smem<128x64xbf16>
# ROWS: tgpu.block_rank
# ROWS: tile.program_id 0
# ROWS: } producer {
# ROWS: tgpu.tma_load
# ROWS-NOT: multicast
# ROWS-SAME: bf16
# ROWS: tgpu.tma_load {{.*}} multicast
# COLUMNS: tgpu.ring 4 bytes 24576 cluster
# COLUMNS: tgpu.alloc 4 x !tile.smem<64x64xbf16>
# COLUMNS: tgpu.alloc 4 x !tile.smem<128x64xbf16>
# COLUMNS: } producer {
# COLUMNS: tgpu.tma_load %arg0 {{.*}} multicast
# COLUMNS: tgpu.tma_load %arg1
# COLUMNS-NOT: multicast
# PTX: .reqntid 384
# PTX: .explicitcluster
# PTX: .reqnctapercluster 2, 1, 1
# PTX: mov.b32 [[ARRIVALS:%r[0-9]+]], 16;
# PTX: mbarrier.init.shared::cta.b64 {{.*}}, [[ARRIVALS]];
# PTX: fence.mbarrier_init.release.cluster
# PTX: barrier.cluster.arrive.release.aligned
# PTX: barrier.cluster.wait.acquire.aligned
# PTX-DAG: cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [
# PTX-DAG: cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [
# PTX-DAG: mapa.shared::cluster.u32
# PTX-DAG: mbarrier.arrive.release.cta.shared::cluster.b64
# PTX-DAG: %clusterid.x
# PTX: barrier.cluster.arrive.release.aligned
# PTX: barrier.cluster.wait.acquire.aligned
# PTX-NEXT: // end inline asm
# PTX-NEXT: ret;
# FOUR: .reqnctapercluster 4, 1, 1
# FOUR: mov.b32 [[ARRIVALS:%r[0-9]+]], 32;
# FOUR: mbarrier.init.shared::cta.b64 {{.*}}, [[ARRIVALS]];
# FOUR: multicast::cluster
# ALONE-NOT: cluster
# ALONE-NOT: multicast
# ALONE-NOT: block_rank
@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, K, BM: tl.constexpr, BN: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[BN, K], strides=[K, 1], block_shape=[BN, 64])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, BN], strides=[BN, 1], block_shape=[BM, BN])
    row = tl.program_id(0) * BM
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, 64):
        acc = tl.dot(a.load([row, k]), b.load([0, k]).T, acc)
    c.store([row, 0], acc.to(c_ptr.dtype.element_ty))


# Pointer arithmetic comes to the same.
# POINTERS: tgpu.ring {{.*}} cluster
# POINTERS: tgpu.alloc {{.*}}<128x64xbf16>
# POINTERS: tgpu.alloc {{.*}}<64x256xbf16>
# POINTERS: } producer {
# POINTERS: tgpu.tma_load {{.*}} multicast
# POINTERS-NOT: tile.store
@triton.jit
def pointers(a_ptr, b_ptr, c_ptr, M, N, K):
    m = tl.program_id(0) * 256 + tl.arange(0, 256)
    n = tl.program_id(1) * 256 + tl.arange(0, 256)
    k = tl.arange(0, 64)
    a_ptrs = a_ptr + (m % M)[:, None] * K + k[None, :]
    b_ptrs = b_ptr + k[:, None] * N + (n % N)[None, :]
    acc = tl.zeros((256, 256), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, 64)):
        a = tl.load(a_ptrs, mask=k[None, :] < K - step * 64, other=0.0)
        b = tl.load(b_ptrs, mask=k[:, None] < K - step * 64, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += 64
        b_ptrs += 64 * N
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc.to(tl.bfloat16), mask=(m[:, None] < M) & (n[None, :] < N))


# Nothing to meet for.
# ADD-DAG: %[[RANK:.*]] = tgpu.block_rank
# ADD-DAG: arith.muli %[[RANK]], %{{.*}}
# ADD-DAG: tile.make_range 0 to 512
# ADD-NOT: tgpu.whole
# ADD-NOT: tensor<1024
# ADDPTX: .reqnctapercluster 2, 1, 1
# ADDPTX-NOT: barrier
# ADDPTX: %cluster_ctarank
# ADDPTX-NOT: barrier
# ADDPTX: ld.global.v4.b32
# ADDPTX-NOT: barrier
@triton.jit
def add(x_ptr, y_ptr, n):
    i = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) + 1, mask=i < n)


# The dimension that is left after the reduction.
# KEPT: tile.load {{.*}} -> tensor<32x128xf32>
# KEPT: tile.reduce
# KEPT: tile.store
# KEPT-NOT: tgpu.whole
@triton.jit
def row_sums(x_ptr, y_ptr):
    i, j = tl.arange(0, 64), tl.arange(0, 128)
    tl.store(y_ptr + i, tl.sum(tl.load(x_ptr + i[:, None] * 128 + j[None, :]), axis=1))


# OTHER: tile.load {{.*}} -> tensor<64x64xf32>
# OTHER: tile.reduce
# OTHER: tile.store
# OTHER-NOT: tgpu.whole
@triton.jit
def column_sums(x_ptr, y_ptr):
    i, j = tl.arange(0, 64), tl.arange(0, 128)
    tl.store(y_ptr + j, tl.sum(tl.load(x_ptr + i[:, None] * 128 + j[None, :]), axis=0))


# Every block computes the row, the first one writes it.
# WHOLE: tile.load {{.*}}tgpu.whole{{.*}} -> tensor<1024xf32>
# WHOLE: tile.store {{.*}}tgpu.whole
@triton.jit
def softmax(x_ptr, y_ptr):
    i = tl.arange(0, 1024)
    x = tl.exp(tl.load(x_ptr + i))
    tl.store(y_ptr + i, x / tl.sum(x, axis=0))


# 64 of [64, 32] is the outer bit of [2048], and of [4, 16, 32] the 4.
# SHAPES: tile.reshape {{.*}} tensor<1024xf32> -> tensor<2x16x32xf32>
# SHAPES: tile.store {{.*}} tensor<32x2x16xf32>
@triton.jit
def shapes(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 2048)).reshape(4, 16, 32)
    y = tl.permute(x, (2, 0, 1))
    a, b, c = tl.arange(0, 32), tl.arange(0, 4), tl.arange(0, 16)
    tl.store(y_ptr + a[:, None, None] * 64 + b[None, :, None] * 16 + c[None, None, :], y)


# Half of the rows and half of the columns would be a quarter.
# DIAGONAL: tile.store {{.*}}tgpu.whole{{.*}} tensor<64x64x
@triton.jit
def diagonal(x_ptr, y_ptr):
    i = tl.arange(0, 64)
    x = tl.load(x_ptr + i[:, None] * 64 + i[None, :])
    tl.store(y_ptr + i[:, None] * 64 + i[None, :], x + x.T)


# Tiles that lie at multiples of their size: rows of one block are never another's, so the blocks need not meet between stores; nor need the
# warps of a block, where TMA stores all of the tile wherever it lies.
# PERSISTENT-NOT: simt.barrier
# PERSISTENT: tile.block_store {{.*}}tgpu.completes_own
# ANYWHERE: simt.barrier in_block completing
# ANYWHERE-NEXT: tile.block_store
# SHIFTED: simt.barrier completing
# SHIFTED-NEXT: tile.block_store
@triton.jit
def persistent(a_ptr, b_ptr, c_ptr, M, K, COLUMN, STEP: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[256, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[128, K], strides=[K, 1], block_shape=[128, 64])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, 128], strides=[128, 1], block_shape=[256, 128])
    for tile in range(tl.program_id(0), tl.cdiv(M, STEP), 66):
        acc = tl.zeros((256, 128), dtype=tl.float32)
        for k in range(0, K, 64):
            acc = tl.dot(a.load([tile * STEP, k]), b.load([0, k]).T, acc)
        c.store([tile * STEP, COLUMN], acc.to(c_ptr.dtype.element_ty))
