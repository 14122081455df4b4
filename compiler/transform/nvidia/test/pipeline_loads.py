# Loads copied ahead by cp.async: what is, what is not, and how far ahead.
# RUN: tandemc %s:product --emit=gpu --target sm_80 --num-warps 8 --num-stages 4 \
# RUN:   --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, i32:16' --constexpr 'BM=128, BN=128, BK=32' | FileCheck %s
# RUN: tandemc %s:product --emit=gpu --target sm_89 --num-warps 8 --num-stages 4 \
# RUN:   --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, i32:16' --constexpr 'BM=128, BN=128, BK=64' \
# RUN:   | FileCheck %s --check-prefix=FEWER
# RUN: tandemc %s:product --emit=gpu --target sm_80 --num-warps 8 --num-stages 1 \
# RUN:   --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, i32:16' --constexpr 'BM=128, BN=128, BK=32' \
# RUN:   | FileCheck %s --check-prefix=NONE
# RUN: tandemc %s:product --emit=gpu --target sm_80 --num-warps 1 --num-stages 1 \
# RUN:   --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, i32:16' --constexpr 'BM=16, BN=128, BK=128' \
# RUN:   | FileCheck %s --check-prefix=ONE
# RUN: tandemc %s:product --emit=gpu --target sm_80 --num-warps 8 --num-stages 4 \
# RUN:   --signature '*fp16, *fp16, *fp32, i32, i32, i32' --constexpr 'BM=128, BN=128, BK=32' \
# RUN:   | FileCheck %s --check-prefix=NONE
# RUN: tandemc %s:tiles_in_one_loop --emit=gpu --target sm_80 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=FLAT
# RUN: tandemc %s:tiles_in_one_loop --emit=layouts --target sm_90a --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=LAID
# RUN: tandemc %s:rows --emit=gpu --target sm_80 --signature '*fp16:16, *i32:16, *fp16:16, i32, i32' | FileCheck %s --check-prefix=ROWS
# RUN: tandemc %s:rows_in_place --emit=gpu --target sm_80 --signature '*i32:16, i32' | FileCheck %s --check-prefix=PLACE
# RUN: tandemc %s:blocks --emit=gpu --target sm_80 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=BLOCKS
# RUN: tandemc %s:chased --emit=gpu --target sm_80 --signature '*fp32:16, *i32:16, *fp32:16, i32' | FileCheck %s --check-prefix=CHASED
# RUN: tandemc %s:written --emit=gpu --target sm_80 --signature '*fp32:16, i32' | FileCheck %s --check-prefix=NONE
# RUN: tandemc %s:added --emit=gpu --target sm_80 --signature '*fp32:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=NONE
# RUN: tandemc %s:counted_rows --emit=gpu --target sm_80 --constexpr 'LOOKS=0' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=BLIND
# RUN: tandemc %s:counted_rows --emit=gpu --target sm_80 --constexpr 'LOOKS=1' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=NONE
# RUN: tandemc %s:counted_rows --emit=gpu --target sm_80 --constexpr 'LOOKS=2' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=NONE
# RUN: tandemc %s:turned --emit=gpu --target sm_80 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=TURNED
# RUN: tandemc %s:chained --emit=ptx --target sm_80 --num-warps 8 --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=CHAIN
# RUN: tandemc %s:turned --emit=ptx --target sm_80 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=PTX
# RUN: tandemc %s:two_tiles --emit=gpu --num-stages 2 --signature '*bf16:16, *bf16:16, *bf16:16, *fp32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=REFILL
# RUN: tandemc %s:two_tiles --emit=gpu --num-stages 3 --signature '*bf16:16, *bf16:16, *bf16:16, *fp32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=REFILL
# RUN: tandemc %s:two_tiles --emit=gpu --num-stages 2 --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, *fp32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=KEEP
# RUN: tandemc %s:gathered --emit=gpu --num-stages 4 --signature '*bf16:16, *bf16:16, *fp32:16, *i32:16, i32:16' \
# RUN:   --constexpr 'UP=0.0' | FileCheck %s --check-prefix=GATHER
# RUN: tandemc %s:gathered --emit=gpu --num-stages 4 --signature '*bf16:16, *bf16:16, *fp32:16, *i32:16, i32:16' \
# RUN:   --constexpr 'UP=1.0' | FileCheck %s --check-prefix=OTHER
# RUN: tandemc %s:gathered --emit=gpu --num-stages 4 --signature '*fp8e4nv:16, *fp8e4nv:16, *fp32:16, *i32:16, i32:16' \
# RUN:   --constexpr 'UP=0.0' | FileCheck %s --check-prefix=EIGHT
# RUN: tandemc %s:gathered --emit=ptx --num-stages 4 --signature '*bf16:16, *bf16:16, *fp32:16, *i32:16, i32:16' \
# RUN:   --constexpr 'UP=0.0' | FileCheck %s --check-prefix=FENCED
# RUN: tandemc %s:scaled_sums --emit=gpu --signature '*bf16:16, *bf16:16, *i32:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=DURING
# RUN: tandemc %s:scaled --emit=gpu --num-stages 4 --signature '*bf16:16, *i8:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=SCALED
# No producer brings a block from which threads compute an operand: the threads copy all ahead.
# RUN: tandemc %s:widened --emit=gpu --num-warps 4 --num-stages 3 --signature '*bf16:16, *fp32:16, *fp32:16, i32, i32, i32:16' \
# RUN:   | FileCheck %s --check-prefix=WIDENED
# Stages leave room for what is counted behind the loop:
# RUN: tandemc %s:counted --emit=ptx --target sm_89 --num-stages 6 --signature '*fp16:16, *fp16:16, *i32:16, *i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=COUNTED
# Sums scattered by atomics whose results nothing reads need no room:
# RUN: tandemc %s:scattered --emit=gpu --signature '*fp16:16, *fp16:16, *fp32:16, *i32:16, i32:16' | FileCheck %s --check-prefix=SCATTERED
# The last slot but one may have what exchanges can do without:
# RUN: tandemc %s:three --emit=remarks --num-warps 8 --signature '*fp32:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=SPARE
import triton
import triton.language as tl


