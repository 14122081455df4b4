# Reductions: registers, lanes by shuffles or redux, warps through shared memory; the result in the layout that its user wants.
# RUN: tandemc %s:row_sums --emit=ptx --target sm_80 --signature '*fp32, *fp32' | FileCheck %s --check-prefix=ROWS
# RUN: tandemc %s:row_sums --emit=ptx --target sm_90a --signature '*fp32, *fp32' | FileCheck %s --check-prefix=ROWS
# RUN: tandemc %s:of_rows --emit=ptx --target sm_90a --signature '*fp32, *fp32' | FileCheck %s --check-prefix=SHARE
# RUN: tandemc %s:total --emit=ptx --target sm_90a --signature '*fp32, *fp32' | FileCheck %s --check-prefix=TOTAL
# RUN: tandemc %s:total --emit=ptx --target sm_90a --signature '*fp32, *fp32' --num-warps 32 | FileCheck %s --check-prefix=WARPS
# RUN: tandemc %s:whole --emit=ptx --target sm_80 --signature '*i32, *i32' | FileCheck %s --check-prefix=REDUX
# RUN: tandemc %s:small --emit=ptx --target sm_90a --signature '*fp32, *fp32' | FileCheck %s --check-prefix=SMALL
# RUN: tandemc %s:first_largest --emit=ptx --target sm_90a --signature '*fp16, *i32' | FileCheck %s --check-prefix=ARGMAX
# RUN: tandemc %s:mean_and_square --emit=ptx --target sm_80 --signature '*fp32, *fp32' | FileCheck %s --check-prefix=PAIR
# RUN: tandemc %s:mean --emit=ptx --target sm_90a --signature '*fp32, *fp32' | FileCheck %s --check-prefix=MEAN
# RUN: tandemc %s:sum_and_any --emit=ptx --target sm_90a --signature '*fp32, *fp32' | FileCheck %s --check-prefix=ANY
# RUN: tandemc %s:products --emit=ptx --target sm_90a --signature '*fp32:16, *fp32:16' | FileCheck %s --check-prefix=PRODUCTS
# RUN: tandemc %s:columns --emit=ptx --target sm_90a --num-warps 8 --signature '*fp32:16, *fp32:16' | FileCheck %s --check-prefix=COLUMNS
import triton
import triton.language as tl


@triton.jit
def row_sums(x, o):
    i = tl.arange(0, 64)
    j = tl.arange(0, 32)
    # A warp holds whole rows. Of its sixteen sums a lane passes eight on, then four, two and one, and then holds one in part.
    # ROWS-COUNT-16: shfl.sync.bfly
    # ROWS-NOT: shfl.sync
    # ROWS: st.global
    tl.store(o + i, tl.sum(tl.load(x + i[:, None] * 32 + j[None, :]), 1))


@triton.jit
def of_rows(x, o):
    at = tl.arange(0, 64)[:, None] * 32 + tl.arange(0, 32)[None, :]
    v = tl.load(x + at)
    # The same sums, all of which every lane wants: fifteen shuffles more collect them.
    # SHARE-COUNT-31: shfl.sync.bfly
    # SHARE-NOT: shfl.sync
    # SHARE: st.global
    tl.store(o + at, v / tl.sum(v, 1, keep_dims=True))


@triton.jit
def total(x, o):
    i = tl.arange(0, 1024)
    # TOTAL-COUNT-5: shfl.sync.bfly.b32
    # TOTAL-NOT: bar.sync
    # TOTAL: st.shared
    # TOTAL: bar.sync
    # TOTAL: ld.shared.v4
    # Each lane reads one of many warps' sums.
    # WARPS: bar.sync
    # WARPS-NOT: ld.shared.v4
    # WARPS: ld.shared.b32
    # WARPS-COUNT-5: shfl.sync.bfly.b32
    # WARPS-NOT: shfl.sync
    tl.store(o, tl.sum(tl.load(x + i), 0))


@triton.jit
def whole(x, o):
    i = tl.arange(0, 1024)
    # REDUX-NOT: shfl.sync.bfly
    # REDUX: redux.sync.max.s32
    tl.store(o, tl.max(tl.load(x + i), 0))


@triton.jit
def small(x, o):
    i = tl.arange(0, 8)
    # Lanes and warps hold copies of eight elements; these are not counted twice.
    # SMALL-COUNT-3: shfl.sync.bfly
    # SMALL-NOT: shfl.sync.bfly
    # SMALL-NOT: st.shared
    tl.store(o, tl.sum(tl.load(x + i), 0))


@triton.jit
def first_largest(x, o):
    i = tl.arange(0, 256)
    # ARGMAX: shfl.sync.bfly
    # ARGMAX: shfl.sync.bfly
    # ARGMAX: st.shared
    tl.store(o, tl.argmax(tl.load(x + i), 0))


@triton.jit
def add_both(a, b, c, d):
    return a + c, b + d


@triton.jit
def mean_and_square(x, o):
    i = tl.arange(0, 16)
    j = tl.arange(0, 128)
    v = tl.load(x + i[None, :] + 16 * j[:, None])
    # PAIR-NOT: selp.f32
    # PAIR-COUNT-2: st.shared
    # PAIR: bar.sync
    m, s = tl.reduce((v, v * v), 0, add_both)
    tl.store(o + i, m)
    tl.store(o + 16 + i, s)


@triton.jit
def mean_of_means(n1, m1, n2, m2):
    n = n1 + n2
    return n, m1 + (m2 - m1) * (n2 / n)


@triton.jit
def mean(x, o):
    i = tl.arange(0, 32)
    v = tl.load(x + i)
    # The two lanes of a pair may round otherwise: all take the first one's.
    # MEAN-COUNT-10: shfl.sync.bfly
    # MEAN-NOT: selp
    # MEAN: shfl.sync.idx
    n, m = tl.reduce((v * 0 + 1, v), 0, mean_of_means)
    tl.store(o, m)


@triton.jit
def sum_and_left(a, i, b, j):
    return a + b, i


@triton.jit
def sum_and_any(x, o):
    i = tl.arange(0, 32)
    v = tl.load(x + i)
    # An argument that is passed on as it is comes from the first lane in all of them.
    # ANY-NOT: selp.f32
    # ANY-COUNT-2: shfl.sync.idx
    # ANY: st.global
    s, j = tl.reduce((v, v * 2), 0, sum_and_left)
    tl.store(o + i, v - s + j)


@triton.jit
def products(x, o):
    i = tl.arange(0, 128)
    v = tl.load(x + i[:, None] * 16 + tl.arange(0, 16)[None, :])
    # A thread has four elements of each of four rows: it multiplies one and adds three products.
    # PRODUCTS-COUNT-4: {{mul(.rn)?}}.f32
    # PRODUCTS-COUNT-12: fma.rn.f32
    # PRODUCTS-NOT: {{mul(.rn)?}}.f32
    tl.store(o + i, tl.sum(v * v, 1))


@triton.jit
def columns(x, o):
    i = tl.arange(0, 128)
    at = tl.arange(0, 16)[None, :] * 128 + i[:, None]
    # A warp's four columns of a thread lie side by side, as lanes do: no two wait for one bank.
    # COLUMNS: st.shared.v4
    # COLUMNS: bar.sync
    # COLUMNS-COUNT-8: ld.shared.v4
    # COLUMNS-NOT: ld.shared.v4
    tl.store(o + i, tl.sum(tl.load(x + at), 1))
