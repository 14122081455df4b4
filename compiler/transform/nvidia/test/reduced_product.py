# GEMM + AllReduce in one kernel, for few rows: each program stores its tile to every rank, then adds what all have sent.
# RUN: tandemc %s --emit=gpu --num-warps 4 --num-stages 4 --constexpr 'BM=64, BN=64, BK=128' \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *bf16:16, *i64, *i64, i64, i32, i32:16, i32:16' | FileCheck %s
# RUN: tandemc %s --emit=layouts --num-warps 4 --num-stages 4 --constexpr 'BM=64, BN=64, BK=128' \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *bf16:16, *i64, *i64, i64, i32, i32:16, i32:16' | FileCheck %s --check-prefix=LAYOUTS
# RUN: tandemc %s --emit=ptx --target sm_90a --num-warps 4 --num-stages 4 --constexpr 'BM=64, BN=64, BK=128' \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *bf16:16, *i64, *i64, i64, i32, i32:16, i32:16' | FileCheck %s --check-prefix=PTX
import triton
import triton.language as tl
import tandem.dist as dl
from tandem.simt import st


# CHECK: tgpu.ring 4
# CHECK: mailbox
# CHECK: tgpu.wgmma
# CHECK: scf.for
# CHECK: tile.store
# CHECK: tgpu.commit
# CHECK: scf.for
# CHECK: dist.wait
# CHECK: tile.load
# CHECK: producer
# CHECK-NOT: dist.wait
# CHECK: tgpu.tma_load
# CHECK: signaller
# CHECK: scf.for
# CHECK: dist.notify
# The tile goes through shared memory once for all ranks:
# LAYOUTS: tgpu.convert_layout
# LAYOUTS-NEXT: scf.for
# LAYOUTS-NOT: tgpu.convert_layout
# LAYOUTS: dist.symm_at
# LAYOUTS-NOT: tgpu.convert_layout
# LAYOUTS: tile.store
# PTX: st.global.v4.b32
# PTX: ld.acquire.sys.global.b64
@triton.jit
def reduced_product(
    a_ptr, b_ptr, parts_ptr, c_ptr, ready_ptr, calls_ptr, epoch, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """parts[rank, M, N]; ready[tile, rank]."""
    rank = dl.rank()
    ranks = dl.num_ranks()
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    columns = tl.cdiv(N, BN)
    tile = tl.program_id(0)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([tile // columns * BM, k]), b.load([tile % columns * BN, k]).T, acc)
    row = tile // columns * BM + tl.arange(0, BM)
    column = tile % columns * BN + tl.arange(0, BN)
    mask = (row[:, None] < M) & (column[None, :] < N)
    offsets = row[:, None].to(tl.int64) * N + column[None, :]
    size = M.to(tl.int64) * N
    part = acc.to(parts_ptr.dtype.element_ty)
    for step in range(ranks):
        peer = (rank + step) % ranks
        tl.store(dl.symm_at(parts_ptr, peer) + rank * size + offsets, part, mask=mask)
        dl.notify(ready_ptr + tile * ranks + rank, peer, signal=epoch + 1, sig_op="set", comm_scope="intra_node")
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for source in range(ranks):
        token = dl.wait(ready_ptr + tile * ranks + source, 1, "sys", "acquire", waitValue=epoch + 1, compare="ge")
        total += tl.load(dl.consume_token(parts_ptr, token) + source * size + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(c_ptr + offsets, total.to(c_ptr.dtype.element_ty), mask=mask)
    st(calls_ptr + tile, epoch, semantic="weak")  # a plain store of a thread publishes nothing, so it keeps no signal back
