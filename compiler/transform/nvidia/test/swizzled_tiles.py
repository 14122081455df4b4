# Programs whose tiles tl.swizzle2d deals: the numbers of tiles divide, so they are sizes, and places are no less than zero.
# RUN: tandemc %s:product --emit=gpu --num-warps 8 --num-stages 4 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16, i32:16' | FileCheck %s
import triton
import triton.language as tl


# CHECK-COUNT-2: tgpu.tma_load
@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K):
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(M, 128), tl.cdiv(N, 128)
    row, column = tl.swizzle2d(pid // columns, pid % columns, rows, columns, 8)
    m, n, k = row * 128 + tl.arange(0, 128), column * 128 + tl.arange(0, 128), tl.arange(0, 64)
    acc = tl.zeros((128, 128), tl.float32)
    for start in range(0, K, 64):
        a = tl.load(a_ptr + (m % M)[:, None] * K + start + k[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] * N + (n % N)[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc.to(tl.bfloat16), mask=(m < M)[:, None] & (n < N)[None, :])
