# A tile that only goes from shared memory to shared memory, converted on the way, lies as the buffers do: a thread takes neighbours there.
# RUN: tandemc %s:weights --emit=layouts --target sm_90a --num-warps 8 --num-stages 3 \
# RUN:   --signature '*fp16:16, *i8:16, *fp32:16, *fp16:16, i32:16' | FileCheck %s
import triton
import triton.language as tl


# Eight neighbours along k are 16 bytes of what wgmma reads, and 8 of what came.
# CHECK: tgpu.alloc {{.*}}xi8> swizzle 128 fastest 0
# CHECK: scf.for
# CHECK: tgpu.local_load {{.*}}layout<[128, 256], registers = [256, 512, 1024, {{.*}}lanes = [2048, 4096, 8192, 16384,
# CHECK-NEXT: arith.sitofp
# CHECK: tgpu.local_store
# CHECK: tgpu.wgmma
@triton.jit
def weights(a_ptr, b_ptr, s_ptr, c_ptr, K):
    m, n, k = tl.arange(0, 64), tl.arange(0, 256), tl.arange(0, 128)
    acc = tl.zeros((64, 256), tl.float32)
    for start in range(0, K, 128):
        a = tl.load(a_ptr + m[:, None] * K + start + k[None, :])
        b = tl.load(b_ptr + n[None, :] * K + start + k[:, None])
        acc += tl.dot(a, b.to(tl.float16)) * tl.load(s_ptr + n)[None, :]
    tl.store(c_ptr + m[:, None] * 256 + n[None, :], acc.to(tl.float16))
