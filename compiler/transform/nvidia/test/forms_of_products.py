# Forms of loops that keep their rings: branches around them, an order of tiles that ranks decide, blocks of more dimensions, barriers.
# RUN: tandemc %s:skipped --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=ONE
# RUN: tandemc %s:either --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=EITHER
# RUN: tandemc %s:experts --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=EXPERTS
# RUN: tandemc %s:experts --emit=ptx --target sm_90a --num-warps 8 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16, i32' | FileCheck %s --check-prefix=PTX
# RUN: tandemc %s:met --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=MET
# RUN: tandemc %s:met --emit=ptx --target sm_90a --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=METPTX
# RUN: tandemc %s:taken --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, *i32, i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=TAKEN
# RUN: tandemc %s:turned --emit=gpu --num-warps 4 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=TURNED
# RUN: tandemc %s:polled --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, *i64, i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=POLLED
import triton
import triton.language as tl
import tandem.dist as dl
import tandem.shmem as shmem
from tandem.simt import __syncthreads, ld, st, tid


# ONE: tgpu.ring
# ONE-NOT: tgpu.ring
# ONE: consumer
# ONE: scf.if
# ONE: tgpu.wgmma_wait {{.*}} pending 1
# ONE: producer
# ONE: dist.rank
# ONE: scf.if
# ONE: tgpu.tma_load %arg0
# ONE: tgpu.tma_load %arg1
@triton.jit
def skipped(a_ptr, b_ptr, c_ptr, M, N, K):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[256, 64])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[128, 256])
    columns = tl.cdiv(N, 256)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, 128) * columns, tl.num_programs(0), flatten=True):
        row = (tile // columns + dl.rank()) % tl.cdiv(M, 128) * 128
        column = tile % columns * 256
        if row + column > 0:
            acc = tl.zeros((128, 256), dtype=tl.float32)
            for k in range(0, K, 64):
                acc = tl.dot(a.load([row, k]), b.load([column, k]).T, acc)
            c.store([row, column], acc.to(tl.bfloat16))


# Two loops of which one runs have one ring.
# EITHER: tgpu.ring
# EITHER-NOT: tgpu.ring
# EITHER: consumer
# EITHER: tgpu.wgmma_wait {{.*}} pending 1
# EITHER: else
# EITHER: tgpu.wgmma_wait {{.*}} pending 1
# EITHER: producer
# EITHER: tgpu.tma_load %arg0
# EITHER: else
# EITHER: tgpu.tma_load %arg1
@triton.jit
def either(a_ptr, other_ptr, c_ptr, M, N, K):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[128, 64])
    other = tl.make_tensor_descriptor(other_ptr, shape=[M, K], strides=[K, 1], block_shape=[128, 64])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[128, 128])
    row = tl.program_id(0) * 128
    acc = tl.zeros((128, 128), dtype=tl.float32)
    if tl.program_id(1) == 0:
        for k in range(0, K, 64):
            acc = tl.dot(a.load([row, k]), a.load([0, k]).T, acc)
    else:
        for k in range(0, K, 64):
            acc = tl.dot(other.load([row, k]), other.load([0, k]).T, acc)
    c.store([row, 0], acc.to(tl.bfloat16))


# EXPERTS: tgpu.ring
# EXPERTS: tgpu.alloc {{.*}} !tile.smem<256x64xbf16>
# EXPERTS: tgpu.wgmma
# EXPERTS: producer
# EXPERTS: tgpu.tma_load %arg1 shape(%{{.*}}, %{{.*}}, %{{.*}}) {{.*}} !tile.smem<256x64xbf16>
# PTX: cp.async.bulk.tensor.3d.shared::cluster.global
@triton.jit
def experts(a_ptr, b_ptr, c_ptr, M, N, K, E):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[E, N, K], strides=[N * K, K, 1], block_shape=[1, 256, 64])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[128, 256])
    row = tl.program_id(0) * 128
    column = tl.program_id(1) * 256
    acc = tl.zeros((128, 256), dtype=tl.float32)
    for k in range(0, K, 64):
        acc = tl.dot(a.load([row, k]), b.load([row % E, column, k]).reshape(256, 64).T, acc)
    c.store([row, column], acc.to(tl.bfloat16))


