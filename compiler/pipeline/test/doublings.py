# Numbers, tiles and addresses each of which is computed from the one before it twice: who follows operands meets the first 2^48 times.
# RUN: tandemc %s:doublings --emit=ptx --target sm_90a --signature '*fp16:16, *i32, *fp32, i32, i32' | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def doubled(x, y):
    for _ in tl.static_range(48):
        x = x + (x ^ y)
    return x


# CHECK: doublings
@triton.jit
def doublings(a_ptr, flag_ptr, o_ptr, n, y):
    i, k = tl.arange(0, 64), tl.arange(0, 64)
    number = doubled(tl.program_id(0), y)
    at = doubled(i, y)
    mask = doubled(i, n) < n
    acc = tl.zeros((64, 64), tl.float32)
    for step in range(doubled(n, y)):
        seen = doubled(step, tl.load(flag_ptr + step))
        a = tl.load(a_ptr + (at + doubled(step, y))[:, None] * n + k[None, :], mask=mask[:, None], other=0)
        b = tl.load(a_ptr + doubled(k + step, y)[:, None] * n + k[None, :])
        if doubled(seen, y) > 0:
            acc = tl.dot(a, b, acc)
            tl.store(flag_ptr + doubled(seen, n), seen)
    value = tl.load(flag_ptr + number)
    if doubled(value, y) > 3:
        acc += tl.load(o_ptr + at)[:, None]
    tl.store(o_ptr + (at[:, None] * 64 + k[None, :]), acc, mask=mask[:, None])
