"""Calls that differ from the first one of their overlap: in shapes, numbers, types, memory; and what `tune` leaves behind."""

import numpy as np
import pytest
from plain_producers import product as product_of

import tandem
import tandem.language as tl


@tandem.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, B: tl.constexpr = 16):
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product_of(a_ptr, b_ptr, rows, columns, M, N, K, B)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@tandem.jit
def doubled(x_ptr, y_ptr, n, B: tl.constexpr):
    places = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + places, 2 * tl.load(x_ptr + places, mask=places < n), mask=places < n)


@tandem.jit
def doubled_of(x_desc, y_ptr, B: tl.constexpr):
    """How many rows there are, only the descriptor says."""
    for row in range(tl.program_id(0) * B, x_desc.shape[0], tl.num_programs(0) * B):
        x = 2 * x_desc.load([row, 0])
        places = (row + tl.arange(0, B))[:, None] * 16 + tl.arange(0, 16)[None, :]
        tl.store(y_ptr + places, x, mask=places < x_desc.shape[0] * 16)


@tandem.jit
def added(x_ptr, c_ptr, n, B: tl.constexpr):
    places = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(c_ptr + places, tl.load(x_ptr + places, mask=places < n), mask=places < n, sem="relaxed")


@tandem.jit
def accumulated(x_ptr, c_ptr, n, B: tl.constexpr):
    places = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.load(c_ptr + places, mask=places < n)
    tl.store(c_ptr + places, c + tl.load(x_ptr + places, mask=places < n), mask=places < n)


@tandem.jit
def counting_calls(a_ptr, out_ptr, calls_ptr, n, B: tl.constexpr):
    """What is written depends on how often the kernel has run."""
    places = tl.program_id(0) * B + tl.arange(0, B)
    before = tl.load(calls_ptr + tl.program_id(0))
    tl.store(out_ptr + places, before + tl.load(a_ptr + places, mask=places < n), mask=places < n)
    tl.store(calls_ptr + tl.program_id(0), before + 1)


WAYS = [("reduce_scatter", "copies"), ("reduce_scatter", "loads"), ("all_reduce", "copies"), ("all_reduce", "loads"), ("all_to_all", None)]


def launch(main, ranks=2, seed=0):
    result = tandem.launch(main, ranks=ranks, seed=seed, check=True)
    assert result.reports == []
    return result.values


def numbers(rank, *shape):
    return np.random.default_rng(rank).integers(-3, 4, shape).astype(np.float32)


def after(collective, parts, rank):
    """A rank's rows of what the collective makes of the ranks' parts, and which these are."""
    share = len(parts[0]) // len(parts)
    own = slice(rank * share, rank * share + share)
    if collective == "all_to_all":
        return np.concatenate([part[own] for part in parts]), slice(None)
    return sum(parts)[own if collective == "reduce_scatter" else slice(None)], own if collective == "reduce_scatter" else slice(None)


