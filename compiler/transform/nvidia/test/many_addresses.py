# The addresses of all copies together take more operations than those of one may, and none is left out.
# RUN: tandemc %s:many --emit=ptx --target sm_90a --signature '*fp32:16, *fp32:16, i32' | FileCheck %s
import triton
import triton.language as tl


# CHECK-COUNT-12: cp.async.cg.shared.global
@triton.jit
def many(x, o, n):
    i = tl.arange(0, 32)
    tile = i[:, None] * 32 + i[None, :]
    total = tl.zeros([32, 32], tl.float32)
    for k in tl.range(0, n, num_stages=2):
        for j in tl.static_range(3):
            at = k * 7 + j
            for _ in tl.static_range(25):
                at = (at * 5 + 3) ^ (at // 8)
            total += tl.load(x + at % 1024 * 1024 + tile)
    tl.store(o + tile, total)
