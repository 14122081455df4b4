"""EpDispatch of rows in fp8, which it quantises on the way or takes as they are, on simulated ranks under the checker."""

import functools
import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from ep_reference import Layer

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import EpDispatch, route_parts


def quantised(x):
    """Elements in fp8 and the scale of each 128 of a row."""
    groups = -(-x.shape[1] // 128)
    padded = np.zeros((len(x), 128 * groups), np.float32)
    padded[:, : x.shape[1]] = x.astype(np.float32)
    padded = padded.reshape(len(x), groups, 128)
    largest = np.abs(padded).max(2)
    with np.errstate(divide="ignore"):
        factor = np.where(largest > 0, np.float32(448) / largest, 0).astype(np.float32)
    values = (padded * factor[..., None]).reshape(len(x), -1)[:, : x.shape[1]]
    return values.astype(as_dtype("fp8e4nv")), largest / np.float32(448)


def rows_in_fp8(team, layer, pieces, mode):
    moved, rank, options = team.local_from_array, team.rank, {"mode": mode, **({"pieces": pieces} if pieces else {})}
    with EpDispatch(team, layer.most, layer.columns, layer.experts, layer.top_k, layer.dtype, quantised=True, **options) as op:
        for _ in range(3):
            rows, _, scales = op(moved(layer.x[rank]), moved(layer.ids[rank]), moved(layer.weights[rank]), layer.counts[rank])
    used = np.flatnonzero((layer.here(rank) >= 0).any(1))
    return [(np.array(rows[int(row)]), np.array(scales[int(row)])) for row in used], used


@pytest.mark.parametrize("mode", ["latency", "throughput"])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_quantised(ranks, mode):
    """Rows in fp8 have the bits of a quantisation before the flight; also zeros, and numbers of very different sizes."""
    sizes = [(77, "bf16", None), (512, "fp16", None), (1500, "fp32", None), (1040, "bf16", 1), (2100, "bf16", 4)]
    for seed, (columns, dtype, pieces) in enumerate(sizes):
        draw = np.random.default_rng(seed)
        layer = Layer([int(n) for n in draw.integers(1, 4, ranks)], 3, columns, 3 * ranks, 2, dtype, seed)
        layer.x = [(draw.normal(size=x.shape) * 2.0 ** draw.integers(-9, 10, x.shape)).astype(layer.dtype) for x in layer.x]
        for x in layer.x:
            x[0, :128] = 0

        result = tandem.launch(functools.partial(rows_in_fp8, layer=layer, pieces=pieces, mode=mode), ranks=ranks, seed=seed, check=True)
        assert result.reports == []
        for found, used in result.values:
            for (values, scales), row in zip(found, used):
                want = quantised(layer.x[row // 3][row % 3][None])
                assert np.array_equal(scales, want[1][0]), f"scales of row {row}, {columns} columns"
                assert values.tobytes() == want[0][0].tobytes(), f"row {row}, {columns} columns"


def given_in_fp8(team, layer, scales, options):
    moved, rank = team.local_from_array, team.rank
    with EpDispatch(team, layer.most, layer.columns, layer.experts, layer.top_k, "fp8e4nv", quantised=True, **options) as op:
        given = [moved(a[rank]) for a in (layer.x, layer.ids, layer.weights)]
        for _ in range(3):
            rows, _, came = op(*given, layer.counts[rank], x_scales=moved(scales[rank]))
    used = np.flatnonzero((layer.here(rank) >= 0).any(1))
    return [(int(row), np.array(rows[int(row)]), np.array(came[int(row)])) for row in used]


@pytest.mark.parametrize("mode", ["latency", "throughput"])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_rows_that_are_in_fp8(ranks, mode):
    """They and their scales come as they are."""
    for seed, (columns, pieces) in enumerate([(77, 1), (512, 2), (1500, 1), (1040, 1), (2100, 4)]):
        draw = np.random.default_rng(seed)
        layer = Layer([int(n) for n in draw.integers(1, 4, ranks)], 3, columns, 3 * ranks, 2, "fp32", seed)
        layer.x = [draw.normal(size=x.shape).astype(as_dtype("fp8e4nv")) for x in layer.x]
        scales = [draw.random((len(x), -(-columns // 128)), np.float32) for x in layer.x]
        options = {"pieces": pieces, "mode": mode}
        result = tandem.launch(given_in_fp8, args=(layer, scales, options), ranks=ranks, seed=seed, check=True)
        assert result.reports == []
        for found in result.values:
            for row, values, came in found:
                source, token = divmod(row, 3)
                assert values.tobytes() == layer.x[source][token].tobytes() and np.array_equal(came, scales[source][token])


@pytest.mark.parametrize(
    "options, more, message",
    [
        ({}, {}, "`ep_dispatch`: rows of fp8e4nv travel with their scales, so `quantised` is needed"),
        ({"quantised": True}, {}, "`ep_dispatch`: `x_scales` is needed with fp8e4nv"),
    ],
)
def test_rows_in_fp8_without_scales(options, more, message):
    def main(team):
        op = EpDispatch(team, 2, 8, 4, 2, "fp8e4nv", **options)
        op(np.zeros((1, 8), as_dtype("fp8e4nv")), np.zeros((1, 2), np.int32), np.zeros((1, 2), np.float32), 1, **more)

    with pytest.raises(Exception, match=message):
        tandem.launch(main, ranks=2)


def test_quantised_into_symmetric_rows():
    layer = Layer([3, 2], 3, 300, 6, 2, "bf16")
    draw = np.random.default_rng(0)
    layer.x = [draw.normal(size=x.shape).astype(layer.dtype) for x in layer.x]

    def main(team):
        rank, moved = team.rank, team.local_from_array
        rows, scales = team.zeros((6, 300), "fp8e4nv"), team.zeros((6, 3), "float32")
        with EpDispatch(team, 3, 300, 6, 2, "bf16", quantised=True, symmetric_out=True) as op:
            for _ in range(2):
                op(*(moved(a[rank]) for a in (layer.x, layer.ids, layer.weights)), layer.counts[rank], out=rows, out_scales=scales)
        return [(int(row), np.array(rows[int(row)]), np.array(scales[int(row)])) for row in np.flatnonzero((layer.here(rank) >= 0).any(1))]

    result = tandem.launch(main, ranks=2, check=True)
    assert result.reports == []
    for found in result.values:
        for row, values, scales in found:
            want = quantised(layer.x[row // 3][row % 3][None])
            assert np.array_equal(scales, want[1][0]) and values.tobytes() == want[0][0].tobytes()


def in_fp8_by_expert(team, layer, mode):
    moved, rank = team.local_from_array, team.rank
    sizes = (layer.most, layer.columns, layer.experts, layer.top_k, layer.dtype)
    with EpDispatch(team, *sizes, quantised=True, by_expert=True, align=4, mode=mode) as op:
        for _ in range(2):
            rows, route, scales, _ = op(moved(layer.x[rank]), moved(layer.ids[rank]), moved(layer.weights[rank]), layer.counts[rank])
    place = route_parts(route, layer.ranks * layer.most, layer.local, layer.top_k).place
    return [(int(slot), np.array(rows[int(place[slot])]), np.array(scales[int(place[slot])])) for slot in np.flatnonzero(place >= 0)]


@pytest.mark.parametrize("mode", ["latency", "throughput"])
def test_quantised_by_expert(mode):
    draw = np.random.default_rng(0)
    layer = Layer([3, 2], 3, 300, 6, 2, "bf16")
    layer.x = [(draw.normal(size=x.shape) * 2.0 ** draw.integers(-9, 10, x.shape)).astype(layer.dtype) for x in layer.x]
    result = tandem.launch(functools.partial(in_fp8_by_expert, layer=layer, mode=mode), ranks=2, check=True)
    assert result.reports == []
    for rank, found in enumerate(result.values):
        assert [slot for slot, *_ in found] == np.flatnonzero(layer.here(rank).reshape(-1) >= 0).tolist()
        for slot, values, scales in found:
            source, token = divmod(slot // layer.top_k, layer.most)
            want = quantised(layer.x[source][token][None])
            assert np.array_equal(scales, want[1][0]) and values.tobytes() == want[0][0].tobytes()
