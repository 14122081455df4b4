# Where many lanes would hold many sums each keeps a few, unless a larger tile wants all of them.
# RUN: tandemc %s:kept --emit=layouts --target sm_90a --signature '*fp32:16, *fp32:16, i32' | FileCheck %s --check-prefix=KEPT
# RUN: tandemc %s:wanted --emit=layouts --target sm_90a --signature '*fp32:16, *fp32:16' | FileCheck %s --check-prefix=WANTED
import triton
import triton.language as tl


@triton.jit
def kept(x, o, n):
    i, j = tl.arange(0, 128), tl.arange(0, 32)
    total = tl.zeros([128], tl.float32)
    for k in range(0, n, 32):
        # KEPT: tile.reduce({{.*}} [#tgpu.layout<[128], registers = [], lanes = [64, 32, 16, 8, 4], warps = [1, 2]>]}
        total += tl.sum(tl.load(x + i[:, None] * n + k + j[None, :]), 1)
    tl.store(o + i, total)


@triton.jit
def wanted(x, o):
    at = tl.arange(0, 128)[:, None] * 32 + tl.arange(0, 32)[None, :]
    v = tl.load(x + at)
    # WANTED: tile.reduce({{.*}} [#tgpu.layout<[128], registers = [16, 32, 64], lanes = [0, 0, 0, 1, 2], warps = [4, 8]>]}
    tl.store(o + at, v - tl.max(v, 1, keep_dims=True))
