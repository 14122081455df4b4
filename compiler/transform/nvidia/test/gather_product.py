# AllGather + GEMM in one persistent kernel: the producer waits for a shard before it copies it, consumers do not wait.
# RUN: tandemc %s:gather_product --emit=gpu --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *bf16:16, *i64, i32:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'BM=128, BN=256, BK=64, SMS=132' | FileCheck %s
# RUN: tandemc %s:chosen --emit=gpu --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *bf16:16, *i64, i32:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'BM=128, BN=256, BK=64, SMS=132' | FileCheck %s --check-prefix=CHOSEN
# RUN: tandemc %s:token_on_row --emit=gpu --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *bf16:16, *i64, i32:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'BM=128, BN=256, BK=64, SMS=132, COUNT=1' | FileCheck %s --check-prefix=ROW
# RUN: tandemc %s:token_on_row --emit=llvm --target sm_90a --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *bf16:16, *i64, i32:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'BM=128, BN=256, BK=64, SMS=132, COUNT=None' | FileCheck %s --check-prefix=MANY
# RUN: tandemc %s:gather_product --emit=ptx --target sm_90a --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *bf16:16, *i64, i32:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'BM=128, BN=256, BK=64, SMS=132' | FileCheck %s --check-prefix=PTX
import triton
import triton.language as tl
import tandem.dist as dl


# CHECK: tgpu.ring 4
# CHECK: tgpu.warp_specialize
# CHECK-NOT: dist.wait
# CHECK: tgpu.wgmma
# CHECK-NOT: dist.wait
# CHECK: tile.block_store
# CHECK: producer
# CHECK: scf.if %[[OTHER:.*]] ->
# CHECK: dist.wait
# CHECK: scf.for
# CHECK: tgpu.acquire
# CHECK: scf.if %[[OTHER]]
# CHECK: tgpu.tma_load %arg1
# CHECK: else
# CHECK: tgpu.tma_load %arg0
# CHECK: tgpu.tma_load %arg2
# CHECK: tgpu.commit
# The wait comes before the shard's first copy, in the thread that starts both:
# PTX: setmaxnreg.dec
# PTX: ld.acquire.sys.global.b64
# PTX: fence.proxy.async.global
# PTX: cp.async.bulk.tensor.2d.shared::cluster.global
# PTX-NOT: ld.acquire.sys
@triton.jit
def gather_product(a_ptr, gathered_ptr, b_ptr, c_ptr, ready_ptr, M, N, K, shard_rows, BM: tl.constexpr, BN: tl.constexpr,
                   BK: tl.constexpr, SMS: tl.constexpr):
    rank = dl.rank()
    ranks = dl.num_ranks()
    own = tl.make_tensor_descriptor(a_ptr, shape=[shard_rows, K], strides=[K, 1], block_shape=[BM, BK])
    gathered = tl.make_tensor_descriptor(gathered_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    blocks = tl.cdiv(shard_rows, BM)
    columns = tl.cdiv(N, BN)
    steps = tl.cdiv(K, BK)
    for tile in tl.range(tl.program_id(0), ranks * blocks * columns, SMS, flatten=True):
        shard = (rank + tile // (blocks * columns)) % ranks
        block = tile % blocks
        column = tile // blocks % columns * BN
        first = shard * shard_rows + block * BM
        if shard != rank:
            token = dl.wait(ready_ptr + shard, 1, "sys", "acquire", waitValue=1)
            a = dl.consume_token(gathered, token)
            row = first
        else:
            a = own
            row = block * BM
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(steps):
            acc = tl.dot(a.load([row, k * BK]), b.load([column, k * BK]).T, acc)
        c.store([first, column], acc.to(c_ptr.dtype.element_ty))


# A wait whose token nobody uses orders all that follows, in both roles.
# CHOSEN: tgpu.warp_specialize
# CHOSEN: dist.wait
# CHOSEN: tgpu.wgmma
# CHOSEN: producer
# CHOSEN: dist.wait
# CHOSEN: scf.for
# CHOSEN: tgpu.acquire
# CHOSEN: scf.if
# CHOSEN: tgpu.tma_load %arg0
# CHOSEN: else
# CHOSEN: tgpu.tma_load %arg1
@triton.jit
def chosen(a_ptr, gathered_ptr, b_ptr, c_ptr, ready_ptr, M, N, K, shard_rows, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
           SMS: tl.constexpr):
    rank = dl.rank()
    own = tl.make_tensor_descriptor(a_ptr, shape=[shard_rows, K], strides=[K, 1], block_shape=[BM, BK])
    gathered = tl.make_tensor_descriptor(gathered_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    blocks = tl.cdiv(shard_rows, BM)
    rows = dl.num_ranks() * blocks
    for tile in range(tl.program_id(0), rows * tl.cdiv(N, BN), SMS):
        shard = (rank + tile % rows // blocks) % dl.num_ranks()
        block = tile % blocks
        a = own if shard == rank else gathered
        row = block * BM if shard == rank else shard * shard_rows + block * BM
        if shard != rank:
            dl.wait(ready_ptr + shard, 1, "sys", "acquire", waitValue=1)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(tl.cdiv(K, BK)):
            acc = tl.dot(a.load([row, k * BK]), b.load([tile // rows * BN, k * BK]).T, acc)
        c.store([shard * shard_rows + block * BM, tile // rows * BN], acc.to(c_ptr.dtype.element_ty))


# The own shard is gathered as well, and its signal set.
# ROW: tgpu.warp_specialize
# ROW-NOT: dist.wait
# ROW: producer
# ROW: %[[TOKEN:.*]] = dist.wait
# ROW: %[[ROW:.*]] = dist.consume_token {{.*}}, %[[TOKEN]]
# ROW: tgpu.tma_load %arg1 {{.*}} at(%[[ROW]],
# A thread that waits for no signal of many fences nothing.
# MANY: setmaxnreg.dec
# MANY: icmp sgt i32 {{.*}}, 0
# MANY-NEXT: br i1 {{.*}}, label %{{[^,]*}}, label %[[NONE:[^,]*]],
# MANY: {{^}}[[NONE]]:
# MANY-NOT: fence.proxy.async.global
# MANY: {{^}}all:
# MANY-NEXT: fence.proxy.async.global
# MANY-NEXT: br label %[[NONE]],
@triton.jit
def token_on_row(a_ptr, gathered_ptr, b_ptr, c_ptr, ready_ptr, M, N, K, shard_rows, BM: tl.constexpr, BN: tl.constexpr,
                 BK: tl.constexpr, SMS: tl.constexpr, COUNT: tl.constexpr):
    a = tl.make_tensor_descriptor(gathered_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    columns = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * columns, SMS):
        first = tile // columns * BM
        token = dl.wait(ready_ptr + first // shard_rows, N if COUNT is None else COUNT, "sys", "acquire", waitValue=1)
        row = dl.consume_token(first, token)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(tl.cdiv(K, BK)):
            acc = tl.dot(a.load([row, k * BK]), b.load([tile % columns * BN, k * BK]).T, acc)
        c.store([first, tile % columns * BN], acc.to(c_ptr.dtype.element_ty))
