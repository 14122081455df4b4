# The four words of a random counter meet four neighbours of a loaded tile in one thread: nothing is exchanged.
# RUN: tandemc %s:scaled --emit=ptx --target sm_90a --signature '*fp32:16, *fp32:16, i32' --constexpr 'BLOCK=1024' | FileCheck %s
# RUN: tandemc %s:chosen --emit=layouts --target sm_90a --signature '*fp32, *i8, i32' --constexpr 'BLOCK=1024' \
# RUN:   | FileCheck %s --check-prefix=CHOSEN
import triton
import triton.language as tl


# CHECK-LABEL: .entry scaled
# CHECK-NOT: {{bar\.|shfl|st\.shared}}
# CHECK: st.global.v4.b32
# CHECK-NOT: {{bar\.|shfl|st\.shared}}
# CHECK: ret;
@triton.jit
def scaled(x, o, seed, BLOCK: tl.constexpr):
    a, b, c, d = tl.rand4x(seed, tl.arange(0, BLOCK // 4))
    i = tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i) * tl.interleave(tl.interleave(a, c), tl.interleave(b, d)))


# Nothing that is loaded says where a random choice is: it is where it is stored, side by side where single bytes are.
# CHOSEN-NOT: registers = [1,
# CHOSEN-NOT: convert_layout
# CHOSEN: return
@triton.jit
def chosen(x, o, seed, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, (tl.rand(seed, i) > 0.1).to(tl.int8), i < 517)
    tl.store(x + i, tl.load(x + i, i < 517) * 2, i < 517)
