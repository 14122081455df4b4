# Four warps whose threads would hold 256 sums each become eight; not where threads are counted or registers bounded.
# RUN: tandemc %s:product --emit=gpu --num-warps 4 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' --constexpr 'BN=256, COUNTS=False' \
# RUN:   | FileCheck %s --check-prefix=MORE
# RUN: tandemc %s:product --remarks --num-warps 4 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' --constexpr 'BN=256, COUNTS=False' \
# RUN:   2>&1 | FileCheck %s --check-prefix=SAYS
# RUN: tandemc %s:product --emit=gpu --num-warps 4 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' --constexpr 'BN=128, COUNTS=False' \
# RUN:   | FileCheck %s --check-prefix=FOUR
# RUN: tandemc %s:product --emit=gpu --num-warps 4 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' --constexpr 'BN=256, COUNTS=True' \
# RUN:   | FileCheck %s --check-prefix=FOUR
# RUN: tandemc %s:product --emit=gpu --num-warps 4 --maxnreg 255 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' \
# RUN:   --constexpr 'BN=256, COUNTS=False' | FileCheck %s --check-prefix=FOUR
# RUN: tandemc %s:product --emit=gpu --num-warps 4 --target sm_80 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' \
# RUN:   --constexpr 'BN=256, COUNTS=False' | FileCheck %s --check-prefix=FOUR
import triton
import triton.language as tl
from tandem.simt import __syncthreads


# MORE: tile.num_warps = 8
# MORE: tgpu.wgmma
# FOUR: tile.num_warps = 4
# SAYS: passed product: 8 warps instead of 4: the sums would take 256 registers of a thread
@triton.jit
def product(a, b, c, K, BN: tl.constexpr, COUNTS: tl.constexpr):
    m, n, k = tl.arange(0, 128), tl.arange(0, BN), tl.arange(0, 64)
    acc = tl.zeros((128, BN), tl.float32)
    for at in range(0, K, 64):
        x = tl.load(a + m[:, None] * K + (at + k)[None, :])
        y = tl.load(b + (at + k)[:, None] * BN + n[None, :])
        acc = tl.dot(x, y, acc)
    if COUNTS:
        __syncthreads()
    tl.store(c + m[:, None] * BN + n[None, :], acc)
