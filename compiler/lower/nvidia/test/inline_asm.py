# Inline assembly: the registers that its constraints ask for, narrow elements packed into words.
# RUN: tandemc %s:words --emit=ptx --target sm_80 --signature '*i32, *i32' | FileCheck %s --check-prefix=WORDS
# RUN: tandemc %s:bytes --emit=ptx --target sm_89 --signature '*i8, *i8' | FileCheck %s --check-prefix=BYTES
# RUN: tandemc %s:halves --emit=ptx --target sm_90a --signature '*fp16, *fp16' | FileCheck %s --check-prefix=HALVES
# RUN: tandemc %s:scalar --emit=ptx --target sm_90a --signature '*i64' | FileCheck %s --check-prefix=SCALAR
# RUN: not tandemc %s:wrong --emit=ptx --target sm_90a --signature '*i32' 2>&1 | FileCheck %s --check-prefix=WRONG
# RUN: not tandemc %s:unknown --emit=ptx --target sm_90a --signature '*i32' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
# RUN: tandemc %s:text --emit=ptx --target sm_90a --signature '*i32' | FileCheck %s --check-prefix=TEXT
# RUN: not tandemc %s:no_text --emit=ptx --target sm_90a --signature '*i32' 2>&1 | FileCheck %s --check-prefix=NOTEXT
# RUN: tandemc %s:beside --emit=ptx --target sm_90a --signature '*i32' | FileCheck %s --check-prefix=BESIDE
# RUN: tandemc %s:beside --emit=ptx --target sm_89 --signature '*i32' | FileCheck %s --check-prefix=BEHIND
# RUN: tandemc %s:beside --emit=ptx --target sm_90a --num-ctas 2 --signature '*i32' | FileCheck %s --check-prefix=BEHIND
# RUN: tandemc %s:beside --emit=sim --signature '*i32' | FileCheck %s --check-prefix=BEHIND
import triton
import triton.language as tl


@triton.jit
def words(x, o):
    i = tl.arange(0, 128)
    v = tl.load(x + i)
    # WORDS: // begin inline asm
    # WORDS: add.s32 %r{{[0-9]+}}, %r{{[0-9]+}}, 7; sub.s32 %r{{[0-9]+}}, %r{{[0-9]+}}, 7;
    a, b = tl.inline_asm_elementwise("add.s32 $0, $2, 7; sub.s32 $1, $2, 7;", "=r,=r,r", [v], dtype=(tl.int32, tl.int32), is_pure=True,
                                     pack=1)
    tl.store(o + i, a * b)


@triton.jit
def bytes(x, o):
    i = tl.arange(0, 512)
    # BYTES: not.b32 %r{{[0-9]+}}, %r{{[0-9]+}};
    # BYTES-NOT: not.b32
    v = tl.inline_asm_elementwise("not.b32 $0, $1;", "=r, r", [tl.load(x + i)], dtype=tl.int8, is_pure=True, pack=4)
    tl.store(o + i, v)


@triton.jit
def halves(x, o):
    i = tl.arange(0, 256)
    # HALVES: tanh.approx.f16x2 %r{{[0-9]+}}, %r{{[0-9]+}};
    v = tl.inline_asm_elementwise("tanh.approx.f16x2 $0, $1;", "=r,r", [tl.load(x + i)], dtype=tl.float16, is_pure=True, pack=2)
    tl.store(o + i, v)


@triton.jit
def scalar(o):
    # SCALAR: mov.u64 %rd{{[0-9]+}}, %globaltimer;
    tl.store(o, tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64, is_pure=False, pack=1))


@triton.jit
def wrong(o):
    i = tl.arange(0, 128)
    # WRONG: the assembly's values take 1 input registers, its constraints have 2: `=r,r,r`
    tl.store(o + i, tl.inline_asm_elementwise("add.s32 $0, $1, $2;", "=r,r,r", [i], dtype=tl.int32, is_pure=True, pack=1))


@triton.jit
def unknown(o):
    i = tl.arange(0, 128)
    # UNKNOWN: the assembly has a constraint `z` that is no PTX register: `=z,r`
    tl.store(o + i, tl.inline_asm_elementwise("mov.b32 $0, $1;", "=z,r", [i], dtype=tl.int32, is_pure=True, pack=1))


@triton.jit
def text(o):
    i = tl.arange(0, 128)
    # TEXT: lop3.b32 %r{{[0-9]+}}, %r{{[0-9]+}}, 983055, 1677747200, 234;
    tl.store(
        o + i,
        tl.inline_asm_elementwise("lop3.b32 $0, $1, $2, $3, $4;", "=r,r,n,n,n", [i, 0x000F000F, 0x64006400, 234], dtype=tl.int32,
                                  is_pure=True, pack=1))


@triton.jit
def no_text(o):
    i = tl.arange(0, 128)
    # NOTEXT: the assembly has the constraint `n` for a value that is no constant
    tl.store(o + i, tl.inline_asm_elementwise("add.s32 $0, $1, $2;", "=r,r,n", [i, i], dtype=tl.int32, is_pure=True, pack=1))


# A kernel starts beside the one before it; not in the simulator, on older GPUs, or in programs of several blocks.
@triton.jit
def beside(o):
    # BESIDE: griddepcontrol.launch_dependents;
    # BESIDE: griddepcontrol.wait;
    # BESIDE: st.global
    # BEHIND-NOT: griddepcontrol
    tl.extra.cuda.gdc_launch_dependents()
    tl.extra.cuda.gdc_wait()
    tl.store(o + tl.arange(0, 128), 1)
