"""Tensor descriptors and block pointers: gather, scatter, reductions into memory, padding, every rank."""

import ml_dtypes
import numpy as np
import pytest
import tandem
import triton
import triton.language as tl


@triton.jit
def gather_rows(x, rows, o, M, N, start, BN: tl.constexpr, COUNT: tl.constexpr):
    desc = tl.make_tensor_descriptor(x, [M, N], [N, 1], [1, BN])
    tile = desc.gather(tl.load(rows + tl.arange(0, COUNT)), start)
    tl.store(o + tl.arange(0, COUNT)[:, None] * BN + tl.arange(0, BN)[None, :], tile)


@triton.jit
def scatter_rows(x, rows, o, M, N, start, BN: tl.constexpr, COUNT: tl.constexpr):
    desc = tl.make_tensor_descriptor(o, [M, N], [N, 1], [1, BN])
    tile = tl.load(x + tl.arange(0, COUNT)[:, None] * BN + tl.arange(0, BN)[None, :])
    desc.scatter(tile, tl.load(rows + tl.arange(0, COUNT)), start)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int32, np.uint8])
@pytest.mark.parametrize("start", [0, 16, 40])
def test_gather_and_scatter(dtype, start):
    m, n, bn = 12, 48, 16
    x = (np.arange(m * n) % 251).reshape(m, n).astype(dtype)
    rows = np.array([3, 11, 0, 5, 3, 12, -1, 7], np.int32)
    o = np.full((8, bn), 9, dtype)
    gather_rows[(1,)](x, rows, o, m, n, start, bn, 8)
    want = np.zeros((8, bn), dtype)
    for i, r in enumerate(rows):
        if 0 <= r < m:
            want[i, : min(bn, n - start)] = x[r, start : start + bn]
    np.testing.assert_array_equal(o, want)
    rows = np.array([3, 11, 0, 5, 4, 12, -1, 7], np.int32)
    back = np.zeros((m, n), dtype)
    scatter_rows[(1,)](want, rows, back, m, n, start, bn, 8)
    expected = np.zeros((m, n), dtype)
    for i, r in enumerate(rows):
        if 0 <= r < m:
            expected[r, start : start + bn] = want[i, : min(bn, n - start)]
    np.testing.assert_array_equal(back, expected)


@triton.jit
def reduce_into(x, o, M, N, OP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    desc = tl.make_tensor_descriptor(o, [M, N], [N, 1], [BM, BN])
    tile = tl.load(x + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :])
    row, col = tl.program_id(0) * BM, tl.program_id(1) * BN
    if OP == "add":
        desc.atomic_add([row, col], tile)
    elif OP == "min":
        desc.atomic_min([row, col], tile)
    elif OP == "max":
        desc.atomic_max([row, col], tile)
    elif OP == "and":
        desc.atomic_and([row, col], tile)
    elif OP == "or":
        desc.atomic_or([row, col], tile)
    else:
        desc.atomic_xor([row, col], tile)


REDUCE = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
REDUCED = [(op, t) for op in REDUCE for t in (np.int32, np.uint32, np.int64, np.uint64)]
REDUCED += [(op, t) for op in ("add", "min", "max") for t in (np.float16, ml_dtypes.bfloat16)] + [("add", np.float32)]


@pytest.mark.parametrize("op, dtype", REDUCED)
def test_reductions_into_memory(op, dtype):
    rng = np.random.default_rng(1)
    m, n, bm, bn = 12, 24, 8, 16
    low = 0 if np.dtype(dtype).kind == "u" else -100
    x, o = rng.integers(low, 100, (bm, bn)).astype(dtype), rng.integers(low, 100, (m, n)).astype(dtype)
    padded = np.tile(x, (2, 2))[:m, :n]
    want = REDUCE[op](o, padded).astype(dtype)
    reduce_into[(2, 2)](x, o, m, n, op, bm, bn)
    np.testing.assert_array_equal(o, want)


@pytest.mark.parametrize("op, dtype, text", [("and", np.float16, "and"), ("max", np.float32, "fp32"), ("add", np.int8, "int8")])
def test_refused_reductions(op, dtype, text):
    with pytest.raises(tandem.CompileError, match=text):
        reduce_into[(1, 1)](np.zeros((8, 16), dtype), np.zeros((8, 16), dtype), 8, 16, op, 8, 16)


@triton.jit
def padded_tile(x, o, M, N, row, col, PAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    desc = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN], padding_option=PAD)
    tl.store(o + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :], desc.load([row, col]))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ml_dtypes.bfloat16, np.float64])
@pytest.mark.parametrize("row, col", [(0, 0), (3, 8), (-2, -4), (100, 0)])
def test_padding(dtype, row, col):
    m, n, bm, bn = 6, 16, 4, 16
    x, o = np.arange(m * n).reshape(m, n).astype(dtype), np.zeros((bm, bn), dtype)
    for pad, fill in [("zero", 0), ("nan", np.nan)]:
        padded_tile[(1,)](x, o, m, n, row, col, pad, bm, bn)
        want = np.full((bm, bn), fill, np.float64)
        for i in range(bm):
            for j in range(bn):
                if 0 <= row + i < m and 0 <= col + j < n:
                    want[i, j] = x[row + i, col + j]
        np.testing.assert_array_equal(o.astype(np.float64), want)


