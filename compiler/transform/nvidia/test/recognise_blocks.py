# Matrix products by pointer arithmetic: which loads and stores become blocks, and which must stay as they are.
# RUN: tandemc %s:product --emit=gpu --num-warps 8 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32, i32, i32, i32:16, i32:1, i32:16, i32:1, i32:16, i32:1' \
# RUN:   --constexpr 'BM=128, BN=256, BK=64' | FileCheck %s --check-prefix=ROWS
# RUN: tandemc %s:product --emit=gpu --num-warps 8 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32, i32, i32, i32:16, i32:1, i32:1, i32:16, i32:16, i32:1' \
# RUN:   --constexpr 'BM=128, BN=256, BK=64' | FileCheck %s --check-prefix=FLIPB
# RUN: tandemc %s:product --emit=gpu --num-warps 8 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32, i32, i32, i32:1, i32:16, i32:16, i32:1, i32:16, i32:1' \
# RUN:   --constexpr 'BM=128, BN=256, BK=64' | FileCheck %s --check-prefix=FLIPA
# RUN: tandemc %s:product --emit=gpu --num-warps 8 \
# RUN:   --signature '*fp8e4nv:16, *fp8e4nv:16, *bf16:16, i32, i32, i32, i32:16, i32:1, i32:1, i32:16, i32:16, i32:1' \
# RUN:   --constexpr 'BM=128, BN=256, BK=64' | FileCheck %s --check-prefix=FLIPB
# fp8 with a columnwise operand, strides that may not be multiples of 16 bytes, a base that may not be, no contiguous dimension:
# RUN: tandemc %s:product --emit=gpu --num-warps 8 \
# RUN:   --signature '*fp8e4nv:16, *fp8e4nv:16, *bf16:16, i32, i32, i32, i32:16, i32:1, i32:16, i32:1, i32:16, i32:1' \
# RUN:   --constexpr 'BM=128, BN=128, BK=64' | FileCheck %s --check-prefix=ENDS
# RUN: tandemc %s:product --emit=gpu --num-warps 8 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32, i32, i32, i32, i32:1, i32:16, i32:1, i32:16, i32:1' \
# RUN:   --constexpr 'BM=128, BN=256, BK=64' | FileCheck %s --check-prefix=STAYS
# RUN: tandemc %s:product --emit=gpu --num-warps 8 \
# RUN:   --signature '*bf16:16, *bf16, *bf16:16, i32, i32, i32, i32:16, i32:1, i32:16, i32:1, i32:16, i32:1' \
# RUN:   --constexpr 'BM=128, BN=256, BK=64' | FileCheck %s --check-prefix=ENDS
# RUN: tandemc %s:product --emit=gpu --num-warps 8 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32, i32, i32, i32:16, i32:16, i32:16, i32:1, i32:16, i32:1' \
# RUN:   --constexpr 'BM=128, BN=256, BK=64' | FileCheck %s --check-prefix=STAYS
# No TMA:
# RUN: tandemc %s:product --emit=gpu --target sm_80 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32, i32, i32, i32:16, i32:1, i32:16, i32:1, i32:16, i32:1' \
# RUN:   --constexpr 'BM=128, BN=128, BK=32' | FileCheck %s --check-prefix=ENDS
# RUN: tandemc %s:bounded --emit=gpu --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'WHAT="bounded"' | FileCheck %s --check-prefix=STORE
# RUN: tandemc %s:bounded --emit=gpu --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'WHAT="unmasked"' | FileCheck %s --check-prefix=STORE
# RUN: tandemc %s:bounded --emit=gpu --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'WHAT="ones"' \
# RUN:   | FileCheck %s --check-prefix=AHEAD
# RUN: tandemc %s:bounded --emit=gpu --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'WHAT="volatile"' | FileCheck %s --check-prefix=STAYS
# RUN: tandemc %s:bounded --emit=gpu --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'WHAT="guarded"' | FileCheck %s --check-prefix=AHEAD
# RUN: tandemc %s:bounded --emit=gpu --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'WHAT="before"' \
# RUN:   | FileCheck %s --check-prefix=AHEAD
# RUN: tandemc %s:wrapped --emit=gpu --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'WHAT="left out"' | FileCheck %s --check-prefix=STORE
# RUN: tandemc %s:wrapped --emit=gpu --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'WHAT="added"' \
# RUN:   | FileCheck %s --check-prefix=ADDED
# RUN: tandemc %s:wrapped --emit=gpu --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'WHAT="all"' \
# RUN:   | FileCheck %s --check-prefix=ENDS
# RUN: tandemc %s:wrapped --emit=gpu --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'WHAT="other rows"' | FileCheck %s --check-prefix=ENDS
# RUN: tandemc %s:wrapped --emit=gpu --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'WHAT="summed"' \
# RUN:   | FileCheck %s --check-prefix=ENDS
# RUN: tandemc %s:wrapped --emit=gpu --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'WHAT="left out", HOW="where"' | FileCheck %s --check-prefix=STORE
# RUN: tandemc %s:wrapped --emit=gpu --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'WHAT="left out", HOW="minimum"' | FileCheck %s --check-prefix=STORE
# RUN: tandemc %s:wrapped --emit=gpu --num-warps 8 --num-stages 4 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32, i32' \
# RUN:   --constexpr 'WHAT="all", HOW="where"' | FileCheck %s --check-prefix=ENDS
# RUN: tandemc %s:rounds --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32, i32' --constexpr 'INTO="c"' \
# RUN:   | FileCheck %s --check-prefix=ROUNDS
# RUN: tandemc %s:rounds --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32, i32' --constexpr 'INTO="a"' \
# RUN:   | FileCheck %s --check-prefix=ENDS
# RUN: tandemc %s:rounds --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32, i32' --constexpr 'INTO="lock"' \
# RUN:   | FileCheck %s --check-prefix=ENDS
# RUN: tandemc %s:rounds --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *fp32:16, i32, i32, i32' --constexpr 'INTO="counter"' \
# RUN:   | FileCheck %s --check-prefix=ROUNDS
# RUN: tandemc %s:mixed --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *fp32:16, i32:16, i32, i32:16' \
# RUN:   | FileCheck %s --check-prefix=MIXED
import triton
import triton.language as tl


