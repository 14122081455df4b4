# Per-thread code: accesses with order and scope, exchange between lanes, shared-memory buffers, grid-wide barriers.
# RUN: tandemc %s:publish --emit=ptx --target sm_80 --signature '*i32, *i32' | FileCheck %s --check-prefix=PUBLISH
# RUN: tandemc %s:publish --emit=ptx --target sm_90a --signature '*i32, *i32' | FileCheck %s --check-prefix=PUBLISH
# RUN: tandemc %s:lanes --emit=ptx --target sm_80 --signature '*i32' | FileCheck %s --check-prefix=LANES
# RUN: tandemc %s:shared --emit=ptx --target sm_80 --signature '*fp32' | FileCheck %s --check-prefix=SHARED
# RUN: tandemc %s:vectors --emit=ptx --target sm_90a --signature '*fp32, *fp32' | FileCheck %s --check-prefix=VECTORS
# RUN: tandemc %s:mirrored --emit=ptx --target sm_90a --signature '*fp16, *fp32' | FileCheck %s --check-prefix=MIRRORED
# RUN: tandemc %s:by_tiles --emit=ptx --target sm_90a --signature '*i32' | FileCheck %s --check-prefix=TILES
# RUN: tandemc %s:everybody --emit=ptx --target sm_90a --signature '*i32' | FileCheck %s --check-prefix=GRID
# RUN: tandemc %s:copied_ahead --emit=ptx --target sm_80 --signature '*fp32, *fp32, i32' | FileCheck %s --check-prefix=AHEAD
import triton
import triton.language as tl
import tandem.dist as dl
from tandem.simt import __ballot_sync, __shfl_sync_with_mode_i32, __syncthreads, atomic_add, cp_async, cp_async_commit_group
from tandem.simt import cp_async_wait_group, fence, ld, ld_vector, multimem_st_v4, st, st_vector, sync_grid, tid


@triton.jit
def publish(flag, data):
    t = tid(0)
    # PUBLISH: st.global.b32
    # PUBLISH: fence.acq_rel.sys
    # PUBLISH: bar.sync 0, 128
    st(data + t, t, semantic="weak")
    fence("acq_rel", "sys")
    __syncthreads()
    # PUBLISH: atom.acq_rel.gpu.global.add.u32
    # PUBLISH: st.release.sys.global.b32
    # PUBLISH: ld.acquire.gpu.global.b32
    if t == 0:
        old = atomic_add(flag, 1, scope="gpu", semantic="acq_rel")
        st(flag + 1, old, scope="sys", semantic="release")
    st(data + t, ld(flag + 2, scope="gpu", semantic="acquire"), semantic="relaxed", scope="gpu")


@triton.jit
def lanes(o):
    t = tid(0)
    # LANES: shfl.sync.up.b32
    # LANES: vote.sync.ballot.b32
    above = __shfl_sync_with_mode_i32(0xFFFFFFFF, t, 1, "up")
    st(o + t, above + __ballot_sync(0xFFFFFFFF, t % 3 == 0), semantic="weak")


@triton.jit
def shared(o):
    t = tid(0)
    buffer = dl.allocate_smem(tl.float32, [4, 32])
    # SHARED: st.shared
    # SHARED: bar.sync
    # SHARED: ld.shared
    dl.smem_store(buffer, t.to(tl.float32), [t // 32, t % 32])
    __syncthreads()
    st(o + t, dl.smem_load(buffer, [3 - t // 32, t % 32]), semantic="weak")


@triton.jit
def copied_ahead(x, o, n):
    """A thread reads what it has copied, through shared addresses."""
    t = tid(0)
    buffer = dl.allocate_smem(tl.float32, [512])
    # AHEAD: cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16, %r
    # AHEAD: cp.async.commit_group;
    # AHEAD: cp.async.wait_group 0;
    cp_async(dl.smem_get_ptr(buffer, [4 * t]), x + 4 * t, 16, read=n)
    cp_async_commit_group()
    cp_async_wait_group(0)
    # AHEAD: ld.shared.v4.b32
    # AHEAD: st.shared.b32
    values = ld_vector(dl.smem_get_ptr(buffer, [4 * t]), 4, "cta", "weak")
    st(dl.smem_get_ptr(buffer, [4 * t]), 0.0, scope="cta", semantic="weak")
    st_vector(o + 4 * t, values, "gpu", "weak")


@triton.jit
def vectors(x, o):
    t = tid(0)
    # VECTORS: ld{{.*}}.global.v4.b32
    # VECTORS: fma.rn.f32
    # VECTORS: st{{.*}}.global.v4.b32
    v = dl.ld_vector(x + 4 * t, 4)
    dl.st_vector(o + 4 * t, v * v + v)


@triton.jit
def everybody(o):
    # GRID: atom.acq_rel.gpu.global.add.u32
    # GRID: ld.acquire.gpu.global.b32
    sync_grid()
    tl.store(o + tl.program_id(0), 1)


@triton.jit
def mirrored(halves, words):
    t = tid(0)
    # MIRRORED: multimem.st.relaxed.sys.global.v2.f32
    # MIRRORED: multimem.st.relaxed.sys.global.v4.f32
    half, word = ld(halves + t), ld(words + t)
    multimem_st_v4(halves + t * 4, half, half, half, half)
    multimem_st_v4(words + t * 4, word, word, word, word)


# Tiles go to the kernel's shared memory and come from there by addresses that do not say which memory it is.
@triton.jit
def by_tiles(o):
    buffer = dl.allocate_smem(tl.int32, [256])
    places = dl.smem_get_ptr(buffer, 0) + tl.arange(0, 256)
    # TILES: st.b32
    # TILES: bar.sync
    # TILES: ld.b32
    # TILES: st.global
    tl.store(places, tl.arange(0, 256) * 3)
    __syncthreads()
    tl.store(o + tl.arange(0, 256), tl.load(places) + dl.smem_load(buffer, 7))
