# Gathers and histograms go through shared memory.
# RUN: tandemc %s:rows --emit=ptx --target sm_80 --signature '*fp16, *i32, *fp16' | FileCheck %s --check-prefix=GATHER
# RUN: tandemc %s:rows --emit=ptx --target sm_90a --signature '*fp32, *i64, *fp32' | FileCheck %s --check-prefix=GATHER
# RUN: tandemc %s:counts --emit=ptx --target sm_80 --signature '*i32, *i32' | FileCheck %s --check-prefix=COUNTS
# RUN: tandemc %s:masked_counts --emit=ptx --target sm_90a --signature '*i8, *i32, i32' | FileCheck %s --check-prefix=COUNTS
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
