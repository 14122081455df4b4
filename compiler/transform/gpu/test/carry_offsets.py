# Loops carry how far a tile of addresses has moved, not the tile.
# RUN: tandemc %s:moved --emit=gpu --target sm_80 --signature '*fp32, *fp32, i32, i32, i32' | FileCheck %s --check-prefix=MOVED
# RUN: tandemc %s:nested --emit=gpu --target sm_80 --signature '*fp32, *fp32, i32, i32' | FileCheck %s --check-prefix=NESTED
# RUN: tandemc %s:gathered --emit=gpu --target sm_80 --signature '*fp32, *i32, *fp32, i32' | FileCheck %s --check-prefix=STAYS
# Two loops over tiles of addresses with strides that only the launch knows: this takes a second, not minutes.
# RUN: tandemc %s:attend --emit=ptx --num-warps 4 --signature '*fp16:16, *fp16:16, *fp16:16, i32, i32' | FileCheck %s --check-prefix=PTX
import triton
import triton.language as tl


# An integer tile and one of pointers; two numbers are added, of which one changes.
# MOVED: %[[FIRST:.*]] = tile.addptr
# MOVED: scf.for {{.*}} -> (i64, i32, i32, tensor<128xf32>)
# MOVED: %[[FAR:.*]] = tile.splat %{{.*}} : i64 -> tensor<128xi64>
# MOVED: tile.addptr %[[FIRST]], %[[FAR]]
# MOVED: arith.addi %{{.*}}, %{{.*}} : i64
@triton.jit
def moved(x_ptr, o_ptr, n, step, more):
    at = x_ptr + tl.arange(0, 128) * step
    index = tl.arange(0, 128)
    total = tl.zeros([128], tl.float32)
    for i in range(n):
        total += tl.load(at, mask=index < n)
        at += step
        at += more
        index += 128
        more += i
    tl.store(o_ptr + tl.arange(0, 128), total)


# NESTED: scf.for {{.*}} -> (i64, tensor<128xf32>)
# NESTED: scf.for {{.*}} -> (i64, tensor<128xf32>)
@triton.jit
def nested(x_ptr, o_ptr, n, step):
    at = x_ptr + tl.arange(0, 128) * step
    total = tl.zeros([128], tl.float32)
    for _ in range(n):
        for _ in range(n):
            total += tl.load(at)
            at += step
        at += 7
    tl.store(o_ptr + tl.arange(0, 128), total)


# STAYS: scf.for {{.*}} -> (tensor<128x!tile.ptr<f32>>, tensor<128xf32>)
@triton.jit
def gathered(x_ptr, far_ptr, o_ptr, n):
    at = x_ptr + tl.arange(0, 128)
    total = tl.zeros([128], tl.float32)
    for _ in range(n):
        total += tl.load(at)
        at += tl.load(far_ptr + tl.arange(0, 128))
    tl.store(o_ptr + tl.arange(0, 128), total)


# PTX: wgmma.mma_async
@triton.jit
def attend(q_ptr, k_ptr, o_ptr, stride, n):
    m, d = tl.arange(0, 64), tl.arange(0, 64)
    k_at = k_ptr + d[:, None] + m[None, :] * stride
    v_at = k_ptr + m[:, None] * stride + d[None, :]
    q = tl.load(q_ptr + m[:, None] * stride + d[None, :])
    acc = tl.zeros([64, 64], tl.float32)
    for _ in range(n):
        acc = tl.dot(tl.dot(q, tl.load(k_at)).to(tl.float16), tl.load(v_at), acc)
        k_at += 64 * stride
        v_at += 64 * stride
    for _ in range(n):
        acc = tl.dot(tl.maximum(tl.dot(q, tl.load(k_at)), 0.0).to(tl.float16), tl.load(v_at), acc)
        k_at += 64 * stride
        v_at += 64 * stride
    tl.store(o_ptr + m[:, None] * 64 + d[None, :], acc.to(tl.float16))
