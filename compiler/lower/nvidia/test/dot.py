# Products that no warpgroup does: mma.sync by type, or multiply-adds.
# RUN: tandemc %s:product --emit=ptx --target sm_80 --signature '*fp16, *fp16, *fp32' --constexpr 'N=32, K=32' \
# RUN:   | FileCheck %s --check-prefix=F16
# RUN: tandemc %s:product --emit=ptx --target sm_80 --signature '*bf16, *bf16, *fp32' --constexpr 'N=32, K=32' \
# RUN:   | FileCheck %s --check-prefix=BF16
# RUN: tandemc %s:product --emit=ptx --target sm_80 --signature '*fp32, *fp32, *fp32' --constexpr 'N=32, K=32' \
# RUN:   | FileCheck %s --check-prefix=TF32
# RUN: tandemc %s:product --emit=ptx --target sm_89 --signature '*fp8e4nv, *fp8e4nv, *fp32' --constexpr 'N=32, K=32' \
# RUN:   | FileCheck %s --check-prefix=F8
# RUN: tandemc %s:product --emit=ptx --target sm_90a --signature '*fp8e4nv, *fp8e4nv, *fp32' --constexpr 'N=32, K=32' \
# RUN:   | FileCheck %s --check-prefix=WIDENED
# RUN: tandemc %s:product --emit=ptx --target sm_80 --signature '*fp8e4nv, *fp8e4nv, *fp32' --constexpr 'N=16, K=16' \
# RUN:   | FileCheck %s --check-prefix=FMA
# RUN: tandemc %s:whole_numbers --emit=ptx --target sm_80 --signature '*i8, *i8, *i32' | FileCheck %s --check-prefix=S8
# RUN: tandemc %s:exact --emit=ptx --target sm_90a --signature '*fp32, *fp32, *fp32' | FileCheck %s --check-prefix=FMA
# RUN: tandemc %s:double --emit=ptx --target sm_90a --signature '*fp64, *fp64, *fp64' | FileCheck %s --check-prefix=F64
# RUN: tandemc %s:double --emit=ptx --target sm_80 --signature '*fp64, *fp64, *fp64' | FileCheck %s --check-prefix=FMA64
# RUN: tandemc %s:exact_sum --emit=ptx --target sm_90a --signature '*fp32:16, *fp32:16, *fp32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=SUM
# RUN: tandemc %s:half --emit=ptx --target sm_80 --signature '*fp16, *fp16, *fp16' | FileCheck %s --check-prefix=HALF
# RUN: tandemc %s:batch --emit=ptx --target sm_90a --signature '*fp16, *fp16, *fp32' | FileCheck %s --check-prefix=BATCH
# RUN: tandemc %s:large --emit=ptx --target sm_90a --signature '*fp16, *fp16, *fp32' --num-warps 8 | FileCheck %s --check-prefix=LARGE
# RUN: tandemc %s:few_rows --emit=ptx --target sm_80 --signature '*fp16, *fp16, *fp32' --constexpr 'M=4' | FileCheck %s --check-prefix=FEW
# RUN: tandemc %s:few_rows --emit=ptx --target sm_80 --signature '*bf16, *bf16, *fp32' --constexpr 'M=1' | FileCheck %s --check-prefix=ONE
# RUN: tandemc %s:few_columns --emit=ptx --target sm_80 --signature '*fp16, *fp16, *fp32' --constexpr 'N=4' \
# RUN:   | FileCheck %s --check-prefix=COLUMNS
# RUN: tandemc %s:few_columns --emit=ptx --target sm_90a --signature '*bf16, *bf16, *fp32' --constexpr 'N=1' \
# RUN:   | FileCheck %s --check-prefix=COLUMN
# RUN: tandemc %s:small --emit=ptx --target sm_80 --signature '*bf16, *bf16, *fp32' --constexpr 'N=4' | FileCheck %s --check-prefix=SMALL
# RUN: tandemc %s:small --emit=ptx --target sm_80 --signature '*bf16, *bf16, *fp32' --constexpr 'N=2' | FileCheck %s --check-prefix=SMALL
import triton
import triton.language as tl


@triton.jit
def product(x, y, o, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, 16)[:, None]
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    # F16: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
    # BF16: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
    # TF32-NOT: cvt.rna
    # TF32: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
    # F8: mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32
    # WIDENED-NOT: m16n8k32
    # WIDENED-COUNT-2: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
    # WIDENED-NOT: mma.sync
    z = tl.dot(tl.load(x + m * K + k[None, :]), tl.load(y + k[:, None] * N + n[None, :]))
    tl.store(o + m * N + n[None, :], z)


@triton.jit
def whole_numbers(x, y, o):
    m = tl.arange(0, 32)
    # S8-COUNT-2: mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32
    z = tl.dot(tl.load(x + m[:, None] * 32 + m[None, :]), tl.load(y + m[:, None] * 32 + m[None, :]))
    tl.store(o + m[:, None] * 32 + m[None, :], z)


