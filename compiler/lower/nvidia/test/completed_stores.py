# Blocks that TMA stores are complete, not only read out of shared memory, before what others go by and before the program reads them.
# RUN: tandemc %s:released --emit=llvm --target sm_90a --signature '*fp16:16, *fp16:16, *i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=RELEASED
# RUN: tandemc %s:put --emit=llvm --target sm_90a --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=PUT
# RUN: tandemc %s:waited --emit=llvm --target sm_90a --signature '*fp16:16, *fp16:16, *i64:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=WAITED
# RUN: tandemc %s:own --emit=llvm --target sm_90a --signature '*fp16:16, *fp16:16, *i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=OWN
# RUN: tandemc %s:synced --emit=llvm --target sm_90a --signature '*fp16:16, *fp16:16, *i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=SYNCED
# RUN: tandemc %s:grid --emit=llvm --target sm_90a --signature '*fp16:16, *fp16:16, *i32:16, i32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=GRID
import triton
import triton.language as tl
import tandem.dist as dl
import tandem.shmem as shmem
import tandem.simt as simt


@triton.jit
def move(x, o, m, n):
    a = tl.make_tensor_descriptor(x, [m, n], [n, 1], [32, 64])
    b = tl.make_tensor_descriptor(o, [m, n], [n, 1], [32, 64])
    at = [tl.program_id(0) * 32, tl.program_id(1) * 64]
    b.store(at, a.load(at))


# RELEASED: cp.async.bulk.tensor.2d.global.shared::cta
# RELEASED: cp.async.bulk.wait_group 0
# RELEASED: bar
# RELEASED: release.gpu
@triton.jit
def released(x, o, flag, m, n):
    move(x, o, m, n)
    tl.atomic_add(flag, 1, sem="release", scope="gpu")


# PUT: cp.async.bulk.tensor.2d.global.shared::cta
# PUT: cp.async.bulk.wait_group 0
# PUT: bar
# PUT: ld.v4
@triton.jit
def put(x, o, dest, m, n):
    move(x, o, m, n)
    shmem.putmem_block(dest, o, m * n * 2, 1)


# WAITED: cp.async.bulk.tensor.2d.global.shared::cta
# WAITED: bar.sync
# WAITED: cp.async.bulk.wait_group 0
# WAITED: bar.sync
# WAITED: ld.global.b16
@triton.jit
def waited(x, o, flag, m, n):
    move(x, o, m, n)
    dl.wait(flag, 1, "sys", "acquire")
    i = tl.arange(0, 128)
    tl.store(x + i, tl.load(o + 127 - i))


# The author's barrier orders all that the program has written.
# OWN: cp.async.bulk.tensor.2d.global.shared::cta
# OWN: cp.async.bulk.wait_group 0
# OWN: bar
# OWN: relaxed.gpu
@triton.jit
def own(x, o, flag, m, n):
    move(x, o, m, n)
    tl.debug_barrier()
    tl.atomic_add(flag, 1, sem="relaxed", scope="gpu")


# SYNCED: cp.async.bulk.tensor.2d.global.shared::cta
# SYNCED: cp.async.bulk.wait_group 0
# SYNCED: release.sys
@triton.jit
def synced(x, o, flag, m, n):
    move(x, o, m, n)
    shmem.sync_all()


# GRID: cp.async.bulk.tensor.2d.global.shared::cta
# GRID: cp.async.bulk.wait_group 0
# GRID: acq_rel.gpu
@triton.jit
def grid(x, o, flag, m, n):
    move(x, o, m, n)
    simt.sync_grid()
