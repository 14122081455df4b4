# A scan of rows in which single elements lie side by side goes where each thread has neighbours, if it costs less there.
# RUN: tandemc %s:odd --emit=layouts --num-warps 1 --target sm_90a --signature '*fp32, *fp32' | FileCheck %s --check-prefix=ODD
# RUN: tandemc %s:aligned --emit=layouts --num-warps 4 --target sm_90a --signature '*fp32:16, *fp32:16' \
# RUN:   | FileCheck %s --check-prefix=ALIGNED
# RUN: tandemc %s:narrowed --emit=layouts --num-warps 2 --target sm_90a --signature '*bf16:16, *fp32:16' \
# RUN:   | FileCheck %s --check-prefix=NARROWED
# RUN: tandemc %s:columns --emit=layouts --num-warps 4 --target sm_90a --signature '*fp32:16, *fp32:16' \
# RUN:   | FileCheck %s --check-prefix=COLUMNS
import triton
import triton.language as tl


@triton.jit
def larger(a, b):
    top = tl.maximum(a, b)
    return top + tl.log(1 + tl.exp(tl.minimum(a, b) - top))


# ODD: tile.load {{.*}} registers = [32, 64, 128, 256, 512], lanes = [1, 2, 4, 8, 16]
# ODD: tgpu.convert_layout {{.*}} registers = [1, 2, 4, 8, 16], lanes = [32, 64, 128, 256, 512]
# ODD: tile.scan
# ODD: tgpu.convert_layout {{.*}} registers = [32, 64, 128, 256, 512], lanes = [1, 2, 4, 8, 16]
# ODD-NOT: convert_layout
# ODD: return
@triton.jit
def odd(x, o):
    i = tl.arange(0, 1024)
    tl.store(o + i, tl.associative_scan(tl.load(x + i), 0, larger))


# Neighbours are a thread's own already, but for one bit.
# ALIGNED-NOT: convert_layout
# ALIGNED: return
@triton.jit
def aligned(x, o):
    i = tl.arange(0, 512)
    tl.store(o + i, tl.cumsum(tl.load(x + i), 0))


# COLUMNS-NOT: convert_layout
# COLUMNS: return
@triton.jit
def columns(x, o):
    at = tl.arange(0, 16)[:, None] * 128 + tl.arange(0, 128)[None, :]
    tl.store(o + at, tl.cumsum(tl.load(x + at), 0))


# The sums change threads to be stored, anyway.
# NARROWED: tgpu.convert_layout {{.*}} registers = [1, 2, 4, 32, 64]
# NARROWED: tile.scan
# NARROWED: tgpu.convert_layout
# NARROWED-NOT: convert_layout
# NARROWED: return
@triton.jit
def narrowed(x, o):
    at = tl.arange(0, 64)[:, None] * 2048 + tl.arange(0, 32)[None, :]
    tl.store(o + at, tl.cumsum(tl.load(x + at).to(tl.float32), 0))
