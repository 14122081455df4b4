# A warpgroup copies gathered rows here, and one thread of it begins the TMA copies: that thread alone makes their maps.
# RUN: tandemc %s --emit=ptx --remarks --num-warps 8 --num-stages 4 --target sm_90a \
# RUN:   --signature '*bf16:16, *i32:16, *i32:16, *bf16:16, *fp32:16, i32, i32, i32:16, i32:16' 2>&1 | FileCheck %s
import triton
import triton.language as tl


# CHECK-DAG: copied by cp.async, by a producer's warpgroup
# CHECK-DAG: copied by TMA, by a producer
# CHECK: setmaxnreg.dec
# CHECK: setp.eq.b32 [[ONE:%p[0-9]+]], %r1, 256
# CHECK: @[[ONE]] bra [[MAKES:\$L__BB0_[0-9]+]]
# CHECK: {{^}}[[MAKES]]:
# CHECK: tensormap.replace.tile.global_address
# CHECK-NOT: tensormap.replace.tile.global_address
@triton.jit
def rows(a_ptr, index_ptr, experts_ptr, b_ptr, o_ptr, tiles, M, N, K):
    for t in range(tl.program_id(0), tiles, tl.num_programs(0)):
        expert = tl.load(experts_ptr + t)
        b = tl.make_tensor_descriptor(b_ptr + expert.to(tl.int64) * N * K, shape=[N, K], strides=[K, 1], block_shape=[128, 64])
        m, n, k = t * 128 + tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 64)
        row = tl.load(index_ptr + m, mask=m < M, other=0)
        a = a_ptr + row[:, None] * K + k[None, :]
        acc = tl.zeros((128, 128), tl.float32)
        for step in range(tl.cdiv(K, 64)):
            x = tl.load(a)
            acc = tl.dot(x, b.load([0, step * 64]).T, acc)
            a += 64
        tl.store(o_ptr + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])
