# Waits for words that stay: the producer looks again only where it waits for another word or value, the threads of a program always.
# RUN: tandemc %s:sums --emit=ptx --num-warps 8 --signature '*fp16:16, *fp16:16, *fp32:16, *i64:16, i32:16, i32:16' \
# RUN:   --constexpr 'KEPT=True' | FileCheck %s --check-prefixes=CHECK,STAYS
# RUN: tandemc %s:sums --emit=ptx --num-warps 8 --signature '*fp16:16, *fp16:16, *fp32:16, *i64:16, i32:16, i32:16' \
# RUN:   --constexpr 'KEPT=False' | FileCheck %s --check-prefixes=CHECK,EACH
import tandem.dist as dl
import triton
import triton.language as tl


# CHECK:         setmaxnreg.dec
# STAYS-COUNT-2: setp.eq.b64
# EACH-COUNT-1:  setp.eq.b64
# EACH-NOT:      setp.eq.b64
# CHECK:         ld.acquire.sys
@triton.jit
def sums(a_ptr, b_ptr, c_ptr, words_ptr, M, K, KEPT: tl.constexpr):
    rows, columns = tl.program_id(0) * 128 + tl.arange(0, 128), tl.arange(0, 128)
    acc = tl.zeros((128, 128), tl.float32)
    for k in range(0, K, 64):
        inner = k + tl.arange(0, 64)
        token = dl.wait(words_ptr + k // 1024, 1, "sys", "acquire", waitValue=1, compare="ge", stays=KEPT)
        there = (rows < M)[:, None] & (inner < K)[None, :]
        a = tl.load(dl.consume_token(a_ptr, token) + rows[:, None] * K + inner[None, :], mask=there, other=0)
        b = tl.load(b_ptr + inner[:, None] * 128 + columns[None, :], mask=(inner < K)[:, None], other=0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * 128 + columns[None, :], acc, mask=(rows < M)[:, None])
