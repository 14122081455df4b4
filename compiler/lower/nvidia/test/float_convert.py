# Conversions between float formats: two elements an instruction, 8-bit floats by bit arithmetic where the target has no instruction.
# RUN: tandemc %s:narrow --emit=ptx --target sm_80 --signature '*fp32, *fp16' | FileCheck %s --check-prefix=HALF
# RUN: tandemc %s:narrow --emit=ptx --target sm_89 --signature '*fp32, *bf16' | FileCheck %s --check-prefix=BFLOAT
# RUN: tandemc %s:narrow --emit=ptx --target sm_90a --signature '*fp64, *bf16' | FileCheck %s --check-prefix=DOUBLE
# RUN: tandemc %s:narrow --emit=ptx --target sm_90a --signature '*fp32, *fp8e4nv' | FileCheck %s --check-prefix=FP8
# RUN: tandemc %s:narrow --emit=ptx --target sm_89 --signature '*fp16, *fp8e5' | FileCheck %s --check-prefix=FP8HALF
# RUN: tandemc %s:narrow --emit=ptx --target sm_80 --signature '*fp32, *fp8e4nv' | FileCheck %s --check-prefix=BITS
# RUN: tandemc %s:narrow --emit=ptx --target sm_90a --signature '*fp8e4nv, *fp32' | FileCheck %s --check-prefix=WIDEN
# RUN: tandemc %s:narrow --emit=ptx --target sm_80 --signature '*fp8e4nv, *fp32' | FileCheck %s --check-prefix=DECODE
# RUN: tandemc %s:narrow --emit=ptx --target sm_80 --signature '*fp8e5, *fp32' | FileCheck %s --check-prefix=SHIFT
# RUN: tandemc %s:narrow --emit=ptx --target sm_80 --signature '*fp8e5b16, *fp8e4b8' | FileCheck %s --check-prefix=BITS
# RUN: tandemc %s:truncate --emit=ptx --target sm_90a --signature '*fp32, *fp16' | FileCheck %s --check-prefix=TRUNCATE
# RUN: tandemc %s:truncate --emit=ptx --target sm_90a --signature '*fp64, *fp32' | FileCheck %s --check-prefix=TRUNCATE64
# RUN: tandemc %s:narrow --emit=ptx --target sm_80 --signature '*i32, *bf16' | FileCheck %s --check-prefix=INTEGER
# RUN: tandemc %s:narrow --emit=ptx --target sm_90a --signature '*i16, *bf16' | FileCheck %s --check-prefix=BFLOAT
# RUN: tandemc %s:twelve_bits --emit=ptx --target sm_80 --signature '*i32, *bf16' | FileCheck %s --check-prefix=EXACT
# RUN: tandemc %s:twelve_bits --emit=ptx --target sm_80 --signature '*i32, *fp16' | FileCheck %s --check-prefix=EXACT
# RUN: tandemc %s:narrow --emit=ptx --target sm_80 --signature '*fp64, *i8' | FileCheck %s --check-prefix=TOBYTE
# RUN: tandemc %s:joined --emit=ptx --target sm_90a --signature '*fp8e4nv:16, *fp16:16' | FileCheck %s --check-prefix=JOINED
import triton
import triton.language as tl

# HALF-COUNT-2: cvt.rn.f16x2.f32
# HALF-NOT: cvt.rn.f16x2.f32
# BFLOAT-COUNT-2: cvt.rn.bf16x2.f32
# BFLOAT-NOT: cvt.rn.bf16x2.f32
# Through a float whose last bit says that something was cut off.
# DOUBLE: cvt.rz.f32.f64
# DOUBLE: cvt.rn.bf16x2.f32
# FP8-COUNT-2: cvt.rn.satfinite.e4m3x2.f32
# FP8HALF-COUNT-2: cvt.rn.satfinite.e5m2x2.f16x2
# BITS-NOT: {{e4m3|e5m2}}x2
# BITS: 0f4B000000
# The smallest step of the subnormals.
# DECODE-NOT: e4m3x2
# DECODE: 0f3B000000
# WIDEN-COUNT-2: cvt.rn.f16x2.e4m3x2
# SHIFT-NOT: e5m2
# SHIFT: cvt.f32.f16
# INTEGER: cvt.rz.f32.s32
# INTEGER: cvt.rn.bf16x2.f32
# TOBYTE: cvt.rzi.s32.f64
# Integers of few bits, by what they are computed of, are exact floats, and two of them are rounded at once.
# EXACT-NOT: cvt.{{rz|rzi}}
# EXACT-COUNT-2: cvt.rn.{{bf16x2|f16x2}}.f32
# EXACT-NOT: cvt.{{rz|rzi|rn.f16.s32}}
# Pairs of bytes at like places of two words: one instruction takes two of them out of both.
# JOINED-NOT: {{or|shl}}.b16
# JOINED-COUNT-4: prmt.b32
# JOINED-NOT: prmt.b32
# JOINED-COUNT-8: cvt.rn.f16x2.e4m3x2


@triton.jit
def narrow(x, o):
    i = tl.arange(0, 512)
    tl.store(o + i, tl.load(x + i).to(o.dtype.element_ty))


@triton.jit
def twelve_bits(x, o):
    i = tl.arange(0, 512)
    tl.store(o + i, (((tl.load(x + i) >> 4) & 0xFFF) - 8).to(o.dtype.element_ty))


@triton.jit
def truncate(x, o):
    i = tl.arange(0, 512)
    # TRUNCATE: cvt.rz.f16x2.f32
    # TRUNCATE64: cvt.rz.f32.f64
    tl.store(o + i, tl.load(x + i).to(o.dtype.element_ty, fp_downcast_rounding="rtz"))


@triton.jit
def joined(x, o):
    i = tl.arange(0, 1024)
    both = tl.join(tl.load(x + i), tl.load(x + 1024 + i)).to(tl.float16)
    tl.store(o + 2 * i[:, None] + tl.arange(0, 2)[None, :], both)
