# One thread runs a program of numbers alone, so that it meets nobody between a store and a load; a tile, assembly and a thread's
# number keep the threads.
# RUN: tandemc %s:counts --emit=layouts --constexpr 'WITH="nothing"' --signature '*i32:16, *i32:16, i32' | FileCheck %s --check-prefix=ALONE
# RUN: tandemc %s:counts --emit=ptx --constexpr 'WITH="nothing"' --signature '*i32:16, *i32:16, i32' | FileCheck %s --check-prefix=PTX
# RUN: tandemc %s:counts --emit=layouts --constexpr 'WITH="tile"' --signature '*i32:16, *i32:16, i32' | FileCheck %s --check-prefix=ALL
# RUN: tandemc %s:counts --emit=layouts --constexpr 'WITH="assembly"' --signature '*i32:16, *i32:16, i32' | FileCheck %s --check-prefix=ALL
# RUN: tandemc %s:counts --emit=layouts --num-ctas 2 --constexpr 'WITH="nothing"' --signature '*i32:16, *i32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=ALL
import triton
import triton.language as tl


# ALONE: tile.num_warps = 1
# ALONE: simt.tid
# ALONE-NOT: simt.barrier
# PTX: .reqntid 32
# PTX-NOT: bar.
# PTX: atom.acq_rel.gpu.global
# PTX-NOT: bar.
# PTX: ret;
# ALL: tile.num_warps = 4
# ALL-NOT: simt.tid
# ALL: simt.barrier
@triton.jit
def counts(keys, totals, n, WITH: tl.constexpr):
    before = 0
    for i in range(n):
        key = tl.load(keys + i)
        so_far = tl.load(totals + key)
        tl.store(totals + key, so_far + 1)
        before += so_far
    if WITH == "tile":
        tl.store(keys + tl.arange(0, 128), tl.zeros([128], tl.int32))
    if WITH == "assembly":
        before = tl.inline_asm_elementwise("mov.u32 $0, %ntid.x;", "=r,r", [before], tl.int32, is_pure=False, pack=1)
    tl.store(totals + n, tl.atomic_add(totals + n + 1, before))
