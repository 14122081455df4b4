# What a loop carries changes threads before it, not in each turn, whatever product is the first in the kernel.
# RUN: tandemc %s:first_and_others --emit=layouts --target sm_90a --signature '*fp16:16, *fp16:16, *fp32:16, i32' | FileCheck %s
# RUN: tandemc %s:pages --emit=layouts --target sm_90a --signature '*fp16:16, *fp16:16, *i32:16, *fp32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=PAGES
# RUN: tandemc %s:loaded_in_a_branch --emit=layouts --target sm_90a --signature '*fp32:16, *fp32:16, i32, i32' \
# RUN:   | FileCheck %s --check-prefix=BRANCH
import triton
import triton.language as tl


@triton.jit
def first_and_others(a, b, o, n):
    # CHECK: tile.dot
    # CHECK: tgpu.convert_layout {{.*}}tensor<16x64xf32>
    # CHECK: scf.for
    # CHECK-NOT: tgpu.convert_layout {{.*}}tensor<16x64xf32>
    # CHECK: tile.dot
    # CHECK-NOT: tgpu.convert_layout {{.*}}tensor<16x64xf32>
    # CHECK: scf.yield
    m, k, d = tl.arange(0, 16), tl.arange(0, 16), tl.arange(0, 64)
    x = tl.load(a + m[:, None] * 16 + k[None, :])
    acc = tl.dot(x, tl.load(b + k[:, None] * 64 + d[None, :]))
    batches = tl.broadcast_to(x[:, None, :], (16, 16, 16))
    for i in range(n):
        y = tl.load(b + i * 16384 + m[:, None, None] * 1024 + k[None, :, None] * 64 + d[None, None, :])
        acc += tl.sum(tl.dot(batches, y), 1)
    tl.store(o + m[:, None] * 64 + d[None, :], acc)


# Rows that an iteration loads for a later one stay as they are loaded, each by one thread of a warp.
# PAGES: scf.for
# PAGES: tile.load {{.*}}#tgpu.layout<[64], registers = [], lanes = [1, 2, 4, 8, 16], warps = [32, 0]>{{.*}} -> tensor<64xi32>
# PAGES: scf.yield
@triton.jit
def pages(q, k, table, o, n):
    m, row, d = tl.arange(0, 16), tl.arange(0, 64), tl.arange(0, 128)
    x = tl.load(q + m[:, None] * 128 + d[None, :])
    acc = tl.zeros((16, 128), tl.float32)
    for start in range(0, n, 64):
        at = tl.load(table + start + row)
        keys = tl.load(k + at[None, :] * 128 + d[:, None])
        values = tl.load(k + at[:, None] * 128 + d[None, :])
        acc += tl.dot(tl.dot(x, keys).to(tl.float16), values)
    tl.store(o + m[:, None] * 128 + d[None, :], acc)


# A loop in a branch carries the tile that the branch loads; the branch itself has no result, and no other side.
# BRANCH: scf.if
# BRANCH: tile.load {{.*}}tgpu.vector = array<i32: 4, 0>
# BRANCH: scf.for
# BRANCH: scf.yield
@triton.jit
def loaded_in_a_branch(x, o, n, flag):
    i = tl.arange(0, 512)
    if flag:
        loaded = tl.load(x + i)
        acc = tl.zeros([512], tl.float32)
        for j in range(n):
            tl.store(o + i + j * 512, acc)
            acc = loaded
