# Memory that arrives, as the language says it: one wait before the loop over K, inside the loop over tiles, and remarks that tell of both.
# RUN: tandemc %s:rows --emit=tile-opt --constexpr BLOCK=64 --signature '*fp16:16, *fp32:16, *i64, i32, i32, i64' | FileCheck %s
# RUN: tandemc %s:rows --emit=ptx --remarks --constexpr BLOCK=64 --signature '*fp16, *fp32, *i64, i32, i32, i64' 2>&1 \
# RUN:   | FileCheck %s --check-prefix=REMARK
import triton
import triton.language as tl
import triton_dist.language as dl


# CHECK:      %[[PROGRAM:.*]] = tile.program_id 0
# CHECK:      scf.for %[[TILE:.*]] = %[[PROGRAM]]
# CHECK:        %[[MOVED:.*]] = arith.addi %[[TILE]]
# CHECK:        %[[TURNED:.*]] = arith.remsi %[[MOVED]]
# CHECK:        arith.select %{{.*}}, %[[TURNED]], %[[TILE]]
# CHECK:        scf.for
# CHECK-NEXT:     tile.addptr
# CHECK-NEXT:     dist.wait
# CHECK-NEXT:     scf.yield
# CHECK:        scf.for
# CHECK-NOT:      dist.wait
# CHECK:          tile.load
@triton.jit
def rows(x_ptr, sums_ptr, words_ptr, M, K, epoch, BLOCK: tl.constexpr):
    x = dl.arriving(x_ptr, words_ptr, 64 * K, M // 64, epoch)
    # REMARK-DAG: await_arrivals.py:[[#@LINE+1]]:{{.*}}passed load: tiles of this loop begin at this rank's share of what arrives
    for tile in range(tl.program_id(0), M // BLOCK, tl.num_programs(0)):
        places = tile * BLOCK + tl.arange(0, BLOCK)
        sums = tl.zeros([BLOCK], tl.float32)
        # REMARK-DAG: await_arrivals.py:[[#@LINE+3]]:{{.*}}the wait for its chunks is before the loop in line [[#@LINE+1]]
        for k in range(0, K, BLOCK):
            inner = k + tl.arange(0, BLOCK)
            sums += tl.sum(tl.load(x + places[:, None] * K + inner[None, :]).to(tl.float32), 1)
        tl.store(sums_ptr + places, sums)
