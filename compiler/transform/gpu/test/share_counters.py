# What a loop counts beside its index and as the index is the index; what both were used for is computed once.
# RUN: tandemc %s:twice --emit=layouts --print-after share-counters --signature '*i32, i32, i32' 2>&1 >/dev/null | FileCheck %s
# RUN: tandemc %s:apart --emit=layouts --print-after share-counters --signature '*i32, i32, i32' 2>&1 >/dev/null \
# RUN:   | FileCheck %s --check-prefix=APART
import triton
import triton.language as tl


# CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %c4_i32{{ +}}: i32 {
# CHECK: %[[Q:.*]] = arith.divsi %[[I]],
# CHECK-NOT: arith.divsi
# CHECK: tile.store
# CHECK: tile.store
@triton.jit
def twice(out, tiles, columns):
    start = tl.program_id(0)
    behind = start - 4
    for tile in range(start, tiles, 4):
        tl.store(out + tile // columns, 1)
        behind += 4
        tl.store(out + behind // columns, tile)


# Other steps, other beginnings, and what a branch counts stay as they are.
# APART: scf.for {{.*}} iter_args(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) ->
# APART-COUNT-4: arith.divsi
@triton.jit
def apart(out, tiles, columns):
    start = tl.program_id(0)
    ahead, twice, some = start + 1, start, start
    for tile in range(start, tiles, 4):
        tl.store(out + tile // columns, 1)
        tl.store(out + ahead // columns, 2)
        tl.store(out + twice // columns, 3)
        tl.store(out + some // columns, 4)
        ahead += 4
        twice += 8
        if tl.load(out + tile) > 0:
            some += 4
