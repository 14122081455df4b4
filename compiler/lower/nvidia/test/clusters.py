# The blocks of a program meet, act once, and learn the values that the first one got.
# RUN: tandemc %s:ticket --emit=ptx --num-ctas 2 --signature '*i32, *i32' | FileCheck %s --check-prefix=TICKET
# RUN: tandemc %s:reverse --emit=ptx --num-ctas 2 --signature '*fp32' | FileCheck %s --check-prefix=REVERSE
# RUN: tandemc %s:finish --emit=ptx --num-ctas 2 --signature '*fp32, *i32' | FileCheck %s --check-prefix=FINISH
# RUN: tandemc %s:scalar --emit=ptx --num-ctas 2 --signature '*i32, *i32' | FileCheck %s --check-prefix=SCALAR
# RUN: tandemc %s:product --emit=ptx --num-warps 8 --num-ctas 2 --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=PRODUCT
import triton
import triton.language as tl


# TICKET: .reqnctapercluster 2, 1, 1
# TICKET: mov.b32 [[ARRIVALS:%r[0-9]+]], 8;
# TICKET: mbarrier.init.shared::cta.b64 {{.*}}, [[ARRIVALS]];
# TICKET: barrier.cluster.wait.acquire
# TICKET: mbarrier.arrive.release.cluster.shared::cluster.b64
# TICKET: fence.acq_rel.cluster
# TICKET: atom.
# TICKET: mbarrier.arrive.release.cluster.shared::cluster.b64
# TICKET: ld.shared::cluster.b32
# TICKET: mbarrier.arrive.release.cluster.shared::cluster.b64
# TICKET: barrier.cluster.arrive.release
@triton.jit
def ticket(counter, o):
    old = tl.atomic_add(counter, 1)
    tl.store(o + old * 256 + tl.arange(0, 256), old)


# One block reads what the other overwrites.
# REVERSE: ld.global
# REVERSE: mbarrier.arrive.release.cluster.shared::cluster.b64
# REVERSE: mbarrier.try_wait
# REVERSE: st.global
@triton.jit
def reverse(x):
    i = tl.arange(0, 256)
    tl.store(x + 255 - i, tl.load(x + i))


# All blocks' parts are there before the first block's release.
# FINISH: st.global
# FINISH: mbarrier.arrive.release.cluster.shared::cluster.b64
# FINISH: @%p{{[0-9]+}} red.release
@triton.jit
def finish(x, done):
    tl.store(x + tl.arange(0, 256), 1.0)
    tl.atomic_add(done, 1, sem="release")


# The first block alone stores, when all have read.
# SCALAR: ld.global
# SCALAR: mbarrier.arrive.release.cluster.shared::cluster.b64
# SCALAR: %cluster_ctarank
# SCALAR: st.global
@triton.jit
def scalar(x, y):
    tl.store(x, tl.load(x) + tl.load(y))


# Half of B from each block, for both.
# PRODUCT-DAG: .multicast::cluster
# PRODUCT-DAG: wgmma.mma_async
@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, K):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[256, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[K, 256], strides=[256, 1], block_shape=[64, 256])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, 256], strides=[256, 1], block_shape=[256, 256])
    row = tl.program_id(0) * 256
    acc = tl.zeros((256, 256), dtype=tl.float32)
    for k in range(0, K, 64):
        acc = tl.dot(a.load([row, k]), b.load([k, 0]), acc)
    c.store([row, 0], acc.to(c_ptr.dtype.element_ty))
