# Loads of products that go ahead of a wait: said where the kernel shows that others write what they read.
# RUN: tandemc %s:untied --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, *i64, i32:16, i32:16' 2>&1 | FileCheck %s
# RUN: tandemc %s:tied --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, *i64, i32:16, i32:16' 2>&1 \
# RUN:   | FileCheck %s --check-prefix=TIED
import triton
import triton.language as tl
import tandem.dist as dl


# CHECK: overtaking.py:[[#@LINE+11]]:{{.*}}: warning: this load may start before the wait
# CHECK: overtaking.py:[[#@LINE+6]]:{{.*}}: note: the wait is here
@triton.jit
def untied(a_ptr, b_ptr, c_ptr, ready_ptr, M, K):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[128, K], strides=[K, 1], block_shape=[128, 64])
    row = tl.program_id(0) * 128
    token = dl.wait(ready_ptr, 1, "sys", "acquire", waitValue=1)
    first = tl.load(dl.consume_token(a_ptr, token)).to(tl.float32)
    acc = tl.zeros((128, 128), dtype=tl.float32)
    for k in range(0, K, 64):
        acc = tl.dot(a.load([row, k]), b.load([0, k]).T, acc)
    i = tl.arange(0, 128)
    tl.store(c_ptr + (row + i[:, None]) * 128 + i[None, :], (acc + first).to(tl.bfloat16))


# There is no warning for loads that the token reaches, nor for memory that nothing marks as written by others.
# TIED-NOT: warning
# TIED: dist.wait
# TIED: producer
# TIED: dist.wait
# TIED: tgpu.tma_load
@triton.jit
def tied(a_ptr, b_ptr, c_ptr, ready_ptr, M, K):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[128, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[128, K], strides=[K, 1], block_shape=[128, 64])
    row = tl.program_id(0) * 128
    token = dl.wait(ready_ptr, 1, "sys", "acquire", waitValue=1)
    first = tl.load(dl.consume_token(a_ptr, token)).to(tl.float32)
    a = dl.consume_token(a, token)
    acc = tl.zeros((128, 128), dtype=tl.float32)
    for k in range(0, K, 64):
        acc = tl.dot(a.load([row, k]), b.load([0, k]).T, acc)
    i = tl.arange(0, 128)
    tl.store(c_ptr + (row + i[:, None]) * 128 + i[None, :], (acc + first).to(tl.bfloat16))
