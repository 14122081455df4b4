# Blocks that a descriptor combines with memory go by TMA, which adds floats and words and joins bits; minima and maxima, of which a
# tensor map does not tell signs, by each thread. Sums commute: no store waits for the one before.
# RUN: tandemc %s:combined --emit=ptx --signature '*fp16:16, *fp16:16, i32' --constexpr 'W=64, HOW="add"' \
# RUN:   | FileCheck %s --check-prefixes=BULK,ADD
# RUN: tandemc %s:combined --emit=ptx --signature '*fp32:16, *fp32:16, i32' --constexpr 'W=32, HOW="add"' \
# RUN:   | FileCheck %s --check-prefixes=BULK,ADD
# RUN: tandemc %s:combined --emit=ptx --signature '*i32:16, *i32:16, i32' --constexpr 'W=32, HOW="xor"' \
# RUN:   | FileCheck %s --check-prefixes=BULK,XOR
# RUN: tandemc %s:combined --emit=ptx --signature '*i32:16, *i32:16, i32' --constexpr 'W=32, HOW="max"' \
# RUN:   | FileCheck %s --check-prefix=THREADS
# RUN: tandemc %s:combined --emit=layouts --signature '*fp16:16, *fp16:16, i32' --constexpr 'W=64, HOW="add"' \
# RUN:   | FileCheck %s --check-prefix=FREE
import triton
import triton.language as tl


# BULK-NOT: wait_group 0
# BULK: cp.async.bulk.wait_group.read 0;
# ADD: cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group
# XOR: cp.reduce.async.bulk.tensor.2d.global.shared::cta.xor.tile.bulk_group
# THREADS-NOT: cp.reduce
# THREADS: red.relaxed.gpu.global.max.s32
# FREE: scf.for
# FREE-NOT: simt.barrier
# FREE-NOT: completes_own
# FREE: tile.block_store {{.*}}reduce fadd
@triton.jit
def combined(x, o, steps, W: tl.constexpr, HOW: tl.constexpr):
    sums = tl.make_tensor_descriptor(o, shape=[1024, W], strides=[W, 1], block_shape=[64, W])
    m, n = tl.arange(0, 64), tl.arange(0, W)
    tile = tl.load(x + m[:, None] * W + n[None, :])
    for step in range(steps):
        tile += tile
        at = [tl.program_id(0) * 64, 0]
        if HOW == "add":
            sums.atomic_add(at, tile)
        elif HOW == "xor":
            sums.atomic_xor(at, tile)
        else:
            sums.atomic_max(at, tile)
