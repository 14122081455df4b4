# A left operand of 64 rows takes longer from shared memory than a product of 32 columns does: what a loop multiplies by in all
# iterations waits in
# registers where there is room for all such operands. With 64 columns it is read from shared memory.
# RUN: tandemc %s:queries --emit=gpu --num-stages 3 --signature '*fp16:16, *fp16:16, *fp16:16, *i32:16, *fp32:16, i32' \
# RUN:   --constexpr 'N=32, SUMS=1' | FileCheck %s
# RUN: tandemc %s:queries --emit=gpu --num-stages 3 --signature '*fp16:16, *fp16:16, *fp16:16, *i32:16, *fp32:16, i32' \
# RUN:   --constexpr 'N=64, SUMS=1' \
# RUN:   | FileCheck %s --check-prefix=SHARED
# RUN: tandemc %s:queries --emit=gpu --num-stages 3 --signature '*fp16:16, *fp16:16, *fp16:16, *i32:16, *fp32:16, i32' \
# RUN:   --constexpr 'N=32, SUMS=2' \
# RUN:   | FileCheck %s --check-prefix=SHARED
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK: tgpu.wgmma {{.*}} : tensor<128x64xf16>, !tile.smem<64x32xf16> -> tensor<128x32xf32>
# CHECK: tgpu.wgmma {{.*}} : tensor<128x64xf16>, !tile.smem<64x32xf16> -> tensor<128x32xf32>
# SHARED: scf.for
# SHARED: tgpu.wgmma {{.*}} : !tile.smem<128x64xf16>, !tile.smem<64x[[N:[0-9]+]]xf16> -> tensor<128x[[N]]xf32>
# SHARED: tgpu.wgmma {{.*}} : !tile.smem<128x64xf16>, !tile.smem<64x[[N]]xf16> -> tensor<128x[[N]]xf32>
@triton.jit
def queries(q, k, v, rows, out, length, N: tl.constexpr, SUMS: tl.constexpr):
    m, n, d = tl.program_id(0) * 128 + tl.arange(0, 128), tl.arange(0, N), tl.arange(0, 64)
    a, b = tl.load(q + m[:, None] * 64 + d[None, :]), tl.load(k + m[:, None] * 64 + d[None, :])
    first, second = tl.zeros((128, 64), tl.float32), tl.zeros((128, 64), tl.float32)
    for start in range(0, length, N):
        row = tl.load(rows + start + n)[None, :] * 64 + d[:, None]
        x, y = tl.load(k + row), tl.load(v + row)
        p = tl.exp2(tl.dot(a, x))
        first += tl.dot((p * tl.dot(b, y)).to(tl.float16), tl.trans(x))
        if SUMS == 2:
            second += tl.dot(p.to(tl.float16), tl.trans(y))
    tl.store(out + m[:, None] * 64 + d[None, :], first + second)
