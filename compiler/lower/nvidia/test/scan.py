# Scans: a thread's neighbours, then lanes, then warps, either way round, with functions of several values.
# RUN: tandemc %s:sums --emit=ptx --target sm_80 --signature '*fp32, *fp32' | FileCheck %s --check-prefix=LANES
# RUN: tandemc %s:sums --emit=ptx --target sm_90a --signature '*fp16, *fp16' | FileCheck %s --check-prefix=LANES
# RUN: tandemc %s:reversed --emit=ptx --target sm_90a --signature '*i32, *i32' | FileCheck %s --check-prefix=WARPS
# RUN: tandemc %s:reversed --emit=ptx --target sm_90a --num-warps 16 --signature '*i32, *i32' | FileCheck %s --check-prefix=SIXTEEN
# RUN: tandemc %s:recurrence --emit=ptx --target sm_80 --signature '*fp32, *fp32, *fp32' | FileCheck %s --check-prefix=PAIR
import triton
import triton.language as tl


@triton.jit
def sums(x, o):
    i = tl.arange(0, 64)
    j = tl.arange(0, 32)
    at = i[:, None] * 32 + j[None, :]
    # Each of 16 rows takes five shuffles for the sums over 2, 4 ... 32 lanes, and one for the sum before a lane; nobody asks for the total.
    # LANES-COUNT-96: shfl.sync.up
    # LANES-NOT: shfl.sync
    # LANES-NOT: st.shared
    tl.store(o + at, tl.cumsum(tl.load(x + at), 1))


@triton.jit
def reversed(x, o):
    i = tl.arange(0, 1024)
    # WARPS-COUNT-6: shfl.sync.down
    # WARPS: shfl.sync.idx
    # One lane of a warp stores the total of each of two chunks; all threads read those of the four warps.
    # WARPS-NOT: bar.sync
    # WARPS-COUNT-2: st.shared.b32
    # WARPS: bar.sync
    # WARPS-COUNT-2: ld.shared.v4
    # WARPS-NOT: bar.sync
    # The threads of sixteen warps meet once, too.
    # SIXTEEN: st.shared.b32
    # SIXTEEN: bar.sync
    # SIXTEEN-COUNT-4: ld.shared.v4
    # SIXTEEN-NOT: bar.sync
    tl.store(o + i, tl.cumsum(tl.load(x + i), 0, reverse=True))


@triton.jit
def advance(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def recurrence(x, y, o):
    i = tl.arange(0, 128)
    # PAIR: shfl.sync.up
    # PAIR: shfl.sync.up
    # PAIR: st.shared
    a, b = tl.associative_scan((tl.load(x + i), tl.load(y + i)), 0, advance)
    tl.store(o + i, b)
