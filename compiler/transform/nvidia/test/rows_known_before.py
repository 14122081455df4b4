# A tile that a loop loads for each product from addresses that are known before the loop: the addresses change threads, once, not what is
# loaded, in each iteration.
# RUN: tandemc %s:scaled --emit=layouts --num-warps 8 --num-stages 4 \
# RUN:   --signature '*fp8e4nv:16, *fp8e4nv:16, *i32:16, *fp32:16, *fp32:16, i32:16, i32:16, i32:16' | FileCheck %s
import triton
import triton.language as tl


# CHECK: warp_specialize consumer
# CHECK: scf.for
# CHECK: tgpu.convert_layout {{.*}}tensor<128x!tile.ptr<f32>>
# CHECK: scf.for
# CHECK-NOT: tgpu.convert_layout
# CHECK: tgpu.wgmma
# CHECK-NOT: tgpu.convert_layout
# CHECK: scf.yield
@triton.jit
def scaled(a_ptr, b_ptr, index_ptr, scale_ptr, o_ptr, M, N, K):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[128, 128])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[128, 128])
    rows, columns = tl.arange(0, 128), tl.arange(0, 128)
    steps = tl.cdiv(K, 128)
    ahead = tl.load(index_ptr + rows)
    for tile in range(0, M // 128):
        index = ahead
        ahead = tl.load(index_ptr + (tile + 1) * 128 + rows)
        scale_ptrs = scale_ptr + index.to(tl.int64) * steps
        acc = tl.zeros((128, 128), tl.float32)
        for step in range(steps):
            scale = tl.load(scale_ptrs + step)
            acc += tl.dot(a.load([tile * 128, step * 128]), b.load([0, step * 128]).T) * scale[:, None]
        tl.store(o_ptr + (tile * 128 + rows)[:, None] * N + columns[None, :], acc)
