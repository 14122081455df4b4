"""Lanes of one store, and members of one collective, that do not agree."""

import numpy
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair

N = 64


@tandem.jit
def scatter_halves(x_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    """Two lanes have one slot; where they write the same, nobody can tell which came last."""
    o = tl.arange(0, N)
    value = o // 2 if FIXED else o
    tl.store(x_ptr + o // 2, value)  # <-- two_lanes_one_slot


@pair("race", "M1", ranks=(1, 2))
def two_lanes_one_slot(team, fixed):
    scatter_halves[(1,)](team.zeros(N, "int32", name="x"), N, fixed)


@tandem.jit
def histogram_of_keys(keys_ptr, bins_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    """A count that stores the old value plus one loses another lane's; an atomic counts every lane."""
    keys = tl.load(keys_ptr + tl.arange(0, N))
    if FIXED:
        tl.atomic_add(bins_ptr + keys, 1)
    else:
        tl.store(bins_ptr + keys, tl.load(bins_ptr + keys) + tl.arange(0, N))  # <-- histogram_by_stores


@pair("race", "M1", ranks=(1,))
def histogram_by_stores(team, fixed):
    keys = team.from_array(numpy.arange(N, dtype=numpy.int32) % 7, name="keys")
    histogram_of_keys[(1,)](keys, team.zeros(8, "int32", name="bins"), N, fixed)


@tandem.jit
def transpose_in_place(x_ptr, y_ptr, M: tl.constexpr, FIXED: tl.constexpr):
    """Columns stored as rows: no two lanes meet, though addresses fall; with the wrong stride the rows overlap."""
    row, column = tl.arange(0, M)[:, None], tl.arange(0, M)[None, :]
    tile = tl.load(x_ptr + row * M + column)
    stride = M if FIXED else M - 1
    tl.store(y_ptr + column * stride + row, tile)  # <-- rows_that_overlap


@pair("race", "M1", ranks=(1,))
def rows_that_overlap(team, fixed):
    x = team.from_array(numpy.arange(256, dtype=numpy.int32), name="x")
    transpose_in_place[(1,)](x, team.zeros(256, "int32", name="y"), 16, fixed)


@tandem.jit
def gather_parts(x_ptr, y_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    elements = N if FIXED else N // (dl.rank() + 1)
    shmem.fcollect_block(shmem.NVSHMEM_TEAM_WORLD, y_ptr, x_ptr, elements)  # <-- each_its_own_size


@pair("collective-mismatch", None, ranks=(2,))
def each_its_own_size(team, fixed):
    gather_parts[(1,)](team.zeros(N, "int32", name="x"), team.zeros(4 * N, "int32", name="y"), N, fixed)