# A step along K of 16 takes two instructions.
@triton.jit
def double(x, y, o):
    m, k = tl.arange(0, 16), tl.arange(0, 16)
    # F64-COUNT-2: mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64
    # F64-NOT: mma.sync
    # FMA64-NOT: mma.sync
    # FMA64: fma.rn.f64
    z = tl.dot(tl.load(x + m[:, None] * 16 + k[None, :]), tl.load(y + k[:, None] * 16 + m[None, :]), out_dtype=tl.float64)
    tl.store(o + m[:, None] * 16 + m[None, :], z)


@triton.jit
def exact(x, y, o):
    m = tl.arange(0, 16)
    # FMA-NOT: mma
    # FMA: fma.rn.f32
    z = tl.dot(tl.load(x + m[:, None] * 16 + m[None, :]), tl.load(y + m[:, None] * 16 + m[None, :]), input_precision="ieee")
    tl.store(o + m[:, None] * 16 + m[None, :], z)


# Multiply-adds read the slots that copies fill, 16 bytes at once: each iteration meets once, and stores nothing.
@triton.jit
def exact_sum(x, y, o, K):
    m, k = tl.arange(0, 64), tl.arange(0, 32)
    z = tl.zeros((64, 64), tl.float32)
    for i in range(0, K, 32):
        # SUM: [[LOOP:.L__BB[0-9_]+]]:
        # SUM: cp.async.wait_group
        # SUM: bar.sync
        # SUM-NOT: {{bar.sync|st.shared|ld.shared.b32}}
        # SUM: ld.shared.v4.b32
        # SUM-NOT: {{bar.sync|st.shared|ld.shared.b32}}
        # SUM: fma.rn.f32
        # SUM-NOT: {{bar.sync|st.shared|ld.shared.b32}}
        # SUM: bra{{.*}} [[LOOP]];
        a = tl.load(x + m[:, None] * 1024 + i + k[None, :])
        b = tl.load(y + (i + k)[:, None] * 1024 + m[None, :])
        z = tl.dot(a, b, z, input_precision="ieee")
    tl.store(o + m[:, None] * 64 + m[None, :], z)


@triton.jit
def half(x, y, o):
    m = tl.arange(0, 16)
    # HALF: mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16
    z = tl.dot(tl.load(x + m[:, None] * 16 + m[None, :]), tl.load(y + m[:, None] * 16 + m[None, :]), out_dtype=tl.float16)
    tl.store(o + m[:, None] * 16 + m[None, :], z)


@triton.jit
def batch(x, y, o):
    b = tl.arange(0, 4)[:, None, None]
    m = tl.arange(0, 16)[None, :, None]
    n = tl.arange(0, 16)[None, None, :]
    at = b * 256 + m * 16 + n
    # Each of the four warps multiplies one of the matrices, eight columns at a time.
    # BATCH-COUNT-2: mma.sync.aligned.m16n8k16
    # BATCH-NOT: mma.sync
    tl.store(o + at, tl.dot(tl.load(x + at), tl.load(y + at)))


# More results than a thread has registers: they may be spilled between instructions, not under wgmma.
# LARGE-NOT: wgmma
# LARGE: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
@triton.jit
def large(x, y, o):
    m, k = tl.arange(0, 256), tl.arange(0, 16)
    z = tl.dot(tl.load(x + m[:, None] * 16 + k[None, :]), tl.load(y + k[:, None] * 256 + m[None, :]))
    tl.store(o + m[:, None] * 256 + m[None, :], z)


# The instruction's other rows are zeros.
@triton.jit
def few_rows(x, y, o, M: tl.constexpr):
    m, n = tl.arange(0, M)[:, None], tl.arange(0, 32)
    # FEW-NOT: fma.rn.f32
    # FEW-COUNT-2: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
    # ONE-NOT: fma.rn.f32
    # ONE-COUNT-2: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
    z = tl.dot(tl.load(x + m * 32 + n[None, :]), tl.load(y + n[:, None] * 32 + n[None, :]))
    tl.store(o + m * 32 + n[None, :], z)


# The transpose of a product of few rows: 64 rows become eight columns of each warp's two instructions for each 16 of K.
@triton.jit
def few_columns(x, y, o, N: tl.constexpr):
    m, n, k = tl.arange(0, 64)[:, None], tl.arange(0, N)[None, :], tl.arange(0, 32)
    # COLUMNS-NOT: fma.rn.f32
    # COLUMNS-COUNT-4: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
    # COLUMNS-NOT: {{fma.rn.f32|mma.sync}}
    # COLUMN-NOT: {{fma.rn.f32|wgmma}}
    # COLUMN-COUNT-4: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
    # COLUMN-NOT: {{fma.rn.f32|mma.sync}}
    z = tl.dot(tl.load(x + m * 32 + k[None, :]), tl.load(y + k[:, None] * N + n))
    tl.store(o + m * N + n, z)


# The instruction computes few columns several times.
@triton.jit
def small(x, y, o, N: tl.constexpr):
    b, m, n, k = tl.arange(0, 2)[:, None, None], tl.arange(0, 4)[:, None], tl.arange(0, N)[None, :], tl.arange(0, 32)
    # SMALL-NOT: fma.rn.f32
    # SMALL-COUNT-2: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
    z = tl.dot(tl.load(x + b * 128 + m * 32 + k[None, :]), tl.load(y + b * 32 * N + k[:, None] * N + n))
    tl.store(o + b * 4 * N + m * N + n, z)
