# Short-lived uses of shared memory lie side by side where that takes no place from other blocks; threads meet before a use only
# where an earlier one may not have ended.
# RUN: tandemc %s:in_turn --emit=ptx --target sm_90a --signature '*fp32:16, *fp32:16, i32' | FileCheck %s --check-prefix=TURN
# RUN: tandemc %s:alone --emit=ptx --target sm_90a --signature '*fp32:16, *fp32:16, i32' | FileCheck %s --check-prefix=ALONE
# RUN: tandemc %s:large --emit=ptx --target sm_90a --signature '*fp32:16, *fp32:16' | FileCheck %s --check-prefix=LARGE
# RUN: tandemc %s:whole --emit=ptx --target sm_90a --signature '*fp32:16, *fp32:16' | FileCheck %s --check-prefix=WHOLE
import triton
import triton.language as tl


# Two reductions in a loop, each with a place of its own: all threads have read the first one's when they meet in the second.
# TURN-COUNT-2: bar.sync
# TURN-NOT: bar.sync
@triton.jit
def in_turn(x, o, n):
    i, sums = tl.arange(0, 256), tl.zeros((256,), tl.float32)
    for k in range(n):
        v = tl.load(x + k * 256 + i)
        sums += v / tl.sum(tl.exp(v - tl.max(v, 0)), 0)
    tl.store(o + i, sums)


# The next round may store before all threads have read: they meet before the store, too.
# ALONE-COUNT-2: bar.sync
# ALONE-NOT: bar.sync
@triton.jit
def alone(x, o, n):
    i, sums = tl.arange(0, 256), tl.zeros((256,), tl.float32)
    for k in range(n):
        v = tl.load(x + k * 256 + i)
        sums += v / tl.sum(v, 0)
    tl.store(o + i, sums)


# Tiles of 64 KB lie in one place.
# LARGE-NOT: bar.sync
# LARGE: st.shared
# LARGE: bar.sync
# LARGE: ld.shared
# LARGE: bar.sync
# LARGE: st.shared
# LARGE: bar.sync
# LARGE: ld.shared
@triton.jit
def large(x, o):
    i, j = tl.arange(0, 128)[:, None], tl.arange(0, 128)[None, :]
    v = tl.load(x + i * 128 + j)
    tl.store(o + i * 128 + j, tl.gather(tl.gather(v, (i * 3 + j) % 128, 0), (i + j * 5) % 128, 1))


# 128 KB leave room for no other block, so what a reduction needs lies beside them. It gives sums to the threads that store them.
# WHOLE-COUNT-2: bar.sync
# WHOLE-NOT: bar.sync
@triton.jit
def whole(x, o):
    i, j = tl.arange(0, 128)[:, None], tl.arange(0, 256)[None, :]
    v = tl.gather(tl.load(x + i * 256 + j), (i * 3 + j) % 128, 0)
    tl.store(o + tl.arange(0, 256), tl.sum(v, 0))