# Addresses of three iterations ahead are carried by the loop, with whether there is such an iteration.
# CHECK-DAG: %[[A:.*]] = tgpu.alloc 4 x !tile.smem<128x32xf16> swizzle 64
# CHECK-DAG: %[[B:.*]] = tgpu.alloc 4 x !tile.smem<32x128xf16> swizzle 128
# CHECK: %[[RING:.*]] = tgpu.copy_ring 4 ahead 3
# CHECK: tgpu.rewind %[[RING]]
# CHECK-COUNT-3: tgpu.commit %[[RING]]
# CHECK-NOT: tgpu.commit
# CHECK: scf.for {{.*}} iter_args({{.*}}, %[[AT:.*]] = {{.*}}, %[[VALID:.*]] = {{.*}}, %{{.*}} = {{.*}}, %{{.*}} = {{.*}}) ->
# CHECK-NEXT: tgpu.await %[[RING]]
# CHECK-NOT: tile.load
# CHECK: tgpu.copy_async %{{.*}} mask %{{.*}} if %[[VALID]] into %[[A]] of %[[RING]] {tgpu.vector = array<i32: 8, 1>}
# CHECK: tgpu.copy_async %{{.*}} mask %{{.*}} if %[[VALID]] into %[[B]] of %[[RING]] {tgpu.vector = array<i32: 8, 1>}
# CHECK: tgpu.commit %[[RING]]
# CHECK: %[[X:.*]] = tgpu.local_load %[[A]] of %[[RING]]
# CHECK: %[[Y:.*]] = tgpu.local_load %[[B]] of %[[RING]]
# CHECK: tile.dot %[[X]], %[[Y]],
# FEWER: tgpu.copy_ring 2
# NONE-NOT: tgpu.copy_async
# Tiles of one stage that registers have no room for get one slot, which is filled again when all threads have read it.
# ONE: tgpu.copy_ring 1 ahead 1
# ONE: scf.for
# ONE: tgpu.local_load
# ONE: simt.barrier in_block
# ONE-COUNT-2: tgpu.copy_async
# NONE-NOT: tgpu.copy_async
@triton.jit
def product(a, b, c, K, sa, sb, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    x = a + m[:, None] * sa + k[None, :]
    y = b + k[:, None] * sb + n[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        acc = tl.dot(tl.load(x, mask=k[None, :] < K - start, other=0.0), tl.load(y, mask=k[:, None] < K - start, other=0.0), acc)
        x += BK
        y += BK * sb
    tl.store(c + m[:, None] * BN + n[None, :], acc)


# A branch that addresses come from is taken ahead of its iteration, as one loop over the steps of all tiles has it. They are not known
# to be those of whole tiles, which would be two loops.
# FLAT: tgpu.copy_ring 3 ahead 2
# FLAT: scf.for
# FLAT-NEXT: tgpu.await
# FLAT: scf.if
# FLAT: tgpu.copy_async {{.*}} {tgpu.vector = array<i32: 8, 1>} : tensor<64x32x!tile.ptr<f16>>
# FLAT: tgpu.copy_async {{.*}} {tgpu.vector = array<i32: 8, 0>} : tensor<32x64x!tile.ptr<f16>>
# FLAT: tile.dot
# The rows that the branch chooses and the loop carries lie in the threads as the copies' addresses want them.
# LAID: scf.for
# LAID-NOT: tgpu.convert_layout {{.*}}xi32>
# LAID: tgpu.copy_async
# LAID-NOT: tgpu.convert_layout {{.*}}xi32>
# LAID: tgpu.copy_async
@triton.jit
def tiles_in_one_loop(a, b, c, K, N, all_steps):
    rows, columns, k = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    step, tile = -1, -1
    acc = tl.zeros((64, 64), tl.float32)
    for _ in range(all_steps):
        step = tl.where(step == K // 32 - 1, 0, step + 1)
        if step == 0:
            tile += 1
            rows = tile * 64 + tl.arange(0, 64)
        x = tl.load(a + rows[:, None] * K + (step * 32 + k)[None, :])
        y = tl.load(b + (step * 32 + k)[:, None] + columns[None, :] * K)
        acc = tl.dot(x, y, acc)
        if step == K // 32 - 1:
            tl.store(c + rows[:, None] * N + columns[None, :], acc)
            acc = tl.zeros((64, 64), tl.float32)


# Where tiles are not copied ahead, numbers that say where they are come one iteration ahead all the same.
# ROWS: %[[FIRST:.*]] = tile.load {{.*}} : !tile.ptr<i32> -> i32
# ROWS: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[ROW:.*]] = %[[FIRST]])
# ROWS: %[[NEXT:.*]] = tile.load {{.*}} : !tile.ptr<i32> -> i32
# ROWS: muli %[[ROW]],
# ROWS: tile.load {{.*}} : tensor<256x!tile.ptr<f16>> -> tensor<256xf16>
# ROWS: scf.yield %{{.*}}, %[[NEXT]]
@triton.jit
def rows(x, at, o, n, stride):
    k = tl.arange(0, 256)
    total = tl.zeros((256,), tl.float32)
    for i in range(n):
        row = tl.load(at + i)
        total += tl.load(x + row * stride + k).to(tl.float32)
    tl.store(o + k, total)


# What the loop writes is not read ahead.
# PLACE: scf.for {{.*}} : i32 {
# PLACE: tile.load {{.*}} : !tile.ptr<i32> -> i32
@triton.jit
def rows_in_place(x, n):
    k = tl.arange(0, 256)
    for i in range(n):
        row = tl.load(x + i)
        tl.store(x + row * 256 + k, k)


# WIDENED-NOT: tgpu.warp_specialize
# WIDENED: tgpu.copy_ring 3 ahead 2
# WIDENED: scf.for
# WIDENED: tgpu.copy_async {{.*}} : tensor<64x64x!tile.ptr<bf16>>
# WIDENED: tgpu.copy_async {{.*}} : tensor<32x64x!tile.ptr<f32>>
# WIDENED: tgpu.wgmma
@triton.jit
def widened(a, b, c, M, N, K):
    x = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[64, 64])
    y = tl.make_tensor_descriptor(b, shape=[N, K], strides=[K, 1], block_shape=[32, 64])
    acc = tl.zeros((64, 32), tl.float32)
    for k in range(0, K, 64):
        acc = tl.dot(x.load([0, k]).to(tl.float32), y.load([0, k]).T, acc)
    tl.store(c + tl.arange(0, 64)[:, None] * 32 + tl.arange(0, 32)[None, :], acc)


# Descriptors become pointers where no unit copies them.
# BLOCKS: tgpu.copy_ring 3
# BLOCKS: scf.for
# BLOCKS-NOT: tile.block_load
# BLOCKS: tgpu.copy_async {{.*}} {tgpu.vector = array<i32: 8, 1>} : tensor<64x32x!tile.ptr<f16>>
# BLOCKS: tgpu.copy_async {{.*}} {tgpu.vector = array<i32: 8, 1>} : tensor<32x64x!tile.ptr<f16>>
# BLOCKS: tile.dot
@triton.jit
def blocks(a, b, c, M, N, K):
    x = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[64, 32])
    y = tl.make_tensor_descriptor(b, shape=[K, N], strides=[N, 1], block_shape=[32, 64])
    acc = tl.zeros((64, 64), tl.float32)
    for k in range(0, K, 32):
        acc = tl.dot(x.load([0, k]), y.load([k, 0]), acc)
    n = tl.arange(0, 64)
    tl.store(c + n[:, None] * 64 + n[None, :], acc)


# An index is loaded one iteration before the copy that needs it, so that the copy starts as soon as its slot is free.
# CHASED: scf.for
# CHASED: tgpu.await
# CHASED: tgpu.copy_async
# CHASED: tile.load %{{.*}} mask %{{.*}} : i1
# CHASED: tgpu.local_load
# CHASED-NOT: tgpu.copy_async
# CHASED: scf.yield
@triton.jit
def chased(x, places, o, steps):
    n = tl.arange(0, 256)
    total = tl.zeros([256], tl.float32)
    for s in tl.range(0, steps, num_stages=3):
        total += tl.load(x + tl.load(places + s) * 256 + n)
    tl.store(o + n, total)


# An iteration reads the writes of the one before.
@triton.jit
def written(x, steps):
    n = tl.arange(0, 256)
    for s in tl.range(0, steps, num_stages=3):
        tl.store(x + (s + 1) * 256 + n, tl.load(x + s * 256 + n) + 1.0)


# Without products a loop must ask for it.
@triton.jit
def added(x, o, columns):
    n = tl.arange(0, 128)
    total = tl.zeros([128], tl.float32)
    for start in range(0, columns, 128):
        total += tl.load(x + start + n)
    tl.store(o + n, total)


# An update whose old value nobody looks at acquires nothing, whatever its order, but what a look that does not acquire has told of.
# BLIND: scf.for
# BLIND: tgpu.copy_async
# BLIND: tgpu.copy_async
# BLIND: tile.atomic_rmw fadd acq_rel
# BLIND: scf.yield
@triton.jit
def counted_rows(a, b, c, sums, K, LOOKS: tl.constexpr):
    m, k = tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros((64, 64), tl.float32)
    if LOOKS == 2:
        K = tl.atomic_add(sums + 64, 0.0, sem="relaxed").to(tl.int32)
    for start in range(0, K, 32):
        x = tl.load(a + m[:, None] * K + start + k[None, :])
        y = tl.load(b + (start + k)[:, None] * 64 + m[None, :])
        part = tl.dot(x, y)
        old = tl.atomic_add(sums + m, tl.sum(part, 1))
        acc += part + old[:, None] if LOOKS == 1 else part
    tl.store(c + m[:, None] * 64 + m[None, :], acc)


# Columns that are contiguous: the buffer's order is memory's, ldmatrix reads it as it lies.
# TURNED: tgpu.alloc 3 x !tile.smem<32x64xf16> swizzle 64 fastest 0
# PTX: cp.async.cg.shared.global
# PTX: cp.async.commit_group
# PTX: cp.async.wait_group 1
# PTX-NEXT: inline asm
# PTX: bar.sync
# PTX: cp.async.cg.shared.global
# PTX-NOT: .trans.
# PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16
# PTX-NOT: .trans.
# PTX: mma.sync
@triton.jit
def turned(a, b, c, K):
    n, k = tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros((64, 64), tl.float32)
    for start in range(0, K, 32):
        x = tl.load(a + n[:, None] * K + (start + k)[None, :])
        acc = tl.dot(x, tl.load(b + n[None, :] * K + (start + k)[:, None]), acc)
    tl.store(c + n[:, None] * 64 + n[None, :], acc)


# Two products of which one reads the other: each warp has whole rows, and a transposed tile is read transposed, so the iteration's one
# barrier is all that threads wait for each other.
# CHAIN: cp.async.wait_group 1
# CHAIN: bar.sync
# CHAIN-NOT: {{bar.sync|st.shared|ld.shared}}
# CHAIN: ldmatrix.sync.aligned.m8n8.x4.shared.b16
# CHAIN-NOT: {{bar.sync|st.shared|ld.shared}}
# CHAIN: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
# CHAIN-NOT: {{bar.sync|st.shared|ld.shared}}
# CHAIN: bra
@triton.jit
def chained(q, k, v, o, N):
    m, n, d = tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, 64)
    keys = tl.make_tensor_descriptor(k, shape=[N, 64], strides=[64, 1], block_shape=[64, 64])
    values = tl.make_tensor_descriptor(v, shape=[N, 64], strides=[64, 1], block_shape=[64, 64])
    x = tl.load(q + m[:, None] * 64 + d[None, :])
    acc = tl.zeros((128, 64), tl.float32)
    top = tl.zeros((128,), tl.float32)
    for start in range(0, N, 64):
        s = tl.dot(x, keys.load([start, 0]).T)
        new = tl.maximum(top, tl.max(s, 1))
        acc = acc * tl.exp2(top - new)[:, None]
        acc = tl.dot(tl.exp2(s - new[:, None]).to(tl.float16), values.load([start, 0]), acc)
        top = new
    tl.store(o + m[:, None] * 64 + d[None, :], acc)


