# A tile that lies in a slot column by column is read so: threads have neighbours along the slot's rows, many at once, and convert them.
# RUN: tandemc %s:product --emit=layouts --num-stages 3 --signature '*bf16:16, *i8:16, *fp32:16, i32:16, i32:16' | FileCheck %s
import triton
import triton.language as tl


# Eight rows of a column: 16 elements are a row.
# CHECK: tgpu.local_load {{.*}}registers = [16, 32, 64]{{.*}} : !tile.smem<64x16xi8>
@triton.jit
def product(a, b, c, N, K):
    m, n, k = tl.arange(0, 128), tl.arange(0, 16), tl.arange(0, 64)
    acc = tl.zeros((128, 16), tl.float32)
    for i in range(0, K, 64):
        x = tl.load(a + m[:, None] * K + (i + k)[None, :])
        y = tl.load(b + (i + k)[:, None] + n[None, :] * K)
        acc += tl.dot(x, y.to(tl.bfloat16))
    tl.store(c + m[:, None] * N + n[None, :], acc)
