# A block whose columns are contiguous is loaded and stored along them, by whole words.
# RUN: tandemc %s --emit=layouts --num-warps 4 --target sm_80 --signature '*bf16:16, *bf16:16, i32:16' | FileCheck %s
# RUN: tandemc %s --emit=ptx --num-warps 4 --target sm_80 --signature '*bf16:16, *bf16:16, i32:16' | FileCheck %s --check-prefix=PTX
import triton
import triton.language as tl


# CHECK: tile.block_load {{.*}} registers = [64, 128, 256, 16, 32], lanes = [512, 1024, 2048, 1, 2], warps = [4, 8]
# PTX-COUNT-4: ld.global.v4.b32
# PTX-NOT: ld.global
# PTX-COUNT-4: st.global.v4.b32
@triton.jit
def scaled(x, o, columns):
    at = tl.program_id(0) * 64
    source = tl.make_block_ptr(x, (64, columns), (1, 64), (0, at), (64, 64), (0, 1))
    target = tl.make_block_ptr(o, (64, columns), (1, 64), (0, at), (64, 64), (0, 1))
    tl.store(target, (tl.load(source) * 2).to(tl.bfloat16))
