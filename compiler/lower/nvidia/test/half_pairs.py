# Sums and products of 16-bit floats are computed two at once where an operand has both in one word.
# RUN: tandemc %s:scaled --emit=ptx --target sm_90a --signature '*bf16:16, *bf16:16, *bf16:16' | FileCheck %s --check-prefix=SCALED
# RUN: tandemc %s:scaled --emit=ptx --target sm_90a --signature '*fp16:16, *fp16:16, *fp16:16' | FileCheck %s --check-prefix=HALF
# RUN: tandemc %s:alone --emit=ptx --target sm_90a --signature '*fp16, *fp16' | FileCheck %s --check-prefix=ALONE
# RUN: tandemc %s:largest --emit=ptx --target sm_90a --signature '*bf16:16, *fp32' | FileCheck %s --check-prefix=LARGEST
# RUN: tandemc %s:largest --emit=ptx --target sm_90a --signature '*bf16, *fp32' | FileCheck %s --check-prefix=APART
import triton
import triton.language as tl


# SCALED: ld.global.v4.b32
# SCALED-NOT: mul.bf16{{[ \t]}}
# SCALED-COUNT-4: mul.bf16x2
# SCALED: st.global.v4.b32
# HALF-NOT: mul{{.*}}.f16{{[ \t]}}
# HALF-COUNT-4: mul{{.*}}.f16x2
@triton.jit
def scaled(x, rows, y):
    i, j = tl.arange(0, 16)[:, None], tl.arange(0, 64)[None, :]
    tl.store(y + i * 64 + j, tl.load(x + i * 64 + j) * tl.load(rows + j))


# Numbers that were loaded one by one stay so.
# ALONE-NOT: f16x2
# ALONE: {{add|sub}}{{.*}}.f16{{[ \t]}}
# ALONE-NOT: f16x2
@triton.jit
def alone(x, y):
    i = tl.arange(0, 256)
    v = tl.load(x + i * 3)
    tl.store(y + i * 3, v - 1.0)


# The largest of widened numbers is found among the narrow ones.
# LARGEST: ld.global.v4.b32
# LARGEST-COUNT-4: and.b32 {{.*}}, 2147450879
# LARGEST-COUNT-3: max.bf16x2
# LARGEST: max.bf16{{[ \t]}}
# LARGEST-COUNT-5: max.f32
# LARGEST-NOT: max
# APART-NOT: bf16x2
# APART: max.f32
@triton.jit
def largest(x, y):
    i, j = tl.arange(0, 4), tl.arange(0, 256)
    tl.store(y + i, tl.max(tl.abs(tl.load(x + i[:, None] * 256 + j[None, :])), 1))
