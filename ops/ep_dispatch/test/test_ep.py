"""EpDispatch and EpCombine on simulated ranks, under the checker: numbers of tokens, experts, types, calls in a row, errors."""

import contextlib
import functools
import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from ep_reference import Layer, run
from two_levels import TwoLevels

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import EpCombine, EpDispatch, GroupedGemm, RouteIds

# The most tokens of a rank, columns, experts for each rank, top_k, type.
SIZES = [(3, 77, 3, 2, "bf16"), (5, 128, 1, 1, "fp16"), (2, 6, 2, 4, "fp32"), (4, 300, 4, 8, "bf16"), (1, 1, 2, 2, "fp32")]


def launched(layers, ranks, seed=0, align=None, summed=False, **config):
    """`align`: rows come by expert. `summed`: combine gets a row for each token."""
    first = layers[0]

    def main(team):
        sizes = (first.most, first.columns, first.experts, first.top_k, first.dtype)
        options = {**config, **first.options(), **({"align": align} if align else {})}
        by_expert = {} if align is None else {"by_expert": True}
        of_sums = {"summed": True} if summed else {}
        with EpDispatch(team, *sizes, **options, **by_expert) as dispatch, EpCombine(team, *sizes, **options, **of_sums) as combine:
            for layer in layers:
                run(team, layer, dispatch, combine, align, summed)

    policy = "slowest-rank" if seed % 3 == 2 else "random"
    return tandem.launch(main, ranks=ranks, seed=seed, check=True, policy=policy)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_layers(ranks):
    """Ranks with any number of tokens, also none; experts that do not divide."""
    for seed in range(20):
        most, columns, each, top_k, dtype = SIZES[seed % len(SIZES)]
        experts, draw = max(each * ranks - seed % 2, 1), np.random.default_rng(seed)
        layers = [
            Layer([int(n) for n in draw.integers(0, most + 1, ranks)], most, columns, experts, min(top_k, experts), dtype, seed + 100 * i)
            for i in range(1 if ranks == 8 else 2)
        ]
        assert launched(layers, ranks, seed).reports == []


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_sums_that_are_made_already(ranks):
    """A row for each token that came, of which combine adds one from each rank."""
    for seed in range(20):
        most, columns, each, top_k, dtype = SIZES[seed % len(SIZES)]
        experts, draw = max(each * ranks - seed % 2, 1), np.random.default_rng(seed)
        placed = {"placed": max(experts - 1, 1)} if seed % 4 == 3 else {}
        top_k, dtype = min(top_k, placed.get("placed", experts)), dtype.replace("bf16", "fp16")
        layers = [
            Layer([int(n) for n in draw.integers(0, most + 1, ranks)], most, columns, experts, top_k, dtype, seed + 100 * i, **placed)
            for i in range(1 if ranks == 8 else 3)
        ]
        assert launched(layers, ranks, seed, summed=True, mode=("latency", "throughput")[seed % 2]).reports == []


# Of whole slots, where results come into shared memory ahead of their sums.
WHOLE_SIZES = [(7, 1024, 3, 4, "bf16"), (5, 520, 2, 8, "fp16"), (9, 96, 4, 1, "fp32"), (3, 2400, 8, 8, "bf16")]


