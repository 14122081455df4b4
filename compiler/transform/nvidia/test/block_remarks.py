# Why an operand of a product is not copied by TMA, and what is.
# RUN: tandemc %s:aligned --emit=tile --num-warps 4 --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' -o %t
# RUN: tandem-opt --canonicalize --recognise-blocks --select-products --remarks-filter=.* -o /dev/null %t 2>&1 | FileCheck %s
# RUN: tandemc %s:aligned --emit=tile --signature '*fp16, *fp16, *fp32:16, i32:16' -o %t
# RUN: tandem-opt --canonicalize --recognise-blocks --remarks-filter=.* -o /dev/null %t 2>&1 | FileCheck %s --check-prefix=POINTER
# RUN: tandemc %s:aligned --emit=tile --signature '*fp16:16, *fp16:16, *fp32:16, i32' -o %t
# RUN: tandem-opt --canonicalize --recognise-blocks --remarks-filter=.* -o /dev/null %t 2>&1 | FileCheck %s --check-prefix=ROWS
# RUN: tandemc %s:gathered --emit=tile --signature '*fp16:16, *fp16:16, *fp32:16, *i32:16, i32:16' -o %t
# RUN: tandem-opt --canonicalize --recognise-blocks --select-products --remarks-filter=.* -o /dev/null %t 2>&1 \
# RUN:   | FileCheck %s --check-prefix=GATHERED
# RUN: tandemc %s:described --emit=tile --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32' -o %t
# RUN: tandem-opt --canonicalize --recognise-blocks --select-products --remarks-filter=.* -o /dev/null %t 2>&1 \
# RUN:   | FileCheck %s --check-prefix=DESCRIBED
# RUN: tandemc %s:begins --emit=tile --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16' -o %t
# RUN: tandem-opt --canonicalize --recognise-blocks --remarks-filter=.* -o /dev/null %t 2>&1 | FileCheck %s --check-prefix=BEGINS
# RUN: tandemc %s:bounded --emit=tile --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16' -o %t
# RUN: tandem-opt --canonicalize --recognise-blocks --remarks-filter=.* -o /dev/null %t 2>&1 \
# RUN:   | FileCheck %s --check-prefix=BOUNDED --allow-empty
import triton
import triton.language as tl


# CHECK-COUNT-2: [Passed] load | Category:select-products | {{.*}}copied by TMA, by a producer warp, into a ring of {{[4-8]}} slots
# CHECK-NOT: [Missed]
# POINTER-COUNT-2: [Missed] load | Category:recognise-blocks | {{.*}}its pointer is not known to be a multiple of 16 bytes
# ROWS: [Missed] load | {{.*}}the stride between its rows is not known to be a multiple of 16 bytes
@triton.jit
def aligned(a, b, c, K):
    m, n, k = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 64)
    acc = tl.zeros((64, 128), tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        acc = tl.dot(x, tl.load(b + n[None, :] * K + (start + k)[:, None]), acc)
    tl.store(c + m[:, None] * 128 + n[None, :], acc)


# GATHERED: [Missed] load | {{.*}}its addresses are no block of a matrix
# GATHERED: [Missed] load | {{.*}}the product waits for its other operand, which is not
@triton.jit
def gathered(a, b, c, rows, K):
    m, n, k = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 64)
    acc = tl.zeros((64, 128), tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + tl.load(rows + m)[:, None] * K + (start + k)[None, :])
        acc = tl.dot(x, tl.load(b + n[None, :] * K + (start + k)[:, None]), acc)
    tl.store(c + m[:, None] * 128 + n[None, :], acc)


# DESCRIBED: [Missed] load | Category:select-products | {{.*}}the block's first column is not known to be a multiple of 16 bytes
# DESCRIBED-SAME: Suggestion="tl.multiple_of for the column"
@triton.jit
def described(a, b, c, K, shift):
    x = tl.make_tensor_descriptor(a, shape=[64, K], strides=[K, 1], block_shape=[64, 64])
    y = tl.make_tensor_descriptor(b, shape=[128, K], strides=[K, 1], block_shape=[128, 64])
    acc = tl.zeros((64, 128), tl.float32)
    for start in range(0, K, 64):
        acc = tl.dot(x.load([0, start + shift]), y.load([0, start]).T, acc)
    m, n = tl.arange(0, 64), tl.arange(0, 128)
    tl.store(c + m[:, None] * 128 + n[None, :], acc)


# A load without a mask, from a column that may be negative.
# BEGINS: [Missed] load | {{.*}}its first row or column is not known to be 0 or more
# BEGINS-SAME: Suggestion="tl.maximum(start, 0)"
@triton.jit
def begins(a, b, c, K, first):
    m, n, k = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 64)
    acc = tl.zeros((64, 128), tl.float32)
    for start in range(first, K, 64):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        acc = tl.dot(x, tl.load(b + n[None, :] * K + (start + k)[:, None]), acc)
    tl.store(c + m[:, None] * 128 + n[None, :], acc)


# BOUNDED-NOT: [Missed]
@triton.jit
def bounded(a, b, c, K, first):
    m, n, k = tl.arange(0, 64), tl.arange(0, 128), tl.arange(0, 64)
    acc = tl.zeros((64, 128), tl.float32)
    for start in range(tl.maximum(first, 0), K, 64):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        acc = tl.dot(x, tl.load(b + n[None, :] * K + (start + k)[:, None]), acc)
    tl.store(c + m[:, None] * 128 + n[None, :], acc)