# COUNTED: cp.async.wait_group 2
@triton.jit
def counted(a, b, x, o, K):
    k, n = tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros((64, 32), tl.float32)
    for start in range(0, K, 64):
        rows = tl.load(a + k[:, None] * K + (start + k)[None, :])
        acc = tl.dot(rows, tl.load(b + (start + k)[:, None] * 32 + n[None, :]), acc)
    tl.store(o + 8192 + k[:, None] * 32 + n[None, :], acc.to(tl.int32))
    tl.store(o + tl.arange(0, 8192), tl.histogram(tl.load(x + tl.arange(0, 256)), 8192))


# Rows that an index names: wgmma reads the slots themselves, columns of memory as they lie, and an iteration's product is under way while
# the next one begins.
# GATHER-DAG: %[[A:.*]] = tgpu.alloc 4 x !tile.smem<64x64xbf16> swizzle 128
# GATHER-DAG: %[[B:.*]] = tgpu.alloc 4 x !tile.smem<64x128xbf16> swizzle 128 fastest 0
# GATHER: %[[RING:.*]] = tgpu.copy_ring 4 ahead 3
# GATHER: scf.if
# GATHER: scf.for
# GATHER-NEXT: tgpu.await %[[RING]]
# GATHER-NOT: {{tile.load|local_load|local_store|arith.addf}}
# GATHER: %[[SUM:.*]] = tgpu.wgmma %[[A]] of %[[RING]], %[[B]] of %[[RING]], %{{.*}} {beginsAtZero}
# GATHER-NEXT: tgpu.wgmma_wait %[[SUM]] pending 1
# GATHER-NEXT: simt.barrier in_block
# GATHER-NEXT: tgpu.copy_async
# GATHER: scf.yield
# GATHER: tgpu.wgmma_wait {{.*}} pending 0
# A value other than zero where the mask is false has to come from registers.
# OTHER: tgpu.copy_ring 3 ahead 3
# OTHER: %[[X:.*]] = tgpu.local_load
# OTHER: %[[FILLED:.*]] = arith.select %{{.*}}, %[[X]],
# OTHER: tgpu.local_store %[[FILLED]],
# OTHER: tgpu.wgmma_wait {{.*}} pending 0
# Sums of eight-bit floats stay the kernel's own.
# EIGHT: tgpu.copy_ring 4 ahead 3
# EIGHT: tgpu.wgmma_wait {{.*}} pending 0
# EIGHT: arith.addf
# Writes by cp.async come before what the asynchronous unit reads.
# FENCED: cp.async.wait_group 2
# FENCED: fence.proxy.async.shared::cta
# FENCED: bar.sync
# FENCED: wgmma.mma_async
# FENCED: wgmma.wait_group.sync.aligned 1
# FENCED: bar.sync
# FENCED: cp.async.cg
@triton.jit
def gathered(a, b, c, rows, K, UP: tl.constexpr):
    m, n, k = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 64)
    row = tl.load(rows + m)
    acc = tl.zeros((64, 128), tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + row[:, None] * K + (start + k)[None, :], mask=k[None, :] < K - start, other=UP)
        acc += tl.dot(x, tl.load(b + n[None, :] * K + (start + k)[:, None]))
    tl.store(c + m[:, None] * 128 + n[None, :], acc)


