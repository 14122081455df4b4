"""Tensors of a team: views, writes, element types, what counts as written."""

import ml_dtypes
import numpy as np
import pytest

import tandem
import tandem.language as tl
import tandem.simt as simt
from tandem.kernel.element_types import as_dtype


@tandem.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


def on_ranks(main, ranks=2, **options):
    return tandem.launch(main, ranks=ranks, **options)


@pytest.mark.parametrize(
    "dtype",
    ["int8", "uint8", "int16", "int32", "int64", "uint64", "float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"],
)
def test_every_element_type_goes_through_a_kernel(dtype):
    def main(team):
        source = np.arange(100).astype(as_dtype(dtype))
        x, y = team.from_array(source), team.empty(100, dtype)
        copy[(2,)](x, y, 100, BLOCK=64)
        np.testing.assert_array_equal(np.asarray(y).view(np.uint8), source.view(np.uint8))

    on_ranks(main)


def test_indexing_reads_and_writes_like_numpy():
    def main(team):
        t, mirror = team.zeros((4, 6), "bfloat16"), np.zeros((4, 6), ml_dtypes.bfloat16)
        for index, value in (
            ((1, 2), 3),
            (-1, 2),
            ((slice(0, 2), slice(1, None, 2)), 5),
            ((2, slice(None)), np.arange(6)),
            ((..., 0), 7),
            ([0, 3], 9),
            ((slice(1, 3), [4, 0]), 4),
            ((slice(0, 4, 3), np.array([True, False] * 3)), 6),
            ((slice(2, 2), [1]), 8),
        ):
            t[index] = value
            mirror[index] = value
            np.testing.assert_array_equal(np.asarray(t[index]), mirror[index])
        np.testing.assert_array_equal(np.asarray(t), mirror)
        np.testing.assert_array_equal(np.asarray(t[1:3, ::2]), mirror[1:3, ::2])
        assert t[1, 2] == mirror[1, 2]
        assert t[1:3].shape == (2, 6) and t[1:3].stride() == (6, 1) and t.numel() == 24 and t.element_size() == 2

    on_ranks(main)


def test_only_what_was_written_may_be_read():
    def main(team):
        x, y = team.empty(128, "float32", name="half"), np.empty(128, np.float32)
        x[:64] = 1
        copy[(1,)](x, y, 64, BLOCK=128)
        assert (y[:64] == 1).all()
        copy[(1,)](x, y, 65, BLOCK=128)

    with pytest.raises(tandem.SimulationError) as caught:
        on_ranks(main, ranks=1)
    assert [r["kind"] for r in caught.value.reports] == ["uninitialised-read"]
    assert "`half`" in str(caught.value)


READS = {
    "slice": lambda x: np.asarray(x[2:6]),
    "element": lambda x: x[5],
    "list": lambda x: x[[1, 5]],
    "mask": lambda x: x[np.arange(8) > 2],
    "all of it": lambda x: np.array(x[:]),
    "the whole": lambda x: np.asarray(x),
    "a function": lambda x: np.sum(x),
}


@pytest.mark.parametrize("how", READS)
@pytest.mark.parametrize("check", [False, True])
def test_the_host_reads_only_what_was_written(how, check):
    def main(team, everything):
        x = team.empty(8, "float32", name="half")
        x[: 8 if everything else 4] = 1
        assert x[2] == 1 and (x[[0, 3]] == 1).all() and (x[np.arange(8) < 4] == 1).all() and (np.asarray(x[:4]) == 1).all()
        return READS[how](x).sum()

    assert tandem.launch(main, args=(True,), check=check).values[0] > 0
    with pytest.raises(tandem.SimulationError) as caught:
        tandem.launch(main, args=(False,), check=check)
    (report,) = caught.value.reports
    assert report["kind"] == "uninitialised-read" and "the host: read of `half`" in report["message"]
    assert report["file"] == __file__ and "lambda x: " in report["text"] and "x = team.empty(8" in report["text"]


def test_the_host_reads_no_buffer_that_nothing_has_written():
    with pytest.raises(tandem.SimulationError) as caught:
        tandem.launch(lambda team: np.asarray(team.empty(8, name="new")))
    assert "`new`[0..32) on rank 0, whose byte 0 nothing has written" in str(caught.value)


def test_a_view_may_be_made_before_it_is_written():
    def main(team):
        for x in (team.empty((4, 4), "float32"), team.empty((4, 4), "float32")[:, 1]):
            view = x.numpy()
            view[...] = 3
            assert (np.asarray(x) == 3).all()

    tandem.launch(main, check=True)


def test_a_write_of_the_host_wakes_a_kernel_that_spins():
    @tandem.jit
    def spins(flag_ptr):
        while simt.ld(flag_ptr, scope="sys", semantic="acquire") != 1:
            pass

    def main(team):
        flag = team.zeros(1, "int64", name="flag")
        if team.rank:
            spins[(1,)](flag)
            return
        for _ in range(100):
            team.new_stream().synchronize()
        flag.peer(1)[...] = 1

    for seed in range(4):
        tandem.launch(main, ranks=2, seed=seed)


def test_a_slice_is_a_kernel_argument():
    def main(team):
        x, y = team.from_array(np.arange(64, dtype=np.int32)), np.empty(16, np.int32)
        copy[(1,)](x[32:48], y, 16, BLOCK=16)
        np.testing.assert_array_equal(y, np.arange(32, 48))

    on_ranks(main)


def test_a_part_without_elements_begins_where_its_slices_do():
    def main(team):
        t = team.zeros((10, 3), "int32")
        parts = (slice(4, 4), slice(10, 20), (3, slice(2, 2)), (..., slice(1, 1)), (None, slice(-2, 5)))
        begins = [t[index].address - t.address for index in parts]
        assert begins == [48, 120, 44, 4, 96]
        assert t[2:8][3:3].address == t[5:5].address and np.array(t[4:4]).shape == (0, 3)

    on_ranks(main, ranks=1)


def test_host_views_of_one_array_stay_one():
    x = np.zeros(64, np.float32)
    x[:32] = 1
    copy[(1,)](x[:32], x[32:], 32, BLOCK=32)
    assert (x == 1).all()


def test_a_strided_host_view_keeps_its_strides():
    @tandem.jit
    def row_sums(x_ptr, y_ptr, stride, N: tl.constexpr):
        row = tl.program_id(0)
        tl.store(y_ptr + row, tl.sum(tl.load(x_ptr + row * stride + tl.arange(0, N)), axis=0))

    x = np.arange(64, dtype=np.float32).reshape(8, 8)[::2, :4]
    y = np.empty(4, np.float32)
    row_sums[(4,)](x, y, x.strides[0] // 4, N=4)
    np.testing.assert_array_equal(y, x.sum(1))


def test_a_read_only_array_is_not_written_back():
    x = np.ones(16, np.float32)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="kernel `copy` wrote to argument `.*`, a host array that is read-only"):
        copy[(1,)](np.zeros(16, np.float32), x, 16, BLOCK=16)
    assert (x == 1).all()


def test_a_view_cannot_be_freed():
    def main(team):
        t = team.zeros(8)
        with pytest.raises(ValueError, match="view"):
            t[2:4].free()
        t.free()
        with pytest.raises(ValueError, match="freed"):
            np.asarray(t)

    on_ranks(main)
