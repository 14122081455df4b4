# Updates of elements that are no neighbours are done by the threads that have the values, though each has a pair of them.
# RUN: tandemc %s:largest --emit=layouts --target sm_90a --signature '*i32:16, *i32:16, *i32:16' | FileCheck %s
import triton
import triton.language as tl


# CHECK-NOT: tgpu.convert_layout
# CHECK: tile.atomic_rmw max {{.*}} registers = [1], lanes = [2, 4, 8, 16, 32]
# CHECK-NOT: tgpu.convert_layout
@triton.jit
def largest(x, places, o):
    i = tl.arange(0, 256)
    tl.atomic_max(o + tl.load(places + i), tl.load(x + i))
