# A rotation turns pairs of numbers that lie side by side by angles of which each pair has one: a thread loads its pairs by 16 bytes, as
# many angles, and nothing changes threads.
# RUN: tandemc %s:apart --emit=ptx --target sm_90a --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16' | FileCheck %s
# RUN: tandemc %s:reshaped --emit=ptx --target sm_90a --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16' | FileCheck %s
# RUN: tandemc %s:rows --emit=ptx --target sm_90a --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32:16' | FileCheck %s
import triton
import triton.language as tl


# CHECK-NOT: bar.sync
# CHECK-NOT: shfl
# CHECK: ld.global.v4
# CHECK-NOT: bar.sync
# CHECK-NOT: shfl
# CHECK: st.global.v4
@triton.jit
def apart(x, cosines, sines, out):
    row, i = tl.program_id(0), tl.arange(0, 1024)
    c, s = tl.load(cosines + row * 1024 + i), tl.load(sines + row * 1024 + i)
    a, b = tl.load(x + row * 2048 + 2 * i), tl.load(x + row * 2048 + 2 * i + 1)
    tl.store(out + row * 2048 + 2 * i, a * c - b * s)
    tl.store(out + row * 2048 + 2 * i + 1, a * s + b * c)


@triton.jit
def reshaped(x, cosines, sines, out):
    row, i, j = tl.program_id(0), tl.arange(0, 1024), tl.arange(0, 2048)
    c, s = tl.load(cosines + row * 1024 + i), tl.load(sines + row * 1024 + i)
    a, b = tl.load(x + row * 2048 + j).reshape(1024, 2).split()
    tl.store(out + row * 2048 + j, tl.join(a * c - b * s, a * s + b * c).reshape(2048))


# Pairs counted from the program's number on, in rows of a stride.
@triton.jit
def rows(x, cosines, sines, out, stride):
    r, i = tl.arange(0, 32), tl.program_id(0) * 64 + tl.arange(0, 64)
    c, s = tl.load(cosines + i)[None, :], tl.load(sines + i)[None, :]
    at = r[:, None] * stride + i[None, :] * 2
    a, b = tl.load(x + at), tl.load(x + at + 1)
    tl.store(out + at, a * c - b * s)
    tl.store(out + at + 1, a * s + b * c)
