# The number of blocks that share a multiprocessor, and the registers of its block that each role gets.
# RUN: tandemc %s:product --emit=ptx --num-warps 4 --num-stages 3 --constexpr 'BM=64, BN=64' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, i32, i32, i32' | FileCheck %s --check-prefix=THREE
# RUN: tandemc %s:product --emit=ptx --num-warps 4 --num-stages 4 --constexpr 'BM=64, BN=64' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, i32, i32, i32' | FileCheck %s --check-prefix=THREE
# RUN: tandemc %s:product --emit=ptx --num-warps 4 --num-stages 2 --constexpr 'BM=64, BN=64' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, i32, i32, i32' | FileCheck %s --check-prefix=FOUR
# RUN: tandemc %s:product --emit=ptx --num-warps 8 --num-stages 3 --constexpr 'BM=64, BN=64' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, i32, i32, i32' | FileCheck %s --check-prefix=TRIO
# RUN: tandemc %s:product --emit=ptx --num-warps 4 --num-stages 5 --constexpr 'BM=64, BN=64' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, i32, i32, i32' | FileCheck %s --check-prefix=TWO
# RUN: tandemc %s:product --emit=ptx --num-warps 4 --num-stages 3 --constexpr 'BM=64, BN=128' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, i32, i32, i32' | FileCheck %s --check-prefix=TWO
# RUN: tandemc %s:product --emit=ptx --num-warps 8 --num-stages 3 --constexpr 'BM=128, BN=64' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, i32, i32, i32' | FileCheck %s --check-prefix=PAIR
# RUN: tandemc %s:product --emit=ptx --num-warps 8 --num-stages 3 --constexpr 'BM=128, BN=128' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, i32, i32, i32' | FileCheck %s --check-prefix=ONE
# 640 threads have 96 registers each: 512 of 114 would be more than that.
# RUN: tandemc %s:product --emit=ptx --num-warps 16 --num-stages 3 --constexpr 'BM=256, BN=64' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, i32, i32, i32' | FileCheck %s --check-prefix=WIDE
# A bound on a thread's registers is what the block starts with, in place of how many blocks shall fit.
# RUN: tandemc %s:product --emit=ptx --num-warps 4 --num-stages 3 --constexpr 'BM=64, BN=64' --maxnreg 96 \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, i32, i32, i32' | FileCheck %s --check-prefix=BOUND
# A bound that the block cannot have is what it can have.
# RUN: tandemc %s:product --emit=ptx --num-warps 16 --num-stages 3 --constexpr 'BM=256, BN=64' --maxnreg 200 \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, i32, i32, i32' | FileCheck %s --check-prefix=MOST
# Products by one instruction are as wide as all of them.
# RUN: tandemc %s:joined --emit=ptx --num-warps 4 --num-stages 3 --constexpr 'LEFT=128, RIGHT=128' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, i32, i32' | FileCheck %s --check-prefix=ALONE
# RUN: tandemc %s:joined --emit=ptx --num-warps 4 --num-stages 3 --constexpr 'LEFT=64, RIGHT=64' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, i32, i32' | FileCheck %s --check-prefix=BESIDE
# Without asynchronous products ptxas weighs registers against blocks: told that one block is enough, it takes twice as many.
# RUN: tandemc %s:plain --emit=ptx --signature '*fp32:16' | FileCheck %s --check-prefix=NONE
# The assembler may find registers for one block more where no roles divide them, unless the products leave it none.
# RUN: tandemc %s:gathered --emit=ptx --num-warps 4 --num-stages 3 --constexpr 'BM=64, BN=128' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, *i32, i32:16' | FileCheck %s --check-prefixes=OPEN,SHORT
# RUN: tandemc %s:gathered --emit=ptx --num-warps 8 --num-stages 4 --constexpr 'BM=128, BN=256' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, *i32, i32:16' | FileCheck %s --check-prefixes=FIRM,SHORT
import triton
import triton.language as tl


