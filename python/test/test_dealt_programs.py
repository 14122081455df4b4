"""Programs of derived producers are dealt out to as many as a machine runs at once, and loops that deal tiles out are spread before: the
results are those of the kernel and the collective one after the other."""

import foreign_consumers
import foreign_producers
import hostile_consumers
import hostile_producers
import numpy as np
import others_consumers
import plain_producers
import pytest
import unseen_consumers
from test_unseen_kernels import check_consumer, check_producer

import tandem
import tandem.dist as dl
import tandem.language as tl
from tandem import overlapping
from tandem.overlapping import order

KERNELS = {kernel.__name__: (kernel, grid) for m in (plain_producers, foreign_producers, hostile_producers) for kernel, grid in m.ALL}
CONSUMERS = [entry for m in (foreign_consumers, hostile_consumers, others_consumers, unseen_consumers) for entry in m.ALL]
PERSISTENT_CONSUMERS = [(kernel, grid) for kernel, grid in CONSUMERS if "persistent" in kernel.__name__]
SPREAD = ["persistent", "persistent_with_a_number_for_stores", "persistent_as_a_while"]
DEALT = [
    "bias_and_activation",
    "described",
    "block_pointers",
    "both_operands_turned",
    "rows_on_the_third_axis",
    "the_third_axis_adds",
    *SPREAD,
]


@pytest.fixture
def few(monkeypatch):
    """A machine that runs three programs at once. Returns a list with an entry for each kernel that was dealt out."""
    fills, dealt = overlapping.fills_multiprocessor, []
    for module in (overlapping, order):
        monkeypatch.setattr(module, "multiprocessors_of", lambda team: 3)
    monkeypatch.setattr(overlapping, "fills_multiprocessor", lambda compiled: dealt.append(compiled) or fills(compiled))
    return dealt


@pytest.mark.parametrize("name", DEALT)
@pytest.mark.parametrize("collective", ["reduce_scatter", "all_reduce", "all_to_all"])
def test_the_same_bits(few, name, collective):
    for seed, ranks in enumerate([2, 3, 4]):
        check_producer(*KERNELS[name], ranks, ranks * 32, 48, 32, seed, 2, collective, "copies")
    assert len(few) >= 2 * (2 + 3 + 4)


@pytest.mark.parametrize("fills", [True, False])
@pytest.mark.parametrize("kernel, grid", PERSISTENT_CONSUMERS, ids=[kernel.__name__ for kernel, _ in PERSISTENT_CONSUMERS])
def test_persistent_consumers(few, monkeypatch, kernel, grid, fills):
    """Their loops are made again, in another order, or stay where a multiprocessor has room for more than one of their programs."""
    if not fills:
        monkeypatch.setattr(overlapping, "fills_multiprocessor", lambda compiled: few.append(compiled))
    for seed, ranks in enumerate([2, 3, 4]):
        check_consumer(kernel, grid, ranks, ranks * 32, 48, 32, seed, 2)
    assert few or kernel.__name__ not in SPREAD


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_on_many_schedules(few, ranks):
    for seed in range({1: 2, 8: 3}.get(ranks, 6)):
        kernel, grid = KERNELS[DEALT[seed % len(DEALT)]]
        check_producer(kernel, grid, ranks, ranks * 16 * (1 + seed % 2), 40, 16, seed, 1 + seed % 4, "reduce_scatter", "copies")


@tandem.jit
def strides_of_its_own(c_ptr, M, N, B: tl.constexpr):
    """Programs deal rows out by a step that is not their number: each row is several programs'."""
    for row in range(tl.program_id(0), M, 2):
        columns = tl.arange(0, B)
        tl.store(c_ptr + row * N + columns, row + columns * 1.0, mask=columns < N)


@tandem.jit
def with_a_head(c_ptr, M, N, B: tl.constexpr):
    """What is stored ahead of the loop is the program's own."""
    columns = tl.arange(0, B)
    tl.store(c_ptr + tl.program_id(0) * N + columns, 1.0, mask=columns < N)
    for row in range(tl.program_id(0) + tl.num_programs(0), M, tl.num_programs(0)):
        tl.store(c_ptr + row * N + columns, row + columns * 1.0, mask=columns < N)