# Rows beyond the matrix begin again at the front, and are not stored. Pointers move with the loop.
# ROWS: tgpu.ring
# ROWS-NOT: tile.load
# ROWS: scf.for {{.*}} iter_args(%{{[^,]*}}) -> (tensor<128x256xf32>)
# ROWS: tgpu.wgmma {{.*}} !tile.smem<128x64xbf16>, !tile.smem<64x256xbf16>
# ROWS-NOT: tile.store
# ROWS: tile.block_store {{.*}} {descriptor}
# ROWS: producer
# ROWS: %[[M:.*]] = arith.maxsi
# ROWS: %[[MOVED:.*]] = arith.muli {{.*}} %c64_i64
# ROWS: tgpu.tma_load %arg0 shape(%[[M]],
# ROWS: tgpu.tma_load %arg1
# FLIPB-NOT: tile.load
# FLIPB: tgpu.wgmma {{.*}} {beginsAtZero, rhsTransposed}
# FLIPB: tile.block_store
# FLIPB: tgpu.tma_load
# FLIPB: tgpu.tma_load
# FLIPA-NOT: tile.load
# FLIPA: tgpu.wgmma {{.*}} {beginsAtZero, lhsTransposed}
# FLIPA: tile.block_store
# FLIPA: tgpu.tma_load
# FLIPA: tgpu.tma_load
# STAYS-NOT: tma_load
# STAYS-COUNT-2: tile.load
# STAYS-NOT: tma_load
# Threads copy ahead, up to where rows end, what cannot be a block.
# AHEAD-NOT: {{tma_load|tile.load}}
# AHEAD: scf.for
# AHEAD: tgpu.copy_async {{.*}}end
# AHEAD: tgpu.copy_async {{.*}}end
# AHEAD-NOT: {{tma_load|tile.load}}
# ENDS-NOT: tma_load
# ENDS: scf.for
# ENDS-DAG: tgpu.copy_async {{.*}}end
# ENDS-DAG: tile.load
# ENDS-NOT: tma_load
@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, BM: tl.constexpr,
            BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + ((m % M)[:, None] * stride_am + k[None, :] * stride_ak)
    b_ptrs = b_ptr + (k[:, None] * stride_bk + (n % N)[None, :] * stride_bn)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=k[None, :] < K - step * BK, other=0.0)
        b = tl.load(b_ptrs, mask=k[:, None] < K - step * BK, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK * stride_ak
        b_ptrs += BK * stride_bk
    acc = tl.where(acc >= 0, acc, 0.01 * acc)
    c_ptrs = c_ptr + stride_cm * m[:, None] + stride_cn * n[None, :]
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


# All bounds in masks, or none, and then nothing outside is accessed; strides that are numbers. A row of c is a whole number of 16 bytes.
# STORE-NOT: tile.load
# STORE: tile.block_store
# STORE: tgpu.tma_load
# STORE: tgpu.tma_load
@triton.jit
def bounded(a_ptr, b_ptr, c_ptr, M, N, K, WHAT: tl.constexpr):
    m = tl.program_id(0) * 128 + tl.arange(0, 128)
    n = tl.program_id(1) * 128 + tl.arange(0, 128)
    acc = tl.zeros((128, 128), dtype=tl.float32)
    if WHAT == "before":
        tl.store(a_ptr + m, acc.max(1).to(tl.bfloat16))
    for start in range(0, K, 64):
        k = start + tl.arange(0, 64)
        a_mask = (m[:, None] < M) & (k[None, :] < K)
        b_mask = (k[:, None] < K) & (n[None, :] < N)
        if WHAT == "guarded":
            a_mask = a_mask & (tl.program_id(2) < 3)
            b_mask = b_mask & (tl.program_id(2) < 3)
        a_at = a_ptr + m[:, None] * 4096 + k[None, :]
        b_at = b_ptr + k[:, None] * 4096 + n[None, :]
        if WHAT == "unmasked":
            a = tl.load(a_at)
            b = tl.load(b_at)
        elif WHAT == "ones":
            a = tl.load(a_at, mask=a_mask, other=1.0)
            b = tl.load(b_at, mask=b_mask, other=1.0)
        else:
            a = tl.load(a_at, mask=a_mask, other=0.0, volatile=WHAT == "volatile")
            b = tl.load(b_at, mask=b_mask, other=0.0, volatile=WHAT == "volatile")
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m[:, None] * 4096 + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


# Elements behind the last row must not show.
# ADDED-NOT: tile.load
# ADDED: tile.atomic_rmw
# ADDED: tgpu.tma_load
# ADDED: tgpu.tma_load
@triton.jit
def wrapped(a_ptr, b_ptr, c_ptr, M, N, K, WHAT: tl.constexpr, HOW: tl.constexpr = "remainder"):
    m = tl.program_id(0) * 128 + tl.arange(0, 128)
    n = tl.program_id(1) * 128 + tl.arange(0, 128)
    if HOW == "where":
        rows, columns = tl.where(m < M, m, 0), tl.where(n >= N, 0, n)
    elif HOW == "minimum":
        rows, columns = tl.minimum(m, M - 1), tl.minimum(n, N - 1)
    else:
        rows, columns = m % M, n % N
    acc = tl.zeros((128, 128), dtype=tl.float32)
    for start in range(0, K, 64):
        k = start + tl.arange(0, 64)
        a = tl.load(a_ptr + rows[:, None] * 4096 + k[None, :], mask=k[None, :] < K, other=0.0)
        b = tl.load(b_ptr + k[:, None] * 4096 + columns[None, :], mask=k[:, None] < K, other=0.0)
        acc = tl.dot(a, b, acc)
    c_at = c_ptr + m[:, None] * 4096 + n[None, :]
    if WHAT == "all":
        tl.store(c_at, acc)
    elif WHAT == "other rows":
        tl.store(c_at, acc, mask=(m[:, None] < M + 1) & (n[None, :] < N + 1))
    elif WHAT == "added":
        tl.atomic_add(c_at, acc, mask=(m[:, None] < M) & (n[None, :] < N))
    elif WHAT == "summed":
        tl.store(c_ptr + m, acc.sum(1), mask=m < M)
    else:
        tl.store(c_at, acc, mask=(m[:, None] < M) & (n[None, :] < N))


# One tile after another: the copies run ahead of what earlier tiles store, which must be another tensor. A copy out of a loop could be
# overtaken by the next, so the store is an ordinary one.
# ROUNDS-NOT: tile.load
# ROUNDS: tile.store
# ROUNDS: tgpu.tma_load
# ROUNDS: tgpu.tma_load
@triton.jit
def rounds(a_ptr, b_ptr, c_ptr, M, N, K, INTO: tl.constexpr):
    for tile in range(tl.program_id(0), tl.cdiv(M, 128), tl.num_programs(0)):
        m = tile * 128 + tl.arange(0, 128)
        n = tl.arange(0, 128)
        acc = tl.zeros((128, 128), dtype=tl.float32)
        for start in range(0, K, 64):
            k = start + tl.arange(0, 64)
            a = tl.load(a_ptr + (m % M)[:, None] * 4096 + k[None, :], mask=k[None, :] < K, other=0.0)
            b = tl.load(b_ptr + k[:, None] * 4096 + (n % N)[None, :], mask=k[:, None] < K, other=0.0)
            acc = tl.dot(a, b, acc)
        mask = (m[:, None] < M) & (n[None, :] < N)
        if INTO == "a":
            tl.store(a_ptr + m[:, None] * 4096 + n[None, :], acc.to(tl.bfloat16), mask=mask)
        else:
            tl.store(c_ptr + m[:, None] * 4096 + n[None, :], acc, mask=mask)
        if INTO == "lock" and tl.atomic_add(c_ptr, 1.0) == 7.0:
            tl.store(c_ptr + 1, 0.0)
        if INTO == "counter":
            tl.atomic_add(c_ptr, 1.0)


# An operand that each iteration stores in the same buffer: its product must be done before. The next one is loaded meanwhile.
# MIXED: scf.for
# MIXED: tgpu.local_store {{.*}} : tensor<64x128xbf16>
# MIXED: tgpu.wgmma
# MIXED: tile.load
# MIXED: tgpu.wgmma_wait {{.*}} pending 0
# MIXED: scf.yield
@triton.jit
def mixed(a_ptr, b_ptr, c_ptr, M, N, K):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[128, 64])
    acc = tl.zeros((128, 128), dtype=tl.float32)
    n = tl.program_id(1) * 128 + tl.arange(0, 128)
    for k in range(0, K, 64):
        b = tl.load(b_ptr + (k + tl.arange(0, 64))[:, None] * N + n[None, :])
        acc = tl.dot(a.load([tl.program_id(0) * 128, k]), b, acc)
    m = tl.program_id(0) * 128 + tl.arange(0, 128)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)
