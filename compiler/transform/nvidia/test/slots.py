# How many slots: one more than asked for where each program has a multiprocessor to itself, as programs that go from tile to
# tile in steps of no more than there are multiprocessors, or of as many as the launch has; two where a slot is large and no product
# reads it.
# RUN: tandemc %s:product --emit=gpu --num-stages 3 --signature '*fp16:16, *fp16:16, *i32:16, *fp16:16, i32' \
# RUN:   --constexpr 'STEP=132' | FileCheck %s
# RUN: tandemc %s:product --emit=gpu --num-stages 3 --signature '*fp16:16, *fp16:16, *i32:16, *fp16:16, i32' --constexpr 'STEP=264' \
# RUN:   | FileCheck %s --check-prefix=MANY
# RUN: tandemc %s:product --emit=gpu --num-stages 3 --signature '*fp16:16, *fp16:16, *i32:16, *fp16:16, i32' --constexpr 'STEP=0' \
# RUN:   | FileCheck %s
# RUN: tandemc %s:few_rows --emit=gpu --num-stages 3 --signature '*fp16:16, *fp16:16, *fp16:16, i32' --constexpr 'STEP=132' \
# RUN:   | FileCheck %s --check-prefix=FEW
# RUN: tandemc %s:few_rows --emit=gpu --num-stages 3 --signature '*fp16:16, *fp16:16, *fp16:16, i32' --constexpr 'STEP=264' \
# RUN:   | FileCheck %s --check-prefix=SHARED
# RUN: tandemc %s:rows --emit=gpu --num-warps 8 --signature '*fp32:16, *fp32:16, i32:16' \
# RUN:   --constexpr 'N=16384' | FileCheck %s --check-prefix=LARGE
# RUN: tandemc %s:rows --emit=gpu --num-warps 8 --signature '*fp32:16, *fp32:16, i32:16' \
# RUN:   --constexpr 'N=1024' | FileCheck %s --check-prefix=SMALL
import triton
import triton.language as tl


# CHECK: tgpu.copy_ring 4 ahead 3
# MANY: tgpu.copy_ring 3 ahead 2
@triton.jit
def product(a, b, rows, c, tiles, STEP: tl.constexpr):
    tile = tl.program_id(0)
    m, n, k = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 64)
    while tile < tiles:
        acc = tl.zeros((64, 128), tl.float32)
        row = tl.load(rows + tile * 64 + m)
        for start in range(0, 512, 64):
            x = tl.load(a + row[:, None] * 512 + (start + k)[None, :])
            acc += tl.dot(x, tl.load(b + (start + k)[:, None] * 128 + n[None, :]))
        tl.store(c + (tile * 64 + m)[:, None] * 128 + n[None, :], acc.to(tl.float16))
        tile += STEP if STEP else tl.num_programs(0)


# Products of mma.sync give up slots for a second block, but not where none comes.
# FEW: tgpu.copy_ring 4 ahead 3
# SHARED: tgpu.copy_ring 2 ahead 2
@triton.jit
def few_rows(a, b, c, tiles, STEP: tl.constexpr):
    m, n, k = tl.arange(0, 16), tl.arange(0, 128), tl.arange(0, 128)
    for tile in range(tl.program_id(0), tiles, STEP):
        acc = tl.zeros((16, 128), tl.float32)
        for start in range(0, 4096, 128):
            x = tl.load(a + (tile * 16 + m)[:, None] * 4096 + (start + k)[None, :])
            acc = tl.dot(x, tl.load(b + (start + k)[:, None] * 128 + n[None, :]), acc)
        tl.store(c + (tile * 16 + m)[:, None] * 128 + n[None, :], acc.to(tl.float16))


# LARGE: tgpu.copy_ring 2 ahead 1
# SMALL: tgpu.copy_ring 4 ahead 3
@triton.jit
def rows(x, y, n, N: tl.constexpr):
    i = tl.arange(0, N)
    for row in tl.range(tl.program_id(0), 4096, tl.num_programs(0), num_stages=4):
        value = tl.load(x + row * n + i)
        tl.store(y + row * n + i, value / tl.sum(value))
