# What the blocks of a program do together: meet, act once, learn what the first one learnt.
# RUN: tandemc %s:ticket --emit=ptx --num-ctas 2 --signature '*i32, *i32' | FileCheck %s --check-prefix=TICKET
# RUN: tandemc %s:reverse --emit=ptx --num-ctas 2 --signature '*fp32' | FileCheck %s --check-prefix=REVERSE
# RUN: tandemc %s:finish --emit=ptx --num-ctas 2 --signature '*fp32, *i32' | FileCheck %s --check-prefix=FINISH
# RUN: tandemc %s:scalar --emit=ptx --num-ctas 2 --signature '*i32, *i32' | FileCheck %s --check-prefix=SCALAR
import triton
import triton.language as tl


# TICKET: .reqnctapercluster 2, 1, 1
# TICKET: mbarrier.init.shared::cta.b64 {{.*}}, 8;
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
# FINISH: setp.eq.s32 {{.*}}, 0;
# FINISH: {{red|atom}}.release
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
