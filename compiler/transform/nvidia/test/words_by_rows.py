# wgmma reads 32-bit elements along K only, so that threads turn a right operand that lies by rows: they copy both operands ahead, and no
# producer brings one of them while the other is waited for.
# RUN: tandemc %s --emit=gpu --num-warps 8 --num-stages 3 --signature '*fp32:16, *fp32:16, *fp32:16, i32:16, i32:16, i32:16' | FileCheck %s
import triton
import triton.language as tl


# CHECK-NOT: tgpu.warp_specialize
# CHECK: tgpu.copy_ring 3 ahead 2
# CHECK: scf.for
# CHECK-COUNT-2: tgpu.copy_async
# CHECK: tgpu.wgmma
@triton.jit
def product(a, b, c, M, N, K):
    m, n = tl.program_id(0) * 64, tl.program_id(1) * 128
    x_at = tl.make_block_ptr(a, (M, K), (K, 1), (m, 0), (64, 32), (1, 0))
    y_at = tl.make_block_ptr(b, (K, N), (N, 1), (0, n), (32, 128), (1, 0))
    acc = tl.zeros((64, 128), dtype=tl.float32)
    for _ in range(0, K, 32):
        acc = tl.dot(tl.load(x_at, boundary_check=(0, 1)), tl.load(y_at, boundary_check=(0, 1)), acc)
        x_at, y_at = tl.advance(x_at, (0, 32)), tl.advance(y_at, (32, 0))
    tl.store(tl.make_block_ptr(c, (M, N), (N, 1), (m, n), (64, 128), (1, 0)), acc, boundary_check=(0, 1))
