# A product's tile is stored as it lies in the threads where that fills whole sectors of memory; narrower numbers change places inside
# each warp.
# RUN: tandemc %s:rounds --emit=layouts --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *fp32:16, i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=WIDE
# RUN: tandemc %s:rounds --emit=layouts --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=NARROW
# RUN: tandemc %s:rounds --emit=ptx --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=PTX
# RUN: tandemc %s:summed --emit=layouts --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *fp32:16, i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=WIDE
import triton
import triton.language as tl


# WIDE-NOT: convert_layout
# WIDE: tile.store
# WIDE-NOT: convert_layout
# NARROW: tgpu.convert_layout {{.*}}lanes = [8, 16, 32, 64, 128], warps = [4096, 8192, 16384]
# NARROW: tile.store
# Nobody else uses the space, so it is the warp's own all the time.
# PTX: setmaxnreg.inc
# PTX-NOT: bar.sync
# PTX: bar.warp.sync
# PTX-NOT: bar.sync
# PTX: st.global.v4.b32
@triton.jit
def rounds(a_ptr, b_ptr, c_ptr, M, N, K):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[256, 64])
    for row in tl.range(tl.program_id(0) * 128, M, 128 * tl.num_programs(0)):
        acc = tl.zeros((128, 256), dtype=tl.float32)
        for k in range(tl.cdiv(K, 64)):
            acc = tl.dot(a.load([row, k * 64]), b.load([0, k * 64]).T, acc)
        m = row + tl.arange(0, 128)
        n = tl.arange(0, 256)
        tl.store(c_ptr + m[:, None] * N + n[None, :], acc.to(c_ptr.dtype.element_ty), mask=(m < M)[:, None] & (n < N)[None, :])


# A tile that is added to a product is loaded in the product's layout.
@triton.jit
def summed(a_ptr, b_ptr, c_ptr, M, N, K):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[256, 64])
    at = tl.arange(0, 128)[:, None] * 256 + tl.arange(0, 256)[None, :]
    for part in tl.range(tl.program_id(0), M, tl.num_programs(0)):
        acc = tl.zeros((128, 256), dtype=tl.float32)
        for k in range(tl.cdiv(K, 64)):
            acc = tl.dot(a.load([0, k * 64]), b.load([0, k * 64]).T, acc)
        tl.store(c_ptr + part * 32768 + at, acc + tl.load(c_ptr + part * 32768 + at))
