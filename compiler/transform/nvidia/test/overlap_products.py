# Attention: one ring each for K and V, shared by loops that follow one another; Q comes once; P·V of an iteration runs beside the
# next one's
# computation, unless the loop is known to be short.
# RUN: tandemc %s:attend --emit=gpu --num-warps 8 --num-stages 2 --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32, fp32' \
# RUN:   --constexpr 'BM=128, BN=128, D=128, CAUSAL=False' | FileCheck %s --check-prefix=TURNED
# RUN: tandemc %s:attend --emit=gpu --num-warps 8 --num-stages 2 --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32, fp32' \
# RUN:   --constexpr 'BM=128, BN=64, D=128, CAUSAL=True' | FileCheck %s --check-prefix=SHARED
# The sum is looked at in the loop, so each product ends where it stands:
# RUN: tandemc %s:attend --emit=gpu --num-warps 8 --num-stages 2 --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32, fp32' \
# RUN:   --constexpr 'BM=128, BN=128, D=128, CAUSAL=False, WATCHED=True' | FileCheck %s --check-prefix=STAYS
# Powers that take as long as the products: the turn is given when they begin.
# RUN: tandemc %s:attend --emit=gpu --num-warps 8 --num-stages 2 --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32, fp32' \
# RUN:   --constexpr 'BM=128, BN=128, D=64, CAUSAL=False' | FileCheck %s --check-prefix=POWERS
# A factor that no product decides is always multiplied by:
# RUN: tandemc %s:attend --emit=gpu --num-warps 8 --num-stages 2 --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32, fp32' \
# RUN:   --constexpr 'BM=128, BN=128, D=128, CAUSAL=False, FADES=True' | FileCheck %s --check-prefix=ALWAYS
# Left operands are packed before the fence, and the wait names them: what the next iteration computes goes to other registers.
# RUN: tandemc %s:attend --emit=ptx --num-warps 8 --num-stages 2 --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32, fp32' \
# RUN:   --constexpr 'BM=128, BN=128, D=128, CAUSAL=False' | FileCheck %s --check-prefix=PTX
# Four warpgroups take turns in pairs. Which one a thread is in is found once, before the loops.
# RUN: tandemc %s:attend --emit=ptx --num-warps 16 --num-stages 3 --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32, fp32' \
# RUN:   --constexpr 'BM=256, BN=64, D=64, CAUSAL=False' | FileCheck %s --check-prefix=PAIRS
# A slot is let go before the next is taken: consumers have one counter for a ring, and so has the producer.
# RUN: tandemc %s:attend --emit=ptx --num-warps 4 --num-stages 3 --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32, fp32' \
# RUN:   --constexpr 'BM=64, BN=64, D=64, CAUSAL=False' | FileCheck %s --check-prefix=COUNTERS
# RUN: tandemc %s:attend --emit=ptx --num-warps 8 --num-stages 3 --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32, fp32' \
# RUN:   --constexpr 'BM=128, BN=64, D=64, CAUSAL=False' | FileCheck %s --check-prefix=TWICE
import triton
import triton.language as tl


@triton.jit
def inner(acc, l, m, q, k_desc, v_desc, low, high, scale, BM: tl.constexpr, BN: tl.constexpr, MASKED: tl.constexpr, WATCHED: tl.constexpr,
          FADES: tl.constexpr):
    for n in range(low, high, BN):
        s = tl.dot(q, k_desc.load([n, 0]).T) * scale
        if MASKED:
            s += tl.where(low + tl.arange(0, BM)[:, None] >= n + tl.arange(0, BN)[None, :], 0, -1.0e6)
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - m_new[:, None])
        alpha = tl.exp2(m - m_new)
        acc = tl.dot(p.to(tl.float16), v_desc.load([n, 0]), acc * (scale if FADES else alpha[:, None]))
        l = l * alpha + tl.sum(p, 1)
        if WATCHED:
            l += tl.max(acc, 1)
        m = m_new
    return acc, l, m


@triton.jit
def attend(q_ptr, k_ptr, v_ptr, out_ptr, N, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
           WATCHED: tl.constexpr = False, FADES: tl.constexpr = False):
    q_desc = tl.make_tensor_descriptor(q_ptr, [N, D], [D, 1], [BM, D])
    k_desc = tl.make_tensor_descriptor(k_ptr, [N, D], [D, 1], [BN, D])
    v_desc = tl.make_tensor_descriptor(v_ptr, [N, D], [D, 1], [BN, D])
    out_desc = tl.make_tensor_descriptor(out_ptr, [N, D], [D, 1], [BM, D])
    row = tl.program_id(0) * BM
    acc = tl.zeros([BM, D], tl.float32)
    l = tl.zeros([BM], tl.float32)
    m = tl.zeros([BM], tl.float32) - float("inf")
    q = q_desc.load([row, 0])
    if CAUSAL:
        acc, l, m = inner(acc, l, m, q, k_desc, v_desc, 0, row, scale, BM, BN, False, WATCHED, FADES)
        acc, l, m = inner(acc, l, m, q, k_desc, v_desc, row, row + BM, scale, BM, BN, True, WATCHED, FADES)
    else:
        acc, l, m = inner(acc, l, m, q, k_desc, v_desc, 0, N, scale, BM, BN, False, WATCHED, FADES)
    out_desc.store([row, 0], (acc / l[:, None]).to(tl.float16))


