# Tiles for other ranks that TMA stores: consumers leave them in shared memory, the signaller stores them and signals when they are written.
# RUN: tandemc %s:scatter --emit=gpu --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *bf16:16, *bf16:16, *i64, i32:16, i32:16, i32:16, i32, i64:16' | FileCheck %s
# RUN: tandemc %s:scatter --emit=ptx --target sm_90a --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *bf16:16, *bf16:16, *i64, i32:16, i32:16, i32:16, i32, i64:16' \
# RUN:   | FileCheck %s --check-prefix=PTX
# RUN: tandemc %s:scatter --emit=ptx --target sm_90a --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *bf16:16, *bf16:16, *i64, i32:16, i32:16, i32:16, i32, i64:16' \
# RUN:   | FileCheck %s --check-prefix=READ
# RUN: tandemc %s:wide --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *fp32:16, *i64, i32:16, i32, i64:16' \
# RUN:   | FileCheck %s --check-prefix=WIDE
# RUN: tandemc %s:wide --emit=ptx --target sm_90a --num-warps 8 --signature '*bf16:16, *bf16:16, *fp32:16, *i64, i32:16, i32, i64:16' \
# RUN:   | FileCheck %s --check-prefix=WIDEPTX
# RUN: tandemc %s:read_back --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, *i64, i32:16, i32, i64:16' \
# RUN:   | FileCheck %s --check-prefix=KEPT
# RUN: tandemc %s:maybe_negative --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, *i64, i32:16, i32, i64:16' \
# RUN:   | FileCheck %s --check-prefix=KEPT
# RUN: tandemc %s:unsignalled --emit=ptx --target sm_90a --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=UNSIGNALLED
# RUN: tandemc %s:counted --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *fp32:16, *i64, i32:16, i32, i64:16' \
# RUN:   | FileCheck %s --check-prefix=COUNTED
# RUN: tandemc %s:told --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *fp32:16, *i64, *i64, i32:16, i32' \
# RUN:   --constexpr 'BEFORE=True' | FileCheck %s --check-prefix=TOLD
# RUN: tandemc %s:told --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *fp32:16, *i64, *i64, i32:16, i32' \
# RUN:   --constexpr 'BEFORE=False' | FileCheck %s --check-prefix=BEHIND
import triton
import triton.language as tl
import tandem.dist as dl
from tandem.simt import st, tid


