"""Producers whose last stores add the peers' parts: which do, that the bits are those of sums behind the kernel, and that waits are needed.
And kernels that several programs of a launch divide among them."""

import late_producers
import numpy as np
import plain_producers
import pytest
import unseen_producers
from plain_products import clamped, described, grouped
from test_unseen_kernels import check_producer

import tandem
import tandem.dist as dl
import tandem.language as tl
from tandem.overlapping.derived import derived

BY_NAME = {kernel.__name__: (kernel, grid) for module in (plain_producers, unseen_producers, late_producers) for kernel, grid in module.ALL}
ADDING = ["bias_and_activation", "described", "block_pointers", "activated", "softmax", "numbers_turned", "along_a_curve", "persistent"]


@tandem.jit
def moved_back(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The last tile of the columns begins so early that it ends with the matrix: some elements are stored twice, alike."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.minimum(tl.program_id(1) * B, N - B) + tl.arange(0, B)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], rows[:, None] + columns[None, :] * 1.0, mask=(rows < M)[:, None])


BY_NAME["moved_back"] = (moved_back, lambda rows, columns: (rows, columns))
NOT_ADDING = {
    "lower_triangle": "not all stored",
    "where_something_is": "stored where what is loaded says so",
    "split_k": "sums by atomics",
    "rows_far_apart": "programs of several shares",
    "halves_by_parity": "branches",
    "normalised": "read again",
    "moved_back": "some stored by two programs",
}


def who_adds(kernel, grid, ranks, rows, n=32, k=32):
    """Who adds in each rank's call, as the plan says."""
    overlapped = tandem.overlap(collective="reduce_scatter", producer=kernel, over="c_ptr", bands=2, path="copies")

    def main(team):
        m = rows * team.size
        a, b = team.local_from_array(np.ones((m, k), np.float32)), team.local_from_array(np.ones((k, n), np.float32))
        c, d = team.zeros((m, n), "float32", name="c"), team.local_from_array(np.zeros(m, np.float32))
        text = overlapped.explain(a, b, c, d, m, n, k, B=16, grid=grid(-(-m // 16), -(-n // 16)))
        return next(line for line in text.split("\n") if line.endswith("of this rank's rows")).split(" adds ")[0]

    return tandem.launch(main, ranks=ranks).values


def adds(*launch, **more):
    """Whether each rank's call adds all in its stores."""
    return [who == "the kernel itself, in its last stores," for who in who_adds(*launch, **more)]


@pytest.mark.parametrize("name", ADDING)
def test_stores_add(name):
    assert adds(*BY_NAME[name], 2, 32) == [True, True]
    assert adds(*BY_NAME[name], 3, 16) == [True, True, True]


@pytest.mark.parametrize("name", ADDING)
def test_tiles_of_two_shares_do_not_add(name):
    """Their programs would wait for what comes behind their own signals; a kernel behind adds their rows, and no others."""
    kernel, grid = BY_NAME[name]
    some = "the kernel itself, in its last stores, of rows {} to {}, and one kernel behind it, of the others,"
    all_rows = "the kernel itself, in its last stores,"
    if who_adds(kernel, grid, 2, 32) == who_adds(kernel, grid, 2, 24):  # rows are programs of their own
        assert who_adds(kernel, grid, 2, 24) == [all_rows] * 2
    else:
        assert who_adds(kernel, grid, 2, 24) == [some.format(0, 15), some.format(32, 47)]
        assert who_adds(kernel, grid, 3, 24) == [some.format(0, 15), some.format(32, 47), all_rows]
    for seed, ranks in enumerate([2, 3, 4]):
        check_producer(kernel, grid, ranks, 24 * ranks, 20, 16, seed, 2, "reduce_scatter", "copies")
        check_producer(kernel, grid, ranks, 40 * ranks - 3, 20, 16, seed, 4, "reduce_scatter", "copies")


@pytest.mark.parametrize("name", NOT_ADDING)
def test_others_do_not_add(name):
    assert adds(*BY_NAME[name], 2, 32, n=72) == [False, False], NOT_ADDING[name]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_the_same_bits_on_many_schedules(ranks):
    for seed in range({1: 2, 8: 4}.get(ranks, 10)):
        kernel, grid = BY_NAME[ADDING[seed % len(ADDING)]]
        check_producer(kernel, grid, ranks, ranks * 16 * (1 + seed % 2), 20, 16, seed, 1 + seed % 4, "reduce_scatter", "copies")


@pytest.mark.parametrize("kernel", [grouped, described])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32"])
def test_types(kernel, dtype):
    """Sums of three ranks, of numbers that round."""
    m, n, k = 96, 32, 16
    number = tandem.kernel.element_types.as_dtype(dtype)
    operands = [np.random.default_rng(rank).integers(-9, 10, (m, k)).astype(number) for rank in range(3)]
    right = (np.random.default_rng(9).integers(-9, 10, (k, n)) / (1 if dtype == "int32" else 7)).astype(number)

    @tandem.jit
    def stored(a_ptr, b_ptr, c_ptr, N, K, B: tl.constexpr):
        rows, columns, inner = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B), tl.arange(0, B)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :])
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :])
        product = tl.sum(a[:, :, None] * b[None, :, :], 1)
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], product.to(c_ptr.dtype.element_ty))

    def main(team, path):
        overlapped = tandem.overlap(collective="reduce_scatter", producer=stored, over="c_ptr", path=path, bands=2)
        c, b = team.zeros((m, n), dtype, name="c"), team.local_from_array(right)
        for _ in range(2):
            overlapped[(m // 16, n // 16)](team.local_from_array(operands[team.rank]), b, c, n, k, B=16)
        return np.array(c)[32 * team.rank : 32 * team.rank + 32]

    in_stores, behind = (tandem.launch(main, ranks=3, check=True, args=(path,)) for path in ("copies", "loads"))
    assert in_stores.reports == [] and behind.reports == []
    assert all(np.array_equal(x, y) for x, y in zip(in_stores.values, behind.values))


@pytest.mark.parametrize("where, dtype", [("c", "float16"), ("parts", "float64")])
@pytest.mark.parametrize("kernel", [grouped, described], ids=["grouped", "described"])
def test_the_wait_for_the_parts_is_needed(kernel, where, dtype):
    """In the second call the word of a peer's chunk is there before its rows, which come to where the sum is to be, or to memory apart."""
    m, n, k = 64, 32, 32

    def main(team, chunk):
        overlapped = tandem.overlap(collective="reduce_scatter", producer=kernel, over="c_ptr", bands=2, path="copies")
        a, b = team.local_from_array(np.ones((m, k), np.float16)), team.local_from_array(np.ones((k, n), np.float16))
        c = team.zeros((m, n), dtype, name="c")
        arguments, blocks = (a, b, c, m, n, k, k, 1, n, 1, n, 1), dict(BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, GROUP=2)
        grid = (m // 16 * n // 16,)
        exchange, _ = overlapped._exchange(team, *overlapped._call(arguments, blocks, grid))
        for _ in range(2):
            overlapped[grid](*arguments, **blocks)
            team.synchronize()
            if chunk is not None and chunk // 2 != team.rank:
                exchange.ready[chunk : chunk + 1] = 1
        assert exchange.launches.adds
        team.synchronize()

    assert tandem.launch(main, ranks=2, check=True, args=(None,)).reports == []
    for chunk in range(4):
        with pytest.raises(tandem.SimulationError, match=f"(?s)race: .*`{where}`"):
            tandem.launch(main, ranks=2, check=True, args=(chunk,))


@pytest.mark.parametrize("kernel", [grouped, described], ids=["grouped", "described"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_updates_have_the_bits_of_sums(dtype, kernel):
    """Of two ranks, stores are updates of the peer's part. Sums of negative zeros, to which products of tiny numbers are
    rounded, are zero."""
    m, n, k = 64, 32, 32
    number = tandem.kernel.element_types.as_dtype(dtype)
    left, right = (np.random.default_rng(seed).standard_normal(shape).astype(np.float32) for seed, shape in ((3, (2, m, k)), (4, (k, n))))
    left[:, ::3], right[:, ::5] = 0, 0
    left[:, ::3, 0], right[0, ::5] = -(2.0**-140 if dtype != "float16" else 2.0**-14), 2.0**-14

    def main(team, path):
        overlapped = tandem.overlap(collective="reduce_scatter", producer=kernel, over="c_ptr", path=path, bands=2)
        a, b = team.local_from_array(left[team.rank].astype(number)), team.local_from_array(right.astype(number))
        c = team.zeros((m, n), dtype, name="c")
        blocks = dict(BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, GROUP=2)
        for _ in range(3):
            overlapped[(m // 16 * n // 16,)](a, b, c, m, n, k, k, 1, n, 1, n, 1, **blocks)
        way = [exchange.launches.adds.way for exchange, _ in overlapped._exchanges.values() if path == "copies"]
        return np.array(c)[32 * team.rank : 32 * team.rank + 32].view(f"uint{8 * number.itemsize}"), way

    in_place, behind = (tandem.launch(main, ranks=2, check=True, args=(path,)) for path in ("copies", "loads"))
    assert in_place.reports == [] and behind.reports == []
    for (bits, way), (wanted, _) in zip(in_place.values, behind.values):
        assert way == ["updating"] and np.array_equal(bits, wanted)


PRODUCTS = [grouped, described]


@pytest.mark.parametrize("parts", [2, 4])
@pytest.mark.parametrize("kernel", PRODUCTS, ids=lambda kernel: kernel.__name__)
def test_programs_divide_the_work_of_one(kernel, parts):
    m, n, k = 70, 64, 48
    random = np.random.default_rng(0)
    left, right = random.standard_normal((m, k)).astype(np.float16), random.standard_normal((k, n)).astype(np.float16)
    shared = derived(kernel, ["c_ptr"], "divided", str(parts))

    def main(team):
        a, b, results = team.local_from_array(left), team.local_from_array(right), []
        for launched, times in ((kernel, 1), (shared, parts)):
            c = team.local_from_array(np.zeros((m, n), np.float16))
            blocks = dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=16, GROUP=2)
            launched[(2 * times,)](a, b, c, m, n, k, k, 1, n, 1, n, 1, **blocks)
            results.append(np.array(c))
        return np.array_equal(*results) and results[0].any()

    result = tandem.launch(main, ranks=1, check=True)
    assert result.values == [True] and result.reports == []


@tandem.jit
def sums_of_rows(x_ptr, y_ptr, B: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, B))
    tl.store(dl.divided(y_ptr, 2), tl.sum(x, 0))  # ONCE


@tandem.jit
def not_a_power(x_ptr, y_ptr, B: tl.constexpr):
    tl.store(dl.divided(y_ptr, 3) + tl.arange(0, B), 1.0)  # THREE


@pytest.mark.parametrize(
    "kernel, mark, words",
    [(sums_of_rows, "# ONCE", "each of them would do it"), (not_a_power, "# THREE", "`parts` must be a power of two, 2 or more, but is 3")],
    ids=["once", "three"],
)
def test_refused_at_the_line(kernel, mark, words):
    main = lambda team: kernel[(2,)](team.local_empty(16, "float32"), team.local_empty(16, "float32"), B=16)
    with pytest.raises(tandem.CompileError, match=words) as caught:
        tandem.launch(main, ranks=1)
    line = next(i for i, text in enumerate(open(__file__).read().split("\n"), 1) if text.endswith(mark))
    assert f"test_sums_in_stores.py:{line}:" in str(caught.value)


def test_persistent_programs_divide(kernel=clamped):
    """Tiles that a loop deals out: each of the programs of a part goes through the same ones."""
    m, n, k = 64, 64, 32
    random = np.random.default_rng(1)
    left, right = random.standard_normal((m, k)).astype(np.float32), random.standard_normal((k, n)).astype(np.float32)
    shared = derived(kernel, ["c_ptr"], "divided", "2")

    def main(team):
        a, b, results = team.local_from_array(left), team.local_from_array(right), []
        for launched, grid in ((kernel, 3), (shared, 6)):
            c = team.local_from_array(np.zeros((m, n), np.float32))
            launched[(grid,)](a, b, c, m, n, k, k, 1, n, 1, n, 1, BLOCK_M=32, BLOCK_N=32, BLOCK_K=16, GROUP=1)
            results.append(np.array(c))
        return np.array_equal(*results) and results[0].any()

    result = tandem.launch(main, ranks=1, check=True)
    assert result.values == [True] and result.reports == []
