# Numbers of 16 bits travel as words: a default is chosen once for two, and at compile time where it is known. So do those of 8 bits, of
# which an instruction makes two, also from one iteration to the next: nobody takes the two apart.
# RUN: tandemc %s:masked --emit=ptx --target sm_90a --signature '*bf16:16, *bf16:16, i32:16' | FileCheck %s
# RUN: tandemc %s:carried --emit=ptx --target sm_90a --signature '*fp32:16, *fp8e4nv:16, i32' | FileCheck %s --check-prefix=CARRIED
# RUN: tandemc %s:halves --emit=ptx --num-warps 8 --target sm_90a --signature '*fp8e4nv:16, *fp32:16' | FileCheck %s --check-prefix=HALVES
# RUN: tandemc %s:rounds --emit=ptx --num-warps 8 --target sm_90a --signature '*fp32:16, *fp8e4nv:16' | FileCheck %s --check-prefix=ROUNDS
import triton
import triton.language as tl


# CHECK-LABEL: .entry masked
# CHECK-NOT: cvt.rn.bf16x2
# CHECK: ld.global.v2.b32
# CHECK: st.global.v2.b32
@triton.jit
def masked(x, y, n):
    at = tl.program_id(0) * 512 + tl.arange(0, 512)
    a = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + at, tl.fma(a, a, a), mask=at < n)


# CARRIED-LABEL: .entry carried
# CARRIED: cvt.rn.satfinite.e4m3x2
# CARRIED-NOT: {{prmt|shr|st.global.b8}}
# CARRIED: st.global.v2.b32
# CARRIED-NOT: {{prmt|shr}}
@triton.jit
def carried(x, y, n):
    at = tl.arange(0, 1024)
    last = tl.load(x + at).to(tl.float8e4nv)
    for i in range(n):
        new = tl.load(x + at + i * 1024).to(tl.float8e4nv)
        tl.store(y + at + i * 1024, last)
        last = new


# Two bytes of a thread are half a word.
# HALVES: ld.global.b16 %[[PAIR:rs[0-9]+]],
# HALVES-NOT: or.b16
# HALVES: cvt.rn.f16x2.e4m3x2 %{{r[0-9]+}}, %[[PAIR]];
@triton.jit
def halves(x, o):
    i = tl.program_id(0) * 512 + tl.arange(0, 512)
    tl.store(o + i, tl.load(x + i).to(tl.float32) * 2)


# ROUNDS: cvt.rn.satfinite.e4m3x2.f32 %[[PAIR:rs[0-9]+]],
# ROUNDS: st.global.b16 [%{{rd[0-9]+}}], %[[PAIR]];
@triton.jit
def rounds(x, o):
    i = tl.program_id(0) * 512 + tl.arange(0, 512)
    tl.store(o + i, (tl.load(x + i) * 2).to(tl.float8e4nv))
