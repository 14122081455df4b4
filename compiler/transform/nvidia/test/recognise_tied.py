# A pointer that is tied to a wait is copied by TMA like one that is not: the producer's warp waits.
# RUN: tandemc %s:product --emit=ptx --remarks --constexpr 'M=64, N=128, K=64' \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, *i64:16, i32:16, i32:16' 2>&1 | FileCheck %s
import triton
import triton.language as tl
import triton_dist.language as dl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, words_ptr, rows, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.program_id(0) * M + tl.arange(0, M)
    n = tl.arange(0, N)
    token = dl.wait(words_ptr + tl.program_id(0), 1, "sys", "acquire", waitValue=1, compare="ge")
    tied_ptr = dl.consume_token(a_ptr, token)
    total = tl.zeros([M, N], tl.float32)
    for at in range(0, k, K):
        inner = at + tl.arange(0, K)
        # CHECK-DAG: recognise_tied.py:[[#@LINE+1]]:{{.*}}passed load: copied by TMA, by a producer warp
        a = tl.load(tied_ptr + m[:, None] * k + inner[None, :], mask=(m[:, None] < rows) & (inner[None, :] < k), other=0)
        # CHECK-DAG: recognise_tied.py:[[#@LINE+1]]:{{.*}}passed load: copied by TMA, by a producer warp
        b = tl.load(b_ptr + inner[:, None] * N + n[None, :], mask=(inner[:, None] < k) & (n[None, :] < N), other=0)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + m[:, None] * N + n[None, :], total.to(tl.bfloat16))
