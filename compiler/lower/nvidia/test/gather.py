# Gathers and histograms go through shared memory.
# RUN: tandemc %s:rows --emit=ptx --target sm_80 --signature '*fp16, *i32, *fp16' | FileCheck %s --check-prefix=GATHER
# RUN: tandemc %s:rows --emit=ptx --target sm_90a --signature '*fp32, *i64, *fp32' | FileCheck %s --check-prefix=GATHER
# RUN: tandemc %s:counts --emit=ptx --target sm_80 --signature '*i32, *i32' | FileCheck %s --check-prefix=COUNTS
# RUN: tandemc %s:masked_counts --emit=ptx --target sm_90a --signature '*i8, *i32, i32' | FileCheck %s --check-prefix=COUNTS
# RUN: tandemc %s:twice --emit=ptx --target sm_90a --signature '*fp32:16, *i32:16, *fp32:16' | FileCheck %s --check-prefix=TWICE
# RUN: tandemc %s:again --emit=ptx --target sm_90a --signature '*fp32:16, *i32:16, *fp32:16, i32' | FileCheck %s --check-prefix=AGAIN
import triton
import triton.language as tl


@triton.jit
def rows(x, i, o):
    m = tl.arange(0, 32)[:, None]
    n = tl.arange(0, 16)[None, :]
    # Nothing was in shared memory before.
    # GATHER-NOT: bar.sync
    # GATHER: st.shared
    # GATHER: bar.sync
    # The index stays inside: 32 rows of 16.
    # GATHER: and.b32 {{.*}}, 496
    # GATHER: ld.shared
    tl.store(o + m * 16 + n, tl.gather(tl.load(x + m * 16 + n), tl.load(i + m * 16 + n), 0))


@triton.jit
def counts(x, o):
    # COUNTS: st.shared
    # COUNTS: bar.sync
    # COUNTS: red.relaxed.cta.shared.add.u32
    # COUNTS: bar.sync
    # COUNTS: ld.shared
    tl.store(o + tl.arange(0, 256), tl.histogram(tl.load(x + tl.arange(0, 1024)), 256))


@triton.jit
def masked_counts(x, o, n):
    i = tl.arange(0, 512)
    tl.store(o + tl.arange(0, 64), tl.histogram(tl.load(x + i).to(tl.int32), 64, mask=i < n))


# Two gathers from one tile find it stored in shared memory once.
# TWICE-COUNT-2: st.shared
# TWICE-NOT: st.shared
# TWICE: bar.sync
# TWICE-NOT: st.shared
# TWICE-NOT: bar.sync
# TWICE: st.global
@triton.jit
def twice(x, i, o):
    m, n = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    at = m * 32 + n
    v, places = tl.load(x + at), tl.load(i + at)
    tl.store(o + at, tl.gather(v, places, 0) + tl.gather(v, places + 1, 1))


# The loop's sums have the place in between.
# AGAIN-COUNT-4: st.shared.v4
@triton.jit
def again(x, i, o, steps):
    at = tl.arange(0, 1024)
    v, places = tl.load(x + at), tl.load(i + at)
    first, sums = tl.gather(v, places, 0), 0.0
    for _ in range(steps):
        sums += tl.sum(first * sums, 0)
    tl.store(o + at, first + sums + tl.gather(v, places + 1, 0))
