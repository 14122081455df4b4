# Tiles that a loop computes of its products one after the other share registers, so that several blocks share a multiprocessor; those that
# are all there at once do not.
# RUN: tandemc %s --emit=ptx --num-warps 8 --num-stages 4 --signature '*i8:16, *i8:16, *fp32:16, *fp32:16, i32:16, i32:16' \
# RUN:   --constexpr 'N=32' | FileCheck %s --check-prefix=SMALL
# RUN: tandemc %s --emit=ptx --num-warps 8 --num-stages 4 --signature '*i8:16, *i8:16, *fp32:16, *fp32:16, i32:16, i32:16' \
# RUN:   --constexpr 'N=256' | FileCheck %s --check-prefix=LARGE
import triton
import triton.language as tl


# SMALL: .minnctapersm 3
# LARGE: .minnctapersm 1
@triton.jit
def scaled(a, b, scales, c, M, K, N: tl.constexpr):
    m, n, k = tl.program_id(0) * 64 + tl.arange(0, 64), tl.arange(0, N), tl.arange(0, 32)
    acc = tl.zeros((64, N), tl.float32)
    for start in range(0, K, 32):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + n[None, :] * K + (start + k)[:, None])
        s, t = tl.load(scales + start + m), tl.load(scales + start + M + n)
        acc += tl.dot(x, y).to(tl.float32) * s[:, None] * t[None, :]
    tl.store(c + m[:, None] * N + n[None, :], acc)
