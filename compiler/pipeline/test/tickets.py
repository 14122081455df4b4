# The place of a ticket that a producer is told lies behind the slots: it does not cost a multiprocessor its second block.
# REQUIRES: ptxas
# RUN: env TANDEM_CACHE=0 tandemc %s --remarks --num-warps 4 --signature '*fp16:16, *fp16:16, *fp32:16, *i32:16, i32, i32, i32' \
# RUN:   | FileCheck %s
import triton
import triton.language as tl


# CHECK: {{.*}} of each of 256 threads, {{.*}}; 2 blocks on a multiprocessor
@triton.jit
def tickets(a_ptr, b_ptr, c_ptr, counter, M, N, K):
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [128, 64])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [128, 64])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [128, 128])
    columns = N // 128
    tile = tl.atomic_add(counter, 1)
    while tile < M // 128 * columns:
        acc = tl.zeros((128, 128), tl.float32)
        for k in range(0, K, 64):
            # CHECK: passed load: copied by TMA, by a producer warp, into a ring of 3 slots
            acc = tl.dot(a.load([tile // columns * 128, k]), b.load([tile % columns * 128, k]).T, acc)
        c.store([tile // columns * 128, tile % columns * 128], acc)
        tile = tl.atomic_add(counter, 1)
