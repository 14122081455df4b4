# Rows of shards: a mask of the shard's end and of the tensor's. Where nobody looks behind the shard's end, the launcher's map of the tensor
# does; where a loop goes through shards and the product adds what it reads, the producer makes a map of each shard.
# RUN: tandemc %s:rows --emit=gpu --num-warps 8 --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'WHAT="left out"' | FileCheck %s --check-prefix=TMA
# RUN: tandemc %s:rows --emit=ptx --num-warps 8 --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'WHAT="left out"' | FileCheck %s --check-prefix=HOST
# Rows behind the shard's end are stored; the shard may be of no sign; the bound has another sum; a bound of each tile:
# RUN: tandemc %s:rows --emit=gpu --num-warps 8 --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'WHAT="stored"' | FileCheck %s --check-prefix=THREADS
# RUN: tandemc %s:rows --emit=gpu --num-warps 8 --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'WHAT="no sign"' | FileCheck %s --check-prefix=THREADS
# RUN: tandemc %s:rows --emit=gpu --num-warps 8 --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16' \
# RUN:   --constexpr 'WHAT="other end"' | FileCheck %s --check-prefix=THREADS
# RUN: tandemc %s:keys --emit=gpu --num-warps 8 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16' --constexpr 'WHAT="shards"' \
# RUN:   | FileCheck %s --check-prefix=TMA
# RUN: tandemc %s:keys --emit=ptx --num-warps 8 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16' --constexpr 'WHAT="shards"' \
# RUN:   | FileCheck %s --check-prefix=MADE
# RUN: tandemc %s:keys --emit=ptx --num-warps 8 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16' --constexpr 'WHAT="once"' \
# RUN:   | FileCheck %s --check-prefix=MADE
# RUN: tandemc %s:keys --emit=gpu --num-warps 8 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16' --constexpr 'WHAT="tiles"' \
# RUN:   | FileCheck %s --check-prefix=THREADS
import triton
import triton.language as tl

# TMA:         tgpu.warp_specialize
# TMA-COUNT-2: tgpu.tma_load
# HOST-NOT:    tensormap.replace
# HOST:        cp.async.bulk.tensor
# MADE:        tensormap.replace.tile.global_dim
# THREADS-NOT: tgpu.tma_load
# THREADS:     tgpu.copy_async


@triton.jit
def rows(a_ptr, b_ptr, c_ptr, M, N, K, SHARD, WHAT: tl.constexpr):
    B: tl.constexpr = 128
    tiles = tl.cdiv(SHARD, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    count = M if WHAT == "no sign" else tl.cdiv(M, SHARD) * tiles  # what divides has a sign
    for tile in range(tl.program_id(0), count, tl.num_programs(0)):
        shard = tile // tiles
        in_shard = tile % tiles * B + tl.arange(0, B)
        end = tl.maximum(tl.minimum(M - shard * SHARD, SHARD - 1 if WHAT == "other end" else SHARD), 0)
        inside = (in_shard < end)[:, None]
        places = (shard * SHARD + in_shard)[:, None].to(tl.int64)
        acc = tl.zeros((B, B), tl.float32)
        for k in range(0, K, 64):
            inner = k + tl.arange(0, 64)
            a = tl.load(a_ptr + places * K + inner[None, :], mask=inside & (inner < K)[None, :], other=0)
            b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner < K)[:, None] & (columns < N)[None, :], other=0)
            acc = tl.dot(a, b, acc)
        seen = in_shard < (SHARD if WHAT == "other end" else M if WHAT == "stored" else end)
        tl.store(c_ptr + places * N + columns[None, :], acc.to(tl.float16), mask=seen[:, None] & (columns < N)[None, :])


@triton.jit
def keys(q_ptr, v_ptr, o_ptr, M, SHARD, WHAT: tl.constexpr):
    """Weights of all rows of all shards, which are zero behind a shard's end, by those rows."""
    tl.assume(SHARD >= 0)
    B: tl.constexpr = 64
    tiles = tl.cdiv(SHARD, B)
    across = tl.arange(0, B)
    begin = tl.program_id(0) * 128
    for first in tl.static_range(1) if WHAT == "once" else range(begin, M, tl.num_programs(0) * 128):
        if WHAT == "once":
            first = begin
        mine = first + tl.arange(0, 128)
        acc = tl.zeros((128, B), tl.float32)
        for tile in range(tl.cdiv(M, SHARD) * tiles):
            in_shard = tile % tiles * B + tl.arange(0, B)
            at = tile // tiles * SHARD + in_shard
            inside = (in_shard < SHARD) & (at < (M - tile if WHAT == "tiles" else M))
            w = tl.load(q_ptr + mine[:, None] * B + across[None, :], mask=(mine < M)[:, None], other=0)
            v = tl.load(v_ptr + at[:, None] * B + across[None, :], mask=inside[:, None], other=0)
            acc = tl.dot(w, v, acc)
        tl.store(o_ptr + mine[:, None] * B + across[None, :], acc, mask=(mine < M)[:, None])
