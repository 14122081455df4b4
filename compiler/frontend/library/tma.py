# Tensor maps made on the device, and the ring of buffers between a warp that loads and a warp that stores.
import triton
import triton.language as tl
import triton_dist.language as dl
import triton_dist.language.tma as tma
from triton_dist.language.extra import language_extra as extra


@triton.jit
def tensormap_smem_zero_first_warp(smem_u32_base):
    """The first warp fills a tensor map in shared memory with zeros. Executed by each thread. Memory model: M16."""
    words = tma.cvta_shared_to_generic(smem_u32_base).to(tl.pointer_type(tl.uint32), bitcast=True)
    if extra.tid(0) < 32:
        extra.st(words + extra.tid(0), tl.cast(0, tl.uint32))


@triton.jit
def _publish(smem, tmap_global_ptr):
    tma.bar_warp_sync()
    if extra.tid(0) < 32:
        tma.tensormap_cp_fenceproxy(tmap_global_ptr, smem)
    tma.fence_proxy_tensormap_acquire(tmap_global_ptr)


@triton.jit
def create_tmap_2d(smem_tmap, tmap_global_ptr, data_ptr, N, M, stride_bytes, BN, BM, elemtype: tl.constexpr,
                   swizzle: tl.constexpr):
    """Makes a tensor map of an N × M tensor with boxes of BN × BM elements, in shared memory, and publishes it at
    `tmap_global_ptr`. N is the fastest dimension; the stride is in bytes. Executed by the threads of a warp together:
    the first one's make it. Memory model: M16."""
    smem = dl.get_smem_shared_address_u32(smem_tmap)
    tensormap_smem_zero_first_warp(smem)
    tma.bar_warp_sync()
    if extra.tid(0) == 0:
        tma.tensormap_replace_global_address(smem, data_ptr)
        tma.tensormap_replace_rank(smem, tma.TMAP_RANK_2D)
        tma.tensormap_replace_box_dim(smem, 0, BN)
        tma.tensormap_replace_box_dim(smem, 1, BM)
        tma.tensormap_replace_global_dim(smem, 0, N)
        tma.tensormap_replace_global_dim(smem, 1, M)
        tma.tensormap_replace_global_stride(smem, 0, stride_bytes)
        tma.tensormap_replace_element_stride(smem, 0, 1)
        tma.tensormap_replace_element_stride(smem, 1, 1)
        tma.tensormap_replace_elemtype(smem, elemtype)
        tma.tensormap_replace_interleave_layout(smem, tma.INTERLEAVE_NONE)
        tma.tensormap_replace_swizzle_mode(smem, swizzle)
        tma.tensormap_replace_fill_mode(smem, tma.FILL_NONE)
    _publish(smem, tmap_global_ptr)
    return tmap_global_ptr


@triton.jit
def tmap_update_address(smem_tmap, tmap_global_ptr, new_data_ptr):
    """Gives a tensor map in global memory another base address. Executed by the threads of a warp together: the first one's
    write it. Memory model: M16."""
    smem = dl.get_smem_shared_address_u32(smem_tmap)
    lane = extra.tid(0)
    words = tma.cvta_shared_to_generic(smem).to(tl.pointer_type(tl.uint32), bitcast=True)
    if lane < 32:
        extra.st(words + lane, extra.ld(tl.cast(tmap_global_ptr, tl.pointer_type(tl.uint32), bitcast=True) + lane))
    tma.bar_warp_sync()
    if lane == 0:
        tma.tensormap_replace_global_address(smem, new_data_ptr)
    _publish(smem, tmap_global_ptr)
    return tmap_global_ptr


@triton.jit
def tma_load_2d_pred(tmap_ptr, smem_ptr, mbar_ptr, coord_0, coord_1, pred):
    """As `tma_load_2d`, where `pred` is true. Executed by each thread. Memory model: M16."""
    if pred != 0:
        tma.tma_load_2d(tmap_ptr, smem_ptr, mbar_ptr, coord_0, coord_1)


@triton.jit
def store_and_wait(tmap_gen, buf_smem, coord0, coord1, pending: tl.constexpr):
    """Stores a box by TMA and waits until at most `pending` stores of the thread are under way. Executed by each thread.
    Memory model: M16."""
    tma.tma_store_2d(tmap_gen, buf_smem, coord0, coord1)
    tma.cp_async_bulk_commit_group()
    tma.cp_async_bulk_wait_group(pending)


@tl.core._aggregate
class PipelineState:
    """The place in a ring of buffers: a stage and its phase. Executed by each thread."""
    index: tl.tensor
    phase: tl.tensor
    num_stages: tl.constexpr

    def __init__(self, index, phase, num_stages):
        self.index = index
        self.phase = phase
        self.num_stages = num_stages

    @triton.jit
    def advance(self):
        index = self.index + 1
        wraps = index == self.num_stages
        return PipelineState(tl.where(wraps, 0, index), tl.where(wraps, self.phase ^ 1, self.phase), self.num_stages)


@tl.core._aggregate
class TmaPipeline:
    """A ring of buffers in shared memory between a warp that loads and warps that use them, with an mbarrier for full and one for
    empty each. Executed by each thread. Memory model: M16."""
    ready_bars: dl.SharedMemoryDesc
    empty_bars: dl.SharedMemoryDesc
    bufs: dl.SharedMemoryDesc
    num_stages: tl.constexpr

    def __init__(self, ready_bars, empty_bars, bufs, num_stages):
        self.ready_bars = ready_bars
        self.empty_bars = empty_bars
        self.bufs = bufs
        self.num_stages = num_stages

    @triton.jit
    def init_barriers(self, count):
        for stage in tl.static_range(self.num_stages):
            tma.mbarrier_init(dl.smem_get_ptr(self.ready_bars, [stage]), count)
            tma.mbarrier_init(dl.smem_get_ptr(self.empty_bars, [stage]), count)
        tma.fence_mbarrier_init()

    @triton.jit
    def invalidate_barriers(self):
        for stage in tl.static_range(self.num_stages):
            tma.mbarrier_invalidate(dl.smem_get_ptr(self.ready_bars, [stage]))
            tma.mbarrier_invalidate(dl.smem_get_ptr(self.empty_bars, [stage]))

    @triton.jit
    def producer_acquire(self, state):
        tma.mbarrier_wait_parity(dl.smem_get_ptr(self.empty_bars, [state.index]), state.phase ^ 1)

    @triton.jit
    def producer_tma_load(self, state, tmap, coord0, coord1, tile_bytes):
        ready = dl.smem_get_ptr(self.ready_bars, [state.index])
        tma.mbarrier_arrive_expect_tx(ready, tile_bytes)
        tma.tma_load_2d(tmap, dl.smem_get_ptr(self.bufs, [state.index, 0, 0]), ready, coord0, coord1)

    @triton.jit
    def consumer_wait(self, state):
        tma.mbarrier_wait_parity(dl.smem_get_ptr(self.ready_bars, [state.index]), state.phase)

    @triton.jit
    def consumer_tma_store(self, state, tmap, coord0, coord1):
        tma.fence_async_shared()
        tma.tma_store_2d(tmap, dl.smem_get_ptr(self.bufs, [state.index, 0, 0]), coord0, coord1)
        tma.cp_async_bulk_commit_group()

    @triton.jit
    def consumer_release(self, state):
        tma.mbarrier_arrive(dl.smem_get_ptr(self.empty_bars, [state.index]))
