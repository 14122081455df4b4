# Buffers and rings that are not in use at once lie in one place of shared memory.
# REQUIRES: ptxas
# RUN: tandemc %s:in_turn --remarks --target sm_90a --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16' 2>&1 \
# RUN:   | FileCheck %s --check-prefix=TURN
# RUN: tandemc %s:behind --remarks --target sm_90a --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32' 2>&1 \
# RUN:   | FileCheck %s --check-prefix=BEHIND
# RUN: tandemc %s:carried --remarks --target sm_90a --signature '*fp16:16, *fp16:16, *fp32:16, i32' 2>&1 \
# RUN:   | FileCheck %s --check-prefix=CARRIED
# RUN: tandemc %s:in_a_row --remarks --target sm_90a --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32' 2>&1 \
# RUN:   | FileCheck %s --check-prefix=ROW
import triton
import triton.language as tl


# Two of the four operands of 32 KB are in use at once.
# TURN: 65536 bytes of shared memory
@triton.jit
def in_turn(a, b, c, d, o):
    i, j = tl.arange(0, 128)[:, None], tl.arange(0, 128)[None, :]
    first = tl.dot(tl.load(a + i * 128 + j), tl.load(b + i * 128 + j))
    tl.store(o + i * 128 + j, first)
    second = tl.dot(tl.load(c + i * 128 + j), tl.load(d + i * 128 + j))
    tl.store(o + 16384 + i * 128 + j, second)


# A ring of 3 x 32 KB, and behind its loop an operand of 32 KB.
# BEHIND: 98304 bytes of shared memory
@triton.jit
def behind(a, b, d, o, n):
    i, j, k = tl.arange(0, 128)[:, None], tl.arange(0, 128)[None, :], tl.arange(0, 64)
    sums = tl.zeros((128, 128), tl.float32)
    for at in range(n):
        x = tl.load(a + (i * 7919 ^ at) * 64 + k[None, :])
        y = tl.load(b + (j * 7919 ^ at) * 64 + k[:, None])
        sums = tl.dot(x, y, sums)
    tl.store(o + i * 128 + j, sums)
    y = tl.load(d + i * 128 + j)
    tl.store(o + 16384 + i * 128 + j, tl.dot(y, y))


# The left operand is stored before the loop and read in it, beside a ring of 2 x 32 KB.
# CARRIED: 98304 bytes of shared memory
@triton.jit
def carried(a, b, o, n):
    i, j = tl.arange(0, 128)[:, None], tl.arange(0, 128)[None, :]
    x = tl.load(a + i * 128 + j)
    for at in range(n):
        y = tl.load(b + (i * 7919 ^ at) * 128 + j)
        tl.atomic_add(o, 1.0)
        tl.store(o + (i + at * 128) * 128 + j, tl.dot(x, y))


# Each loop has a ring of 2 x 40 KB, and two sums that both loops add to: two blocks have room for one ring each. The wait for the first
# sum leaves the second one's product under way, and that one's wait leaves none.
# ROW: 81920 bytes of shared memory
# ROW-COUNT-3: into a ring of 2 slots
@triton.jit
def in_a_row(a, b, c, o, n):
    i, j, k = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :], tl.arange(0, 128)
    first, second = tl.zeros((64, 64), tl.float32), tl.zeros((64, 64), tl.float32)
    for part in tl.static_range(2):
        for at in tl.range(n, num_stages=4):
            x = tl.load(a + (i * 7919 ^ at + part) * 128 + k[None, :])
            y = tl.load(b + (j * 7919 ^ at + part) * 128 + k[:, None])
            z = tl.load(c + (i * 7919 ^ at + part) * 64 + j)
            scores = tl.dot(x, y)
            first = tl.dot(scores.to(tl.float16), z, first)
            second = tl.dot((scores * scores).to(tl.float16), z, second)
    tl.store(o + i * 64 + j, first + second)