@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_results_brought_ahead(ranks, summed):
    for seed in range(20 if ranks < 4 else 8):
        most, columns, each, top_k, dtype = WHOLE_SIZES[seed % len(WHOLE_SIZES)]
        experts, draw = max(each * ranks - seed % 2, 1), np.random.default_rng(seed)
        counts = [[int(n) for n in draw.integers(0, most + 1, ranks)] for _ in range(2)]
        layers = [Layer(of, most, columns, experts, min(top_k, experts), dtype, seed + 100 * i) for i, of in enumerate(counts)]
        assert launched(layers, ranks, seed, summed=summed, mode="throughput").reports == []


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_placed(ranks):
    """Experts with places by a table, of other tables in later calls: some with copies, and unequal numbers of them on the ranks."""
    for seed in range(20):
        most, columns, each, top_k, dtype = SIZES[seed % len(SIZES)]
        places, draw = (each + 1) * ranks, np.random.default_rng(seed)
        placed = max(places - 1 - seed % 4 * ranks // 2, 1)
        layers = [
            Layer(
                [int(n) for n in draw.integers(0, most + 1, ranks)],
                most,
                columns,
                places,
                min(top_k, placed),
                dtype,
                seed + 100 * i,
                placed=placed,
                copies=1 + seed % 3,
            )
            for i in range(1 if ranks == 8 else 2)
        ]
        assert launched(layers, ranks, seed, mode=("latency", "throughput")[seed % 2]).reports == []


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_by_expert(ranks):
    """Rows once for each slot, those of an expert one behind the other: where the route is made beside the rows, and where it follows."""
    for seed in range(20):
        most, columns, each, top_k, dtype = SIZES[seed % len(SIZES)]
        experts, draw = max(each * ranks - seed % 2, 1), np.random.default_rng(seed)
        placed = {"placed": max(experts - 1, 1)} if seed % 4 == 3 else {}
        top_k = min(top_k, placed.get("placed", experts))
        layers = [
            Layer([int(n) for n in draw.integers(0, most + 1, ranks)], most, columns, experts, top_k, dtype, seed + 100 * i, **placed)
            for i in range(1 if ranks == 8 else 3)
        ]
        options = {"mode": ("latency", "throughput")[seed % 2], "align": (0, 1, 4, 16, 3)[seed // 2 % 5]}
        assert launched(layers, ranks, seed, **options).reports == []


def test_by_expert_of_a_larger_route():
    layers = [Layer([3, 40], 50, 4, 6, 4, seed=1), Layer([50, 0], 50, 4, 6, 4, seed=2)]
    for align in (0, 8):
        assert launched(layers, 2, mode="latency", align=align).reports == []


@pytest.mark.parametrize("place", [4, -1, -(2**31)])
def test_places_that_are_none(place):
    def main(team):
        with EpDispatch(team, 2, 8, 4, 1, "fp32", placed_experts=2, copies=2) as op:
            table = np.array([[0, 1], [2, place]], np.int32)
            op(np.ones((2, 8), np.float32), np.ones((2, 1), np.int32), np.ones((2, 1), np.float32), 2, placement=table)

    with pytest.raises(tandem.SimulationError, match="a place of `placement` is none") as found:
        tandem.launch(main, ranks=2)
    assert "about.py" in found.value.reports[0]["text"]


def test_no_token_anywhere():
    layers = [Layer([0, 0], 2, 8, 4, 2), Layer([2, 0], 2, 8, 4, 2), Layer([0, 0], 2, 8, 4, 2)]
    assert launched(layers, 2).reports == []


def test_all_for_one_rank():
    assert launched([Layer([4, 4, 4], 4, 16, 9, 3, owner=i, dropped=0) for i in (1, 2)], 3).reports == []


@pytest.mark.parametrize(
    "programs, num_warps, pieces, mode", [(1, 1, 1, "latency"), (3, 4, 2, "latency"), (2, 2, 3, "throughput"), (1, 4, 1, "throughput")]
)
def test_options(programs, num_warps, pieces, mode):
    options = {"programs": programs, "num_warps": num_warps, "pieces": pieces, "mode": mode}
    assert launched([Layer([3, 1], 3, 600, 4, 2, seed=i) for i in range(3)], 2, **options).reports == []


@pytest.mark.parametrize("mode", ["latency", "throughput"])
def test_two_calls(mode):
    """Another pair is sent between sending and receiving, and other work may be: only what was sent is received."""
    layers = [Layer([3, 1], 3, 40, 4, 2, seed=i) for i in range(3)]

    def main(team):
        rank, moved = team.rank, team.local_from_array
        with contextlib.ExitStack() as made:
            pairs = [[made.enter_context(op(team, 3, 40, 4, 2, "bf16", mode=mode)) for op in (EpDispatch, EpCombine)] for _ in range(2)]
            for layer in layers:
                m, given = layer.counts[rank], [moved(a[rank]) for a in (layer.x, layer.ids, layer.weights)]
                sent = [dispatch(*given, m, send_only=True) for dispatch, _ in pairs]
                came = [dispatch(*given, m, out=rows, route=route, receive_only=True) for (dispatch, _), (rows, route) in zip(pairs, sent)]
                hs = [moved(layer.results(rank, rows, layer.check_dispatch(rank, rows, route))) for rows, route in came]
                outs = [combine(h, route, given[1], m, send_only=True) for (_, combine), h, (_, route) in zip(pairs, hs, came)]
                for (_, combine), h, (_, route), out in zip(pairs, hs, came, outs):
                    combine(h, route, given[1], m, out=out, receive_only=True)
                    layer.check_combine(rank, np.array(out))

    assert tandem.launch(main, ranks=2, check=True).reports == []


def test_several_programs_gather():
    """What is said of 4800 slots is gathered by three programs, and their route is a launch of its own."""
    layers = [Layer([3, 500], 600, 4, 6, 4, seed=1), Layer([600, 0], 600, 4, 6, 4, seed=2)]
    assert launched(layers, 2, mode="latency").reports == []


@pytest.mark.parametrize(
    "flags, message",
    [
        ([{"send_only": True, "receive_only": True}], "`send_only` and `receive_only` exclude each other"),
        ([{"receive_only": True}], "`receive_only` follows a call with `send_only`"),
        ([{"send_only": True}, {}], "the last call's rows are still to be received: `receive_only`"),
        ([{"send_only": True}, {"send_only": True}], "the last call's rows are still to be received: `receive_only`"),
        ([{"send_only": True}, {"receive_only": True}, {"receive_only": True}], "`receive_only` follows a call with `send_only`"),
        ([{"send_only": True}, {"receive_only": True, "m": 0}], "`m` is 0, the call with `send_only` had 1"),
        ([{"send_only": True}, {"receive_only": True, "out": None}], "`out` is another tensor than that of the call with `send_only`"),
    ],
)
def test_halves_that_do_not_fit(flags, message):
    def main(team):
        op = EpDispatch(team, 2, 8, 4, 2, "fp32")
        rows = team.local_empty((4, 8), "float32")
        for some in flags:
            m = some.get("m", 1)
            given = np.zeros((m, 8), np.float32), np.zeros((m, 2), np.int32), np.zeros((m, 2), np.float32)
            op(*given, **{"m": m, "out": rows, **some})

    with pytest.raises(Exception, match="`ep_dispatch`: " + message):
        tandem.launch(main, ranks=2)


@pytest.mark.parametrize(
    "options, late, words",
    [
        ({}, "dispatch", r"`ep_dispatch about rows` \+ \d+ of rank 0 \(the header of rank 1, which has experts 2 to 3\)"),
        ({}, "combine", r"`ep_combine about rows` \+ \d+ of rank 0 \(the header of rank 1, which has experts 2 to 3\)"),
        (
            {"symmetric_out": True},
            "dispatch",
            r"`ep_dispatch begun` \+ 8 of rank 0 \(the beginning of the call on rank 1, which has experts 2 to 3\)",
        ),
    ],
)
def test_who_is_late_is_named(options, late, words):
    def main(team):
        given = np.ones((2, 8), np.float32), np.array([[0, 3], [2, 1]], np.int32), np.ones((2, 2), np.float32)
        never, rows = team.zeros(1, "int64"), team.empty((4, 8), "float32")

        def begin(call):
            if team.rank == 1 and call == late:
                team.stream.signal_wait(never, 1)

        dispatch, combine = EpDispatch(team, 2, 8, 4, 2, "fp32", **options), EpCombine(team, 2, 8, 4, 2, "fp32")
        begin("dispatch")
        _, route = dispatch(*given, 2, out=rows)
        begin("combine")
        combine(np.ones((8, 8), np.float32), route, given[1], 2)
        team.synchronize()

    with pytest.raises(tandem.SimulationError, match=words):
        tandem.launch(main, ranks=2)


def test_ids_that_are_no_experts():
    def main(team):
        with EpDispatch(team, 2, 8, 4, 2, "fp32") as op:
            ids = np.array([[4, 1], [2, 3]] if team.rank == 0 else [[0, 3], [1, 2]], np.int32)
            op(np.ones((2, 8), np.float32), ids, np.ones((2, 2), np.float32), 2)

    with pytest.raises(tandem.SimulationError, match="an id is no expert's") as found:
        tandem.launch(main, ranks=2)
    assert "about.py" in found.value.reports[0]["text"]


def test_a_route_that_is_not_the_dispatchs():
    """As many words, but of twice the tokens of half the slots."""

    def main(team):
        made = RouteIds(team, 8, 2, 1, "i32")(np.zeros((8, 1), np.int32), np.ones((8, 1), np.float32), 8)
        with EpCombine(team, 2, 8, 4, 2, "fp32") as op:
            op(np.ones((8, 8), np.float32), made, np.zeros((2, 2), np.int32), 2)

    with pytest.raises(tandem.SimulationError, match="`route` is of another number of tokens"):
        tandem.launch(main, ranks=2)


@pytest.mark.parametrize(
    "sizes, m, message",
    [
        ((4, 8, 4, 2), 5, "`m` is 5, the operator was made for 0 to 4"),
        ((4, 8, 4, 2), -1, "`m` is -1, the operator was made for 0 to 4"),
        ((4, 8, 4, 5), 1, "`ep_dispatch`: `top_k` is 5, 1 to 4 are possible"),
        ((4, 8, 2100, 2), 1, "`ep_dispatch`: `experts` is 2100, 1 to 2048 are possible"),
        ((0, 8, 4, 2), 1, "`max_m` is 0, at least 1 is needed"),
    ],
)
def test_errors(sizes, m, message):
    def main(team):
        op = EpDispatch(team, *sizes, "bf16")
        op(np.zeros((1, 8), as_dtype("bf16")), np.zeros((1, 2), np.int32), np.zeros((1, 2), np.float32), m)

    with pytest.raises(Exception, match=message):
        tandem.launch(main, ranks=2)


def test_no_room_for_those_who_tell():
    """A rank that moved rows alone would wait for programs that never start."""
    with pytest.raises(RuntimeError, match="`ep_dispatch`: mode latency needs 2 programs at once, a rank has room for 1"):
        tandem.launch(lambda team: EpDispatch(team, 2, 8, 4, 2, "fp32"), ranks=2, slots_per_rank=1)


@pytest.mark.parametrize(
    "options, more, message",
    [
        ({"placed_experts": 3}, {}, "`ep_dispatch`: `placed_experts` and `copies`, which say the shape of `placement`, go together"),
        ({"placed_experts": 3, "copies": 0}, {}, "`copies` is 0, at least 1 is needed"),
        ({"placed_experts": 3, "copies": 2}, {}, "`ep_dispatch`: `placement` is needed with `placed_experts`"),
        ({}, {"placement": np.zeros((3, 2), np.int32)}, "`placement` goes with `placed_experts` alone"),
        (
            {"placed_experts": 3, "copies": 2},
            {"placement": np.zeros((2, 3), np.int32)},
            r"`placement` has shape \[2, 3\], \[3, 2\] is needed",
        ),
        ({"placed_experts": 3, "copies": 2}, {"placement": np.zeros((3, 2), np.float32)}, "`placement` is fp32, it must be i32"),
    ],
)
def test_tables_that_do_not_fit(options, more, message):
    def main(team):
        op = EpDispatch(team, 2, 8, 4, 2, "fp32", **options)
        op(np.zeros((1, 8), np.float32), np.zeros((1, 2), np.int32), np.zeros((1, 2), np.float32), 1, **more)

    with pytest.raises(Exception, match=message):
        tandem.launch(main, ranks=2)


def into_symmetric_rows(team, layers, options, halves):
    first, rank, moved = layers[0], team.rank, team.local_from_array
    sizes = (first.most, first.columns, first.experts, first.top_k, first.dtype)
    rows = team.empty((first.ranks * first.most, first.columns), first.dtype)
    with EpDispatch(team, *sizes, symmetric_out=True, **options) as dispatch, EpCombine(team, *sizes, **options) as combine:
        for layer in layers:
            m, given = layer.counts[rank], [moved(a[rank]) for a in (layer.x, layer.ids, layer.weights)]
            if halves:
                _, route = dispatch(*given, m, out=rows, send_only=True)
                dispatch(*given, m, out=rows, route=route, receive_only=True)
            else:
                _, route = dispatch(*given, m, out=rows)
            h = moved(layer.results(rank, rows, layer.check_dispatch(rank, rows, route)))
            out = combine(h, route, given[1], m)
            if m:
                layer.check_combine(rank, np.array(out))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_into_symmetric_rows(ranks):
    """Rows go to where they belong, calls follow one another, and nobody writes what is still read."""
    for seed in range(10):
        most, columns, each, top_k, dtype = SIZES[seed % len(SIZES)]
        draw, top_k = np.random.default_rng(seed), min(top_k, each * ranks)
        layers = [
            Layer([int(n) for n in draw.integers(0, most + 1, ranks)], most, columns, each * ranks, top_k, dtype, seed + 100 * i)
            for i in range(3)
        ]
        main = functools.partial(into_symmetric_rows, layers=layers, options={"mode": "auto"} if seed % 2 else {}, halves=seed % 3 == 1)
        policy = "slowest-rank" if seed % 3 == 2 else "random"
        assert tandem.launch(main, ranks=ranks, seed=seed, check=True, policy=policy).reports == []


@pytest.mark.parametrize(
    "options, message",
    [
        ({"mode": "latency"}, "`symmetric_out` goes with mode throughput, not with latency"),
        ({"by_expert": True}, "`symmetric_out` goes with rows by token, not with `by_expert`"),
        ({}, "symmetric"),
    ],
)
def test_rows_that_are_not_symmetric(options, message):
    def main(team):
        op = EpDispatch(team, 2, 8, 4, 2, "fp32", symmetric_out=True, **options)
        given = np.zeros((1, 8), np.float32), np.zeros((1, 2), np.int32), np.zeros((1, 2), np.float32)
        op(*given, 1, out=team.local_empty((4, 8), "float32"))

    with pytest.raises(Exception, match=message):
        tandem.launch(main, ranks=2)


@pytest.mark.parametrize("mode", ["latency", "throughput"])
def test_by_expert_in_two_calls(mode):
    layers = [Layer([3, 1], 3, 40, 4, 2, seed=i) for i in range(3)]

    def main(team):
        rank, moved = team.rank, team.local_from_array
        with EpDispatch(team, 3, 40, 4, 2, "bf16", mode=mode, by_expert=True, align=8) as dispatch:
            for layer in layers:
                m, given = layer.counts[rank], [moved(a[rank]) for a in (layer.x, layer.ids, layer.weights)]
                rows, route, spans = dispatch(*given, m, send_only=True)
                dispatch(*given, m, out=rows, route=route, spans=spans, receive_only=True)
                layer.by_expert(rank, rows, route, spans, 8)

    assert tandem.launch(main, ranks=2, check=True).reports == []


@pytest.mark.parametrize("given, needed", [(8, 0), (8, 4), (1, 4), (None, 4)])
def test_places_of_another_align(given, needed):
    """Combine needs that of the dispatch, and nothing else takes padded places."""

    def main(team):
        options = {} if given is None else {"by_expert": True, "align": given}
        with EpDispatch(team, 2, 8, 4, 2, "fp32", **options) as dispatch:
            _, route, *_ = dispatch(np.ones((2, 8), np.float32), np.array([[0, 1], [2, 3]], np.int32), np.ones((2, 2), np.float32), 2)
        with EpCombine(team, 2, 8, 4, 2, "fp32", **({"align": needed} if needed else {})) as combine:
            combine(np.ones((8 + 2 * needed, 8), np.float32), route, np.zeros((2, 2), np.int32), 2)

    with pytest.raises(tandem.SimulationError, match="`route` has places of another `align`"):
        tandem.launch(main, ranks=2)


def test_grouped_products_refuse_padded_places():
    def main(team):
        with EpDispatch(team, 2, 8, 4, 2, "fp32", by_expert=True, align=4) as dispatch:
            rows, route, _ = dispatch(np.ones((2, 8), np.float32), np.zeros((2, 2), np.int32), np.ones((2, 2), np.float32), 2)
        GroupedGemm(team, 4, 8, 8, 2, 2, "fp32")(np.ones((4, 8), np.float32), np.ones((2, 8, 8), np.float32), route, 4)

    with pytest.raises(tandem.SimulationError, match="`route` has places of another `align`"):
        tandem.launch(main, ranks=2)


def test_align_goes_with_by_expert():
    with pytest.raises(RuntimeError, match="`ep_dispatch`: `align` goes with `by_expert`"):
        tandem.launch(lambda team: EpDispatch(team, 2, 8, 4, 2, "fp32", align=4), ranks=2)


def test_memory():
    """The formula of the README."""

    def main(team):
        sizes = (3, 10, 4, 2, "bf16")
        return [op(team, *sizes, mode=mode).memory()["symmetric"] for mode in ("latency", "throughput") for op in (EpDispatch, EpCombine)]

    ranks, slots = 2, 32  # a row has 20 bytes
    sizes = [ranks * (2 * (1 + 3 * n) + sets * 3 * slots) * 16 for sets in (2, 1) for n in (2, 0)]
    assert tandem.launch(main, ranks=ranks).values == [sizes] * ranks


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ranks, node, counts", [(4, 2, [3, 0, 2, 1]), (6, 3, [2, 2, 0, 3, 1, 2]), (8, 4, [1, 2] * 4), (8, 2, [2] * 8)])
def test_two_levels(ranks, node, counts, seed):
    """Over teams: across nodes, where a token's row goes to each once, then in the node."""
    layer = Layer(counts, 3, 16, 2 * ranks, 3, "fp32", seed=seed)

    def main(team):
        levels = TwoLevels(team, node, layer.most, layer.columns, layer.experts, layer.top_k, layer.dtype)
        for _ in range(2):
            out = levels.run(team, layer)
            if layer.counts[team.rank]:
                layer.check_combine(team.rank, np.array(out))
        levels.close()

    assert tandem.launch(main, ranks=ranks, seed=seed, check=True).reports == []
