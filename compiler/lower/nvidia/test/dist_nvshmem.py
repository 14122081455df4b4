# Peers through NVSHMEM: its functions by group, signals, order, addresses of mapped peers. Other targets name none of them.
# RUN: tandemc %s:put --emit=llvm --target sm_90a+nvshmem --signature '*fp32, *fp32, *u64, i64' | FileCheck %s --check-prefix=PUT
# RUN: tandemc %s:put --emit=llvm --target sm_90a --signature '*fp32, *fp32, *u64, i64' | FileCheck %s --check-prefix=WITHOUT
# RUN: tandemc %s:threads --emit=llvm --target sm_80+nvshmem --signature '*fp32, *fp32, i64' | FileCheck %s --check-prefix=THREADS
# RUN: tandemc %s:meet --emit=llvm --target sm_90a+nvshmem --signature '*fp32' | FileCheck %s --check-prefix=MEET
# RUN: tandemc %s:address --emit=llvm --target sm_90a+nvshmem --signature '*fp32, *u64' | FileCheck %s --check-prefix=ADDRESS
# RUN: tandemc %s:local --emit=llvm --target sm_90a+nvshmem --signature '*fp32' | FileCheck %s --check-prefix=WITHOUT
import triton
import triton.language as tl
import tandem.dist as dl
import tandem.shmem as shmem
from tandem.simt import tid

# WITHOUT-NOT: @nvshmem


# PUT: define ptx_kernel void @put
@triton.jit
def put(x, y, flag, bytes):
    # PUT: call void @nvshmemx_putmem_nbi_block(
    shmem.putmem_nbi_block(x, y, bytes, 1)
    # PUT: call void @nvshmemx_getmem_block(
    shmem.getmem_block(x, y, bytes, 1)
    # PUT: call void @nvshmemx_putmem_signal_nbi_block({{.*}}, i64 3, i32 10, i32 1)
    shmem.putmem_signal_nbi_block(x, y, bytes, flag, 3, shmem.NVSHMEM_SIGNAL_ADD, 1)
    # PUT: call void @nvshmem_fence()
    shmem.fence()
    # PUT: call void @nvshmemx_signal_op({{.*}}, i64 5, i32 9, i32 1)
    shmem.signal_op(flag, 5, shmem.NVSHMEM_SIGNAL_SET, 1)
    # PUT: fence.acq_rel.sys
    # PUT: call void @nvshmem_fence()
    # PUT: call void @nvshmemx_signal_op({{.*}}, i64 2, i32 10, i32 1)
    dl.notify(flag, 1, signal=2, sig_op="add", comm_scope="inter_node")
    # PUT: call void @nvshmem_quiet()
    shmem.quiet()


@triton.jit
def threads(x, y, bytes):
    # THREADS: call void @nvshmem_putmem(
    if tid(0) == 3:
        shmem.putmem(x, y, bytes, 1)


# The slots of the barrier are signals like any other; its wait is ours.
@triton.jit
def meet(x):
    # MEET: call void @nvshmem_quiet()
    # MEET: call void @nvshmemx_signal_op(
    # MEET: ld.acquire.sys
    tl.store(x, 1.0)
    shmem.barrier_all_block()


# A table of distances, 48 bytes into the context, and what is said where there is none.
@triton.jit
def address(x, flag):
    # ADDRESS: getelementptr i8, {{.*}}, i64 48
    # ADDRESS: icmp eq i64 {{.*}}, -9223372036854775808
    # ADDRESS: atom.relaxed.sys.{{.*}}cas
    # ADDRESS: select i1 {{.*}}, i64 0, i64
    tl.store(dl.symm_at(x, 1) + tl.arange(0, 128), 1.0)


@triton.jit
def local(x):
    shmem.quiet()
    tl.store(x, 1.0)
