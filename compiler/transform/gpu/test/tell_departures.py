# Memory that leaves, as the language says it: a signal behind the store, inside the loop over tiles, and remarks that tell of both.
# RUN: tandemc %s:tiles --emit=tile-opt --constexpr BLOCK=64 --signature '*fp16:16, *fp16:16, *i64, i32, i32' | FileCheck %s
# RUN: tandemc %s:tiles --emit=ptx --remarks --constexpr BLOCK=64 --signature '*fp16:16, *fp16:16, *i64, i32:16, i32:16' 2>&1 \
# RUN:   | FileCheck %s --check-prefix=PTX
import triton
import triton.language as tl
import triton_dist.language as dl


# CHECK:      scf.for
# CHECK:        arith.select
# CHECK:        tile.block_store
# CHECK:        scf.for
# CHECK:          dist.notify add intra_node
# PTX-DAG: tell_departures.py:[[#@LINE+7]]:{{.*}}passed {{.*}}: tiles of this loop begin at the share of the rank behind this one
# PTX-DAG: red{{.*}}.release.sys.global.add.u64
@triton.jit
def tiles(x_ptr, y_ptr, words_ptr, M, K, BLOCK: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [M, K], [K, 1], [BLOCK, BLOCK])
    y = tl.make_tensor_descriptor(y_ptr, [M, M], [M, 1], [BLOCK, BLOCK])
    y = dl.leaving(y, words_ptr, 64 * M, M // 64)
    for tile in range(tl.program_id(0), M // BLOCK * (M // BLOCK), tl.num_programs(0)):
        row, column = tile // (M // BLOCK) * BLOCK, tile % (M // BLOCK) * BLOCK
        acc = tl.zeros([BLOCK, BLOCK], tl.float32)
        for k in range(0, K, BLOCK):
            acc = tl.dot(x.load([row, k]), x.load([column, k]).T, acc)
        y.store([row, column], acc.to(tl.float16))