# A right operand that is computed from what was copied becomes the left one, in registers, of the transpose. The next one is computed while
# the product is under way, which reads the slot of the iteration before; copies to that slot start behind the wait.
# SCALED-NOT: tgpu.warp_specialize
# SCALED: %[[RING:.*]] = tgpu.copy_ring 4 ahead 3
# SCALED-NOT: tgpu.local_store
# SCALED: tgpu.await %[[RING]]
# SCALED: arith.sitofp {{.*}} : tensor<64x128xi8> to tensor<64x128xbf16>
# SCALED: scf.for {{.*}} iter_args({{.*}}%[[LHS:[a-z0-9]+]] = %{{[0-9]+}}) -> (tensor<128x64xf32>,
# SCALED: %[[SUM:.*]] = tgpu.wgmma %[[LHS]], %{{.*}} of %[[RING]],
# SCALED: tgpu.await %[[RING]]
# SCALED: %[[Q:.*]] = tgpu.local_load
# SCALED: arith.sitofp %[[Q]]
# SCALED: tgpu.wgmma_wait %[[SUM]] pending 0
# SCALED-NEXT: simt.barrier in_block
# SCALED: tgpu.copy_async
# SCALED: tgpu.wgmma
# SCALED: tgpu.wgmma_wait {{.*}} pending 0
@triton.jit
def scaled(a, b, c, K):
    m, n, k = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 64)
    acc = tl.zeros((64, 128), tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        acc += tl.dot(x, tl.load(b + n[None, :] * K + (start + k)[:, None]).to(tl.bfloat16))
    tl.store(c + m[:, None] * 128 + n[None, :], acc)


# Second and third slots of 64 KB would cost a multiprocessor its second block of four warps: the only slot is filled again when all threads
# have read it.
# REFILL: tgpu.copy_ring 1 ahead 1
# REFILL: scf.for
# REFILL: tgpu.await
# REFILL-NOT: tgpu.copy_async
# REFILL: tgpu.local_load
# REFILL: tgpu.local_load
# REFILL: simt.barrier in_block
# REFILL-COUNT-2: tgpu.copy_async
# REFILL: scf.yield
# KEEP: tgpu.copy_ring 2 ahead 1
@triton.jit
def two_tiles(q, k, v, o, length):
    row, wide, few = tl.arange(0, 16), tl.arange(0, 512), tl.arange(0, 32)
    a = tl.load(q + row[:, None] * 512 + wide[None, :])
    total = tl.zeros([16, 512], tl.float32)
    for at in range(0, length, 32):
        x = tl.load(k + (at + few)[None, :] * 512 + wide[:, None])
        y = tl.load(v + (at + few)[:, None] * 512 + wide[None, :])
        total = tl.dot(tl.dot(a, x).to(tl.bfloat16), y, total)
    tl.store(o + row[:, None] * 512 + wide[None, :], total)


# SPARE-COUNT-3: copied by cp.async 1 iteration ahead, 16 bytes a thread at once, into a ring of 2 slots
@triton.jit
def three(x_ptr, out_ptr, n):
    """104 KB an iteration: two slots leave more than 10 KB for exchanges, but less than an eighth."""
    i, j, k = tl.arange(0, 16384), tl.arange(0, 8192), tl.arange(0, 2048)
    a, b, c = tl.zeros((16384,), tl.float32), tl.zeros((8192,), tl.float32), tl.zeros((2048,), tl.float32)
    for s in tl.range(0, n, 32768, num_stages=2):
        a += tl.load(x_ptr + s + i)
        b += tl.load(x_ptr + s + 16384 + j)
        c += tl.load(x_ptr + s + 24576 + k)
    tl.store(out_ptr + i, a)
    tl.store(out_ptr + 16384 + j, b)
    tl.store(out_ptr + 24576 + k, c)


# SCATTERED: tgpu.copy_ring 3
# SCATTERED: tile.atomic_rmw
@triton.jit
def scattered(a_ptr, b_ptr, c_ptr, rows_ptr, K):
    m, n, k = tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 64)
    rows = tl.load(rows_ptr + m)
    acc = tl.zeros((128, 128), tl.float32)
    for at in range(0, K, 64):
        a = tl.load(a_ptr + rows[:, None] * K + (at + k)[None, :])
        b = tl.load(b_ptr + (at + k)[:, None] * 128 + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.atomic_add(c_ptr + rows[:, None] * 128 + n[None, :], acc)


# An iteration's products begin before the copies for a later one, and are awaited behind these.
# DURING: scf.for
# DURING: tgpu.await
# DURING-NOT: tgpu.copy_async
# DURING: tgpu.wgmma
# DURING-COUNT-2: tgpu.copy_async
# DURING: tgpu.commit
# DURING: tgpu.wgmma_wait {{.*}} pending 0
# DURING: scf.yield
@triton.jit
def scaled_sums(a, b, rows, c, K):
    m, n, k = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 64)
    row = tl.load(rows + m)
    acc = tl.zeros((64, 128), tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + row[:, None] * K + (start + k)[None, :])
        y = tl.load(b + n[None, :] * K + (start + k)[:, None])
        acc += tl.dot(x, y) * start
    tl.store(c + m[:, None] * 128 + n[None, :], acc)
