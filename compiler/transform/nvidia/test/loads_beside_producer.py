# A tile that the consumers of a producer's tiles load themselves comes one iteration ahead where no product can begin before the last
# iteration's results are there, and a thread has few registers of it. Where products only add up, these hide the loads.
# RUN: tandemc %s:states --emit=gpu --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32:16' --constexpr 'RECURS=1' | FileCheck %s
# RUN: tandemc %s:states --emit=gpu --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32:16' --constexpr 'RECURS=0' \
# RUN:   | FileCheck %s --check-prefix=SUMS
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
