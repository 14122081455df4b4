# Pairs that are split or joined lie in one thread, and no thread holds what another holds already: sorting stays in 32 registers a thread.
# RUN: tandemc %s:ordered --emit=layouts --target sm_90a --signature '*i64:16, *i64:16' --num-warps 1 | FileCheck %s
# RUN: tandemc %s:unpacked --emit=ptx --target sm_90a --signature '*fp16:16, *i32:16, *fp32:16' | FileCheck %s --check-prefix=TWICE
import triton
import triton.language as tl


# CHECK: tile.split
# CHECK-NOT: tile.{{split|join}} {{.*}}lanes = [{{([0-9]+, )*}}0{{[],]}}
# CHECK: return
@triton.jit
def ordered(x, o):
    m, n = tl.arange(0, 8)[:, None], tl.arange(0, 128)[None, :]
    tl.store(o + m * 128 + n, tl.sort(tl.load(x + m * 128 + n)))


# A word that is joined with itself, once for each number in it, is where the product wants those numbers: threads that share a word read it
# together.
# TWICE-NOT: shfl
# TWICE: mma.sync
@triton.jit
def unpacked(x, words, o):
    m, n, k = tl.arange(0, 16)[:, None], tl.arange(0, 64), tl.arange(0, 64)
    w = tl.load(words + k[:, None] * 8 + tl.arange(0, 8)[None, :])
    for _ in tl.static_range(3):
        w = tl.interleave(w, w)
    b = ((w >> (n % 8 * 4)[None, :]) & 0xF).to(tl.float16)
    tl.store(o + m * 64 + n[None, :], tl.dot(tl.load(x + m * 64 + k[None, :]), b))
