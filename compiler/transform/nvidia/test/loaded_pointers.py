# Pointers that a kernel has loaded, with strides that it has loaded: the kernel makes the maps of their blocks.
# RUN: tandemc %s:grouped --emit=gpu --signature '*i64:16, *i64:16, *i64:16, *i32:16, i32' --constexpr 'HINT=1' | FileCheck %s
# RUN: tandemc %s:grouped --emit=ptx --signature '*i64:16, *i64:16, *i64:16, *i32:16, i32' --constexpr 'HINT=1' \
# RUN:   | FileCheck %s --check-prefix=PTX
# RUN: tandemc %s:grouped --remarks --signature '*i64:16, *i64:16, *i64:16, *i32:16, i32' --constexpr 'HINT=0' 2>&1 \
# RUN:   | FileCheck %s --check-prefix=ODD
# RUN: tandemc %s:in_place --remarks --signature '*i64:16, *i32:16' 2>&1 | FileCheck %s --check-prefix=SAME
# RUN: tandemc %s:one_tile --remarks --signature '*i64:16, *fp16:16, i32' 2>&1 | FileCheck %s --check-prefix=ONE
import triton
import triton.language as tl


# A row or a column that may be in front of the pointer moves the map's base, before the loop; the sizes are unknown.
# CHECK: tgpu.warp_specialize consumer
# CHECK: } producer {
# CHECK: scf.while
# CHECK: arith.minsi
# CHECK: tile.addptr
# CHECK: scf.for
# CHECK: tgpu.tma_load
# CHECK: tgpu.tma_load
# PTX: tensormap.replace.tile.global_address
# PTX: cp.async.bulk.tensor.2d
# PTX-NOT: cp.async.c
# ODD: not copied by TMA: its pointer is not known to be a multiple of 16 bytes
@triton.jit
def grouped(a_pointers, b_pointers, c_pointers, sizes, programs, HINT: tl.constexpr):
    tile, end = tl.program_id(0), 0
    for g in range(tl.load(sizes)):
        m, n, k = tl.load(sizes + 3 * g + 1), tl.load(sizes + 3 * g + 2), tl.load(sizes + 3 * g + 3)
        columns = tl.cdiv(n, 128)
        tiles = tl.cdiv(m, 128) * columns
        while tile >= end and tile < end + tiles:
            a_pointer = tl.load(a_pointers + g).to(tl.pointer_type(tl.float16))
            b_pointer = tl.load(b_pointers + g).to(tl.pointer_type(tl.float16))
            c_pointer = tl.load(c_pointers + g).to(tl.pointer_type(tl.float16))
            i = (tile - end) // columns * 128 + tl.arange(0, 128)
            j = (tile - end) % columns * 128 + tl.arange(0, 128)
            x = tl.arange(0, 64)
            a = a_pointer + i[:, None] * k + x[None, :]
            b = b_pointer + x[:, None] * n + j[None, :]
            sums = tl.zeros((128, 128), tl.float32)
            for _ in range(tl.cdiv(k, 64)):
                if HINT:
                    tl.multiple_of(a, [16, 16])
                    tl.multiple_of(b, [16, 16])
                sums = tl.dot(tl.load(a), tl.load(b), sums)
                a += 64
                b += 64 * n
            tl.store(c_pointer + i[:, None] * n + j[None, :], sums.to(tl.float16))
            tile += programs
        end += tiles


# One array has the pointers of what is read and of what is written.
# SAME: not copied by TMA: line [[#]] may write what it reads
@triton.jit
def in_place(pointers, sizes):
    i, x = tl.arange(0, 128), tl.arange(0, 64)
    for g in range(tl.load(sizes)):
        a = tl.load(pointers + g).to(tl.pointer_type(tl.float16)) + i[:, None] * 1024 + x[None, :]
        c = tl.load(pointers + g + 1).to(tl.pointer_type(tl.float16)) + i[:, None] * 128 + i[None, :]
        sums = tl.zeros((128, 128), tl.float32)
        for _ in range(16):
            tl.multiple_of(a, [16, 16])
            y = tl.load(a)
            sums = tl.dot(y, y.T, sums)
            a += 64
        tl.store(c, sums.to(tl.float16))


# ONE: not copied by TMA: the kernel makes the descriptor for one tile
@triton.jit
def one_tile(pointers, c, k):
    i, x = tl.arange(0, 128), tl.arange(0, 64)
    a = tl.load(pointers).to(tl.pointer_type(tl.float16)) + i[:, None] * k + x[None, :]
    sums = tl.zeros((128, 128), tl.float32)
    for _ in range(0, k, 64):
        tl.multiple_of(a, [16, 16])
        y = tl.load(a)
        sums = tl.dot(y, y.T, sums)
        a += 64
    tl.store(c + i[:, None] * 128 + i[None, :], sums.to(tl.float16))
