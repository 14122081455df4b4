# A number is one of the program, though others may change the memory that it is loaded from: one thread looks and tells the others. Looks
# in a loop that does nothing else are that thread's alone; the others wait behind it.
# RUN: tandemc %s:once --emit=ptx --target sm_90a --signature '*i32:16, *fp32:16' | FileCheck %s --check-prefix=ONCE
# RUN: tandemc %s:until --emit=ptx --target sm_90a --signature '*i32:16, *fp32:16' | FileCheck %s --check-prefix=UNTIL
# RUN: tandemc %s:tile --emit=ptx --target sm_90a --signature '*fp32:16, *fp32:16' | FileCheck %s --check-prefix=TILE
import triton
import triton.language as tl


# ONCE: ld.volatile.global.b32
# ONCE: st.shared.b32
# ONCE: bar.sync
# ONCE: ld.shared.b32
# ONCE: st.global
@triton.jit
def once(flag, o):
    n = tl.load(flag, volatile=True)
    tl.store(o + tl.arange(0, 128), n)


# UNTIL: bar.sync
# UNTIL: [[LOOP:\$L__BB[0-9_]+]]:
# UNTIL-NOT: bar.sync
# UNTIL: ld.volatile.global.b32
# UNTIL-NOT: bar.sync
# UNTIL: bra{{.*}}[[LOOP]]
# UNTIL: bar.sync
# UNTIL: st.global
@triton.jit
def until(flag, o):
    while tl.load(flag, volatile=True) == 0:
        pass
    tl.store(o + tl.arange(0, 128), 1.0)


# TILE-NOT: bar.sync
# TILE: ld.volatile.global
# TILE-NOT: bar.sync
@triton.jit
def tile(x, o):
    i = tl.arange(0, 128)
    tl.store(o + i, tl.load(x + i, volatile=True))
