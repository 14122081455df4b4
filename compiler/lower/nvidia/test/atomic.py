# Atomic updates: one thread for each position, its old value for all that hold it; compare-and-swap where there is no instruction.
# RUN: tandemc %s:tiles --emit=ptx --target sm_80 --signature '*fp32, *fp32' | FileCheck %s --check-prefix=TILE
# RUN: tandemc %s:tiles --emit=ptx --target sm_90a --signature '*fp16, *fp16' | FileCheck %s --check-prefix=HALF
# RUN: tandemc %s:tiles --emit=ptx --target sm_90a --signature '*bf16, *bf16' | FileCheck %s --check-prefix=BFLOAT
# RUN: tandemc %s:tiles --emit=ptx --target sm_80 --signature '*bf16, *bf16' | FileCheck %s --check-prefix=SWAP
# RUN: tandemc %s:copies --emit=ptx --target sm_89 --signature '*i32, *i32' | FileCheck %s --check-prefix=COPIES
# RUN: tandemc %s:scalar --emit=ptx --target sm_90a --signature '*i32, *i32' | FileCheck %s --check-prefix=SCALAR
# RUN: tandemc %s:unused --emit=ptx --target sm_90a --signature '*i64' | FileCheck %s --check-prefix=UNUSED
# RUN: tandemc %s:largest --emit=ptx --target sm_80 --signature '*fp32, *fp32' | FileCheck %s --check-prefix=LARGEST
# RUN: tandemc %s:swap --emit=ptx --target sm_90a --signature '*i64, *i64' | FileCheck %s --check-prefix=CAS
# RUN: tandemc %s:lock --emit=ptx --target sm_90a --signature '*i32, *fp32' | FileCheck %s --check-prefix=LOCK
# RUN: tandemc %s:lock_of --emit=ptx --target sm_90a --signature '*i32, *fp32' --constexpr 'ORDER="relaxed"' \
# RUN:   | FileCheck %s --check-prefix=WEAK
# RUN: tandemc %s:lock_of --emit=ptx --target sm_90a --signature '*i32, *fp32' --constexpr 'ORDER="release"' \
# RUN:   | FileCheck %s --check-prefix=WEAK
# RUN: tandemc %s:ticket --emit=ptx --target sm_90a --signature '*i32, *i32' | FileCheck %s --check-prefix=TICKET
# RUN: tandemc %s:neighbours --emit=ptx --target sm_90a --signature '*bf16:16, *bf16:16, i32:16' | FileCheck %s --check-prefix=EIGHT
# RUN: tandemc %s:neighbours --emit=ptx --target sm_90a --signature '*fp32:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=FOUR
# RUN: tandemc %s:neighbours --emit=ptx --target sm_90a --signature '*fp16:16, *fp16:16, i32' | FileCheck %s --check-prefix=ODD
# RUN: tandemc %s:neighbours --emit=ptx --target sm_80 --signature '*fp16:16, *fp16:16, i32:16' | FileCheck %s --check-prefix=PAIR
# RUN: tandemc %s:old_neighbours --emit=ptx --target sm_90a --signature '*fp16:16, *fp16:16' | FileCheck %s --check-prefix=BEFORE
# RUN: tandemc %s:block --emit=ptx --target sm_90a --signature '*fp32:16, *fp32:16, i32:16' | FileCheck %s --check-prefix=BLOCK
# RUN: tandemc %s:one_thread --emit=ptx --target sm_90a --signature '*i32, *i32' | FileCheck %s --check-prefix=THREAD
import triton
import triton.language as tl
from tandem.simt import tid


@triton.jit
def tiles(p, o):
    i = tl.arange(0, 128)
    # TILE: bar.sync
    # TILE: atom.acq_rel.gpu.global.add.f32
    # TILE: bar.sync
    # HALF: atom.acq_rel.gpu.global.add.noftz.f16
    # BFLOAT: atom.acq_rel.gpu.global.add.noftz.bf16
    # SWAP-NOT: add.noftz.bf16
    # SWAP: atom.acq_rel.gpu.global.cas.b16
    tl.store(o + i, tl.atomic_add(p + i, 1.0))


@triton.jit
def neighbours(p, x, n):
    i = tl.arange(0, 1024)
    # One instruction for as many neighbours as have a word and a mask in common.
    # EIGHT-COUNT-1: @%p{{[0-9]+}} red.relaxed.gpu.global.add.noftz.v4.bf16x2
    # EIGHT-NOT: red.
    # FOUR-COUNT-2: @%p{{[0-9]+}} red.relaxed.gpu.global.add.v4.f32
    # FOUR-NOT: red.
    # ODD-COUNT-8: @%p{{[0-9]+}} red.relaxed.gpu.global.add.noftz.f16 [
    # ODD-NOT: red.
    # PAIR-COUNT-4: @%p{{[0-9]+}} red.relaxed.gpu.global.add.noftz.f16x2 [
    # PAIR-NOT: red.
    tl.atomic_add(p + i, tl.load(x + i), mask=i < n, sem="relaxed")


