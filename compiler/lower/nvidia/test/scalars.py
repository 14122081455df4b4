# Tiles of one or two elements as scalars: what thread 0 of each warp holds reaches all of its threads.
# RUN: tandemc %s:pair --emit=ptx --target sm_90a --signature '*i32, *i32' | FileCheck %s --check-prefix=PAIR
# RUN: tandemc %s:loaded --emit=ptx --target sm_90a --signature '*i64, *i64' | FileCheck %s --check-prefix=LOADED
# RUN: tandemc %s:reduced --emit=ptx --target sm_80 --signature '*i32, *i32' --num-warps 8 | FileCheck %s --check-prefix=REDUCED
# RUN: tandemc %s:condition --emit=ptx --target sm_90a --signature '*fp32, *i32' | FileCheck %s --check-prefix=CONDITION
import triton
import triton.language as tl


# PAIR: shfl.sync
# PAIR: st.global.b32
@triton.jit
def pair(x, o):
    a, b = tl.split(tl.arange(0, 2))
    tl.store(o, tl.load(x + a) + b)


# LOADED: ld.global
# LOADED: shfl.sync
# LOADED: st.global.b64
@triton.jit
def loaded(x, o):
    a, b = tl.split(tl.load(x + tl.arange(0, 2)))
    tl.store(o, a - b)


# REDUCED: st.global.b32
# REDUCED: st.global.b32
@triton.jit
def reduced(x, o):
    a, b = tl.split(tl.sum(tl.reshape(tl.load(x + tl.arange(0, 1024)), (2, 512)), axis=1))
    tl.store(o, a)
    tl.store(o + 1, b)


@triton.jit
def some(x):
    if x > 0:
        return x + 1


# CONDITION: ld.global
# CONDITION: setp.gt.f32
# CONDITION: st.global.b32
@triton.jit
def condition(x, o):
    one = tl.load(x + tl.arange(0, 1))
    if one > 0:
        tl.store(o, some(tl.sum(one)).to(tl.int32))
