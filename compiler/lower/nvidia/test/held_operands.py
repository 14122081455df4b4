# Left operands that stay in their places for a loop: their descriptors are held over it where they are few, and else made from one of each
# operand where instructions take them.
# RUN: tandemc %s:scores --emit=ptx --target sm_90a --num-warps 4 --constexpr 'TWO=False' \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=HELD
# RUN: tandemc %s:scores --emit=ptx --target sm_90a --num-warps 4 --constexpr 'TWO=True' \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=MADE
import triton
import triton.language as tl


@triton.jit
def scores(q, g, k, out, n, TWO: tl.constexpr):
    q_block = tl.make_tensor_descriptor(q, [64, 128], [128, 1], [64, 128]).load([0, 0])
    g_block = tl.make_tensor_descriptor(g, [64, 128], [128, 1], [64, 128]).load([0, 0]) if TWO else q_block
    k_blocks = tl.make_tensor_descriptor(k, [n, 128], [128, 1], [64, 128])
    most = tl.full((64,), -float("inf"), tl.float32)
    for start in tl.range(0, n, 64, num_stages=2):
        k_block = k_blocks.load([start, 0])
        # HELD: wgmma.fence
        # HELD-NOT: begin inline asm{{[[:space:]]+}}add.s32
        # HELD-COUNT-8: wgmma.mma_async.sync.aligned.m64n64k16
        # MADE: wgmma.fence
        # MADE: begin inline asm
        # MADE-NEXT: add.s32 [[START:%r[0-9]+]], [[FIRST:%r[0-9]+]], 0;
        # MADE: wgmma.mma_async.sync.aligned.m64n64k16
        # MADE: add.s32 {{%r[0-9]+}}, [[FIRST]], 2;
        # MADE: wgmma.mma_async.sync.aligned.m64n64k16
        x = tl.dot(q_block, k_block.T)
        if TWO:
            x *= tl.dot(g_block, k_block.T)
        most = tl.maximum(most, tl.max(x, 1))
    tl.store(out + tl.arange(0, 64), most)
