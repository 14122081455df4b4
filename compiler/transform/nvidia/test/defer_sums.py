# Online softmax: the rows' sum is carried in eight parts and added up behind the loop.
# RUN: tandemc %s:rows --emit=gpu --num-warps 4 --constexpr 'WHAT="sum"' --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=PARTS
# RUN: tandemc %s:rows --emit=ptx --num-warps 4 --constexpr 'WHAT="sum"' --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=PTX
# Looked at in the loop; scaled by what may be negative; terms that may be; another axis' rows:
# RUN: tandemc %s:rows --emit=gpu --num-warps 4 --constexpr 'WHAT="watched"' --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=STAYS
# RUN: tandemc %s:rows --emit=gpu --num-warps 4 --constexpr 'WHAT="factor"' --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=STAYS
# RUN: tandemc %s:rows --emit=gpu --num-warps 4 --constexpr 'WHAT="signed"' --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=STAYS
# RUN: tandemc %s:rows --emit=gpu --num-warps 4 --constexpr 'WHAT="columns"' --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=STAYS
# Products that no warpgroup makes:
# RUN: tandemc %s:rows --emit=gpu --num-warps 4 --target sm_80 --constexpr 'WHAT="sum"' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32' | FileCheck %s --check-prefix=STAYS
import triton
import triton.language as tl


# PARTS: %[[EIGHTH:.*]] = arith.constant 1.250000e-01 : f32
# PARTS: scf.for {{.*}} -> ({{.*}}tensor<64x8xf32>
# PARTS: tile.reshape %[[P:.*]] : tensor<64x64xf32> -> tensor<64x8x8xf32>
# PARTS: tile.reduce({{.*}}) along 1 : (tensor<64x8x8xf32>) -> tensor<64x8xf32>
# PARTS: scf.yield
# PARTS: tile.reduce({{.*}}) along 1 : (tensor<64x8xf32>) -> tensor<64xf32>
# Two rows' maxima go round four lanes in the loop; sums do behind it.
# PTX-COUNT-4: shfl.sync.bfly
# PTX-NOT: shfl.sync.bfly
# PTX: mbarrier.arrive
# PTX: bra
# PTX-COUNT-4: shfl.sync.bfly
# PTX-NOT: shfl.sync.bfly
# STAYS-NOT: 64x8xf32
@triton.jit
def rows(q_ptr, k_ptr, v_ptr, o_ptr, N, WHAT: tl.constexpr):
    q_desc = tl.make_tensor_descriptor(q_ptr, [N, 64], [64, 1], [64, 64])
    k_desc = tl.make_tensor_descriptor(k_ptr, [N, 64], [64, 1], [64, 64])
    q = q_desc.load([tl.program_id(0) * 64, 0])
    top = tl.zeros([64], tl.float32) - float("inf")
    total = tl.zeros([64], tl.float32)
    worst = 0.0
    for start in range(0, N, 64):
        s = tl.dot(q, k_desc.load([start, 0]).T)
        higher = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - higher[:, None])
        factor = tl.exp2(top - higher)
        if WHAT == "factor":
            total = total * (top - higher) + tl.sum(p, 1)
        elif WHAT == "signed":
            total = total * factor + tl.sum(s, 1)
        elif WHAT == "columns":
            total = total * factor + tl.sum(p, 0)
        else:
            total = total * factor + tl.sum(p, 1)
        if WHAT == "watched":
            worst += tl.max(total, 0)
        top = higher
    tl.store(o_ptr + tl.program_id(0) * 64 + tl.arange(0, 64), total + worst)
