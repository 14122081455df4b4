# Microscaled products: decoded to bfloat16, scaled, multiplied by the unit that multiplies bfloat16 tiles of such shapes.
# RUN: tandemc %s:fp4 --emit=ptx --target sm_80 --signature '*u8, *u8, *u8, *u8, *fp32' | FileCheck %s
# RUN: tandemc %s:fp8 --emit=ptx --target sm_90a --signature '*fp8e4nv, *u8, *bf16, *fp32' | FileCheck %s
# RUN: tandemc %s:fp4_and_half --emit=ptx --target sm_80 --signature '*u8, *u8, *fp16, *fp32' | FileCheck %s --check-prefix=TF32
# RUN: tandemc %s:nvfp4 --emit=ptx --target sm_90a --signature '*u8, *fp8e4nv, *u8, *fp8e4nv, *fp32' | FileCheck %s --check-prefix=NVFP4
# RUN: tandemc %s:scaled_bf16 --emit=ptx --target sm_90a --signature '*bf16, *fp8e4nv, *bf16, *fp32' | FileCheck %s --check-prefix=TF32
# RUN: tandemc %s:many_rows --emit=ptx --target sm_90a --signature '*fp8e5, *u8, *fp8e4nv, *u8, *fp32' | FileCheck %s --check-prefix=MANY
import triton
import triton.language as tl


@triton.jit
def fp4(x, xs, y, ys, o):
    m = tl.arange(0, 32)
    k = tl.arange(0, 32)
    s = tl.arange(0, 2)
    a = tl.load(x + m[:, None] * 32 + k[None, :])
    b = tl.load(y + k[:, None] * 32 + m[None, :])
    sa = tl.load(xs + m[:, None] * 2 + s[None, :])
    sb = tl.load(ys + m[:, None] * 2 + s[None, :])
    # CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
    c = tl.dot_scaled(a, sa, "e2m1", b, sb, "e2m1")
    tl.store(o + m[:, None] * 32 + m[None, :], c)


@triton.jit
def fp8(x, xs, y, o):
    m = tl.arange(0, 32)
    k = tl.arange(0, 64)
    s = tl.arange(0, 2)
    a = tl.load(x + m[:, None] * 64 + k[None, :])
    b = tl.load(y + k[:, None] * 32 + m[None, :])
    c = tl.dot_scaled(a, tl.load(xs + m[:, None] * 2 + s[None, :]), "e4m3", b, None, "bf16")
    tl.store(o + m[:, None] * 32 + m[None, :], c)


@triton.jit
def fp4_and_half(x, xs, y, o):
    m = tl.arange(0, 32)
    k = tl.arange(0, 64)
    s = tl.arange(0, 2)
    a = tl.load(x + m[:, None] * 32 + tl.arange(0, 32)[None, :])
    b = tl.load(y + k[:, None] * 32 + m[None, :])
    # TF32: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
    c = tl.dot_scaled(a, tl.load(xs + m[:, None] * 2 + s[None, :]), "e2m1", b, None, "fp16")
    tl.store(o + m[:, None] * 32 + m[None, :], c)


@triton.jit
def nvfp4(x, xs, y, ys, o):
    m = tl.arange(0, 32)
    k = tl.arange(0, 32)
    s = tl.arange(0, 4)
    a = tl.load(x + m[:, None] * 32 + k[None, :])
    b = tl.load(y + k[:, None] * 32 + m[None, :])
    sa = tl.load(xs + m[:, None] * 4 + s[None, :])
    sb = tl.load(ys + m[:, None] * 4 + s[None, :])
    # NVFP4: cvt.rn.f16x2.e4m3x2
    # NVFP4: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
    tl.store(o + m[:, None] * 32 + m[None, :], tl.dot_scaled(a, sa, "e2m1", b, sb, "e2m1"))


# bfloat16 does not hold a bfloat16 times an e4m3 scale.
@triton.jit
def scaled_bf16(x, xs, y, o):
    m = tl.arange(0, 32)
    k = tl.arange(0, 32)
    a = tl.load(x + m[:, None] * 32 + k[None, :])
    b = tl.load(y + k[:, None] * 32 + m[None, :])
    sa = tl.load(xs + m[:, None] * 2 + tl.arange(0, 2)[None, :])
    tl.store(o + m[:, None] * 32 + m[None, :], tl.dot_scaled(a, sa, "bf16", b, None, "bf16"))


@triton.jit
def many_rows(x, xs, y, ys, o):
    m, n, k, s = tl.arange(0, 64), tl.arange(0, 32), tl.arange(0, 64), tl.arange(0, 2)
    a, b = tl.load(x + m[:, None] * 64 + k[None, :]), tl.load(y + n[None, :] * 64 + k[:, None])
    # MANY: wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16
    c = tl.dot_scaled(a, tl.load(xs + m[:, None] * 2 + s[None, :]), "e5m2", b, tl.load(ys + n[:, None] * 2 + s[None, :]), "e4m3")
    tl.store(o + m[:, None] * 32 + n[None, :], c)
