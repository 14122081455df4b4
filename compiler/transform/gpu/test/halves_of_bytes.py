# Both halves of bytes are wanted as operands of products: the bytes change threads, once, and not each of the halves.
# RUN: tandemc %s:product --emit=layouts --target sm_90a --num-stages 1 --signature '*fp16:16, *i8:16, *fp32:16, i32:16' | FileCheck %s
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK: %[[BYTES:.*]] = tgpu.convert_layout {{.*}} : tensor<64x64xi8>
# CHECK-NOT: tgpu.convert_layout {{.*}} : tensor<64x64x{{i8|f16}}>
# CHECK: arith.shrsi %[[BYTES]]
# CHECK-NOT: tgpu.convert_layout {{.*}} : tensor<64x64x{{i8|f16}}>
# CHECK: scf.yield
@triton.jit
def product(a, b, c, K):
    m, n, k = tl.arange(0, 16), tl.arange(0, 64), tl.arange(0, 64)
    low, high = tl.zeros((64, 16), tl.float32), tl.zeros((64, 16), tl.float32)
    for start in range(0, K, 64):
        w = tl.load(b + n[:, None] * K + (start + k)[None, :])
        x = tl.trans(tl.load(a + m[:, None] * K + (start + k)[None, :]))
        low = tl.dot((w << 4 >> 4).to(tl.float16), x, low)
        high = tl.dot((w >> 4).to(tl.float16), x, high)
    tl.store(c + n[:, None] * 16 + m[None, :], low * high)
