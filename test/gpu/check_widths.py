"""Products of many tiles in one program, some of all their columns and some of half of them: the loops fill the same slots."""

import numpy as np
import triton
import triton.language as tl
from checks import check, normal, poisoned, wide


@triton.jit
def widths(a, b, o, rows, M, N, K, WHOLE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GATHER: tl.constexpr):
    """o[i] = a[rows[i]] · b^T. Of the columns of tiles behind the first WHOLE of each program a tile has one half, then the other."""
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    columns = tl.cdiv(N, 2 * BN)
    tiles = tl.cdiv(M, BM) * columns
    whole = tl.minimum(tiles, WHOLE)
    for at in range(tl.program_id(0), 2 * tiles - whole, tl.num_programs(0)):
        tile = tl.where(at < whole, at, whole + (at - whole) // 2)
        row = tile // columns * BM
        column = tile % columns * 2 * BN + tl.where(at < whole, 0, (at - whole) % 2 * BN)
        x_rows = a + tl.load(rows + row + m)[:, None] * K + k[None, :]
        first, second = tl.zeros([BM, BN], tl.float32), tl.zeros([BM, BN], tl.float32)
        if at < whole:
            for start in range(0, K, BK):
                x = tl.load(x_rows + start) if GATHER else da.load([row, start])
                first = tl.dot(x, db.load([column, start]).T, first)
                second = tl.dot(x, db.load([column + BN, start]).T, second)
        else:
            for start in range(0, K, BK):
                x = tl.load(x_rows + start) if GATHER else da.load([row, start])
                first = tl.dot(x, db.load([column, start]).T, first)
        to = o + (row + m)[:, None] * N + (column + n)[None, :]
        is_row = (row + m)[:, None] < M
        tl.store(to, first, mask=is_row & ((column + n)[None, :] < N))
        tl.store(to + BN, second, mask=is_row & ((column + BN + n)[None, :] < N) & (at < whole))


def _of_rows(a, b, o, rows, M, N, K):
    return wide(a)[rows[:M]] @ wide(b).T


for _dtype, _bm, _bn, _bk, _warps, _stages in (
    ("bf16", 128, 128, 64, 8, 4),
    ("fp16", 64, 64, 64, 4, 3),
    ("fp16", 128, 64, 32, 8, 5),
    ("fp8e4nv", 128, 128, 128, 8, 3),
):
    for _m, _n, _k in ((256, 512, 384), (520, 640, 256), (128, 256, 128)):
        for _gather in (False, True):

            def make(rng, M=_m, N=_n, K=_k, dtype=_dtype, bm=_bm, gather=_gather):
                places = np.arange(-(-M // bm) * bm)
                rows = rng.permutation(M)[places % M] if gather else places % M
                return [normal(rng, (M, K), dtype), normal(rng, (N, K), dtype), poisoned((M, N)), rows.astype(np.int32), M, N, K]

            tolerance = 2e-3 if _dtype == "fp8e4nv" else 1e-4
            for _programs in (1, 3):
                for _whole in (0, 2, 5, 1000):
                    check(
                        widths,
                        make,
                        _of_rows,
                        f"{_dtype}.{_m}x{_n}x{_k}.{_bm}x{_bn}x{_bk}{'.rows' * _gather}.p{_programs}.w{_whole}",
                        (_programs,),
                        tolerance,
                        tolerance,
                        WHOLE=_whole,
                        BM=_bm,
                        BN=_bn,
                        BK=_bk,
                        GATHER=_gather,
                        num_warps=_warps,
                        num_stages=_stages,
                    )
