# Sums of one loop whose products share an operand have one ring, and all of an iteration's products stay under way, those of one left
# operand by the same instructions; a product whose value is looked at has a ring of its own.
# RUN: tandemc %s:columns --emit=gpu --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=TOGETHER
# RUN: tandemc %s:columns --emit=ptx --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=PTX
# RUN: tandemc %s:columns --emit=gpu --num-warps 16 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=MANY
# RUN: tandemc %s:looked_at --emit=gpu --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=APART
# RUN: tandemc %s:by_columns --emit=layouts --num-warps 8 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' --constexpr 'TWICE=False' \
# RUN:   | FileCheck %s --check-prefix=COLUMNS
# RUN: tandemc %s:by_columns --emit=layouts --num-warps 8 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' --constexpr 'TWICE=True' \
# RUN:   | FileCheck %s --check-prefixes=DOUBLED,COLUMNS
# RUN: tandemc %s:by_columns --emit=ptx --num-warps 8 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' --constexpr 'TWICE=False' \
# RUN:   | FileCheck %s --check-prefix=STORES
# RUN: tandemc %s:last_page --emit=layouts --num-warps 4 --num-stages 1 --signature '*bf16:16, *bf16:16, *i32:16, *fp32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=PAGES
# RUN: tandemc %s:precise --emit=gpu --num-warps 4 --signature '*fp32:16, *fp32:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=PARTS
import triton
import triton.language as tl


# Each part of the right operand is turned and stored once for both products that read it, before the first one.
# PARTS: scf.for
# PARTS-COUNT-2: tgpu.local_store
# PARTS-NOT: tgpu.local_store
# PARTS-COUNT-3: tgpu.wgmma %
# PARTS-NOT: arith.cmpf
# PARTS: scf.yield
@triton.jit
def precise(a, b, c, K):
    m, n, k = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 16)
    acc = tl.zeros((64, 64), dtype=tl.float32)
    for start in range(0, K, 16):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        acc += tl.dot(x, tl.load(b + (start + k)[:, None] * 64 + n[None, :]), input_precision="tf32x3")
    tl.store(c + m[:, None] * 64 + n[None, :], acc)


# TOGETHER: %[[RING:.*]] = tgpu.ring 4 bytes 40960
# TOGETHER-NOT: tgpu.ring
# TOGETHER: scf.for
# TOGETHER: tgpu.await %[[RING]]
# TOGETHER: tgpu.wgmma {{.*}} {beginsAtZero, rhsTransposed} {{.*}} -> tensor<128x128xf32>
# TOGETHER-NOT: tgpu.wgmma_wait
# TOGETHER: tgpu.wgmma {{.*}}beginsAtZero, joinsPrevious{{.*}} {{.*}} -> tensor<128x64xf32>
# TOGETHER: tgpu.wgmma_wait {{.*}} pending 1
# TOGETHER-NOT: tgpu.wgmma_wait
# TOGETHER: scf.yield
# TOGETHER: tgpu.wgmma_wait {{.*}} pending 0 : tensor<128x128xf32>
# TOGETHER: tgpu.wgmma_wait {{.*}} pending 0 : tensor<128x64xf32>
# TOGETHER-NEXT: tgpu.release
# TOGETHER: producer
# TOGETHER: tgpu.acquire
# TOGETHER-NOT: tgpu.acquire
# TOGETHER-COUNT-3: tgpu.tma_load
# TOGETHER-NOT: tgpu.acquire
# TOGETHER: tgpu.commit
# One instruction for both; the first overwrites what was there.
# PTX: wgmma.mma_async.sync.aligned.m64n192k16
# PTX-NOT: wgmma.mma_async.sync.aligned.m64n{{64|128}}k16
# Where warpgroups divide the columns, each product is by instructions of its own.
# MANY-NOT: joins_previous
# MANY: tgpu.wgmma_wait {{.*}} pending 2
@triton.jit
def columns(a_ptr, b_ptr, c_ptr, M, N, K):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[128, 64])
    d = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[64, 64])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[128, 128])
    e = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[128, 64])
    row = tl.program_id(0) * 128
    x, y = tl.zeros((128, 128), dtype=tl.float32), tl.zeros((128, 64), dtype=tl.float32)
    for k in range(0, K, 64):
        left = a.load([row, k])
        x = tl.dot(left, b.load([0, k]).T, x)
        y = tl.dot(left, d.load([128, k]).T, y)
    c.store([row, 0], x.to(c_ptr.dtype.element_ty))
    e.store([row, 128], y.to(c_ptr.dtype.element_ty))


