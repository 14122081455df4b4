# A ring of small tiles has more slots than were asked for, up to 8 of them or 32 KB; one of large tiles has what was asked for.
# RUN: tandemc %s --emit=gpu --num-warps 4 --num-stages 2 --constexpr 'K=16' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, i32' | FileCheck %s --check-prefix=EIGHT
# RUN: tandemc %s --emit=gpu --num-warps 4 --num-stages 2 --constexpr 'K=32' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, i32' | FileCheck %s --check-prefix=FOUR
# RUN: tandemc %s --emit=gpu --num-warps 4 --num-stages 3 --constexpr 'K=64' \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, i32' | FileCheck %s --check-prefix=THREE
import triton
import triton.language as tl


# EIGHT: tgpu.ring 8 bytes 4096
# FOUR: tgpu.ring 4 bytes 8192
# THREE: tgpu.ring 3 bytes 16384
@triton.jit
def product(a_ptr, b_ptr, c_ptr, depth, K: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[64, 4096], strides=[4096, 1], block_shape=[64, K])
    b = tl.make_tensor_descriptor(b_ptr, shape=[4096, 64], strides=[64, 1], block_shape=[K, 64])
    c = tl.make_tensor_descriptor(c_ptr, shape=[64, 64], strides=[64, 1], block_shape=[64, 64])
    acc = tl.zeros([64, 64], tl.float32)
    for k in range(0, depth, K):
        acc = tl.dot(a.load([0, k]), b.load([k, 0]), acc)
    c.store([0, 0], acc.to(tl.float16))