@pytest.mark.parametrize("path", ["copies", "loads"])
def test_a_consumer_with_other_shapes_and_grids(path):
    """Fewer columns of the result, then other inner sizes, then a grid of other axes."""
    overlapped = tandem.overlap(collective="all_gather", consumer=product, over="a_ptr", path=path)

    def main(team):
        a = team.zeros((64, 48), name="a")
        own = slice(32 * team.rank, 32 * team.rank + 32)
        for call, (n, grid) in enumerate([(48, (4, 3)), (16, (4, 1)), (48, lambda meta: (4, meta["N"] // meta["B"])), (16, 4)]):
            a[own] = numbers(2 * call + team.rank, 32, 48)
            b, c = team.local_from_array(numbers(9, 48, n)), team.local_empty((64, n))
            overlapped[grid](a, b, c, 64, n, 48)
            want = np.concatenate([numbers(2 * call, 32, 48), numbers(2 * call + 1, 32, 48)]) @ numbers(9, 48, n)
            np.testing.assert_array_equal(np.array(c), want)

    launch(main)


@pytest.mark.parametrize("collective, path", WAYS)
def test_a_producer_with_other_numbers(collective, path):
    """NumPy's numbers, too, say where a launch stores: what was counted for others is not for these."""
    overlapped = tandem.overlap(collective=collective, producer=doubled, over="y_ptr", path=path, bands=2)

    def main(team):
        y = team.zeros((64, 16), name="y")
        for call, (programs, block) in enumerate([(8, 128), (4, 256), (16, 64), (8, 128)]):
            x = [numbers(2 * call + rank, 64, 16) for rank in range(2)]
            for n in (np.int64(1024), np.int64(512), np.int64(1024)):
                y[...] = 0
                overlapped[(programs,)](team.local_from_array(x[team.rank]), y, n, B=block)
                want, seen = after(collective, [2 * of * (np.arange(64) * 16 < n)[:, None] for of in x], team.rank)
                np.testing.assert_array_equal(np.array(y)[seen], want)

    launch(main)


@pytest.mark.parametrize("collective, path", WAYS)
def test_a_producer_with_another_descriptor(collective, path):
    overlapped = tandem.overlap(collective=collective, producer=doubled_of, over="y_ptr", path=path)

    def main(team):
        y, x = team.zeros((64, 16), name="y"), team.local_from_array(numbers(team.rank, 64, 16))
        for rows in (64, 32, 64, 16):
            y[...] = 0
            overlapped[(2,)](tandem.TensorDescriptor.from_tensor(x[:rows], [16, 16]), y, B=16)
            want, seen = after(collective, [2 * numbers(rank, 64, 16) * (np.arange(64) < rows)[:, None] for rank in range(2)], team.rank)
            np.testing.assert_array_equal(np.array(y)[seen], want)

    launch(main)


@pytest.mark.parametrize("collective, path", WAYS)
def test_the_same_memory_with_another_type(collective, path):
    overlapped = tandem.overlap(collective=collective, producer=doubled, over="y_ptr", path=path)

    def main(team):
        memory = team.zeros(64 * 32, "uint8", name="y")
        for dtype in ("float32", "int16", "float16", "float32"):
            y = type(memory)(team, memory.address, (64, 32 // np.dtype(dtype).itemsize), dtype, owner=memory)
            y[...] = 0
            x = [numbers(rank, *y.shape).astype(dtype) for rank in range(2)]
            overlapped[(y.numel() // 64,)](team.local_from_array(x[team.rank]), y, y.numel(), B=64)
            want, seen = after(collective, [2 * of for of in x], team.rank)
            np.testing.assert_array_equal(np.array(y)[seen], want)

    launch(main)


@pytest.mark.parametrize("collective, path", WAYS[:4])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "int8", "float64"])
def test_sums_of_numbers_that_fp32_does_not_have(dtype, collective, path):
    """Integers wrap around as theirs do."""
    overlapped = tandem.overlap(collective=collective, producer=doubled, over="y_ptr", path=path, bands=2)

    def main(team):
        y = team.zeros((32, 4), dtype, name="y")
        large = np.iinfo(dtype).max // 2 if dtype != "float64" else 2**50
        parts = [(large - np.arange(128).reshape(32, 4) % 5 - rank).astype(dtype) for rank in range(2)]
        overlapped[(2,)](team.local_from_array(parts[team.rank]), y, 128, B=64)
        want, seen = after(collective, [(2 * part).astype(dtype) for part in parts], team.rank)
        np.testing.assert_array_equal(np.array(y)[seen], want)

    launch(main)


@pytest.mark.parametrize("path", ["copies", "loads"])
@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter", "all_reduce"])
def test_rows_with_gaps_are_refused(collective, path):
    end = "consumer" if collective == "all_gather" else "producer"
    overlapped = tandem.overlap(collective=collective, over="x_ptr" if end == "consumer" else "y_ptr", path=path, **{end: doubled})

    def main(team):
        wide, other = team.zeros((8, 16), name="wide"), team.local_from_array(np.zeros(64, np.float32))
        part = wide[:, :8]
        with pytest.raises(ValueError, match="must have rows, one behind the other"):
            overlapped[(1,)](*((part, other) if end == "consumer" else (other, part)), 64, B=64)
        overlapped[(1,)](*((wide[:4], other) if end == "consumer" else (other, wide[:4])), 64, B=64)

    launch(main)


@pytest.mark.parametrize("collective, path", [("all_gather", "copies"), ("all_gather", "loads"), *WAYS])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_no_rows(collective, path, ranks):
    end = "consumer" if collective == "all_gather" else "producer"
    overlapped = tandem.overlap(collective=collective, over="x_ptr" if end == "consumer" else "y_ptr", path=path, **{end: doubled})

    def main(team):
        none, other = team.zeros((0, 8), name="none"), team.local_empty((0, 8))
        for grid in ((0,), (1,), (0,)):
            overlapped[grid](*((none, other) if end == "consumer" else (other, none)), 0, B=64)

    launch(main, ranks)


def test_wrong_arguments_of_a_call():
    overlapped = tandem.overlap(collective="all_gather", consumer=doubled, over="x_ptr")

    def main(team):
        x, y = team.zeros((4, 16), name="x"), team.local_empty(64)
        with pytest.raises(TypeError, match="takes 4 arguments, 5 were given"):
            overlapped[(1,)](x, y, 64, 64, 64)
        with pytest.raises(TypeError, match="several values for its argument `n`"):
            overlapped[(1,)](x, y, 64, n=64, B=64)
        for inside in (x, x[2:], x[1:2, 3:]):
            with pytest.raises(ValueError, match="`y_ptr` and `x_ptr` are the same memory"):
                overlapped[(1,)](x, inside, 64, B=64)
        with pytest.raises(ValueError, match="`y_ptr` and `x_ptr` are the same memory"):
            overlapped[(1,)](x[2:], x, 32, B=64)
        overlapped[(1,)](x, y, 64, B=64)

    launch(main)


def test_two_overlaps_of_one_kernel_and_one_matrix():
    """Each has its own words; calls of the one and the other may alternate."""
    ways = [tandem.overlap(collective="all_reduce", producer=doubled, over="y_ptr", path=path) for path in ("copies", "loads", "copies")]
    ways.append(tandem.overlap(collective="reduce_scatter", producer=doubled, over="y_ptr", bands=2))

    def main(team):
        y, x = team.zeros((16, 16), name="y"), team.local_from_array(numbers(team.rank, 16, 16))
        own = slice(8 * team.rank, 8 * team.rank + 8)
        for nth in (0, 1, 3, 2, 1, 0, 3):
            ways[nth][(4,)](x, y, 256, B=64)
            np.testing.assert_array_equal(np.array(y)[own], 2 * (numbers(0, 16, 16) + numbers(1, 16, 16))[own])

    launch(main)


def test_an_error_in_between():
    """A call that does not compile leaves the ones behind it as they were."""
    overlapped = tandem.overlap(collective="all_gather", consumer=doubled, over="x_ptr")

    def main(team):
        x, y = team.zeros((4, 16), name="x"), team.local_empty(64)
        for block in (48, 64, 48, 64):
            x[2 * team.rank : 2 * team.rank + 2] = team.rank + 1
            if block == 48:
                with pytest.raises(tandem.CompileError):
                    overlapped[(1,)](x, y, 64, B=block)
                continue
            overlapped[(1,)](x, y, 64, B=block)
            np.testing.assert_array_equal(np.array(y), np.repeat([2, 4], 32))

    launch(main)


class Clock:
    """Times of which the second is the least."""

    def __init__(self, team, stream):
        self.stream, self.calls = stream, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def microseconds(self, queue, holds):
        queue(self.stream)
        self.calls += 1
        return abs(self.calls - 1.5 * tandem.overlapping.TIMED_CALLS)


@pytest.fixture
def timed(monkeypatch):
    """Plans are tried out on simulated ranks, too."""
    monkeypatch.setattr(tandem.overlapping, "can_time", lambda team: team.size > 1)
    monkeypatch.setattr(tandem.overlapping, "RankClock", Clock)


@pytest.mark.parametrize("collective", ["reduce_scatter", "all_reduce", "all_to_all"])
@pytest.mark.parametrize("kernel", [added, accumulated], ids=lambda kernel: kernel.__name__)
def test_tuning_adds_once(kernel, collective, timed):
    """The matrix, of which another part is not written at all, is as after one call, whatever has been tried out."""
    overlapped = tandem.overlap(collective=collective, producer=kernel, over="c_ptr")

    def main(team):
        c, x = team.zeros((32, 16), name="c"), team.local_from_array(numbers(team.rank, 30, 16))
        before = [numbers(7 + rank, 32, 16) for rank in range(2)]
        for call in (overlapped[(8,)], lambda *given, **more: overlapped.tune(*given, grid=(8,), **more)) * 2:
            c[...] = before[team.rank]
            call(x, c, 480, B=64)
            parts = [of + np.pad(numbers(rank, 30, 16), ((0, 2), (0, 0))) for rank, of in enumerate(before)]
            want, seen = after(collective, parts, team.rank)
            np.testing.assert_array_equal(np.array(c)[seen], want)

    launch(main)


def test_tuning_leaves_other_arguments_as_one_call_does(timed):
    """Those that are no matrix of the collective, a part of another matrix, and an array of the host."""
    overlapped = tandem.overlap(collective="all_gather", consumer=counting_calls, over="a_ptr")

    def main(team):
        a, out, host = team.zeros((4, 16), name="a"), team.local_empty(64), np.zeros(2, np.float32)
        wide = team.local_from_array(np.zeros((2, 3), np.float32))
        for nth, calls in enumerate([wide[0, 1:], host, wide[0, 1:]]):
            a[2 * team.rank : 2 * team.rank + 2] = team.rank + 1
            overlapped.tune(a, out, calls, 64, B=32, grid=(2,))
            np.testing.assert_array_equal(np.array(out), np.repeat([1, 2], 32) + nth // 2)
        np.testing.assert_array_equal(np.array(wide), [[0, 2, 2], [0, 0, 0]])
        np.testing.assert_array_equal(host, 1)

    launch(main)
