# Integer ops are defined for all operands: division by zero, long shifts, floats that no integer holds.
# RUN: tandemc %s:divides --emit=llvm --target sm_90a --signature '*i32, *i32' | FileCheck %s --check-prefix=DIVIDE
# RUN: tandemc %s:by_one_number --emit=ptx --target sm_90a --signature '*i32, i32' | FileCheck %s --check-prefix=ONE
# RUN: tandemc %s:by_long_number --emit=ptx --target sm_90a --signature '*i64, i64' | FileCheck %s --check-prefix=LONG
# RUN: tandemc %s:by_constant --emit=ptx --target sm_80 --signature '*i32' | FileCheck %s --check-prefix=CONSTANT
# RUN: tandemc %s:shifts --emit=ptx --target sm_89 --signature '*i32, *i32' | FileCheck %s --check-prefix=SHIFT
# RUN: tandemc %s:converts --emit=ptx --target sm_90a --signature '*fp32, *i64' | FileCheck %s --check-prefix=CONVERT
# RUN: tandemc %s:wide --emit=ptx --target sm_80 --signature '*u32, *u32' | FileCheck %s --check-prefix=WIDE
# RUN: tandemc %s:upper --emit=ptx --target sm_80 --signature '*u32, *u32' | FileCheck %s --check-prefix=UPPER
# RUN: tandemc %s:booleans --emit=ptx --target sm_80 --signature '*i32' | FileCheck %s --check-prefix=BOOLEAN
import triton
import triton.language as tl


@triton.jit
def divides(x, y):
    i = tl.arange(0, 128)
    # The instruction is defined for all operands, LLVM's is not.
    # DIVIDE-NOT: {{sdiv|icmp|select}}
    # DIVIDE: asm "div.s32 $0, $1, $2;"
    # DIVIDE-NOT: {{sdiv|icmp|select}}
    # DIVIDE: ret void
    tl.store(x + i, tl.load(x + i) // tl.load(y + i))


# ONE-NOT: {{selp|mad}}
# ONE-COUNT-4: div.s32
# ONE-NOT: {{selp|mad}}
# ONE: st.global
@triton.jit
def by_one_number(x, n):
    i = tl.arange(0, 512)
    tl.store(x + i, tl.load(x + i) // n)


# One division gives quotient and remainder. Where both numbers are small, of 32 bits.
# LONG: setp.ne.b32 large, upper, 0;
# LONG: div.u32 q, a, b;
# LONG: LARGE:
# LONG-NEXT: div.s64 q64
# LONG-NOT: div.
# LONG: st.global
@triton.jit
def by_long_number(x, n):
    i = tl.arange(0, 128)
    v = tl.load(x + i)
    tl.store(x + i, v // n + v % n)


# Both halves of a product by one instruction; one half alone as LLVM has it.
# WIDE: ld.global
# WIDE: ld.global
# WIDE-NOT: mul.{{hi|lo}}
# WIDE: mul.wide.u32
# WIDE-NOT: mul.
# WIDE: st.global
@triton.jit
def wide(x, y):
    i = tl.arange(0, 128)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(x + i, tl.umulhi(a, b) ^ (a * b))


# UPPER: mul.hi.u32
@triton.jit
def upper(x, y):
    i = tl.arange(0, 128)
    tl.store(x + i, tl.umulhi(tl.load(x + i), tl.load(y + i)))


@triton.jit
def by_constant(x):
    i = tl.arange(0, 128)
    # CONSTANT-NOT: div.
    # CONSTANT-NOT: rem.
    # CONSTANT: st.global
    tl.store(x + i, tl.load(x + i) // 7 + tl.load(x + i) % 12)


@triton.jit
def shifts(x, y):
    i = tl.arange(0, 128)
    # SHIFT: shl.b32
    tl.store(x + i, tl.load(x + i) << tl.load(y + i))


@triton.jit
def converts(x, o):
    i = tl.arange(0, 128)
    # CONVERT: cvt.rzi.s64.f32
    tl.store(o + i, tl.load(x + i).to(tl.int64))


@triton.jit
def booleans(x):
    i = tl.arange(0, 128)
    v = tl.load(x + i)
    # BOOLEAN: and.pred
    tl.store(x + i, ((v > 3) & (v < 9) ^ (v == 5)).to(tl.int32))