@pytest.mark.parametrize("kernel, programs", [(strides_of_its_own, 4), (with_a_head, 2)])
def test_what_is_not_spread(few, kernel, programs):
    """Such a loop stays, and the call is right all the same."""
    overlapped = tandem.overlap(collective="all_to_all", producer=kernel, over="c_ptr", bands=2)

    def main(team):
        c = team.zeros((16, 12), "float32", name="c")
        overlapped[(programs,)](c, 16, 12, B=16)
        return np.array(c), [order.is_spread(grid) for grid in overlapped.producer.tiles.known.values()]

    for rank, (c, spread) in enumerate(tandem.launch(main, ranks=2).values):
        rows = np.arange(16)[:, None] + np.arange(12)[None, :] * 1.0
        if kernel is with_a_head:
            rows[:programs] = 1
        assert np.array_equal(c, np.concatenate([rows[rank * 8 : rank * 8 + 8]] * 2)) and spread == [False] * len(spread)


def test_loops_of_tutorials_are_spread(few):
    for name in SPREAD:
        kernel, grid = KERNELS[name]
        overlapped = tandem.overlap(collective="reduce_scatter", producer=kernel, over="c_ptr", bands=2, path="copies")

        def main(team, overlapped=overlapped, grid=grid):
            a, b = team.local_from_array(np.ones((64, 32), np.float32)), team.local_from_array(np.ones((32, 48), np.float32))
            c, d = team.zeros((64, 48), "float32", name="c"), team.local_from_array(np.zeros(64, np.float32))
            overlapped[grid(4, 3)](a, b, c, d, 64, 48, 32, B=16)
            own = slice(32 * team.rank, 32 * team.rank + 32)
            return np.array(c)[own], [tuple(grid) for grid in overlapped.producer.tiles.known.values()]

        for c, grids in tandem.launch(main, ranks=2).values:
            assert np.all(c == 64) and grids[0] == (12, 1, 1)


@tandem.jit
def counted_in_halves(x_ptr, count_ptr):
    tl.store(dl.spread(x_ptr, count_ptr), 1.0)  # WORDS


@tandem.jit
def dealt_by_a_sum(x_ptr, n):
    tl.store(dl.dealt(x_ptr, n + 1), 1.0)  # SUM


@tandem.jit
def spread_without_a_loop(x_ptr):
    tl.store(dl.spread(x_ptr) + tl.program_id(0), 1.0)  # NO LOOP


@pytest.mark.parametrize(
    "kernel, more, words",
    [
        (counted_in_halves, "int32", "`count` must point to `int64`, not `int32`"),
        (dealt_by_a_sum, None, "the numbers of programs are no arguments of the kernel"),
        (spread_without_a_loop, None, "no loop from the program's number on deals out all that this kernel does"),
    ],
)
def test_what_these_names_refuse(kernel, more, words):
    def main(team):
        x = team.local_from_array(np.zeros(8, np.float32))
        others = [team.local_from_array(np.zeros(1, more))] if more else [8] if kernel is dealt_by_a_sum else []
        kernel[(2,)](x, *others)

    with pytest.raises(tandem.CompileError, match=words):
        tandem.launch(main)


@pytest.mark.parametrize("missing, words", [(1, "race: .*`c`|signal-misuse: `told`"), (-1, "deadlock: ")])
@pytest.mark.parametrize("name", DEALT)
def test_each_signal_is_needed(few, name, missing, words, monkeypatch):
    """`missing` signals of a chunk are not waited for, or do not come."""
    whole = tandem.overlapping.telling.Telling.count

    def count(telling, *launch):
        counts, order = whole(telling, *launch)
        return [count - missing * (nth == len(name) % 4) for nth, count in enumerate(counts)], order

    monkeypatch.setattr(tandem.overlapping.telling.Telling, "count", count)
    with pytest.raises(tandem.SimulationError, match=f"(?s){words}"):
        check_producer(*KERNELS[name], 2, 64, 32, 16, 0, 2, "reduce_scatter", "copies")


@pytest.mark.parametrize("name", ["described", "persistent_with_a_number_for_stores", "persistent_as_a_while"])
def test_the_wait_for_parts_is_needed(few, name, monkeypatch):
    """A peer's word is there before its rows: who adds to them, or reads them, races with the copy."""
    send = tandem.overlapping.summing.Summing._send

    def early(summing, beside, counts, updating):
        if summing.team.rank == 0:
            beside.signals([(summing.ready[word : word + 1], 1) for word in (2, 3)])
        send(summing, beside, counts, updating)

    monkeypatch.setattr(tandem.overlapping.summing.Summing, "_send", early)
    with pytest.raises(tandem.SimulationError, match="(?s)race: "):
        for seed in range(3):
            check_producer(*KERNELS[name], 2, 64, 32, 16, seed, 2, "reduce_scatter", "copies")
