"""Tensor maps made on the device, and pipelines that load and store through them."""

import ml_dtypes
import numpy as np
import pytest
import tandem
import triton
import triton.language as tl
import triton_dist.language as dl
from triton_dist.language.extra.cuda.tma_language import (
    cp_async_bulk_commit_group,
    cp_async_bulk_wait_group,
    elect_one_sync,
    fence_proxy_async,
    get_dynamic_smem_pointer,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait_parity,
    prefetch_tensor_2d_l2,
    prefetch_tensormap,
    tensormap_replace_fill_mode,
    tma_load_2d,
    tma_load_2d_pred,
    tma_store_2d,
)
from triton_dist.language.extra.language_extra import __syncthreads, ld, st, tid
from triton_dist.language.tma import (
    ELEM_BF16,
    ELEM_F32,
    SWIZZLE_NONE,
    PipelineState,
    TmaPipeline,
    create_tmap_2d,
    store_and_wait,
    tmap_update_address,
)


@triton.jit
def copy_pipeline(
    source_ptr,
    out_ptr,
    maps_ptr,
    M,
    N,
    BM: tl.constexpr,
    BN: tl.constexpr,
    STAGES: tl.constexpr,
    IN_FLIGHT: tl.constexpr,
    SWIZZLE: tl.constexpr,
):
    """Warp 0 loads tiles into a ring; warp 1 stores them to the next rank and releases the oldest."""
    pid = tl.program_id(0)
    programs = tl.num_programs(0)
    t = tid(0)
    map_smem = dl.allocate_smem(tl.int32, [32])
    buffers = dl.allocate_smem(tl.bfloat16, [STAGES, BM, BN])
    ready = dl.allocate_smem(tl.int64, [STAGES])
    empty = dl.allocate_smem(tl.int64, [STAGES])
    pipeline = TmaPipeline(ready, empty, buffers, STAGES)
    stride = tl.cast(N * 2, tl.int64)
    load_map = create_tmap_2d(
        map_smem, tl.cast(maps_ptr + pid * 256, tl.uint64, bitcast=True), source_ptr, N, M, stride, BN, BM, ELEM_BF16, SWIZZLE
    )
    peer = (dl.rank() + 1) % dl.num_ranks()
    store_map = create_tmap_2d(
        map_smem,
        tl.cast(maps_ptr + pid * 256 + 128, tl.uint64, bitcast=True),
        dl.symm_at(out_ptr, peer),
        N,
        M,
        stride,
        BN,
        BM,
        ELEM_BF16,
        SWIZZLE,
    )
    if t == 0:
        pipeline.init_barriers(tl.cast(1, tl.int32))
    __syncthreads()
    tiles_n = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * tiles_n
    if t // 32 == 0:
        state = PipelineState(tl.cast(0, tl.int32), tl.cast(0, tl.int32), STAGES)
        for tile in range(pid, tiles, programs):
            pipeline.producer_acquire(state)
            if elect_one_sync() != 0:
                pipeline.producer_tma_load(state, load_map, tile % tiles_n * BN, tile // tiles_n * BM, BM * BN * 2)
            state = state.advance()
    else:
        reading = PipelineState(tl.cast(0, tl.int32), tl.cast(0, tl.int32), STAGES)
        releasing = PipelineState(tl.cast(0, tl.int32), tl.cast(0, tl.int32), STAGES)
        count = 0
        for tile in range(pid, tiles, programs):
            pipeline.consumer_wait(reading)
            elected = elect_one_sync()
            if elected != 0:
                pipeline.consumer_tma_store(reading, store_map, tile % tiles_n * BN, tile // tiles_n * BM)
            if count >= IN_FLIGHT:
                if elected != 0:
                    cp_async_bulk_wait_group(IN_FLIGHT, read=False)
                    pipeline.consumer_release(releasing)
                releasing = releasing.advance()
            reading = reading.advance()
            count += 1
        if elect_one_sync() != 0:
            cp_async_bulk_wait_group(0, read=False)
    __syncthreads()
    if t == 0:
        pipeline.invalidate_barriers()


@pytest.mark.parametrize("m, n, programs, swizzle", [(64, 128, 1, 0), (64, 128, 3, 0), (50, 72, 2, 0), (64, 128, 2, 3), (33, 88, 2, 3)])
def test_a_double_buffered_copy_to_the_next_rank(everywhere, m, n, programs, swizzle):

    def main(team):
        data = lambda rank: np.random.default_rng(rank).standard_normal((m, n)).astype(ml_dtypes.bfloat16)
        source, out = team.from_array(data(team.rank)), team.zeros((m, n), "bfloat16", name="out")
        maps = np.zeros(256 * programs, np.uint8)
        copy_pipeline[(programs,)](source, out, maps, m, n, 16, 32, 2, 1, swizzle, num_warps=2)
        team.barrier()
        np.testing.assert_array_equal(np.asarray(out), data((team.rank - 1) % team.size))

    everywhere(main, ranks=(1, 2, 4))


@triton.jit
def forgets_to_release(source_ptr, maps_ptr, BM: tl.constexpr, BN: tl.constexpr):
    t = tid(0)
    map_smem = dl.allocate_smem(tl.int32, [32])
    buffers = dl.allocate_smem(tl.float32, [2, BM, BN])
    pipeline = TmaPipeline(dl.allocate_smem(tl.int64, [2]), dl.allocate_smem(tl.int64, [2]), buffers, 2)
    load_map = create_tmap_2d(map_smem, maps_ptr, source_ptr, BN, BM * 4, BN * 4, BN, BM, ELEM_F32, SWIZZLE_NONE)
    if t == 0:
        pipeline.init_barriers(1)
    __syncthreads()
    if t // 32 == 0:
        state = PipelineState(tl.cast(0, tl.int32), tl.cast(0, tl.int32), 2)
        for tile in range(4):
            pipeline.producer_acquire(state)  # the third time there is no free stage
            if elect_one_sync() != 0:
                pipeline.producer_tma_load(state, load_map, 0, tile * BM, BM * BN * 4)
            state = state.advance()
    else:
        state = PipelineState(tl.cast(0, tl.int32), tl.cast(0, tl.int32), 2)
        for tile in range(4):
            pipeline.consumer_wait(state)
            state = state.advance()
    __syncthreads()


def test_a_stage_that_is_never_released_is_a_deadlock_at_the_call():
    lines = open(__file__, encoding="utf-8").read().split("\n")
    line = 1 + next(k for k, text in enumerate(lines) if "the third time there is no free stage" in text)
    source, maps = np.zeros((64, 8), np.float32), np.zeros(128, np.uint8)
    with pytest.raises(tandem.SimulationError, match="deadlock") as error:
        tandem.launch(lambda team: forgets_to_release[(1,)](source, maps, 16, 8, num_warps=2))
    assert "arrivals" in str(error.value)
    assert f"test_tma.py:{line}" in str(error.value)


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, maps_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr):
    """C = A B: two loads a stage on one barrier, products from shared memory, the result stored by TMA."""
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    pid = pid_m * tl.num_programs(1) + pid_n
    t = tid(0)
    map_smem = dl.allocate_smem(tl.int32, [32])
    a_smem = dl.allocate_smem(tl.float32, [STAGES, BM, BK])
    b_smem = dl.allocate_smem(tl.float32, [STAGES, BK, BN])
    c_smem = dl.allocate_smem(tl.float32, [BM, BN])
    full = dl.allocate_smem(tl.int64, [STAGES])
    maps_ptr += pid * 384
    a_map = create_tmap_2d(map_smem, maps_ptr, a_ptr, K, M, K * 4, BK, BM, ELEM_F32, SWIZZLE_NONE)
    b_map = create_tmap_2d(map_smem, maps_ptr + 128, b_ptr, N, K, N * 4, BN, BK, ELEM_F32, SWIZZLE_NONE)
    c_map = create_tmap_2d(map_smem, maps_ptr + 256, c_ptr, N, M, N * 4, BN, BM, ELEM_F32, SWIZZLE_NONE)
    prefetch_tensormap(a_map)
    prefetch_tensor_2d_l2(b_map, pid_n * BN, 0)
    if t == 0:
        for stage in tl.static_range(STAGES):
            mbarrier_init(dl.smem_get_ptr(full, [stage]), 1)
    __syncthreads()
    steps = tl.cdiv(K, BK)
    for k in range(-(STAGES - 1), steps):
        ahead = k + STAGES - 1
        slot = ahead % STAGES
        if t == 0:
            barrier = dl.smem_get_ptr(full, [slot])
            if ahead < steps:
                mbarrier_arrive_expect_tx(barrier, (BM * BK + BK * BN) * 4)
            tma_load_2d_pred(a_map, dl.smem_get_ptr(a_smem, [slot, 0, 0]), barrier, ahead * BK, pid_m * BM, ahead < steps)
            tma_load_2d_pred(b_map, dl.smem_get_ptr(b_smem, [slot, 0, 0]), barrier, pid_n * BN, ahead * BK, ahead < steps)
        if k >= 0:
            now = k % STAGES
            mbarrier_wait_parity(dl.smem_get_ptr(full, [now]), k // STAGES & 1)
            row = tl.arange(0, BM)[:, None]
            inner = tl.arange(0, BK)
            column = tl.arange(0, BN)[None, :]
            a = tl.load(dl.smem_get_ptr(a_smem, [now, 0, 0]) + row * BK + inner[None, :])
            b = tl.load(dl.smem_get_ptr(b_smem, [now, 0, 0]) + inner[:, None] * BN + column)
            c_at = dl.smem_get_ptr(c_smem) + row * BN + column
            if k == 0:
                tl.store(c_at, tl.dot(a, b, input_precision="ieee"))
            else:
                tl.store(c_at, tl.dot(a, b, tl.load(c_at), input_precision="ieee"))
            __syncthreads()
    fence_proxy_async()
    if t == 0:
        store_and_wait(c_map, dl.smem_get_ptr(c_smem), pid_n * BN, pid_m * BM, 0)


@pytest.mark.parametrize("m, n, k, stages", [(32, 32, 64, 2), (40, 52, 72, 3), (16, 16, 16, 1)])
def test_a_product_loaded_and_stored_by_tma(everywhere, m, n, k, stages):

    def main(team):
        rng = np.random.default_rng(team.rank)
        a, b = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
        c, maps = np.zeros((m, n), np.float32), np.zeros(384 * 64, np.uint8)
        matmul[(triton.cdiv(m, 16), triton.cdiv(n, 16))](a, b, c, maps, m, n, k, 16, 16, 16, stages)
        np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)

    everywhere(main, ranks=(1, 2))


@triton.jit
def box(
    x_ptr,
    o_ptr,
    maps_ptr,
    N,
    M,
    column,
    row,
    T: tl.constexpr,
    BN: tl.constexpr,
    BM: tl.constexpr,
    ELEM: tl.constexpr,
    SWIZZLE: tl.constexpr,
    FILL: tl.constexpr,
    VEC: tl.constexpr,
    PHASES: tl.constexpr,
):
    """Loads one box and shows it element by element."""
    t = tid(0)
    map_smem = dl.allocate_smem(tl.int32, [32])
    buffer = dl.allocate_smem(T, [BM, BN], vec=VEC, per_phase=1, max_phase=PHASES)
    barrier = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    stride = tl.cast(N * (T.primitive_bitwidth // 8), tl.int64)
    tmap = create_tmap_2d(map_smem, maps_ptr, x_ptr, N, M, stride, BN, BM, ELEM, SWIZZLE)
    if t == 0:
        tensormap_replace_fill_mode(maps_ptr, FILL)
        mbarrier_init(barrier, 1)
        mbarrier_arrive_expect_tx(barrier, BM * BN * (T.primitive_bitwidth // 8))
        tma_load_2d(tmap, dl.smem_get_ptr(buffer), barrier, column, row)
    __syncthreads()
    mbarrier_wait_parity(barrier, 0)
    for r in range(BM):
        if t < BN:
            st(o_ptr + r * BN + t, dl.smem_load(buffer, [r, t]))


@pytest.mark.parametrize("column, row", [(0, 0), (4, 2), (-3, -2), (10, 5), (12, 0), (40, 0), (0, -8)])
def test_a_box_is_filled_outside_the_tensor(everywhere, column, row):

    def main(team):
        x = np.arange(1, 12 * 7 + 1, dtype=np.float32).reshape(7, 12)
        padded = np.zeros((64, 128), np.float32)
        padded[16:23, 40:52] = x
        for fill in (0, 1):
            o, maps = np.zeros((8, 16), np.float32), np.zeros(128, np.uint8)
            box[(1,)](x, o, maps, 12, 7, column, row, tl.float32, 16, 8, ELEM_F32, 0, fill, 1, 1, num_warps=1)
            expected = np.where(padded == 0, np.nan, padded) if fill else padded
            np.testing.assert_array_equal(o, expected[16 + row : 24 + row, 40 + column : 56 + column])

    everywhere(main, ranks=(1,))


def test_a_swizzled_box_in_a_swizzled_buffer():
    """The buffer's indices undo the map's swizzle; an unswizzled buffer shows the parts where they lie."""
    x = np.arange(32 * 16, dtype=np.float32).reshape(16, 32)
    for phases, same in ((8, True), (1, False)):
        o, maps = np.zeros((16, 32), np.float32), np.zeros(128, np.uint8)
        box[(1,)](x, o, maps, 32, 16, 0, 0, tl.float32, 32, 16, ELEM_F32, 3, 0, 4, phases, num_warps=1)
        if same:
            np.testing.assert_array_equal(o, x)
        else:
            parts = np.arange(8) ^ (np.arange(16) % 8)[:, None]
            np.testing.assert_array_equal(o.reshape(16, 8, 4), x.reshape(16, 8, 4)[np.arange(16)[:, None], parts])


@triton.jit
def moved_map(x_ptr, y_ptr, o_ptr, maps_ptr):
    t = tid(0)
    map_smem = dl.allocate_smem(tl.int32, [32])
    buffer = dl.allocate_smem(tl.float32, [4, 8])
    barrier = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    tmap = create_tmap_2d(map_smem, maps_ptr, x_ptr, 8, 4, 32, 8, 4, ELEM_F32, SWIZZLE_NONE)
    other = create_tmap_2d(map_smem, maps_ptr + 128, o_ptr, 8, 4, 32, 8, 4, ELEM_F32, SWIZZLE_NONE)
    tmap_update_address(map_smem, tmap, y_ptr)
    if t == 0:
        mbarrier_init(barrier, 1)
        mbarrier_arrive_expect_tx(barrier, 128)
        tma_load_2d(tmap, dl.smem_get_ptr(buffer), barrier, 0, 0)
    __syncthreads()
    mbarrier_wait_parity(barrier, 0)
    if t == 0:
        tma_store_2d(other, dl.smem_get_ptr(buffer), 0, 0)
        cp_async_bulk_commit_group()
        cp_async_bulk_wait_group(0)


def test_a_map_can_be_moved_to_another_tensor():
    x, y = np.zeros((4, 8), np.float32), np.arange(32, dtype=np.float32).reshape(4, 8)
    o, maps = np.zeros((4, 8), np.float32), np.zeros(256, np.uint8)
    moved_map[(1,)](x, y, o, maps, num_warps=2)
    np.testing.assert_array_equal(o, y)


@triton.jit
def faulty(
    x_ptr,
    maps_ptr,
    N,
    M,
    STRIDE: tl.constexpr,
    BN: tl.constexpr,
    BM: tl.constexpr,
    ELEM: tl.constexpr,
    SWIZZLE: tl.constexpr,
    OFFSET: tl.constexpr,
):
    t = tid(0)
    map_smem = dl.allocate_smem(tl.int32, [32])
    buffer = dl.allocate_smem(tl.float32, [64, 64])
    barrier = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1]))
    tmap = create_tmap_2d(map_smem, maps_ptr, x_ptr, N, M, STRIDE, BN, BM, ELEM, SWIZZLE)
    if t == 0:
        mbarrier_init(barrier, 1)
        tma_load_2d(tmap, dl.smem_get_ptr(buffer, [0, OFFSET]), barrier, 0, 0)


@pytest.mark.parametrize(
    "n, m, stride, bn, bm, elem, swizzle, offset, text",
    [
        (8, 4, 32, 8, 4, 99, 0, 0, "its element type is 99"),
        (8, 4, 30, 8, 4, 7, 0, 0, "stride of dimension 1 is 30"),
        (8, 4, 32, 6, 4, 7, 0, 0, "a row of its box has 24 bytes, no multiple of 16"),
        (8, 4, 32, 8, 300, 7, 0, 0, "box size of dimension 1 is 300"),
        (8, 4, 32, 64, 4, 7, 3, 0, "256 bytes, more than the 128"),
        (8, 0, 32, 8, 4, 7, 0, 0, "size of dimension 1 is 0"),
        (8, 4, 32, 8, 4, 7, 9, 0, "its swizzle mode is 9"),
        (8, 4, 32, 8, 4, 7, 0, 4, "not aligned to 128 bytes"),
        (8, 400, 32, 8, 200, 7, 0, 0, "bytes at byte offset 128"),
        (8, 4, 32, 256, 200, 7, 0, 0, "which has 16384 bytes"),
    ],
)
def test_faulty_maps_and_boxes_are_reported_at_the_call(n, m, stride, bn, bm, elem, swizzle, offset, text):
    lines = open(__file__, encoding="utf-8").read().split("\n")
    line = 1 + next(k for k, t in enumerate(lines) if "[0, OFFSET]" in t)
    with pytest.raises(tandem.SimulationError, match=text) as error:
        x, maps = np.zeros((4, 8), np.float32), np.zeros(128, np.uint8)
        tandem.launch(lambda team: faulty[(1,)](x, maps, n, m, stride, bn, bm, elem, swizzle, offset, num_warps=1))
    assert f"test_tma.py:{line}" in str(error.value)


@triton.jit
def first_buffer(o_ptr):
    buffer = dl.allocate_smem(tl.int8, [32])
    dl.smem_store(buffer, tid(0), [tid(0)])
    __syncthreads()
    st(o_ptr + tid(0), ld(get_dynamic_smem_pointer() + tid(0)))


def test_dynamic_shared_memory_is_the_first_buffer():
    o = np.zeros(32, np.int8)
    first_buffer[(1,)](o, num_warps=1)
    np.testing.assert_array_equal(o, np.arange(32))


@triton.jit
def transposed_places(source_ptr, out_ptr, maps_ptr, N: tl.constexpr):
    """The 8 x 8 tile at row 8, column 16 goes to row 16, column 8, by copies that are written as PTX."""
    map_smem = dl.allocate_smem(tl.int32, [32])
    stride = tl.cast(N * 4, tl.int64)
    maps = tl.cast(maps_ptr, tl.uint64, bitcast=True)
    load_map = create_tmap_2d(map_smem, maps, source_ptr, N, N, stride, 8, 8, ELEM_F32, SWIZZLE_NONE)
    store_map = create_tmap_2d(map_smem, maps + 128, out_ptr, N, N, stride, 8, 8, ELEM_F32, SWIZZLE_NONE)
    buffer = tl.cast(dl.smem_get_ptr(dl.allocate_smem(tl.float32, [64])), tl.uint64, bitcast=True)
    barrier = tl.cast(dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1])), tl.uint64, bitcast=True)
    if tid(0) == 0:
        tl.inline_asm_elementwise(
            """{ .reg .u32 s, b; .reg .pred p;
            cvt.u32.u64 s, $3; cvt.u32.u64 b, $4;
            mbarrier.init.shared::cta.b64 [b], 1;
            mbarrier.arrive.expect_tx.shared::cta.b64 _, [b], 256;
            cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [s], [$1, {16, 8}], [b], 0;
            again: mbarrier.try_wait.parity.shared::cta.b64 p, [b], 0;
            @!p bra again;
            cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [$2, {8, 16}], [s];
            cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
            mbarrier.inval.shared::cta.b64 [b]; mov.u32 $0, 0; }""",
            "=r,l,l,l,l",
            [load_map, store_map, buffer, barrier],
            dtype=tl.int32,
            is_pure=False,
            pack=1,
        )


def test_tensor_copies_that_are_written_as_ptx(everywhere):

    def main(team):
        source, out = np.arange(32 * 32, dtype=np.float32).reshape(32, 32), np.zeros((32, 32), np.float32)
        transposed_places[(1,)](source, out, np.zeros(256, np.int8), 32)
        want = np.zeros_like(out)
        want[16:24, 8:16] = source[8:16, 16:24]
        np.testing.assert_array_equal(out, want)

    everywhere(main, ranks=(1,), check=True)
