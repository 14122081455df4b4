# Lanes follow the dimension whose neighbours usually lie side by side, where no run of them is sure: pixels of a row, of
# which a remainder makes rows, before channels, and the dimension whose step is not known to be a multiple of a large number.
# Without such a dimension they follow the last one.
# RUN: tandemc %s:pixels --emit=layouts --target sm_80 --signature '*fp32:16, *fp32:16, i32, i32, i32' --constexpr 'STEP=1' | FileCheck %s
# RUN: tandemc %s:pixels --emit=layouts --target sm_80 --signature '*fp32:16, *fp32:16, i32, i32, i32' --constexpr 'STEP=64' \
# RUN:   | FileCheck %s --check-prefix APART
# RUN: tandemc %s:weights --emit=layouts --target sm_80 --signature '*fp32:16, *fp32:16, i32, i32:16' | FileCheck %s --check-prefix NEAR
# RUN: tandemc %s:weights --emit=layouts --target sm_80 --signature '*fp32:16, *fp32:16, i32:16, i32:16' | FileCheck %s --check-prefix APART
# RUN: tandemc %s:weights --emit=layouts --target sm_80 --signature '*fp32:16, *fp32:16, i32, i32' | FileCheck %s --check-prefix APART
# RUN: tandemc %s:gathered --emit=layouts --target sm_80 --signature '*fp32:16, *i32:16, *fp32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix GATHERED
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


# NEAR: tile.load {{.*}}lanes = [16, 32, 64, 128, 256]{{.*}} : tensor<64x16x!tile.ptr<f32>>
@triton.jit
def weights(x, o, within, filter):
    c, f = tl.arange(0, 64), tl.arange(0, 16)
    tl.store(o + c, tl.sum(tl.load(x + c[:, None] * within + f[None, :] * filter), 1))


# Numbers from memory may name neighbours, a stride of many elements does not.
# GATHERED: tile.load {{.*}}lanes = [16, 32, 64, 128, 256]{{.*}} : tensor<64x16x!tile.ptr<f32>>
@triton.jit
def gathered(x, index, o, line):
    c, f = tl.arange(0, 64), tl.arange(0, 16)
    at = tl.load(index + c)
    tl.store(o + c, tl.sum(tl.load(x + at[:, None] + f[None, :] * line), 1))
