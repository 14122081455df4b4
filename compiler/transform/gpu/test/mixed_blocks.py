# Blocks of types of different sizes that are computed with each other lie alike, so that none of them changes threads.
# RUN: tandemc %s --emit=layouts --num-warps 8 --target sm_80 --signature '*bf16:16, *fp32:16, *bf16:16, i32:16' | FileCheck %s
import triton
import triton.language as tl


# CHECK-COUNT-2: tile.block_load {{.*}} registers = [1, 2, 4, 2048, 4096], lanes = [8, 16, 32, 64, 128], warps = [256, 512, 1024]
# CHECK-NOT: convert_layout
# CHECK: return
@triton.jit
def scaled(x, gate, o, rows):
    at = tl.program_id(0) * 128
    a = tl.load(tl.make_block_ptr(x, (rows, 64), (64, 1), (at, 0), (128, 64), (1, 0)))
    b = tl.load(tl.make_block_ptr(gate, (rows, 64), (64, 1), (at, 0), (128, 64), (1, 0)))
    tl.store(tl.make_block_ptr(o, (rows, 64), (64, 1), (at, 0), (128, 64), (1, 0)), (a * tl.exp(b)).to(tl.bfloat16))
