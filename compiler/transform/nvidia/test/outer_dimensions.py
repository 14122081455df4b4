# Blocks whose base depends on the program: what is added to it becomes outer dimensions of a larger tensor, of which one place is read.
# RUN: tandemc %s:attend --emit=gpu --num-warps 8 --num-stages 2 --constexpr 'FORM="pointers"' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:1, i32, i32, fp32' \
# RUN:   | FileCheck %s --check-prefix=FREE
# RUN: tandemc %s:attend --emit=gpu --num-warps 8 --num-stages 2 --constexpr 'FORM="masks"' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:1, i32, i32, fp32' \
# RUN:   | FileCheck %s --check-prefix=ENDS
# RUN: tandemc %s:attend --emit=gpu --num-warps 8 --num-stages 2 --constexpr 'FORM="block pointers"' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:1, i32, i32, fp32' \
# RUN:   | FileCheck %s --check-prefix=FREE
# RUN: tandemc %s:attend --emit=gpu --num-warps 8 --num-stages 2 --constexpr 'FORM="checked block pointers"' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:1, i32, i32, fp32' \
# RUN:   | FileCheck %s --check-prefix=ENDS
# RUN: tandemc %s:attend --emit=gpu --num-warps 8 --num-stages 2 --constexpr 'FORM="descriptors"' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:1, i32, i32, fp32' \
# RUN:   | FileCheck %s --check-prefix=ENDS
# A head's stride that may not be a multiple of 16 bytes, no contiguous dimension, a place that may be negative:
# RUN: tandemc %s:attend --emit=gpu --num-warps 8 --num-stages 2 --constexpr 'FORM="pointers"' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32:16, i32, i32:16, i32:1, i32, i32, fp32' \
# RUN:   | FileCheck %s --check-prefix=STAYS
# RUN: tandemc %s:attend --emit=gpu --num-warps 8 --num-stages 2 --constexpr 'FORM="pointers"' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, i32, i32, fp32' \
# RUN:   | FileCheck %s --check-prefix=STAYS
# RUN: tandemc %s:attend --emit=gpu --num-warps 8 --num-stages 2 --constexpr 'FORM="pointers", BACK=1' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:1, i32, i32, fp32' \
# RUN:   | FileCheck %s --check-prefix=STAYS
# A constant stride of heads is a dimension too, when the rows have an end; what all programs add moves the base.
# RUN: tandemc %s:constants --emit=gpu --num-warps 8 --num-stages 4 --signature '*fp16:16, *fp16:16, *fp32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=CONSTANT
import triton
import triton.language as tl


