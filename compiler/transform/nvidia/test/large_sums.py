# Sums that take all registers of a thread are spilled by whatever multiplies. Floats of 8 bits go to wgmma all the same, as mma.sync would
# convert them for each instruction; of 16 bits, mma.sync spills less. A thread of sixteen warps has half as many registers, all of which
# one instruction of wgmma would take.
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --signature '*fp8e4nv:16, *fp8e4nv:16, *fp32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=BYTES
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=HALVES
# RUN: tandemc %s:product --emit=gpu --num-warps 16 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=HALVES
# RUN: tandemc %s:product --emit=gpu --num-warps 16 --signature '*fp8e4nv:16, *fp8e4nv:16, *fp32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=HALVES
import triton
import triton.language as tl


# BYTES: tgpu.wgmma
# HALVES-NOT: tgpu.wgmma
# HALVES: tile.dot
# HALVES-NOT: tgpu.wgmma
@triton.jit
def product(a, b, c, K):
    m, n, k = tl.arange(0, 256), tl.arange(0, 256), tl.arange(0, 64)
    acc = tl.zeros((256, 256), tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + n[None, :] * K + (start + k)[:, None])
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * 256 + n[None, :], acc)
