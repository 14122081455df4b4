# A tile that repeats few elements of memory is loaded where the tiles that it meets are: a warp's access is of few lines anywhere.
# RUN: tandemc %s --emit=layouts --num-warps 4 --target sm_90a --signature '*fp32:16, *fp32:16, *fp32:16' | FileCheck %s
import triton
import triton.language as tl


# CHECK-COUNT-2: tile.load {{.*}} registers = [32, 64], lanes = [128, 256, 1, 2, 4], warps = [8, 16]
# CHECK-NOT: convert_layout
# CHECK: return
@triton.jit
def scaled(x, scale, o):
    i, j = tl.program_id(0) * 16 + tl.arange(0, 16)[:, None], tl.arange(0, 32)[None, :]
    row = (j + 103 * (i // 512)) % 514
    at = i % 512 + 512 * row
    tl.store(o + at, tl.load(x + at) * tl.load(scale + row))
