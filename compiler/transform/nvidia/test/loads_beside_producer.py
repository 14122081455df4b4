# A tile that the consumers of a producer's tiles load themselves comes one iteration ahead where no product can begin before the last
# iteration's results are there, and a thread has few registers of it. Where products only add up, these hide the loads.
# RUN: tandemc %s:states --emit=gpu --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32:16' --constexpr 'RECURS=1' | FileCheck %s
# RUN: tandemc %s:states --emit=gpu --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32:16' --constexpr 'RECURS=0' \
# RUN:   | FileCheck %s --check-prefix=SUMS
# A large tile that they load behind a product, as a mask of scores, is copied ahead by cp.async: nothing else hides the way to memory.
# RUN: tandemc %s:scores --emit=gpu --num-stages 3 --signature '*fp16:16, *fp16:16, *i32:16, *fp32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=SCORES
import triton
import triton.language as tl


# CHECK: consumer
# CHECK: %[[FIRST:.*]] = tile.load
# CHECK: scf.for {{.*}} = %[[FIRST]]
# CHECK: tile.load {{.*}} mask
# CHECK: tgpu.wgmma
# CHECK-NOT: tile.load
# CHECK: scf.yield
# SUMS: consumer
# SUMS-NOT: tile.load
# SUMS: scf.for
# SUMS: tile.load
@triton.jit
def states(w, k, v, out, T, RECURS: tl.constexpr):
    t, n, d = tl.arange(0, 64), tl.arange(0, 32), tl.arange(0, 64)
    state = tl.zeros((64, 32), tl.float32)
    for start in range(0, T, 64):
        x = tl.load(w + (start + t)[:, None] * 64 + d[None, :])
        y = tl.load(k + (start + t)[None, :] * 64 + d[:, None])
        own = tl.load(v + (start + t)[:, None] * 32 + n[None, :])
        if RECURS:
            state += tl.dot(y, (own - tl.dot(x, state.to(tl.float16))).to(tl.float16))
        else:
            state += tl.sum(tl.dot(x, y), 1)[:, None] * own
    tl.store(out + d[:, None] * 32 + n[None, :], state)


# SCORES: consumer
# SCORES: tgpu.copy_async
# SCORES: scf.for
# SCORES: tgpu.wgmma
# SCORES-NOT: tile.{{load|block_load}}
# SCORES: tgpu.local_load
# SCORES: scf.yield
@triton.jit
def scores(q, k, seen, out, T):
    m, n, d = tl.arange(0, 64), tl.arange(0, 32), tl.arange(0, 64)
    x = tl.load(q + m[:, None] * 64 + d[None, :])
    most = tl.full((64,), float("-inf"), tl.float32)
    for start in range(0, T, 32):
        y = tl.load(k + (start + n)[None, :] * 64 + d[:, None])
        score = tl.dot(x, y)
        mask = tl.load(seen + m[:, None] * T + (start + n)[None, :])
        most = tl.maximum(most, tl.max(tl.where(mask != 0, score, float("-inf")), 1))
    tl.store(out + m, most)
