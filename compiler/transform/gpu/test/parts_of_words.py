# A word of which eight ops take a part changes threads once, not the number that is computed of each part.
# RUN: tandemc %s:parts --emit=layouts --target sm_90a \
# RUN:   --signature '*i32:16, *fp32:16, *fp32:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16' | FileCheck %s
import triton
import triton.language as tl


# CHECK: scf.for
# CHECK: scf.for
# CHECK-NOT: tgpu.convert_layout {{.*}} : tensor<64xf32>
# CHECK: scf.yield
@triton.jit
def parts(words, zeros, scales, x, o, m, n, k):
    i, j = tl.arange(0, 16) % m, (tl.program_id(0) * 64 + tl.arange(0, 64)) % n
    sums = tl.zeros((16, 64), tl.float32)
    for group in range(k // 128):
        zero = tl.load(zeros + j * (k // 128) + group, mask=j < n, other=0.0)
        scale = tl.load(scales + j * (k // 128) + group, mask=j < n, other=1.0)
        for at in range(16):
            word = tl.load(words + j * (k // 8) + group * 16 + at, mask=j < n, other=0)
            for part in tl.static_range(8):
                number = (((word >> (4 * part)) & 15).to(tl.float32) - zero) * scale
                row = tl.load(x + i * k + (group * 16 + at) * 8 + part, mask=i < m, other=0.0)
                sums += row[:, None] * number[None, :]
    tl.store(o + i[:, None] * n + j[None, :], sums.to(tl.float16))