# Nothing says where head and batch end, nor rows that no mask bounds: there the map is as large as one can be.
# FREE: producer
# FREE-COUNT-3: tgpu.tma_load {{.*}} shape(%c2147483647_i64, %c2147483647_i64, %c2147483647_i64, %c64_i64)
# FREE-NOT: tile.load
# ENDS: tgpu.warp_specialize
# ENDS-NOT: tile.load
# ENDS: producer
# ENDS: %[[END:.*]] = arith.maxsi
# ENDS-COUNT-3: tgpu.tma_load {{.*}} shape(%c2147483647_i64, %c2147483647_i64, %[[END]], %c64_i64)
# STAYS-NOT: tma_load
# STAYS: tile.load
# STAYS-NOT: tma_load
@triton.jit
def attend(q_ptr, k_ptr, v_ptr, out_ptr, stride_z, stride_h, stride_n, stride_d, H, N, scale, FORM: tl.constexpr, BACK: tl.constexpr = 0):
    BM: tl.constexpr = 128
    BN: tl.constexpr = 64
    D: tl.constexpr = 64
    row = tl.program_id(0) * BM
    z, h = tl.program_id(1) // H, tl.program_id(1) % H
    if BACK:
        h = BACK - h
    base = z.to(tl.int64) * stride_z + h.to(tl.int64) * stride_h
    m, n, d = row + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    q_at = q_ptr + base + m[:, None] * stride_n + d[None, :] * stride_d
    k_at = k_ptr + base + n[None, :] * stride_n + d[:, None] * stride_d
    v_at = v_ptr + base + n[:, None] * stride_n + d[None, :] * stride_d
    if FORM == "descriptors":
        q_block = tl.make_tensor_descriptor(q_ptr + base, [N, D], [stride_n, 1], [BM, D])
        k_block = tl.make_tensor_descriptor(k_ptr + base, [N, D], [stride_n, 1], [BN, D])
        v_block = tl.make_tensor_descriptor(v_ptr + base, [N, D], [stride_n, 1], [BN, D])
    else:
        q_block = tl.make_block_ptr(q_ptr + base, (N, D), (stride_n, stride_d), (row, 0), (BM, D), (1, 0))
        k_block = tl.make_block_ptr(k_ptr + base, (D, N), (stride_d, stride_n), (0, 0), (D, BN), (0, 1))
        v_block = tl.make_block_ptr(v_ptr + base, (N, D), (stride_n, stride_d), (0, 0), (BN, D), (1, 0))
    if FORM == "pointers":
        q = tl.load(q_at)
    elif FORM == "masks":
        q = tl.load(q_at, mask=m[:, None] < N, other=0.0)
    elif FORM == "block pointers":
        q = tl.load(q_block)
    elif FORM == "checked block pointers":
        q = tl.load(q_block, boundary_check=(0, 1), padding_option="zero")
    else:
        q = q_block.load([row, 0])
    acc = tl.zeros([BM, D], tl.float32)
    top = tl.zeros([BM], tl.float32) - float("inf")
    for start in range(0, N, BN):
        if FORM == "pointers":
            k = tl.load(k_at)
            v = tl.load(v_at)
        elif FORM == "masks":
            k = tl.load(k_at, mask=(start + n)[None, :] < N, other=0.0)
            v = tl.load(v_at, mask=n[:, None] < N - start, other=0.0)
        elif FORM == "block pointers":
            k = tl.load(k_block)
            v = tl.load(v_block)
        elif FORM == "checked block pointers":
            k = tl.load(k_block, boundary_check=(0, 1), padding_option="zero")
            v = tl.load(v_block, boundary_check=(0, 1), padding_option="zero")
        else:
            k = k_block.load([start, 0]).T
            v = v_block.load([start, 0])
        s = tl.dot(q, k) * scale
        higher = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - higher[:, None])
        acc = tl.dot(p.to(tl.float16), v, acc * tl.exp2(top - higher)[:, None])
        top = higher
        k_at += BN * stride_n
        v_at += BN * stride_n
        if FORM == "block pointers" or FORM == "checked block pointers":
            k_block = tl.advance(k_block, (0, BN))
            v_block = tl.advance(v_block, (BN, 0))
    tl.store(out_ptr + base + m[:, None] * stride_n + d[None, :] * stride_d, acc.to(tl.float16))


# CONSTANT: producer
# CONSTANT: %[[MOVED:.*]] = tile.addptr %arg0, %c512_i64
# CONSTANT: tgpu.tma_load %[[MOVED]] shape(%c2147483647_i64, %{{.*}}, %c64_i64) strides(%c262144_i64, %c64_i64, %c1_i64)
# CONSTANT: tgpu.tma_load %arg1 shape(%c2147483647_i64, %{{.*}}, %c64_i64) strides(%c262144_i64, %c64_i64, %c1_i64)
@triton.jit
def constants(a_ptr, b_ptr, c_ptr, N):
    head = tl.program_id(0) * 262144
    m, d = tl.arange(0, 128), tl.arange(0, 64)
    acc = tl.zeros([128, 128], tl.float32)
    for start in range(0, N, 128):
        rows = start + m
        a = tl.load(a_ptr + 512 + head + rows[:, None] * 64 + d[None, :], mask=rows[:, None] < N, other=0.0)
        b = tl.load(b_ptr + head + rows[None, :] * 64 + d[:, None], mask=rows[None, :] < N, other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m[:, None] * 128 + m[None, :], acc)
