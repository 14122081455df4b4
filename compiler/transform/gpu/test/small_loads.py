# A column of few numbers is loaded by the threads that have its rows, not by others first.
# RUN: tandemc %s --emit=layouts --num-warps 4 --target sm_90a --signature '*bf16:16, *bf16:16, *bf16:16, i32:16' | FileCheck %s
# RUN: tandemc %s --emit=layouts --num-warps 8 --target sm_90a --signature '*bf16:16, *bf16:16, *bf16:16, i32:16' | FileCheck %s
import triton
import triton.language as tl


# CHECK-COUNT-2: tile.load
# CHECK-NOT: {{tile.load|convert_layout}}
# CHECK: return
@triton.jit
def scaled(x, scale, o, stride):
    i, j = tl.program_id(0) * 16 + tl.arange(0, 16), tl.arange(0, 16)
    at = i[:, None] * stride + j[None, :]
    tl.store(o + at, tl.load(x + at) * tl.load(scale + i)[:, None])
