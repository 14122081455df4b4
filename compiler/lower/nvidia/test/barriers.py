# Barriers between accesses of one program to the same memory, and none where each thread keeps to its own elements.
# RUN: tandemc %s:copy --emit=ptx --target sm_90a --signature '*fp32, *fp32' | FileCheck %s --check-prefix=NONE
# RUN: tandemc %s:in_place --emit=ptx --target sm_80 --signature '*fp32' | FileCheck %s --check-prefix=NONE
# RUN: tandemc %s:reverse --emit=ptx --target sm_80 --signature '*fp32' | FileCheck %s --check-prefix=REVERSE
# RUN: tandemc %s:written --emit=ptx --target sm_90a --signature '*fp32, *fp32' | FileCheck %s --check-prefix=WRITTEN
# RUN: tandemc %s:loop --emit=ptx --target sm_90a --signature '*fp32, i32' | FileCheck %s --check-prefix=LOOP
# RUN: tandemc %s:scalar --emit=ptx --target sm_90a --signature '*i32' | FileCheck %s --check-prefix=SCALAR
# RUN: tandemc %s:scalars --emit=ptx --target sm_90a --signature '*i32, i32' | FileCheck %s --check-prefix=SCALARS
# RUN: tandemc %s:many_scalars --emit=ptx --target sm_90a --signature '*i32, i32' | FileCheck %s --check-prefix=MANY
# RUN: tandemc %s:reverse_in_warp --emit=ptx --target sm_90a --num-warps 1 --signature '*fp32' | FileCheck %s --check-prefix=WARP
import triton
import triton.language as tl


@triton.jit
def copy(x, y):
    i = tl.arange(0, 512)
    # NONE-NOT: bar.sync
    tl.store(y + i, tl.load(x + i))


@triton.jit
def in_place(x):
    i = tl.arange(0, 512)
    tl.store(x + i, tl.load(x + i) + 1)


@triton.jit
def reverse(x):
    i = tl.arange(0, 128)
    # REVERSE: ld.global
    # REVERSE: bar.sync 0
    # REVERSE: st.global
    tl.store(x + 127 - i, tl.load(x + i))


@triton.jit
def written(x, y):
    i = tl.arange(0, 128)
    # WRITTEN: st.global
    # WRITTEN: bar.sync 0
    # WRITTEN: ld.global
    tl.store(x + i, 1.0)
    tl.store(y + i, tl.load(x + 127 - i))


@triton.jit
def loop(x, n):
    i = tl.arange(0, 128)
    # The end of a round writes what the next one reads.
    # LOOP: bar.sync 0
    # LOOP: ld.global
    # LOOP: bar.sync 0
    # LOOP: st.global
    for k in range(n):
        tl.store(x + i + k, tl.load(x + i + k + 1))


@triton.jit
def scalar(x):
    # All threads read what the first one writes.
    # SCALAR: ld.global
    # SCALAR: bar.sync 0
    # SCALAR: st.global
    tl.store(x, tl.load(x) + 1)
    tl.store(x + 1 + tl.arange(0, 128), 0)


@triton.jit
def scalars(x, n):
    # One thread does all of them, in order.
    # SCALARS-NOT: bar.sync
    # SCALARS: @%p{{[0-9]+}} st.global
    # SCALARS-NOT: bar.sync
    # SCALARS: @%p{{[0-9]+}} st.global
    # SCALARS: bar.sync
    # SCALARS: ld.global
    # SCALARS: st.global
    tl.store(x, n)
    tl.store(x + n, 2)
    tl.store(x + 2, tl.load(x) + 1)
    tl.store(x + n + tl.arange(0, 128), 0)


@triton.jit
def many_scalars(x, n):
    # In a loop they are stored in each round, by one branch.
    # MANY: bra
    # MANY-COUNT-20: {{^}}	st.global
    # MANY-NOT: st.global
    t = tl.arange(0, 128)
    tl.store(x + n + t, 0, mask=t < n)
    for i in range(n):
        for j in tl.static_range(20):
            tl.store(x + i * 20 + j, n)


# The threads of a single warp need no barrier of the block.
# WARP: ld.global
# WARP: bar.warp.sync
# WARP-NOT: bar.sync
# WARP: st.global
@triton.jit
def reverse_in_warp(x):
    i = tl.arange(0, 32)
    tl.store(x + 31 - i, tl.load(x + i))