# APART-COUNT-2: tgpu.ring 4 bytes
@triton.jit
def looked_at(a_ptr, b_ptr, c_ptr, M, N, K):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[64, 64])
    row = tl.program_id(0) * 128
    x, y = tl.zeros((128, 64), dtype=tl.float32), tl.zeros((128, 64), dtype=tl.float32)
    for k in range(0, K, 64):
        left = a.load([row, k])
        x = tl.dot(left, b.load([0, k]).T, x)
        y += tl.exp(tl.dot(left, b.load([64, k]).T))
    m, n = row + tl.arange(0, 128)[:, None], tl.arange(0, 64)[None, :]
    tl.store(c_ptr + m * N + n, (x + y).to(c_ptr.dtype.element_ty))


# A tile that threads have by pieces of columns goes to shared memory by columns, in accesses of 16 bytes, and the product reads it
# transposed; what is computed from it element by element, too.
# DOUBLED: arith.mulf
# COLUMNS: tile.permute {{.*}}tensor<64x128xf16> -> tensor<128x64xf16>
# COLUMNS: tgpu.local_store {{.*}}!tile.smem<128x64xf16>
# COLUMNS: tgpu.wgmma {{.*}}rhsTransposed
# STORES: st.shared.v4.b32
# STORES-NOT: st.shared.b16
@triton.jit
def by_columns(q, k, out, stride, TWICE: tl.constexpr):
    i, j, d = tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 64)
    left = tl.load(q + i[:, None] * 64 + d[None, :])
    right = tl.load(k + d[:, None] + j[None, :] * stride)
    if TWICE:
        right *= 2
    tl.store(out + i[:, None] * 128 + j[None, :], tl.dot(left, right))


# A page's rows lie side by side in memory: that a page's number is the same for all of them says their addresses. The branch that masks the
# last page's rows has only words of one element; the other one decides how the tile lies in shared memory and in the threads.
# PAGES: tgpu.alloc 1 x !tile.smem<64x32xbf16>
# PAGES: tile.load {{.*}}mask{{.*}}tgpu.vector = array<i32: 1, 0>{{.*}}tensor<32x64xbf16>
# PAGES: else
# PAGES: tile.load {{.*}}tgpu.vector = array<i32: 8, 0>{{.*}}tensor<32x64xbf16>
# PAGES-NOT: convert_layout
# PAGES: tgpu.local_store {{.*}}tensor<64x32xbf16>
# PAGES: tgpu.wgmma {{.*}}rhsTransposed
@triton.jit
def last_page(q, values, table, o, n):
    m, d, row = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    x = tl.load(q + m[:, None] * 32 + row[None, :])
    acc = tl.zeros((64, 64), tl.float32)
    for start in range(0, n, 32):
        at = start + row
        page = tl.load(table + at // 16)
        places = values + page[:, None] * 1024 + d[None, :] * 16 + (at % 16)[:, None]
        if start + 32 > n:
            v = tl.load(places, mask=(at < n)[:, None], other=0.0)
        else:
            v = tl.load(places)
        acc = tl.dot((x * start).to(tl.bfloat16), v, acc)
    tl.store(o + m[:, None] * 64 + d[None, :], acc)
