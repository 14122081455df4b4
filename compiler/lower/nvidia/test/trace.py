# Kernels that are compiled to record note when programs, tiles, waits, copies and stores begin and end. In other kernels nothing of it
# is left: no timer, no table, no parameter for it.
# RUN: tandemc %s:persistent --emit=ptx --target sm_90a+trace --num-warps 4 --num-stages 3 \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, i32' | FileCheck %s --check-prefix=ON
# RUN: tandemc %s:persistent --emit=ptx --target sm_90a --num-warps 4 --num-stages 3 \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, i32' | FileCheck %s --check-prefix=OFF
# RUN: tandemc %s:plain --emit=ptx --target sm_80+trace --signature '*fp32' | FileCheck %s --check-prefix=PLAIN
# RUN: tandemc %s:plain --emit=ptx --target sm_80 --signature '*fp32' | FileCheck %s --check-prefix=OFF
# RUN: tandemc %s:talk --emit=llvm --target sm_90a+trace --signature '*fp32, *fp32, *u64, *i64, i64' | FileCheck %s --check-prefix=TALK
# RUN: tandemc %s:talk --emit=llvm --target sm_90a --signature '*fp32, *fp32, *u64, *i64, i64' | FileCheck %s --check-prefix=SILENT
# RUN: tandemc %s:talk --emit=llvm --target sm_90a+trace+nvshmem --signature '*fp32, *fp32, *u64, *i64, i64' \
# RUN:   | FileCheck %s --check-prefix=BOTH
# RUN: tandemc %s:apart --emit=llvm --target sm_80+trace --signature '*fp32, *fp32, i64' | FileCheck %s --check-prefix=APART
import triton
import triton.language as tl
import tandem.dist as dl
import tandem.shmem as shmem
from tandem.simt import tid

# OFF-NOT: %globaltimer
# OFF-NOT: tandem_trace
# OFF-NOT: persistent_param_8
# OFF-NOT: plain_param_1
# SILENT-NOT: tandem_trace


# The table names the kernel and each place once; the consumers' first thread and the producer's one each keep a chunk open.
# ON: .global {{.*}} tandem_trace_sites
# ON: .visible .entry persistent(
# ON: persistent_param_8
# ON: %globaltimer
# ON: atom.{{.*}}add.u64
# ON: st.global.v2.b64
@triton.jit
def persistent(a_ptr, b_ptr, c_ptr, K, tiles):
    a = tl.make_tensor_descriptor(a_ptr, shape=[4096, K], strides=[K, 1], block_shape=[64, 64])
    b = tl.make_tensor_descriptor(b_ptr, shape=[K, 64], strides=[64, 1], block_shape=[64, 64])
    c = tl.make_tensor_descriptor(c_ptr, shape=[4096, 64], strides=[64, 1], block_shape=[64, 64])
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        acc = tl.zeros([64, 64], tl.float32)
        for k in range(0, K, 64):
            acc = tl.dot(a.load([tile * 64, k]), b.load([k, 0]), acc)
        c.store([tile * 64, 0], acc.to(tl.float16))


# PLAIN: plain_param_1
# PLAIN-COUNT-2: %globaltimer
# PLAIN-NOT: %globaltimer
@triton.jit
def plain(x):
    tl.store(x + tl.program_id(0), 1.0)


# TALK: @tandem_trace_sites = internal addrspace(1) constant {{.*}} c"talk\0Akernel {{[^ ]*}}trace.py:{{[0-9]+}}:1\0Await {{.*}}\0Asignal
# TALK-SAME: \0Aput {{.*}}\0Abarrier
# TALK: define ptx_kernel void @talk
# BOTH: @tandem_trace_sites = {{.*}} c"talk\0Akernel
# BOTH: call void @nvshmemx_putmem
@triton.jit
def talk(x, y, flag, slots, bytes):
    token = dl.wait(slots, 4, "sys", "acquire", waitValue=1)
    x = dl.consume_token(x, token)
    dl.notify(flag, 1, signal=2, sig_op="add", comm_scope="inter_node")
    shmem.putmem_block(x, y, bytes, 1)
    shmem.barrier_all_block()


# The first thread of each warp that gets there, before and after.
# APART: c"apart\0Akernel
# APART: activemask.b32
# APART: @llvm.cttz
# APART: [[WRITER:%[0-9]+]] = icmp eq i32
# APART: br i1 [[WRITER]]
# APART: br i1 [[WRITER]]
@triton.jit
def apart(x, y, bytes):
    if tid(0) >= 64:
        shmem.putmem_warp(x, y, bytes, 1)
