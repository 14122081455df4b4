# Rows whose neighbours fill no words come an iteration ahead all the same, in registers: loaded while the products run, stored when
# the next iteration begins. Not where a thread has no registers for them beside the sums.
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 3 --signature '*fp16:16, *fp16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'BM=64, BN=128, BK=32' | FileCheck %s
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 3 --signature '*fp16:16, *fp16:16, *fp32:16, i32, i32:16, i32' \
# RUN:   --constexpr 'BM=64, BN=128, BK=32' | FileCheck %s --check-prefix=ONE
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 1 --signature '*fp16:16, *fp16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'BM=64, BN=128, BK=32' | FileCheck %s --check-prefix=NONE
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 3 --signature '*fp16:16, *fp16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'BM=128, BN=256, BK=128' | FileCheck %s --check-prefix=NONE
# RUN: tandemc %s:two --emit=layouts --num-warps 4 --num-stages 3 --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32, i32' \
# RUN:   | FileCheck %s --check-prefix=TWO
# RUN: tandemc %s:few_rows --emit=gpu --num-warps 4 --num-stages 3 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=FEW
# RUN: tandemc %s:blocks --emit=gpu --num-warps 4 --num-stages 3 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=BLOCKS
import triton
import triton.language as tl


# CHECK-COUNT-2: tile.load
# CHECK: scf.for
# CHECK-NOT: tile.load
# CHECK-COUNT-2: tgpu.local_store %arg
# CHECK: tgpu.wgmma
# CHECK-COUNT-2: tile.load
# CHECK: tgpu.wgmma_wait
# CHECK: scf.yield
# ONE: tile.load
# ONE: tgpu.copy_ring 3 ahead 2
# ONE: scf.for
# ONE-NOT: tile.load
# ONE: tgpu.local_store %arg
# ONE: tgpu.wgmma
# ONE: tile.load
# ONE: tgpu.wgmma_wait
# NONE: scf.for
# NONE-COUNT-2: tile.load
# NONE: tgpu.wgmma
@triton.jit
def product(a, b, c, K, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (i + k)[None, :], mask=(i + k)[None, :] < K, other=0.0)
        y = tl.load(b + (i + k)[:, None] * sb + n[None, :], mask=(i + k)[:, None] < K, other=0.0)
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * sc + n[None, :], acc)


# Two neighbours along K are stored at once, where the columns of the right operands lie. All that the products read is stored before the
# first of them begins.
# TWO: scf.for
# TWO-COUNT-3: tgpu.local_store
# TWO-COUNT-2: tgpu.wgmma {{.*}}rhsTransposed
# TWO: scf.yield
# TWO: }
@triton.jit
def two(a, b, d, c, K, sc, BM: tl.constexpr = 64, BN: tl.constexpr = 64, BK: tl.constexpr = 32):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    gate, up = tl.zeros((BM, BN), tl.float32), tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        inside = (i + k)[:, None] < K
        x = tl.load(a + m[:, None] * K + (i + k)[None, :], mask=(i + k)[None, :] < K, other=0.0)
        gate += tl.dot(x, tl.load(b + (i + k)[:, None] + n[None, :] * K, mask=inside, other=0.0))
        up += tl.dot(x, tl.load(d + (i + k)[:, None] + n[None, :] * K, mask=inside, other=0.0))
    tl.store(c + m[:, None] * sc + n[None, :], gate * up)


# An operand of mma.sync goes through a buffer, from which each warp reads its part.
# FEW: tgpu.alloc 1 x !tile.smem<32x64xbf16> swizzle 128
# FEW: tgpu.copy_ring
# FEW: scf.for
# FEW: tgpu.await
# FEW: tgpu.local_store %arg{{.*}}!tile.smem<32x64xbf16>
# FEW: tgpu.local_load
# FEW: tile.load
# FEW: tile.dot
@triton.jit
def few_rows(a, b, c, K, sb, sc, BM: tl.constexpr = 32, BN: tl.constexpr = 128, BK: tl.constexpr = 64):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (i + k)[None, :], mask=(i + k)[None, :] < K, other=0.0)
        y = tl.load(b + (i + k)[:, None] * sb + n[None, :], mask=(i + k)[:, None] < K, other=0.0)
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * sc + n[None, :], acc)


# A block whose rows TMA cannot follow is one that threads load: they load the other one, too.
# BLOCKS-NOT: tgpu.warp_specialize
# BLOCKS: tgpu.copy_ring
# BLOCKS: scf.for
# BLOCKS: tgpu.local_store %arg
# BLOCKS: tgpu.wgmma
# BLOCKS: tile.load
# BLOCKS: tgpu.wgmma_wait
@triton.jit
def blocks(a, b, c, K, sb, sc, BM: tl.constexpr = 64, BN: tl.constexpr = 128, BK: tl.constexpr = 32):
    x = tl.make_block_ptr(a, (BM, K), (K, 1), (0, 0), (BM, BK), (1, 0))
    y = tl.make_block_ptr(b, (K, BN), (sb, 1), (0, 0), (BK, BN), (1, 0))
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        acc += tl.dot(tl.load(x, boundary_check=(0, 1), padding_option="zero"), tl.load(y, boundary_check=(0, 1), padding_option="zero"))
        x, y = tl.advance(x, (0, BK)), tl.advance(y, (BK, 0))
    tl.store(c + tl.arange(0, BM)[:, None] * sc + tl.arange(0, BN)[None, :], acc)
