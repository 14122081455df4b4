"""Rows that bulk copies bring into shared memory ahead of their sum. What is under way takes no registers there, and no warp waits for it,
so few multiprocessors read as much as they can hold.

A warp has a ring of RING rows of ROW elements, and AHEAD mbarriers, one for each item whose rows are under way. An item takes a row of the
ring for each of some lanes; who starts its copies sees to it that there is room.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from tandem.dist import tma
from tandem.libdevice import ffs, popc
from tandem.simt import __shfl_sync_i32, __syncthreads, __syncwarp, laneid, ld_vector, tid

AHEAD = tl.constexpr(4)


@tandem.jit
def make_rings(dtype: tl.constexpr, ROW: tl.constexpr, RING: tl.constexpr, WARPS: tl.constexpr):
    """This warp's ring and mbarriers. All threads of the program make those of all warps."""
    rings = dl.allocate_smem(dtype, [WARPS * RING * ROW])
    arrivals = dl.allocate_smem(tl.int64, [WARPS * AHEAD])
    if tid(0) < WARPS * AHEAD:
        tma.mbarrier_init(dl.smem_get_ptr(arrivals, [tid(0)]), 1)
        tma.fence_mbarrier_init()
    __syncthreads()
    warp = tid(0) // 32
    return dl.smem_get_ptr(rings, [warp * (RING * ROW)]), dl.smem_get_ptr(arrivals, [warp * AHEAD])


@tandem.jit
def start_copies(rings, nth, head, lanes, row_ptr, size, ROW: tl.constexpr, RING: tl.constexpr):
    """Of the warp's `nth` item: each of `lanes` brings `size` bytes from its `row_ptr`, into the ring's rows from `head` on."""
    ring_ptr, arrivals_ptr = rings
    arrival_ptr = arrivals_ptr + nth % AHEAD
    if laneid() == 0:
        tma.mbarrier_arrive_expect_tx(arrival_ptr, popc(lanes) * size)
    __syncwarp()  # bytes are expected before they come, and all lanes have read what stands there
    if (lanes >> laneid()) & 1 != 0:
        at = (head + popc(lanes & ((1 << laneid()) - 1))) % RING
        tma.cp_async_bulk_global_to_shared(ring_ptr + at * ROW, row_ptr, size, arrival_ptr)


@tandem.jit
def add_rows(
    rings, nth, head, lanes, weight, columns, ELEMENTS: tl.constexpr, ROW: tl.constexpr, RING: tl.constexpr, WEIGHED: tl.constexpr
):
    """The sum over the rows of the warp's `nth` item, which are `lanes`' from `head` on, in fp32 and in their order, by the lanes' weights
    if WEIGHED: this lane's ELEMENTS of each 32 times as many, of which there are `columns` in all."""
    ring_ptr, arrivals_ptr = rings
    PIECES: tl.constexpr = max(ROW // (32 * ELEMENTS), 1)
    totals = ()
    for i in tl.static_range(PIECES):
        totals += (dl.zeros_vector(ELEMENTS, tl.float32),)
    tma.mbarrier_wait_parity(arrivals_ptr + nth % AHEAD, nth // AHEAD % 2)
    left = lanes
    at = head
    while left != 0:
        by = 1.0
        if WEIGHED:
            by = __shfl_sync_i32(0xFFFFFFFF, weight.to(tl.int32, bitcast=True), ffs(left) - 1).to(tl.float32, bitcast=True)
        fresh = ()
        for i in tl.static_range(PIECES):
            first = (i * 32 + laneid()) * ELEMENTS
            values = dl.zeros_vector(ELEMENTS, ring_ptr.dtype.element_ty)
            if first < columns:
                values = ld_vector(ring_ptr + at * ROW + first, ELEMENTS, "cta", "weak")
            fresh += (totals[i] + values.to(tl.float32) * by,)
        totals = fresh
        at = tl.where(at + 1 == RING, 0, at + 1)
        left = left & (left - 1)
    return totals
