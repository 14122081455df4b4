# A tile comes into a layout where that costs least: at what it is made of, before that becomes addresses or wider numbers.
# RUN: tandemc %s:gathered --emit=layouts --target sm_90a --signature '*bf16:16, *i64:16, *bf16:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=GATHERED
# RUN: tandemc %s:divided --emit=layouts --target sm_90a --signature '*bf16:16, *i32:16, *bf16:16' | FileCheck %s --check-prefix=DIVIDED
# RUN: tandemc %s:widened --emit=layouts --target sm_90a --signature '*bf16:16, *fp32:16' | FileCheck %s --check-prefix=WIDENED
# RUN: tandemc %s:twice --emit=layouts --target sm_90a --signature '*fp32:16, *fp32:16' | FileCheck %s --check-prefix=TWICE
# RUN: tandemc %s:mixed --emit=layouts --target sm_90a --signature '*bf16:16, *fp32:16, *fp32:16' | FileCheck %s --check-prefix=MIXED
import triton
import triton.language as tl


# Fewer numbers than threads are loaded again; the numbers as they came first are not needed.
# GATHERED: tile.load {{.*}}tensor<64x!tile.ptr<i64>>
# GATHERED-NOT: tensor<64x!tile.ptr<i64>> -> tensor<64xi64>
# GATHERED-NOT: convert_layout
# GATHERED: return
@triton.jit
def gathered(x, index, out, stride):
    rows, columns = tl.arange(0, 64), tl.arange(0, 8)
    row = tl.load(index + rows)
    tile = tl.load(x + row[:, None] * stride + columns[None, :])
    tl.store(out + rows[:, None] * 8 + columns[None, :], tile)


# More numbers than threads are converted, not the addresses made of them, and once for load and store.
# DIVIDED: tgpu.convert_layout {{.*}} : tensor<512x1xi32>
# DIVIDED-NOT: convert_layout
# DIVIDED: return
@triton.jit
def divided(x, index, out):
    rows, columns = tl.arange(0, 512), tl.arange(0, 8)
    row = tl.load(index + rows)
    at = (row[:, None] // 24) * 100 + (row[:, None] % 24) * 8 + columns[None, :]
    tl.store(out + at, tl.load(x + at) * 2)


# WIDENED: tgpu.convert_layout {{.*}} : tensor<64x64xbf16>
# WIDENED-NOT: convert_layout
# WIDENED: return
@triton.jit
def widened(x, out):
    i, j = tl.arange(0, 64), tl.arange(0, 64)
    tile = tl.load(x + i[:, None] * 64 + j[None, :]).to(tl.float32) * 2
    tl.store(out + j[None, :] * 64 + i[:, None], tile)


# An op that reads a tile whose layout has changed is done in the new layout too.
# TWICE-COUNT-1: tgpu.convert_layout
# TWICE-NOT: convert_layout
# TWICE: return
@triton.jit
def twice(x, out):
    i, j = tl.arange(0, 128), tl.arange(0, 128)
    y = tl.load(x + i[:, None] * 128 + j[None, :])
    tl.store(out + j[None, :] * 128 + i[:, None], y)
    tl.store(out + 16384 + j[None, :] * 128 + i[:, None], y * 2)


# Tiles of two element types are loaded in one division among threads, the one in which their sum is stored.
# MIXED-NOT: convert_layout
# MIXED-COUNT-2: tile.load
# MIXED-NOT: convert_layout
# MIXED: return
@triton.jit
def mixed(x, y, out):
    i = tl.arange(0, 4096)
    tl.store(out + i, tl.load(x + i) + tl.load(y + i))
