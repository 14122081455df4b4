# Ranks: addresses from the context, waits, signals, copies, barriers.
# RUN: tandemc %s:push --emit=ptx --target sm_90a --signature '*fp32, *i64' | FileCheck %s --check-prefix=PUSH
# RUN: tandemc %s:push --emit=ptx --target sm_80 --signature '*fp32, *i64' | FileCheck %s --check-prefix=PUSH
# RUN: tandemc %s:pull --emit=ptx --target sm_90a --signature '*fp32, *i32, *fp32' | FileCheck %s --check-prefix=PULL
# RUN: tandemc %s:put --emit=ptx --target sm_90a --signature '*fp32, *fp32, *i64, i64' | FileCheck %s --check-prefix=PUT
# RUN: tandemc %s:signal --emit=ptx --target sm_90a --signature '*i64, *i64' | FileCheck %s --check-prefix=SIGNAL
# RUN: tandemc %s:meet --emit=ptx --target sm_90a --signature '*fp32' | FileCheck %s --check-prefix=MEET
import triton
import triton.language as tl
import tandem.dist as dl
import tandem.shmem as shmem


# The context is the last parameter; nothing is added where no rank is named.
# PUSH: .param .u64 {{.*}}push_param_2
@triton.jit
def push(x, flag):
    i = tl.arange(0, 128)
    peer = (dl.rank() + 1) % dl.num_ranks()
    # PUSH: st.global
    # PUSH: bar.sync 0
    # PUSH: st.release.sys.global.b64
    tl.store(dl.symm_at(x, peer) + i, 1.0)
    dl.notify(flag, peer, signal=1, sig_op="set", comm_scope="intra_node")


# A poll reads the signal and nothing else; after 64 it pauses, and at every 32768th it looks at the watch (40 bytes into the context),
# which says whether to go on. The first to give up writes down its place.
# PULL: .global {{.*}} .b8 {{.*}}[{{[0-9]+}}] = {{.*}}112, 117, 108, 108
# PULL: .param .u64 {{.*}}pull_param_3
@triton.jit
def pull(x, flags, o):
    i = tl.arange(0, 128)
    # PULL: ld.acquire.sys.global.b32
    # PULL-NOT: ld.{{.*}}global
    # PULL: nanosleep.u32 32;
    # PULL-NOT: ld.{{.*}}global
    # PULL: and.b32 {{.*}}, 32767;
    # PULL-NOT: ld.{{.*}}global
    # PULL: ld.global{{.*}}.b64 {{.*}}+40];
    # PULL: ld.relaxed.sys.global.b32
    # PULL: ld.relaxed.sys.global.b64
    # PULL: globaltimer
    # PULL: atom.relaxed.sys.global.cas.b32
    # PULL: st.release.sys.global.b32
    # PULL: bar.sync 0
    # PULL: ld.global
    token = dl.wait(flags, 8, "sys", "acquire", waitValue=1)
    tl.store(o + i, tl.load(dl.consume_token(x, token) + i))


@triton.jit
def put(x, y, flag, bytes):
    # PUT: bar.sync 0
    # PUT: ld.v4.b32
    # PUT: ld.v4.b32
    # PUT: st.v4.b32
    # PUT: st.b8
    # PUT: bar.sync 0
    # PUT: red.release.sys.global.add.u64
    shmem.putmem_signal_nbi_block(x, y, bytes, flag, 1, shmem.NVSHMEM_SIGNAL_ADD, 1)
    # PUT: fence.acq_rel.sys
    shmem.quiet()


@triton.jit
def signal(flag, o):
    # SIGNAL: st.relaxed.sys.global.b64
    # SIGNAL: ld.acquire.sys.global.b64
    # SIGNAL: setp.{{lt|le|gt|ge}}.s64
    # SIGNAL: bar.sync 0
    shmem.signal_op(flag, 5, shmem.NVSHMEM_SIGNAL_SET, 0)
    tl.store(o, shmem.signal_wait_until(flag, shmem.NVSHMEM_CMP_GE, 5))


@triton.jit
def meet(x):
    # MEET: ld.relaxed.gpu.global.b64
    # MEET: fence.acq_rel.sys
    # MEET: shl.b64 [[OWN:%rd[0-9]+]], {{.*}}, 20
    # MEET: st.release.sys.global.b64 [{{.*}}], [[OWN]]
    # MEET: ld.acquire.sys.global.b64
    # MEET: setp.{{lt|gt}}.u64 {{.*}}, {{-?[0-9]+}}
    # MEET: st.relaxed.gpu.global.b64
    # MEET: bar.sync 0
    tl.store(x, 1.0)
    shmem.barrier_all_block()
