# Lanes follow the dimension whose neighbours usually lie side by side, where no run of them is sure: pixels of a row, of
# which a remainder makes rows, before channels. Without such a dimension they follow the last one.
# RUN: tandemc %s --emit=layouts --target sm_80 --signature '*fp32:16, *fp32:16, i32, i32, i32' --constexpr 'STEP=1' | FileCheck %s
# RUN: tandemc %s --emit=layouts --target sm_80 --signature '*fp32:16, *fp32:16, i32, i32, i32' --constexpr 'STEP=2' \
# RUN:   | FileCheck %s --check-prefix APART
import triton
import triton.language as tl


# CHECK: tile.load {{.*}}lanes = [16, 32, 64, 128, 256]{{.*}} : tensor<64x16x!tile.ptr<f32>>
# APART: tile.load {{.*}}lanes = [1, 2, 4, 8, 16]{{.*}} : tensor<64x16x!tile.ptr<f32>>
@triton.jit
def pixels(x, o, width, line, channel, STEP: tl.constexpr):
    place, c = tl.program_id(0) * 64 + tl.arange(0, 64), tl.arange(0, 16)
    row, column = place // width, tl.maximum(place % width - 1, 0)
    v = tl.load(x + row[:, None] * line + column[:, None] * STEP + c[None, :] * channel)
    tl.store(o + place, tl.sum(v, 1))