@triton.jit
def tile_of(desc, o, row, col, BM: tl.constexpr, BN: tl.constexpr):
    tl.store(o + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :], desc.load([row, col]))


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2])
def test_padding_of_a_host_descriptor(dtype):
    x, o = np.ones((6, 16)).astype(dtype), np.zeros((4, 16), dtype)
    for pad, fill in [("zero", 0), ("nan", np.nan)]:
        tile_of[(1,)](tandem.TensorDescriptor(x, [6, 16], [16, 1], [4, 16], padding=pad), o, 3, 8, 4, 16)
        want = np.full((4, 16), fill)
        want[:3, :8] = 1
        np.testing.assert_array_equal(o.astype(np.float64), want)


def test_wrong_padding_of_a_host_descriptor():
    x = np.ones((6, 16), np.int32)
    with pytest.raises(ValueError, match='`padding` of a tensor descriptor is "zero" or "nan", not \'one\''):
        tandem.TensorDescriptor(x, [6, 16], [16, 1], [4, 16], padding="one")
    with pytest.raises(tandem.CompileError, match='`padding` "nan" of descriptor `desc` is not supported for blocks of `int32`'):
        tile_of[(1,)](tandem.TensorDescriptor(x, [6, 16], [16, 1], [4, 16], padding="nan"), np.zeros((4, 16), np.int32), 3, 8, 4, 16)


@triton.jit
def copy_rank(x, o, RANK: tl.constexpr, n: tl.constexpr):
    if RANK == 1:
        a, b = tl.make_tensor_descriptor(x, [n], [1], [8]), tl.make_tensor_descriptor(o, [n], [1], [8])
        b.store([tl.program_id(0) * 8], a.load([tl.program_id(0) * 8]))
    elif RANK == 4:
        a = tl.make_tensor_descriptor(x, [2, 2, 3, n], [6 * n, 3 * n, n, 1], [1, 2, 2, 8])
        b = tl.make_tensor_descriptor(o, [2, 2, 3, n], [6 * n, 3 * n, n, 1], [1, 2, 2, 8])
        for k in range(0, 4, 2):
            b.store([tl.program_id(1), 0, k, tl.program_id(0) * 8], a.load([tl.program_id(1), 0, k, tl.program_id(0) * 8]))
    else:
        a = tl.make_tensor_descriptor(x, [2, 1, 2, 3, n], [6 * n, 6 * n, 3 * n, n, 1], [1, 1, 2, 4, 8])
        b = tl.make_tensor_descriptor(o, [2, 1, 2, 3, n], [6 * n, 6 * n, 3 * n, n, 1], [1, 1, 2, 4, 8])
        b.store([tl.program_id(1), 0, 0, 0, tl.program_id(0) * 8], a.load([tl.program_id(1), 0, 0, 0, tl.program_id(0) * 8]) + 0)


@pytest.mark.parametrize("rank", [1, 4, 5])
def test_ranks_of_descriptors(rank):
    n = 20
    x = np.random.default_rng(0).standard_normal((n,) if rank == 1 else (2, 2, 3, n)).astype(np.float32)
    o = np.zeros_like(x)
    copy_rank[(3, 2)](x, o, rank, n) if rank > 1 else copy_rank[(3,)](x, o, rank, n)
    np.testing.assert_array_equal(o, x)


@triton.jit
def vector_pointer(x, o, n, B: tl.constexpr):
    src = tl.make_block_ptr(x, (n,), (1,), (0,), (B,), (0,))
    dst = tl.make_block_ptr(o, (n,), (1,), (0,), (B,), (0,))
    for _ in range(tl.cdiv(n, B)):
        tl.store(dst, tl.load(src, boundary_check=(0,), padding_option="zero") * 2, boundary_check=(0,))
        src, dst = tl.advance(src, (B,)), tl.advance(dst, (B,))


def test_block_pointer_of_rank_1():
    x, o = np.arange(37, dtype=np.float32), np.zeros(37, np.float32)
    vector_pointer[(1,)](x, o, 37, 8)
    np.testing.assert_array_equal(o, 2 * x)


@triton.jit
def cube_transposed(x, o, A, B, C):
    src = tl.make_block_ptr(x, (A, B, C), (B * C, C, 1), (0, 1, 0), (2, 4, 8), (2, 1, 0))
    dst = tl.make_block_ptr(o, (C, B, A), (B * A, A, 1), (0, 1, 0), (8, 4, 2), (2, 1, 0))
    for _ in range(2):
        tl.store(dst, tl.permute(tl.load(src, boundary_check=(0, 1, 2)), 2, 1, 0), boundary_check=(0, 1, 2))
        src = tl.advance(src, (0, 0, 8))
        dst = tl.advance(dst, [8, 0, 0])


def test_block_pointer_of_rank_3():
    x, o = np.random.default_rng(0).standard_normal((2, 3, 11)).astype(np.float32), np.zeros((11, 3, 2), np.float32)
    cube_transposed[(1,)](x, o, 2, 3, 11)
    want = x.transpose(2, 1, 0).copy()
    want[:, 0] = 0
    np.testing.assert_array_equal(o, want)


@triton.jit
def host_described(src, dst, BM: tl.constexpr, BN: tl.constexpr):
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    dst.store([i, j], src.load([i, j]) + 1)


def test_descriptors_made_by_the_host():
    from triton.tools.tensor_descriptor import TensorDescriptor

    x, o = np.arange(7 * 20, dtype=np.float32).reshape(7, 20), np.zeros((7, 20), np.float32)
    host_described[(2, 3)](TensorDescriptor(x, [7, 20], [20, 1], [4, 8]), TensorDescriptor(o, [7, 20], [20, 1], [4, 8]), 4, 8)
    np.testing.assert_array_equal(o, x + 1)
