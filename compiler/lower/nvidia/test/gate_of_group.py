# A producer's warpgroup meets behind a gate at a barrier that no group of consumers uses: these store the tile before while it waits.
# RUN: tandemc %s --emit=ptx --num-warps 8 --num-stages 4 --signature '*bf16:16, *i32:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s
import triton
import triton.language as tl


# CHECK: add.s32 [[GROUP:%r[0-9]+]], %{{.*}}, 2;
# CHECK: bar.sync [[GROUP]], 128;
# CHECK: cp.async.bulk.tensor.2d.global.shared
# CHECK: cp.async.cg.shared.global
# CHECK: bar.sync 6, 128;
@triton.jit
def rows(a_ptr, index_ptr, b_ptr, o_ptr, M, N, K):
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[128, 64])
    o = tl.make_tensor_descriptor(o_ptr, shape=[M, N], strides=[N, 1], block_shape=[128, 128])
    for tile in range(tl.program_id(0), M // 128, 132):
        row = tl.load(index_ptr + tile * 128 + tl.arange(0, 128))
        a = a_ptr + row[:, None] * K + tl.arange(0, 64)[None, :]
        acc = tl.zeros((128, 128), tl.float32)
        for step in range(tl.cdiv(K, 64)):
            acc = tl.dot(tl.load(a), b.load([0, step * 64]).T, acc)
            a += 64
        tl.store(a_ptr + M * K + tile * 1024 + tl.arange(0, 1024), tl.zeros([1024], tl.bfloat16))
        o.store([tile * 128, 0], acc.to(tl.bfloat16))
