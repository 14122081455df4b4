# A kernel whose planned code would spill is compiled again: for fewer blocks, then without a producer.
# REQUIRES: ptxas
# RUN: env TANDEM_CACHE=0 tandemc %s --remarks --constexpr 'CARRIED=0' --signature '*bf16:16, *bf16:16, *bf16:16, *fp32:16, *fp32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=MANY
# RUN: env TANDEM_CACHE=0 tandemc %s --remarks --constexpr 'CARRIED=3' --signature '*bf16:16, *bf16:16, *bf16:16, *fp32:16, *fp32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=FEW
# RUN: env TANDEM_CACHE=0 tandemc %s --remarks --constexpr 'CARRIED=5' --signature '*bf16:16, *bf16:16, *bf16:16, *fp32:16, *fp32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=ALONE
import triton
import triton.language as tl


# MANY: spills.py:[[#@LINE+5]]:1: analysis resources: 80 registers of each of 256 threads
# FEW: spills.py:[[#@LINE+4]]:1: analysis resources: 128 registers of each of 256 threads
# ALONE: spills.py:[[#@LINE+3]]:1: analysis resources: {{[0-9]+}} registers of each of 128 threads
# ALONE-NOT: spilled to memory
@triton.jit
def attention(q, k, v, o, w, n, CARRIED: tl.constexpr):
    i = tl.arange(0, 64)
    at = i[:, None] * 64 + i[None, :]
    a = tl.load(q + at)
    s = tl.zeros((64, 64), tl.float32)
    c = ()
    for index in tl.static_range(CARRIED):
        c = c + (tl.load(w + index * 4096 + at),)
    # ALONE: spills.py:[[#@LINE+1]]:14: missed load: loads not copied by TMA: beside a producer's warps, registers were spilled
    for j in range(0, n, 64):
        x = tl.load(k + j * 64 + at)
        y = tl.load(v + j * 64 + at)
        p = tl.dot(a, tl.trans(x))
        for index in tl.static_range(CARRIED):
            p = tl.exp2(p) - c[index]
        s = tl.dot(p.to(tl.bfloat16), y, s)
    tl.store(o + at, s)
