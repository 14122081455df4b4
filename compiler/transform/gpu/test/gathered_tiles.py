# A tile gathered along a dimension lies as the tile that it is gathered from: it meets that tile's threads again, and the columns of
# a weight that a thread needs are few.
# RUN: tandemc %s:rotations --emit=layouts --target sm_90a --signature '*fp32, *fp32' | FileCheck %s
import triton
import triton.language as tl


# CHECK: tile.load {{.*}}registers = [128, 256, 512], lanes = [1, 2, 4, 8, 16], warps = [32, 64]
# CHECK-COUNT-2: tile.gather {{.*}}registers = [128, 256, 512], lanes = [1, 2, 4, 8, 16], warps = [32, 64]
# CHECK-NOT: tgpu.convert_layout{{.*}}tensor<16x64xf32>
@triton.jit
def rotations(x, o):
    i, c = tl.arange(0, 16)[:, None], tl.arange(0, 64)[None, :]
    v = tl.load(x + i * 65 + c)
    sums = tl.zeros((16, 64), tl.float32)
    for k in tl.static_range(2):
        sums += tl.gather(v, tl.broadcast_to((c + k) % 64, (16, 64)), 1) * tl.cos(c * (k + 0.5))
    tl.store(o + i * 65 + c, sums)
