# Rows of a tile behind the tensor's last one are not asked for, where no store writes what becomes of them: there are copies of fewer rows,
# and the slot's barrier does not wait for the other bytes. Rows that a sum looks at come as zeros; tiles that end with the rows are whole.
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --constexpr 'ROWS=0, SUMS=False' \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *fp32:16, i32:16, i32:16, i32:16' | FileCheck %s
# RUN: tandemc %s:product --emit=ptx --target sm_90a --num-warps 8 --constexpr 'ROWS=0, SUMS=False' \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *fp32:16, i32:16, i32:16, i32:16' | FileCheck %s --check-prefix=PTX
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --constexpr 'ROWS=0, SUMS=True' \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *fp32:16, i32:16, i32:16, i32:16' | FileCheck %s --check-prefix=ALL
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --constexpr 'ROWS=4096, SUMS=False' \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *fp32:16, i32:16, i32:16, i32:16' | FileCheck %s --check-prefix=ALL
# A persistent kernel's producer carries along where its next tile is: facts of that loop are taken before it is copied.
# RUN: tandemc %s:persistent --emit=gpu --num-warps 8 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *i32:16, i32:16, i32:16, i32:16' | FileCheck %s --check-prefix=CARRIED
import triton
import triton.language as tl


# CHECK: producer
# CHECK: tgpu.acquire
# CHECK: arith.cmpi sle
# CHECK: else
# CHECK: arith.cmpi sle
# CHECK-NEXT: scf.if
# CHECK-NEXT: tgpu.tma_load %arg0 {{.*}}{tgpu.own_part = array<i64: 0, 16>}
# CHECK: arith.cmpi sle
# CHECK-NEXT: scf.if
# CHECK-NEXT: tgpu.tma_load %arg0 {{.*}}{tgpu.own_part = array<i64: 0, 64>}
# CHECK-NEXT: else
# CHECK-NEXT: tgpu.tma_load %arg0
# CHECK-NOT: own_part
# PTX: cp.async.bulk.tensor.2d.shared::cluster.global
# PTX: mov.b32 %[[LEFT:.*]], 14336;
# PTX: mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [{{.*}}], %[[LEFT]];
# PTX: mov.b32 %[[HALF:.*]], 8192;
# PTX: mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [{{.*}}], %[[HALF]];
# ALL: tgpu.tma_load %arg0
# ALL-NOT: own_part
@triton.jit
def product(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, ROWS: tl.constexpr, SUMS: tl.constexpr):
    rows = ROWS if ROWS else M
    a = tl.make_tensor_descriptor(a_ptr, shape=[rows, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[K, N], strides=[N, 1], block_shape=[64, 128])
    c = tl.make_tensor_descriptor(c_ptr, shape=[rows, N], strides=[N, 1], block_shape=[128, 128])
    row, column = tl.program_id(0) * 128, tl.program_id(1) * 128
    acc = tl.zeros((128, 128), dtype=tl.float32)
    for k in range(0, K, 64):
        acc = tl.dot(a.load([row, k]), b.load([k, column]), acc)
    if SUMS:
        tl.store(d_ptr + column + tl.arange(0, 128), tl.sum(acc, 0))
    c.store([row, column], acc.to(tl.bfloat16))


# CARRIED: producer
# CARRIED: scf.for {{.*}} iter_args
# CARRIED: tgpu.tma_load %arg0 {{.*}}{tgpu.own_part = array<i64: 0, 16>}
# CARRIED: scf.yield
@triton.jit
def persistent(a_ptr, b_ptr, c_ptr, next_ptr, M, N, K):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[K, N], strides=[N, 1], block_shape=[64, 128])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[128, 128])
    tile = tl.program_id(0)
    for _ in range(tl.program_id(0), tl.cdiv(M, 128), tl.num_programs(0)):
        row, column = tile * 128, tl.program_id(1) * 128
        tile = tl.load(next_ptr + tile)
        acc = tl.zeros((128, 128), dtype=tl.float32)
        for k in range(0, K, 64):
            acc = tl.dot(a.load([row, k]), b.load([k, column]), acc)
        c.store([row, column], acc.to(tl.bfloat16))
