# GEMM + ReduceScatter in one persistent kernel: the epilogue stores to its owner or waits for the others; the producer runs ahead of it,
# and another thread signals.
# RUN: tandemc %s:scatter_product --emit=gpu --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *bf16:16, *i64, i32:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'BM=128, BN=256, BK=64, SMS=132' | FileCheck %s
# RUN: tandemc %s:scatter_product --emit=ptx --target sm_90a --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *bf16:16, *i64, i32:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'BM=128, BN=256, BK=64, SMS=132' | FileCheck %s --check-prefix=PTX
# RUN: tandemc %s:counted --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, *i64, *i64, *i32, i32:16' \
# RUN:   | FileCheck %s --check-prefix=COUNTED
import triton
import triton.language as tl
import tandem.dist as dl


# CHECK: tgpu.ring 4
# CHECK: %[[MAILBOX:.*]] = tgpu.ring 8 bytes 0 mailbox
# CHECK: tgpu.warp_specialize
# CHECK: tgpu.wgmma
# CHECK: dist.symm_at
# CHECK: tile.store
# CHECK-NOT: dist.notify
# CHECK: tgpu.acquire %[[MAILBOX]]
# CHECK: tgpu.commit %[[MAILBOX]]
# CHECK: else
# CHECK: dist.wait
# CHECK: tile.load
# CHECK: producer
# CHECK-NOT: dist.wait
# CHECK: tgpu.tma_load %arg0
# CHECK: tgpu.tma_load %arg1
# CHECK-NOT: dist.wait
# CHECK: signaller
# CHECK: scf.if
# CHECK: tgpu.await %[[MAILBOX]]
# CHECK: dist.notify
# CHECK: tgpu.release %[[MAILBOX]]
# PTX: st.global.v4
# PTX: st.release.sys.global.b64
@triton.jit
def scatter_product(a_ptr, b_ptr, parts_ptr, out_ptr, ready_ptr, M, N, K, shard_rows, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                    SMS: tl.constexpr):
    rank = dl.rank()
    ranks = dl.num_ranks()
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    blocks = tl.cdiv(shard_rows, BM)
    columns = tl.cdiv(N, BN)
    steps = tl.cdiv(K, BK)
    for tile in tl.range(tl.program_id(0), ranks * blocks * columns, SMS, flatten=True):
        owner = (rank + 1 + tile // (blocks * columns)) % ranks
        block = tile % blocks
        tile_n = tile // blocks % columns
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(steps):
            acc = tl.dot(a.load([owner * shard_rows + block * BM, k * BK]), b.load([tile_n * BN, k * BK]).T, acc)
        row = block * BM + tl.arange(0, BM)
        column = tile_n * BN + tl.arange(0, BN)
        mask = (row[:, None] < shard_rows) & (column[None, :] < N)
        offsets = row[:, None].to(tl.int64) * N + column[None, :]
        ready = ready_ptr + (block * columns + tile_n) * ranks
        size = shard_rows.to(tl.int64) * N
        if owner != rank:
            to = dl.symm_at(parts_ptr, owner) + rank * size
            tl.store(to + offsets, acc.to(parts_ptr.dtype.element_ty), mask=mask)
            dl.notify(ready + rank, owner, signal=1, sig_op="set", comm_scope="intra_node")
        else:
            for step in range(1, ranks):
                source = (rank + step) % ranks
                token = dl.wait(ready + source, 1, "sys", "acquire", waitValue=1)
                part = dl.consume_token(parts_ptr, token) + source * size
                acc += tl.load(part + offsets, mask=mask, other=0.0).to(tl.float32)
            tl.store(out_ptr + offsets, acc.to(out_ptr.dtype.element_ty), mask=mask)


# The program counts itself when its signals are sent.
# COUNTED: %[[MAILBOX:.*]] = tgpu.ring 8 bytes 0 mailbox
# COUNTED: %[[ANSWER:.*]] = tgpu.ring 1 bytes 0
# COUNTED: tgpu.commit %[[MAILBOX]]
# COUNTED: tgpu.commit %[[MAILBOX]]
# COUNTED-NEXT: tgpu.await %[[ANSWER]]
# COUNTED-NEXT: tgpu.advance %[[ANSWER]]
# COUNTED-NEXT: tgpu.release %[[ANSWER]]
# COUNTED-NEXT: tile.atomic_rmw
# COUNTED: signaller
# COUNTED: dist.notify
# COUNTED: tgpu.await %[[MAILBOX]]
# COUNTED: tgpu.acquire %[[ANSWER]]
# COUNTED-NEXT: tgpu.commit %[[ANSWER]]
@triton.jit
def counted(a_ptr, b_ptr, parts_ptr, ready_ptr, epoch_ptr, done_ptr, K):
    call = tl.load(epoch_ptr) + 1
    a = tl.make_tensor_descriptor(a_ptr, shape=[4096, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[128, K], strides=[K, 1], block_shape=[128, 64])
    row = tl.arange(0, 128)
    for tile in range(tl.program_id(0), 32, tl.num_programs(0)):
        acc = tl.zeros((128, 128), dtype=tl.float32)
        for k in range(0, K, 64):
            acc = tl.dot(a.load([tile * 128, k]), b.load([0, k]).T, acc)
        to = dl.symm_at(parts_ptr, tile % dl.num_ranks()) + tile * 128 * 128
        tl.store(to + row[:, None] * 128 + row[None, :], acc.to(tl.bfloat16))
        dl.notify(ready_ptr + tile, tile % dl.num_ranks(), signal=call, sig_op="set", comm_scope="intra_node")
    if tl.atomic_add(done_ptr, 1, sem="acq_rel", scope="gpu") == tl.num_programs(0) - 1:
        tl.store(epoch_ptr, call)
