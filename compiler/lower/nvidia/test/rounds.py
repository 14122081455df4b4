# A tile that is larger than the room beside the slots changes threads in rounds, each of which stores by matrix instructions.
# RUN: tandemc %s:product --emit=ptx --target sm_90a --num-warps 8 --num-stages 4 --constexpr 'JOINED=False' \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *i32:16, i32, i32:16, i32:16' | FileCheck %s --implicit-check-not=st.shared.b16
# RUN: tandemc %s:product --emit=ptx --target sm_90a --num-warps 8 --num-stages 4 --constexpr 'JOINED=True' \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *i32:16, i32, i32:16, i32:16' | FileCheck %s --implicit-check-not=st.shared.b16
import triton
import triton.language as tl


# CHECK-COUNT-8: stmatrix.sync.aligned.m8n8.x4
# CHECK-NOT: stmatrix
# CHECK: ld.shared.v4
# CHECK: bar.warp.sync
# CHECK-COUNT-8: stmatrix.sync.aligned.m8n8.x4
# CHECK-NOT: stmatrix
# CHECK: ld.shared.v4
@triton.jit
def product(a_ptr, b_ptr, c_ptr, order_ptr, M, N, K, JOINED: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[128, 64])
    d = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[256, 64])
    i, j = tl.program_id(0) * 128 + tl.arange(0, 128)[:, None], tl.arange(0, 256)[None, :]
    x, y = tl.zeros((128, 128), dtype=tl.float32), tl.zeros((128, 128), dtype=tl.float32)
    whole = tl.zeros((128, 256), dtype=tl.float32)
    for k in range(0, K, 64):
        left = a.load([tl.program_id(0) * 128, k])
        if JOINED:
            x = tl.dot(left, b.load([0, k]).T, x)
            y = tl.dot(left, b.load([128, k]).T, y)
        else:
            whole = tl.dot(left, d.load([0, k]).T, whole)
    if JOINED:
        whole = tl.join(x, y).permute(0, 2, 1).reshape(128, 256)
    tl.store(c_ptr + tl.load(order_ptr + i) * N + j, whole.to(tl.bfloat16), mask=i < M)
