# A choice that depends on one of several scans is made right behind that scan: the last threads of the warps store their sums by a
# predicate. Past a branch LLVM would put off all choices, and keep all scans for them.
# RUN: tandemc %s --emit=ptx --target sm_90a --signature '*i32:16, *i32:16' | FileCheck %s
import triton
import triton.language as tl


# CHECK-NOT: bra
# CHECK: @%p{{[0-9]+}} st.shared.b32
# CHECK: bar.sync
# CHECK: selp
# CHECK: @%p{{[0-9]+}} st.shared.b32
# CHECK: bar.sync
# CHECK-NOT: bra
# CHECK: ret
@triton.jit
def places(digits, out):
    digit = tl.load(digits + tl.arange(0, 1024))
    place = tl.zeros([1024], tl.int32)
    for i in tl.static_range(4):
        place = tl.where(digit == i, tl.cumsum((digit == i).to(tl.int32)), place)
    tl.store(out + tl.arange(0, 1024), place)
