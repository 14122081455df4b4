# A row's quotient is brought to the layout that the tile's pointers want, not the pointers that it is repeated into.
# RUN: tandemc %s --emit=layouts --target sm_90a --signature '*fp16:16, *fp32:16, i32, i32' | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def scatter(x, y, width, height):
    # CHECK-NOT: convert_layout{{.*}}tensor<128x128x!tile.ptr
    # CHECK: tile.store
    m = tl.program_id(0) * 128 + tl.arange(0, 128)
    n = tl.arange(0, 128)
    k = tl.arange(0, 64)
    image = m // width
    acc = tl.dot(tl.load(x + m[:, None] * 64 + k[None, :]), tl.load(x + n[None, :] * 64 + k[:, None]))
    tl.store(y + (image[:, None] * 128 + n[None, :]) * height + (m % width)[:, None], acc)