@triton.jit
def old_neighbours(p, o):
    i = tl.arange(0, 512)
    # BEFORE: atom.acq_rel.gpu.global.add.noftz.v2.f16x2
    # BEFORE: st.global.v2.b32
    tl.store(o + i, tl.atomic_add(p + i, 1.0))


@triton.jit
def block(p, x, n):
    i = tl.arange(0, 64)
    out = tl.make_tensor_descriptor(p, shape=[n, 64], strides=[64, 1], block_shape=[16, 64])
    # BLOCK: red.relaxed.gpu.global.add.v4.f32
    out.atomic_add([n, 0], tl.load(x + tl.arange(0, 16)[:, None] * 64 + i[None, :]))


@triton.jit
def copies(p, o):
    i = tl.arange(0, 32)
    # Four warps hold the same positions: one acts, the others read what it got.
    # COPIES: @%p{{[0-9]+}} atom.relaxed.gpu.global.max.s32
    # COPIES: st.shared
    # COPIES: bar.sync
    # COPIES: ld.shared
    tl.store(o + i, tl.atomic_max(p + i, 5, sem="relaxed"))


@triton.jit
def scalar(p, o):
    i = tl.arange(0, 128)
    # SCALAR: bar.sync
    # SCALAR: @%p{{[0-9]+}} atom.acq_rel.sys.global.add.u32
    # SCALAR-NOT: bar.sync
    # SCALAR: st.shared
    # SCALAR: bar.sync
    # SCALAR: ld.shared
    # SCALAR-NOT: bar.sync
    tl.store(o + i, tl.atomic_add(p, 1, scope="sys"))


@triton.jit
def unused(p):
    # UNUSED-NOT: atom
    # UNUSED: red.release.gpu.global.add.u64
    # UNUSED-NOT: st.shared
    tl.atomic_add(p, 1)


@triton.jit
def largest(p, x):
    i = tl.arange(0, 128)
    # LARGEST-DAG: max.s32
    # LARGEST-DAG: min.u32
    tl.atomic_max(p + i, tl.load(x + i), sem="relaxed")


@triton.jit
def swap(p, o):
    # CAS: atom.acq_rel.gpu.global.cas.b64
    tl.store(o, tl.atomic_cas(p, 0, 1))


# The first thread takes a lock for the program. What the swap releases, a fence in front of the loop does once.
@triton.jit
def lock(p, x):
    # LOCK: bar.sync
    # LOCK: fence.acq_rel.gpu
    # LOCK: [[AGAIN:[$]L__BB[0-9_]+]]:
    # LOCK-NOT: bar.sync
    # LOCK-NOT: fence
    # LOCK: atom.acquire.gpu.global.cas.b32
    # LOCK-NOT: bar.sync
    # LOCK: bra [[AGAIN]]
    # LOCK: bar.sync
    # LOCK: ld.global
    while tl.atomic_cas(p, 0, 1) == 1:
        pass
    i = tl.arange(0, 128)
    tl.store(x + i, tl.load(x + i) + 1)
    tl.debug_barrier()
    # LOCK: atom.{{.*}}exch
    tl.atomic_xchg(p, 0)


# Whatever the order of the update, what it waited for is there behind the loop.
@triton.jit
def lock_of(p, x, ORDER: tl.constexpr):
    # WEAK: bar.sync
    # WEAK: [[AGAIN:[$]L__BB[0-9_]+]]:
    # WEAK-NOT: bar.sync
    # WEAK: atom.acquire.gpu.global.cas.b32
    # WEAK-NOT: bar.sync
    # WEAK: bra [[AGAIN]]
    # WEAK: bar.sync
    # WEAK: ld.global
    while tl.atomic_cas(p, 0, 1, sem=ORDER) == 1:
        pass
    i = tl.arange(0, 128)
    tl.store(x + i, tl.load(x + i) + 1)
    tl.debug_barrier()
    # WEAK: atom.{{.*}}exch
    tl.atomic_xchg(p, 0)


# The value that the last update gave is used behind the loop, so all threads go around.
@triton.jit
def ticket(p, o):
    # TICKET: bar.sync
    # TICKET: atom.acq_rel.gpu.global.cas.b32
    # TICKET: st.shared
    # TICKET: bar.sync
    # TICKET: ld.shared
    old = tl.atomic_cas(p, 0, 1)
    while old == 1:
        old = tl.atomic_cas(p, 0, 1)
    tl.store(o + tl.arange(0, 128), old)


# Under a thread's condition each thread that comes acts, whichever it is, and has an old value of its own.
@triton.jit
def one_thread(p, o):
    # THREAD: setp.ne.b32 {{.*}}, 32
    # THREAD-NOT: setp
    # THREAD: {{^[[:space:]]*}}st.global.b32
    # THREAD-NOT: bar.sync
    # THREAD: {{^[[:space:]]*}}atom.acq_rel.sys.global.add.u32 [[OLD:%r[0-9]+]]
    # THREAD-NOT: shared
    # THREAD: {{^[[:space:]]*}}st.global.b32 [{{.*}}], [[OLD]]
    if tid(0) == 32:
        tl.store(o, 7)
        tl.store(o + 1, tl.atomic_add(p, 1, scope="sys"))