# A whole tile has room beside three slots of operands.
# CHECK: tgpu.ring 3 bytes 49152
# CHECK: %[[MAILBOX:.*]] = tgpu.ring 8 bytes 0 mailbox
# CHECK: %[[STAGED:.*]] = tgpu.ring 1 bytes 0 mailbox
# CHECK: %[[BUFFER:.*]] = tgpu.alloc 1 x !tile.smem<128x256xbf16>
# CHECK: consumer
# CHECK: dist.wait
# CHECK: tgpu.acquire %[[STAGED]]
# CHECK-NEXT: tgpu.stage {{.*}} from 0 into %[[BUFFER]] of %[[STAGED]] : tensor<128x256xbf16>
# CHECK-NEXT: tgpu.commit %[[STAGED]]
# CHECK: tgpu.acquire %[[MAILBOX]]
# CHECK: tgpu.commit %[[MAILBOX]]
# CHECK: dist.wait
# CHECK: tgpu.stage
# CHECK-NOT: tile.block_store
# CHECK: signaller
# CHECK-NOT: dist.wait
# CHECK: tgpu.await %[[STAGED]]
# CHECK-NEXT: tgpu.tma_store %arg2 {{.*}} from %[[BUFFER]] of %[[STAGED]]
# CHECK-NEXT: tgpu.release %[[STAGED]]
# CHECK: tgpu.await %[[MAILBOX]]
# CHECK: dist.notify
# CHECK: tgpu.tma_store %arg4
# Parts go straight to the threads that have the sum: another order of registers is all.
# READ-NOT: ld.shared
# READ-COUNT-16: ld.global.v4.b32
# READ-NOT: ld.shared
# PTX: cp.async.bulk.tensor.3d.global.shared::cta.bulk_group
# PTX-NOT: cp.async.bulk.tensor
# PTX: cp.async.bulk.wait_group.read 0
# PTX: cp.async.bulk.tensor.3d.global.shared::cta.bulk_group
# PTX: cp.async.bulk.wait_group 0
# PTX: fence.proxy.async
# PTX: st.release.sys.global.b64
@triton.jit
def scatter(a_ptr, b_ptr, first_ptr, parts_ptr, out_ptr, ready_ptr, N, K, shard_rows, ranks, stride):
    rank = dl.rank()
    a = tl.make_tensor_descriptor(a_ptr, shape=[ranks * shard_rows, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[256, 64])
    peers = tl.make_tensor_descriptor(first_ptr, shape=[ranks, 65536, 256], strides=[stride, 256, 1], block_shape=[1, 128, 256])
    out = tl.make_tensor_descriptor(out_ptr, shape=[shard_rows, N], strides=[N, 1], block_shape=[128, 256])
    blocks = shard_rows // 128
    for tile in tl.range(tl.program_id(0), ranks * blocks, tl.num_programs(0), flatten=True):
        owner = (rank + 1 + tile // blocks) % ranks
        block = tile % blocks
        acc = tl.zeros((128, 256), dtype=tl.float32)
        for k in range(0, K, 64):
            acc = tl.dot(a.load([(owner * blocks + block) * 128, k]), b.load([0, k]).T, acc)
        if owner != rank:
            place = rank * blocks + block
            if tile < tl.num_programs(0):
                place = dl.consume_token(place, dl.wait(ready_ptr + owner, 1, "sys", "acquire", waitValue=1))
            tile_of = acc.to(tl.bfloat16).reshape(128, 8, 4, 4, 2).permute(0, 1, 3, 2, 4).reshape(1, 128, 256)
            peers.store([owner, tl.maximum(place, 0) * 128, 0], tile_of)
            dl.notify(ready_ptr + ranks + rank, owner, signal=1, sig_op="set", comm_scope="intra_node")
        else:
            token = dl.wait(ready_ptr + ranks, ranks - 1, "sys", "acquire", waitValue=1)
            parts = dl.consume_token(parts_ptr, token) + tl.arange(0, 128)[:, None] * 256 + tl.arange(0, 256)[None, :]
            for source in range(ranks - 1):
                part = tl.load(parts + source * blocks * 128 * 256)
                acc += part.reshape(128, 8, 4, 4, 2).permute(0, 1, 3, 2, 4).reshape(128, 256).to(tl.float32)
            out.store([tl.maximum(block, 0) * 128, 0], acc.to(tl.bfloat16))


# A tile that is too large goes in two pieces.
# WIDE: tgpu.ring 3 bytes
# WIDE: tgpu.alloc 1 x !tile.smem<128x128xf32>
# WIDE: tgpu.stage {{.*}} from 0 into
# WIDE: tgpu.commit
# WIDE-NEXT: tgpu.acquire
# WIDE-NEXT: tgpu.stage {{.*}} from 128 into
# WIDE: signaller
# WIDE: tgpu.tma_store
# WIDE: arith.addi {{.*}} : i32
# WIDE: tgpu.tma_store
# WIDEPTX-COUNT-128: cp.async.bulk.tensor.3d.global.shared::cta
# WIDEPTX-NOT: cp.async.bulk.tensor.3d.global.shared::cta
@triton.jit
def wide(a_ptr, b_ptr, first_ptr, ready_ptr, K, ranks, stride):
    a = tl.make_tensor_descriptor(a_ptr, shape=[4096, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[256, K], strides=[K, 1], block_shape=[256, 64])
    peers = tl.make_tensor_descriptor(first_ptr, shape=[ranks, 4096, 256], strides=[stride, 256, 1], block_shape=[1, 128, 256])
    for tile in range(tl.program_id(0), 32, tl.num_programs(0)):
        acc = tl.zeros((128, 256), dtype=tl.float32)
        for k in range(0, K, 64):
            acc = tl.dot(a.load([tile * 128, k]), b.load([0, k]).T, acc)
        peers.store([tile % ranks, tile * 128, 0], acc[None, :, :])
        dl.notify(ready_ptr + tile, tile % ranks, signal=1, sig_op="set", comm_scope="intra_node")


# Stores stay with the program where it reads what it wrote, and where TMA might not store all of a block.
# KEPT-NOT: tgpu.stage
# KEPT: tile.block_store
# KEPT-NOT: tgpu.stage
# KEPT: signaller
# KEPT-NOT: tgpu.tma_store
# KEPT: dist.notify
@triton.jit
def read_back(a_ptr, b_ptr, first_ptr, ready_ptr, K, ranks, stride):
    a = tl.make_tensor_descriptor(a_ptr, shape=[4096, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[128, K], strides=[K, 1], block_shape=[128, 64])
    peers = tl.make_tensor_descriptor(first_ptr, shape=[ranks, 4096, 128], strides=[stride, 128, 1], block_shape=[1, 128, 128])
    for tile in range(tl.program_id(0), 32, tl.num_programs(0)):
        acc = tl.zeros((128, 128), dtype=tl.float32)
        for k in range(0, K, 64):
            acc = tl.dot(a.load([tile * 128, k]), b.load([0, k]).T, acc)
        peers.store([0, tile * 128, 0], acc.to(tl.bfloat16)[None, :, :])
        dl.notify(ready_ptr + tile, 0, signal=1, sig_op="set", comm_scope="intra_node")
        tl.store(ready_ptr + 32 + tile, tl.load(first_ptr).to(tl.int64))


@triton.jit
def maybe_negative(a_ptr, b_ptr, first_ptr, ready_ptr, K, ranks, stride):
    a = tl.make_tensor_descriptor(a_ptr, shape=[4096, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[128, K], strides=[K, 1], block_shape=[128, 64])
    peers = tl.make_tensor_descriptor(first_ptr, shape=[ranks, 4096, 128], strides=[stride, 128, 1], block_shape=[1, 128, 128])
    for tile in range(tl.program_id(0), 32, tl.num_programs(0)):
        acc = tl.zeros((128, 128), dtype=tl.float32)
        for k in range(0, K, 64):
            acc = tl.dot(a.load([tile * 128, k]), b.load([0, k]).T, acc)
        peers.store([0, (tile - ranks) * 128, 0], acc.to(tl.bfloat16)[None, :, :])
        dl.notify(ready_ptr + tile, 0, signal=1, sig_op="set", comm_scope="intra_node")


# Without a signal behind them blocks are stored by the program, also those with a leading dimension of size 1.
# UNSIGNALLED: stmatrix
# UNSIGNALLED: cp.async.bulk.tensor.3d.global.shared::cta.bulk_group
# UNSIGNALLED-NOT: st.global
@triton.jit
def unsignalled(a_ptr, b_ptr, c_ptr, K, batches):
    a = tl.make_tensor_descriptor(a_ptr, shape=[4096, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[128, K], strides=[K, 1], block_shape=[128, 64])
    c = tl.make_tensor_descriptor(c_ptr, shape=[batches, 4096, 128], strides=[4096 * 128, 128, 1], block_shape=[1, 128, 128])
    tile = tl.program_id(0)
    acc = tl.zeros((128, 128), dtype=tl.float32)
    for k in range(0, K, 64):
        acc = tl.dot(a.load([tile * 128, k]), b.load([0, k]).T, acc)
    c.store([tl.program_id(1), tile * 128, 0], acc.to(tl.bfloat16).reshape(1, 128, 128))


# Accesses to the program's own shared memory tell nobody anything: a notify may be sent beside them.
# COUNTED: simt.smem_store
# COUNTED: signaller
# COUNTED: dist.notify
@triton.jit
def counted(a_ptr, b_ptr, first_ptr, ready_ptr, K, ranks, stride):
    a = tl.make_tensor_descriptor(a_ptr, shape=[4096, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[256, K], strides=[K, 1], block_shape=[256, 64])
    peers = tl.make_tensor_descriptor(first_ptr, shape=[ranks, 4096, 256], strides=[stride, 256, 1], block_shape=[1, 128, 256])
    count = dl.allocate_smem(tl.int32, [1])
    for tile in range(tl.program_id(0), 32, tl.num_programs(0)):
        acc = tl.zeros((128, 256), dtype=tl.float32)
        for k in range(0, K, 64):
            acc = tl.dot(a.load([tile * 128, k]), b.load([0, k]).T, acc)
        peers.store([tile % ranks, tile * 128, 0], acc[None, :, :])
        dl.notify(ready_ptr + tile, tile % ranks, signal=1, sig_op="set", comm_scope="intra_node")
        dl.smem_store(count, dl.smem_load(count, [0]) + 1, [0])


# What some threads tell before all signals holds none of them up; told behind them, it would have to wait for them.
# TOLD: simt.st
# TOLD: signaller
# TOLD: dist.notify
# BEHIND-NOT: signaller
@triton.jit
def told(a_ptr, b_ptr, c_ptr, ready_ptr, told_ptr, K, n, BEFORE: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[4096, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[128, K], strides=[K, 1], block_shape=[128, 64])
    if BEFORE:
        if tid(0) == 0:
            st(told_ptr, 1, scope="sys", semantic="release")
    i = tl.arange(0, 128)
    for tile in range(tl.program_id(0), 32, tl.num_programs(0)):
        acc = tl.zeros((128, 128), dtype=tl.float32)
        for k in range(0, K, 64):
            acc = tl.dot(a.load([tile * 128, k]), b.load([0, k]).T, acc)
        tl.store(c_ptr + (tile * 128 + i[:, None]) * 128 + i[None, :], acc, mask=i[:, None] < n)
        dl.notify(ready_ptr + tile, 0, signal=1, sig_op="set", comm_scope="intra_node")
    if not BEFORE:
        if tid(0) == 0:
            st(told_ptr, 1, scope="sys", semantic="release")
