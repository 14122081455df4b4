# Tensor maps of loaded values: who makes them, where they lie, what comes before the copies.
# RUN: tandemc %s:grouped --emit=ptx --target sm_90a --num-warps 4 --signature '*i64:16, *i64:16, *i64:16, *i32:16, i32' | FileCheck %s
# RUN: tandemc %s:grouped --emit=ptx --target sm_90a --num-warps 4 --signature '*i64:16, *i64:16, *i64:16, *i32:16, i32' \
# RUN:   | FileCheck %s --check-prefix=ENDS
# RUN: tandemc %s:grouped --emit=cubin --target sm_90a --num-warps 4 --signature '*i64:16, *i64:16, *i64:16, *i32:16, i32' -o %t
# RUN: tandemc %s:carried --emit=ptx --target sm_90a --num-warps 4 --signature '*i64:16, *fp32:16, *i32:16' \
# RUN:   | FileCheck %s --check-prefix=CARRIED
# RUN: tandemc %s:given --emit=ptx --target sm_90a --num-warps 4 --signature '*fp16:16, *fp32:16, i32:16' \
# RUN:   | FileCheck %s --check-prefix=GIVEN
import triton
import triton.language as tl


# A word for each multiprocessor; three maps a block, eight blocks at once.
# CHECK-DAG: .global .align 128 .b8 grouped_places[768];
# CHECK-DAG: .global .align 128 .b8 grouped_maps[589824];
# Templates: rows of 64 elements of 16 bits, 128-byte swizzle.
# CHECK: tensormap.replace.tile.rank.shared::cta.b1024.b32 [%{{.*}}], 1;
# CHECK: tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%{{.*}}], 0, 64;
# CHECK: tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%{{.*}}], 1, 64;
# CHECK: tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%{{.*}}], 6;
# CHECK: tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%{{.*}}], 3;
# CHECK: mov.u32 %{{.*}}, %smid;
# CHECK: atom.relaxed.gpu.global.or.b32
# The consumers store, one thread for all.
# CHECK: wgmma.mma_async
# CHECK: cp.async.bulk.wait_group 0;
# CHECK: tensormap.replace.tile.global_address.shared::cta.b1024.b64
# CHECK: tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%{{.*}}], 0, %rd
# CHECK: tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%{{.*}}], 1, %r
# CHECK: fence.proxy.tensormap::generic.release.gpu;
# CHECK: fence.proxy.tensormap::generic.acquire.gpu [%{{.*}}], 128;
# CHECK: cp.async.bulk.tensor.2d.global.shared::cta
# The producer makes two maps at once before the inner loop, behind the loads that read the old ones.
# CHECK: mbarrier.try_wait
# CHECK-COUNT-2: tensormap.replace.tile.global_address
# CHECK: fence.proxy.tensormap::generic.release.gpu;
# CHECK-COUNT-2: fence.proxy.tensormap::generic.acquire.gpu [%{{.*}}], 128;
# CHECK-NOT: tensormap
# CHECK: cp.async.bulk.tensor.2d.shared::cluster.global
# ENDS: wgmma.mma_async
# ENDS: red.release.gpu.global.and.b32
@triton.jit
def grouped(a, b, c, sizes, groups):
    for g in range(groups):
        n = tl.load(sizes + g)
        if n > 0:
            x = tl.make_tensor_descriptor(tl.load(a + g).to(tl.pointer_type(tl.float16)), [n, n], [n, 1], [64, 64])
            y = tl.make_tensor_descriptor(tl.load(b + g).to(tl.pointer_type(tl.float16)), [n, n], [n, 1], [64, 64])
            z = tl.make_tensor_descriptor(tl.load(c + g).to(tl.pointer_type(tl.float16)), [n, n], [n, 1], [64, 64])
            for i in range(0, n, 64):
                acc = tl.zeros((64, 64), tl.float32)
                for k in range(0, n, 64):
                    acc = tl.dot(x.load([i, k]), y.load([0, k]).T, acc)
                z.store([i, 0], acc.to(tl.float16))


# A descriptor that the loop itself changes: the producer compares before each copy.
# CARRIED: mbarrier.try_wait
# CARRIED: tensormap.replace.tile.global_address
# CARRIED: cp.async.bulk.tensor.2d.shared::cluster.global
@triton.jit
def carried(pointers, o, sizes):
    m = tl.arange(0, 64)
    for g in range(tl.load(sizes + 1)):
        n = tl.load(sizes)
        acc = tl.zeros((64, 64), tl.float32)
        for k in range(0, n):
            x = tl.make_tensor_descriptor(tl.load(pointers + k).to(tl.pointer_type(tl.float16)), [n, 64], [64, 1], [64, 64])
            acc = tl.dot(x.load([0, 0]), x.load([64, 0]).T, acc)
        tl.store(o + g * 4096 + m[:, None] * 64 + m[None, :], acc)


# The launcher makes the map of arguments.
# GIVEN-NOT: tensormap.replace
# GIVEN: .param .align 64 .b8
# GIVEN-NOT: tensormap.replace
@triton.jit
def given(x, o, n):
    d = tl.make_tensor_descriptor(x, [n, n], [n, 1], [64, 64])
    acc = tl.zeros((64, 64), tl.float32)
    for k in range(0, n, 64):
        t = d.load([0, k])
        acc = tl.dot(t, t.T, acc)
    m = tl.arange(0, 64)
    tl.store(o + m[:, None] * 64 + m[None, :], acc)
