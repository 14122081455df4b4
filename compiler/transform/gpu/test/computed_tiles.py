# A tile that is computed of no load lies as its store wants it, and no thread of a small tile's copies computes a large one's.
# RUN: tandemc %s:steps --emit=layouts --target sm_90a --signature '*fp64:16, i32, i32' --num-warps 1 | FileCheck %s --check-prefix=STEPS
# RUN: tandemc %s:rows --emit=layouts --target sm_90a --num-warps 1 --signature '*fp32, *fp32, *fp32, i32' | FileCheck %s --check-prefix ROW
import triton
import triton.language as tl


# 64 elements of 32 threads are two of each.
# STEPS: scf.for
# STEPS: arith.mulf {{.*}}layout<[16, 4], registers = [32], lanes = [1, 2, 4, 8, 16], warps = []>
# STEPS-NOT: tgpu.convert_layout
@triton.jit
def steps(o, n, count):
    i, j = tl.arange(0, 16)[:, None], tl.arange(0, 4)[None, :]
    x, z = (i * 0.5 + j).to(tl.float64), tl.zeros((16, 4), tl.float64)
    for k in range(count):
        z = z * z + x
    tl.store(o + i * n + j, z)


# The rows' 16 numbers are in two places of a warp each; of 2048 products no thread has more than 64.
# ROW: arith.subf {{.*}}layout<[16, 128], registers = [{{[0-9]+}}, {{[0-9]+}}, {{[0-9]+}}, {{[0-9]+}}, {{[0-9]+}}, {{[0-9]+}}], lanes
@triton.jit
def rows(x, y, o, n):
    i, j = tl.arange(0, 16), tl.arange(0, 128)
    a, b = tl.load(x + i * 3, mask=i < n), tl.load(y + j * 3, mask=j < n)
    tl.store(o + j, tl.sum(tl.exp(b[None, :] - a[:, None]), axis=0))
