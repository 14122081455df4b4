# A thread has neighbours that share a quotient, as many as its stores move, where a program's places come from divisions by variables, and
# it divides no more in a loop than before it.
# RUN: tandemc %s:columns --emit=ptx --target sm_90a --signature '*i32:16, *i32:16, i32:16' | FileCheck %s --check-prefix=ONCE
# RUN: tandemc %s:columns --emit=ptx --target sm_90a --signature '*i32:16, *i32:16, i32' | FileCheck %s --check-prefix=EACH
# RUN: tandemc %s:update --emit=layouts --target sm_90a --signature '*bf16:16, *bf16:16, *bf16:16, *i32:16, i32, i32' \
# RUN:   | FileCheck %s --check-prefix=UPDATE
# RUN: tandemc %s:wrapped --emit=ptx --target sm_90a --num-warps 1 --signature "*i32:16, *i32:16, i32" \
# RUN:   | FileCheck %s --check-prefix=WRAPPED
# RUN: tandemc %s:handed_on --emit=ptx --target sm_90a --num-warps 1 --signature "*i32:16, i32, i32, i32" \
# RUN:   | FileCheck %s --check-prefix=HANDED
import triton
import triton.language as tl


# Four neighbours are in one row when rows are multiples of four; the columns of the last three follow from the first one's.
# ONCE-COUNT-1: {{div|rem}}.{{[su]}}32
# ONCE-NOT: {{div|rem}}.{{[su]}}32
# ONCE: st.global.v4
# EACH-COUNT-4: {{div|rem}}.{{[su]}}32
# EACH: st.global.v4
@triton.jit
def columns(x, y, width):
    at = tl.program_id(0) * 512 + tl.arange(0, 512)
    tl.store(y + at, tl.load(x + at % width * 3 + at // width))


# Both accesses of the sums lie in threads as near to the product as a change inside each warp brings them.
# UPDATE: arith.remsi
# UPDATE: scf.for
# UPDATE: scf.while
# UPDATE-NOT: arith.remsi
# UPDATE: tile.load {{.*}}lanes = [8, 16, 32, 64, 128], warps = [1024, 2048]
# UPDATE-NOT: arith.remsi
# UPDATE: convert_layout {{.*}}lanes = [8, 16, 32, 64, 128], warps = [1024, 2048]
# UPDATE-NEXT: tile.store
@triton.jit
def update(a, b, c, lock, rows, n):
    i, j, k = tl.arange(0, 128), tl.arange(0, 64)[None, :], tl.arange(0, 128)[None, :]
    row = (tl.program_id(0) * 128 + i) % rows
    x = tl.load(a + i[:, None] * 128 + k)
    for at in range(n):
        sums = tl.dot(x, tl.load(b + k.trans() * 64 + j + at * 8192)).to(tl.bfloat16)
        while tl.atomic_cas(lock, 0, 1) == 1:
            pass
        place = c + row[:, None] * 64 + j + at * 8192
        tl.store(place, tl.load(place) + sums)
        tl.atomic_xchg(lock, 0)


# Rows past the last one wrap around within a promised run: each is divided, none is counted on past the end.
# WRAPPED-COUNT-4: div.{{[su]}}32
@triton.jit
def wrapped(x, y, rows):
    row = tl.program_id(0) * 128 + tl.arange(0, 128)
    at = tl.max_contiguous(tl.multiple_of(row % rows, 128), 128)
    tl.store(y + row, tl.load(x + at * 3))


# The same where a loop hands the promised rows on: before the loop and inside each of the two has its own four divisions.
# HANDED-COUNT-12: div.{{[su]}}32
@triton.jit
def handed_on(y, rows, columns, times):
    place = tl.arange(0, 128)
    first = tl.max_contiguous(tl.multiple_of((tl.program_id(0) * 128 + place) % rows, 128), 128)
    second = tl.max_contiguous(tl.multiple_of((tl.program_id(1) * 128 + place) % rows, 128), 128)
    for i in range(times):
        tl.store(y + i * 128 + place, first % columns)
        first, second = second, first