# THREE: .minnctapersm 3
# THREE-DAG: setmaxnreg.inc.sync.aligned.u32 136
# THREE-DAG: setmaxnreg.dec.sync.aligned.u32 24
# FOUR: .minnctapersm 4
# FOUR-DAG: setmaxnreg.inc.sync.aligned.u32 104
# FOUR-DAG: setmaxnreg.dec.sync.aligned.u32 24
# TRIO: .minnctapersm 3
# TRIO-DAG: setmaxnreg.inc.sync.aligned.u32 72
# TRIO-DAG: setmaxnreg.dec.sync.aligned.u32 24
# TWO: .minnctapersm 2
# TWO-DAG: setmaxnreg.inc.sync.aligned.u32 216
# TWO-DAG: setmaxnreg.dec.sync.aligned.u32 40
# PAIR: .minnctapersm 2
# PAIR-DAG: setmaxnreg.inc.sync.aligned.u32 104
# PAIR-DAG: setmaxnreg.dec.sync.aligned.u32 24
# ONE: .minnctapersm 1
# ONE-DAG: setmaxnreg.inc.sync.aligned.u32 232
# WIDE: .reqntid 640
# WIDE-DAG: setmaxnreg.inc.sync.aligned.u32 112
# WIDE-DAG: setmaxnreg.dec.sync.aligned.u32 24
# MOST: .maxnreg 96
# MOST: setmaxnreg.inc.sync.aligned.u32 112
# BOUND-NOT: .minnctapersm
# BOUND: .maxnreg 96
# BOUND-NOT: .minnctapersm
# BOUND-DAG: setmaxnreg.inc.sync.aligned.u32 168
# BOUND-DAG: setmaxnreg.dec.sync.aligned.u32 24
@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, 64], strides=[64, 1], block_shape=[BM, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[64, N], strides=[128, 1], block_shape=[64, BN])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[128, 1], block_shape=[BM, BN])
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, K, 64):
        acc = tl.dot(a.load([tl.program_id(0) * BM, k]), b.load([k, 0]), acc)
    c.store([tl.program_id(0) * BM, 0], acc.to(tl.float16))


# ALONE: .minnctapersm 1
# ALONE: wgmma.mma_async.sync.aligned.m64n256k16
# BESIDE: .minnctapersm 2
# BESIDE: wgmma.mma_async.sync.aligned.m64n128k16
@triton.jit
def joined(a_ptr, b_ptr, c_ptr, M, K, LEFT: tl.constexpr, RIGHT: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, 64], strides=[64, 1], block_shape=[64, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[LEFT + RIGHT, 64], strides=[64, 1], block_shape=[LEFT, 64])
    b1 = tl.make_tensor_descriptor(b_ptr, shape=[LEFT + RIGHT, 64], strides=[64, 1], block_shape=[RIGHT, 64])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, 256], strides=[256, 1], block_shape=[64, LEFT])
    c1 = tl.make_tensor_descriptor(c_ptr, shape=[M, 256], strides=[256, 1], block_shape=[64, RIGHT])
    acc, acc1 = tl.zeros([64, LEFT], tl.float32), tl.zeros([64, RIGHT], tl.float32)
    for k in range(0, K, 64):
        x = a.load([tl.program_id(0) * 64, k])
        acc = tl.dot(x, b.load([0, k]).T, acc)
        acc1 = tl.dot(x, b1.load([LEFT, k]).T, acc1)
    c.store([tl.program_id(0) * 64, 0], acc.to(tl.float16))
    c1.store([tl.program_id(0) * 64, LEFT], acc1.to(tl.float16))


# NONE: .reqntid 128
# NONE-NOT: .minnctapersm
@triton.jit
def plain(x):
    at = x + tl.arange(0, 1024)
    tl.store(at, tl.sigmoid(tl.load(at)))


# OPEN: .reqntid 128
# OPEN-NOT: .minnctapersm
# FIRM: .minnctapersm 1
# Addresses of shared memory have 32 bits.
# SHORT-NOT: cvt.u32.u64
# SHORT: cp.async.cg.shared.global [%r
@triton.jit
def gathered(a_ptr, b_ptr, c_ptr, rows, K, BM: tl.constexpr, BN: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, 64)
    a_at = a_ptr + tl.load(rows + m)[:, None] * K + k[None, :]
    b_at = b_ptr + k[:, None] * BN + n[None, :]
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(0, K, 64):
        acc = tl.dot(tl.load(a_at), tl.load(b_at), acc)
        a_at += 64
        b_at += 64 * BN
    tl.store(c_ptr + m[:, None] * BN + n[None, :], acc.to(tl.float16))
