# Threads copy where so at least twice as many blocks share a multiprocessor as beside a producer: not large tiles, nor tiles of which
# two warpgroups have the registers anyway, nor programs that go from tile to tile.
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 3 --signature '*bf16:16, *bf16:16, *fp32:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'BM=128, BN=128, BK=32, HOW="pointers"' | FileCheck %s
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 3 --signature '*bf16:16, *bf16:16, *fp32:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'BM=128, BN=128, BK=32, HOW="blocks"' | FileCheck %s
# RUN: tandemc %s:product --emit=gpu --num-warps 4 --num-stages 2 --signature '*bf16:16, *bf16:16, *fp32:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'BM=64, BN=128, BK=64, HOW="pointers"' | FileCheck %s
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 3 --signature '*bf16:16, *bf16:16, *fp32:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'BM=128, BN=256, BK=64, HOW="pointers"' | FileCheck %s --check-prefix=TMA
# RUN: tandemc %s:product --emit=gpu --num-warps 4 --num-stages 3 --signature '*bf16:16, *bf16:16, *fp32:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'BM=64, BN=64, BK=64, HOW="pointers"' | FileCheck %s --check-prefix=TMA
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 3 --signature '*bf16:16, *bf16:16, *fp32:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'BM=128, BN=128, BK=32, HOW="tiles"' | FileCheck %s --check-prefix=TMA
# A block pointer's strides need not be what TMA asks for.
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 3 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'BM=128, BN=256, BK=64, HOW="blocks"' | FileCheck %s --check-prefix=ODD
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 3 --signature '*bf16:16, *bf16:16, *fp32:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'BM=128, BN=256, BK=64, HOW="blocks"' | FileCheck %s --check-prefix=TMA
import triton
import triton.language as tl


# CHECK-NOT: tma_load
# CHECK: tgpu.copy_ring
# CHECK-NOT: tma_load
# TMA-NOT: tgpu.copy_ring
# TMA: tgpu.tma_load
# TMA: tgpu.tma_load
# ODD-NOT: tma_load
# ODD: tgpu.wgmma
@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, HOW: tl.constexpr):
    if HOW == "tiles":
        for tile in range(tl.program_id(0), tl.cdiv(M, BM), 132):
            one(a, b, c, M, N, K, tile, BM, BN, BK)
    elif HOW == "blocks":
        blocks(a, b, c, M, N, K, BM, BN, BK)
    else:
        one(a, b, c, M, N, K, tl.program_id(0), BM, BN, BK)


@triton.jit
def one(a, b, c, M, N, K, tile, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tile * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (i + k)[None, :], mask=(m[:, None] < M) & ((i + k)[None, :] < K), other=0.0)
        y = tl.load(b + (i + k)[:, None] * N + n[None, :], mask=((i + k)[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def blocks(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    left = tl.make_block_ptr(a, (M, K), (K, 1), (row, 0), (BM, BK), (1, 0))
    right = tl.make_block_ptr(b, (K, N), (N, 1), (0, column), (BK, BN), (1, 0))
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        x = tl.load(left, boundary_check=(0, 1), padding_option="zero")
        y = tl.load(right, boundary_check=(0, 1), padding_option="zero")
        acc = tl.dot(x, y, acc)
        left, right = tl.advance(left, (0, BK)), tl.advance(right, (BK, 0))
    m, n = row + tl.arange(0, BM), column + tl.arange(0, BN)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))