# TURNED:      %[[Q:.+]] = tgpu.ring 1 bytes 32768
# TURNED:      %[[K:.+]] = tgpu.ring 2 bytes 32768
# TURNED:      %[[V:.+]] = tgpu.ring 2 bytes 32768
# TURNED-NOT:  tgpu.local_store
# TURNED:      tgpu.await %[[Q]]
# TURNED:      scf.if
# TURNED:      tgpu.await %[[K]]
# TURNED:      pending 0
# TURNED-NOT:  tgpu.await %[[V]]
# TURNED:      scf.for
# TURNED:      tgpu.await %[[K]]
# TURNED-NEXT: %[[S:.+]] = tgpu.wgmma {{.*}}takesTurn
# TURNED-NEXT: tgpu.await %[[V]]
# TURNED-NEXT: %[[O:.+]] = tgpu.wgmma {{.*}}givesTurn
# TURNED-NEXT: tgpu.advance %[[V]]
# TURNED-NEXT: tgpu.wgmma_wait %[[S]] pending 1
# TURNED-NEXT: tgpu.advance %[[K]]
# TURNED-NEXT: tgpu.release %[[K]]
# TURNED:      %[[P:.+]] = math.exp2 %{{.+}} : tensor<128x128xf32>
# TURNED-NOT:  tile.fp_to_fp
# TURNED:      %[[SUM:.+]] = tgpu.wgmma_wait %[[O]] pending 0
# TURNED-NEXT: tgpu.release %[[V]]
# TURNED-NEXT: %[[WIDE:.+]] = tgpu.wgmma_wait %[[P]] pending 0
# TURNED-NEXT: tile.fp_to_fp %[[WIDE]]
# Warps whose maxima all stay do not multiply:
# TURNED:      %[[MOVED:.+]] = arith.cmpf une, %[[FACTOR:.+]], %{{.+}} : tensor<128x128xf32>
# TURNED-NEXT: %[[SOME:.+]] = tgpu.warp_any %[[MOVED]]
# TURNED-NEXT: %[[NEXT:.+]] = scf.if %[[SOME]]
# TURNED-NEXT: %[[SCALED:.+]] = arith.mulf %[[SUM]], %[[FACTOR]]
# TURNED-NEXT: scf.yield %[[SCALED]]
# TURNED-NEXT: } else {
# TURNED-NEXT: scf.yield %[[SUM]]
# TURNED-NEXT: }
# TURNED-NEXT: scf.yield {{.*}}%[[NEXT]]
# TURNED:      tgpu.await %[[V]]
# TURNED:      tgpu.wgmma
# TURNED:      } else {
# TURNED:      tgpu.release %[[Q]]
# TURNED:      } producer {
# TURNED:      tgpu.acquire %[[Q]]
# TURNED:      scf.for
# TURNED:      tgpu.acquire %[[K]]
# TURNED:      tgpu.acquire %[[V]]

# SHARED-COUNT-3: tgpu.ring
# SHARED-NOT:  tgpu.ring
# SHARED:      pending 1
# SHARED:      } else {
# SHARED:      scf.for
# SHARED-NOT:  pending 1
# SHARED:      } producer {
# SHARED-COUNT-2: scf.for

# STAYS:       scf.for
# STAYS-NOT:   pending 1
# STAYS:       tgpu.warp_any
# STAYS-NEXT:  scf.if
# STAYS-NOT:   pending 1
# STAYS:       } producer {

# POWERS:      takesTurn
# POWERS-NOT:  givesTurn
# POWERS:      pending 1 {givesTurn}
# POWERS-NOT:  givesTurn

# ALWAYS:      pending 1
# ALWAYS-NOT:  tgpu.warp_any
# ALWAYS:      } producer {

# PAIRS:       shfl.sync.idx.b32
# PAIRS-NOT:   shfl.sync.idx.b32
# PAIRS:       bar.arrive %r{{[0-9]+}}, 256;
# PAIRS:       or.b32 %[[OWN:r[0-9]+]], %[[GROUP:r[0-9]+]], 12;
# PAIRS:       xor.b32 %[[OTHER:r[0-9]+]], %[[GROUP]], 13;
# PAIRS:       bar.sync %[[OWN]], 256;
# PAIRS:       bar.arrive %[[OTHER]], 256;
# PAIRS-NOT:   shfl.sync.idx.b32

# COUNTERS-COUNT-4: setp.eq.b32 {{.*}}, 3;
# COUNTERS-NOT:     setp.eq.b32 {{.*}}, 3;
# TWICE-COUNT-6:    setp.eq.b32 {{.*}}, 3;
# TWICE-NOT:        setp.eq.b32 {{.*}}, 3;

# Two warpgroups take turns; the first may begin.
# PTX:         mov.b32 %[[FIRST:r[0-9]+]], 14;
# PTX:         bar.arrive %[[FIRST]], 256;
# PTX:         wgmma.wait_group.sync.aligned 0;
# PTX:         cvt.rn.f16x2.f32
# PTX:         bar.sync %r{{[0-9]+}}, 256;
# PTX:         wgmma.fence.sync.aligned;
# PTX:         wgmma.commit_group.sync.aligned;
# PTX:         wgmma.fence.sync.aligned;
# PTX-NOT:     mov.b32 %r{{[0-9]+}}, {
# PTX:         wgmma.commit_group.sync.aligned;
# PTX:         bar.arrive %r{{[0-9]+}}, 256;
# PTX:         wgmma.wait_group.sync.aligned 1;
# PTX:         ex2.approx
# PTX:         wgmma.wait_group.sync.aligned 0;
# PTX:         vote.sync.ballot.b32
