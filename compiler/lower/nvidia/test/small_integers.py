# Integers of few bits become 16-bit floats two at once without a conversion: each stands in the last bits of a float, from which the first
# such float is taken. Bytes of a word share what is done to it, and take their floats' upper bytes as they are put in order.
# RUN: tandemc %s:bytes --emit=ptx --target sm_90a --signature '*i8:16, *fp16:16' | FileCheck %s --check-prefix=BYTES
# RUN: tandemc %s:nibbles --emit=ptx --target sm_90a --signature '*i8:16, *fp16:16' | FileCheck %s --check-prefix=NIBBLES
# RUN: tandemc %s:nibbles --emit=ptx --target sm_90a --signature '*i8:16, *bf16:16' | FileCheck %s --check-prefix=BFLOAT
# RUN: tandemc %s:nibbles_of_words --emit=ptx --target sm_90a --signature '*i32:16, *fp16:16' | FileCheck %s --check-prefix=WORDS
# RUN: tandemc %s:bytes --emit=ptx --target sm_90a --signature '*i8:16, *bf16:16' | FileCheck %s --check-prefix=LONG
# RUN: tandemc %s:bytes --emit=ptx --target sm_90a --signature '*u8:16, *bf16:16' | FileCheck %s --check-prefix=UNSIGNED
# RUN: tandemc %s:bytes --emit=ptx --target sm_90a --signature '*u8:16, *fp32:16' | FileCheck %s --check-prefix=SINGLE
import triton
import triton.language as tl


# BYTES: ld.global.b32 %[[WORD:r[0-9]+]],
# BYTES-NOT: cvt.rn
# BYTES: xor.b32 %[[MOVED:r[0-9]+]], %[[WORD]], -2139062144;
# BYTES-NEXT: prmt.b32 %[[FIRST:r[0-9]+]], %[[MOVED]], 25700, 0x5140U;
# BYTES: add.f16x2 %{{r[0-9]+}}, %[[FIRST]],
# BYTES-NEXT: prmt.b32 %[[SECOND:r[0-9]+]], %[[MOVED]], 25700, 0x5342U;
# BYTES-NEXT: add.f16x2 %{{r[0-9]+}}, %[[SECOND]],
# BYTES-NOT: cvt.rn
# BYTES: ret;
# A byte has one bit more than a bfloat16's significand: without it, less the float of which it is the sign. A float32 is made of 32 bits,
# which is quicker than of fewer.
# LONG: ld.global.b32 %[[WORD:r[0-9]+]],
# LONG-NOT: cvt
# LONG: prmt.b32 %[[FIRST:r[0-9]+]], %[[WORD]], 17219, 0x5140U;
# LONG-NEXT: and.b32 %[[LOW:r[0-9]+]], %[[FIRST]], 1132413823;
# LONG-NEXT: and.b32 %[[SIGN:r[0-9]+]], %[[FIRST]], 1132479360;
# LONG-NEXT: sub.bf16x2 %{{r[0-9]+}}, %[[LOW]], %[[SIGN]];
# LONG-NOT: cvt
# LONG: ret;
# UNSIGNED: xor.b32 %[[SIGN:r[0-9]+]], %{{r[0-9]+}}, 8388736;
# UNSIGNED-NEXT: sub.bf16x2 %[[MOVED:r[0-9]+]], %{{r[0-9]+}}, %[[SIGN]];
# UNSIGNED-NEXT: mov.b32 %[[MORE:r[0-9]+]], 1124090624;
# UNSIGNED-NEXT: add.bf16x2 %{{r[0-9]+}}, %[[MOVED]], %[[MORE]];
# SINGLE-COUNT-4: cvt.{{r[nz]}}.f32.{{[su]}}32
@triton.jit
def bytes(x, o):
    i = tl.arange(0, 512)
    tl.store(o + i, tl.load(x + i).to(o.dtype.element_ty))


# NIBBLES: ld.global.b32 %[[WORD:r[0-9]+]],
# NIBBLES-NOT: {{cvt.rn|shl|b16}}
# NIBBLES: and.b32 %[[LOW:r[0-9]+]], %[[WORD]], 252645135;
# NIBBLES-NOT: {{cvt.rn|shl|b16}}
# NIBBLES: xor.b32 %{{r[0-9]+}}, %[[LOW]], 134744072;
# NIBBLES-NOT: {{cvt.rn|shl|b16}}
# NIBBLES: shr.u32 %{{r[0-9]+}}, %[[WORD]], 4;
# NIBBLES-NOT: {{cvt.rn|shl|b16}}
# NIBBLES: ret;
# BFLOAT-NOT: cvt.rn
# BFLOAT: prmt.b32 %{{r[0-9]+}}, %{{r[0-9]+}}, 17219, 0x5140U;
# BFLOAT-NOT: cvt.rn
# BFLOAT: ret;
@triton.jit
def nibbles(x, o):
    i = tl.arange(0, 512)
    v = tl.load(x + i)
    tl.store(o + i, (v << 4 >> 4).to(o.dtype.element_ty) * (v >> 4).to(o.dtype.element_ty))


# WORDS-NOT: cvt.rn
# WORDS-COUNT-4: add.f16x2
# WORDS-NOT: {{cvt.rn|add.f16x2}}
# WORDS: ret;
@triton.jit
def nibbles_of_words(x, o):
    i, j = tl.arange(0, 128), tl.arange(0, 8)
    v = (tl.load(x + i)[:, None] >> (j * 4)[None, :]) & 15
    tl.store(o + i[:, None] * 8 + j[None, :], v.to(tl.float16))