# The producer meets the consumers behind the barrier.
# MET: %[[GATE:.*]] = tgpu.ring 1 bytes 0 gate
# MET: consumer
# MET: dist.barrier
# MET-NEXT: tgpu.release %[[GATE]]
# MET-NEXT: tgpu.await %[[GATE]]
# MET-NEXT: tgpu.advance %[[GATE]]
# MET: producer
# MET: tgpu.acquire %[[GATE]]
# MET-NEXT: tgpu.commit %[[GATE]]
# MET: tgpu.tma_load
# METPTX: mbarrier.try_wait
@triton.jit
def met(a_ptr, b_ptr, c_ptr, M, N, K):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[256, 64])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[128, 256])
    shmem.barrier_all_block()
    row = tl.program_id(0) * 128
    column = tl.program_id(1) * 256
    acc = tl.zeros((128, 256), dtype=tl.float32)
    for k in range(0, K, 64):
        acc = tl.dot(a.load([row, k]), b.load([column, k]).T, acc)
    c.store([row, column], acc.to(tl.bfloat16))


# An operation that must not happen twice is the consumers', who tell the producer.
# TAKEN: tile.atomic_rmw
# TAKEN: simt.smem_store
# TAKEN: producer
# TAKEN-NOT: tile.atomic_rmw
# TAKEN: simt.smem_load
# TAKEN: tgpu.tma_load
@triton.jit
def taken(a_ptr, b_ptr, c_ptr, counter, M, N, K):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[256, 64])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[128, 256])
    row = tl.atomic_add(counter, 1) * 128
    acc = tl.zeros((128, 256), dtype=tl.float32)
    for k in range(0, K, 64):
        acc = tl.dot(a.load([row, k]), b.load([0, k]).T, acc)
    c.store([row, 0], acc.to(tl.bfloat16))


# The slot is acquired before the first load of the text, whichever operand it is.
# TURNED: producer
# TURNED-NOT: tgpu.tma_load
# TURNED: tgpu.acquire
# TURNED: tgpu.tma_load %arg0
# TURNED-NOT: tgpu.{{acquire|commit}}
# TURNED: tgpu.tma_load %arg1
# TURNED-NOT: tgpu.tma_load %arg0
# TURNED: tgpu.commit
@triton.jit
def turned(a_ptr, b_ptr, c_ptr, M, N, K):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[16, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[64, 64])
    row = tl.program_id(0) * 16
    column = tl.program_id(1) * 64
    acc = tl.zeros((64, 16), dtype=tl.float32)
    for k in range(0, K, 64):
        x = a.load([row, k])
        acc = tl.dot(b.load([column, k]), x.T, acc)
    at = (column + tl.arange(0, 64))[:, None] + (row + tl.arange(0, 16))[None, :] * N
    tl.store(c_ptr + at, acc.to(tl.bfloat16))


# The barrier behind an acquire by one thread passes the knowledge on, to the producer as well. A barrier before a signal holds nothing up.
# POLLED: %[[GATE:.*]] = tgpu.ring 1 bytes 0 gate
# POLLED: simt.ld
# POLLED: simt.barrier
# POLLED-NEXT: tgpu.release %[[GATE]]
# POLLED: tgpu.wgmma
# POLLED: simt.barrier
# POLLED-NOT: tgpu.release %[[GATE]]
# POLLED: producer
# POLLED: tgpu.acquire %[[GATE]]
# POLLED: tgpu.tma_load
@triton.jit
def polled(a_ptr, b_ptr, c_ptr, flag, M, N, K):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[256, 64])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[128, 256])
    if tid(0) == 0:
        while ld(flag, scope="sys", semantic="acquire") != 1:
            pass
    __syncthreads()
    acc = tl.zeros((128, 256), dtype=tl.float32)
    for k in range(0, K, 64):
        acc = tl.dot(a.load([0, k]), b.load([0, k]).T, acc)
    c.store([0, 0], acc.to(tl.bfloat16))
    __syncthreads()
    if tid(0) == 0:
        st(flag, 2, scope="sys", semantic="release")
