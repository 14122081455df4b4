"""AgMoe, MoeRs, MoeAr and MoeMlp on simulated ranks, under the checker: exact on small integers, whatever the schedule."""

import functools
import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "route/test"))

from moe_reference import (
    down_projected,
    drawn_ids,
    drawn_weights,
    integers,
    rows_of,
    scaled_matrices,
    scaled_rows,
    scales,
    silu,
    up_projected,
)

import tandem
from tandem.ops import AgMoe, AllGather, MoeAr, MoeMlp, MoeRs, ReduceScatter, RouteIds, route_parts, rows_of_rank, shard_rows

KINDS = ["uniform", "zipf", "one", "few", "dropped"]


class Case:
    """The operands of all ranks, and what comes of them. `inner`: columns that a rank has of the experts' inner layer; `inners`: those of
    each rank."""

    def __init__(self, ranks, m, hidden, inner, experts, top_k, kind="uniform", seed=0, dtype="fp32", gated=False, inners=None):
        self.ranks, self.sizes, self.dtype, self.gated = ranks, (m, hidden, inner, experts, top_k), dtype, gated
        self.ids, self.weights = drawn_ids(m, experts, top_k, kind, seed), drawn_weights(m, top_k, seed)
        self.x = integers((m, hidden), dtype, seed, 1, most=1)
        inners = inners or [inner] * ranks
        self.up = [integers((experts, i * (1 + gated), hidden), dtype, seed, 2, r, most=1) for r, i in enumerate(inners)]
        self.down = [integers((experts, hidden, i), dtype, seed, 3, r, most=1) for r, i in enumerate(inners)]

    def inner_of(self, rank):
        return up_projected(self.x, self.up[rank], self.ids, self.gated)

    def result(self):
        return sum(down_projected(self.inner_of(r), self.down[r], self.ids, self.weights) for r in range(self.ranks))

    def route(self, team, op=None):
        m, _, _, experts, top_k = self.sizes
        return (op or RouteIds(team, m, experts, top_k, "i32"))(self.ids, self.weights, m)


def made(cls, team, case, swapped=False, **options):
    m, hidden, _, experts, top_k = case.sizes
    inner = case.down[team.rank].shape[2]
    n, k = (hidden, inner) if swapped else (inner, hidden)
    return cls(team, m, n, k, experts, top_k, case.dtype, **options)


def rows_on(rank, m, ranks, whole):
    first = rank * shard_rows(m, ranks)
    return whole[first : first + rows_of_rank(m, ranks, rank)]


def launched(main, ranks, seed, slots=None):
    policy = "slowest-rank" if seed % 3 == 2 else "random"
    result = tandem.launch(main, ranks=ranks, seed=seed, slots_per_rank=slots, policy=policy, check=True)
    assert result.reports == []
    return result.values


def gathers(case, seed, slots=None, **options):
    m, _, inner, experts, top_k = case.sizes

    def main(team):
        route = case.route(team, RouteIds(team, m, experts, top_k, "i32", block_m=options.get("block_m")))
        with made(AgMoe, team, case, gated=case.gated, **options) as op:
            out = op(rows_of(case.x, team), case.up[team.rank], route, m)
            return route_parts(route, m, experts, top_k).order, np.array(out)

    for rank, (order, out) in enumerate(launched(main, case.ranks, seed, slots)):
        want = case.inner_of(rank)[order]
        if case.gated:
            np.testing.assert_allclose(out[: len(order)], want, rtol=1e-4, atol=1e-3)
        else:
            np.testing.assert_array_equal(out[: len(order)], want)
        assert (out[len(order) :] == 0).all()


def scatters(case, seed, slots=None, cls=MoeRs, **options):
    m = case.sizes[0]
    inner = [case.inner_of(r) for r in range(case.ranks)]

    def main(team):
        route = case.route(team)
        order = route_parts(route, m, *case.sizes[3:]).order
        h = np.zeros_like(inner[team.rank], dtype=case.x.dtype)
        h[: len(order)] = inner[team.rank][order]
        with made(cls, team, case, swapped=True, **options) as op:
            return np.array(op(h, case.down[team.rank], route, m))

    want = case.result()
    for rank, out in enumerate(launched(main, case.ranks, seed, slots)):
        np.testing.assert_array_equal(out, want if cls is MoeAr else rows_on(rank, m, case.ranks, want))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_seeds(ranks):
    """The instance of every rank count, under twenty seeds: kinds of dealing and rows in turn."""
    for seed in range(20):
        case = Case(ranks, 37, 24, 20, 5, 2, KINDS[seed % len(KINDS)], seed)
        gathers(case, seed)
        scatters(case, seed)


@pytest.mark.parametrize("m, hidden, inner, experts, top_k", [(1, 1, 1, 1, 1), (3, 70, 33, 7, 3), (65, 33, 40, 11, 2), (40, 64, 32, 40, 4)])
@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_sizes(ranks, m, hidden, inner, experts, top_k):
    case = Case(ranks, m, hidden, inner, experts, top_k, "zipf", seed=m)
    gathers(case, m)
    scatters(case, m)
    scatters(case, m, cls=MoeAr)


@pytest.mark.parametrize("ordered", [0, 1])
def test_tiles_of_two_halves(ordered):
    for seed in range(3):
        case = Case(2, 300, 16, [48, 100][seed % 2], 3, 2, KINDS[seed], seed)
        gathers(case, seed, block_m=64, block_n=32, ordered=ordered)


@pytest.mark.parametrize("slots", [1, 2, 5])
def test_few_resident_programs(slots):
    for seed in range(3):
        case = Case(3, 50, 40, 24, 5, 2, "dropped", seed)
        gathers(case, seed, slots)
        scatters(case, seed, slots)
        scatters(case, seed, slots, cls=MoeAr)


@pytest.mark.parametrize("inners", [[12, 7], [1, 40, 16]])
def test_ranks_with_other_parts_of_the_inner_columns(inners):
    for seed in range(4):
        case = Case(len(inners), 30, 24, 0, 5, 2, KINDS[seed], seed, inners=inners)
        gathers(case, seed)
        scatters(case, seed)
        scatters(case, seed, cls=MoeAr)

        def main(team, case=case):
            with made(MoeMlp, team, case, swapped=True) as op:
                return np.array(op(rows_of(case.x, team), case.up[team.rank], case.down[team.rank], case.route(team), 30))

        for rank, out in enumerate(launched(main, case.ranks, seed)):
            np.testing.assert_array_equal(out, rows_on(rank, 30, case.ranks, case.result()))


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_slots_in_parts_of_the_columns(ranks):
    """As where the results of all slots take more than 1 GiB."""
    for seed in range(3):
        scatters(Case(ranks, 21, 600, 24, 5, 2, KINDS[seed], seed), seed, slot_columns=256)
        scatters(Case(ranks, 21, 512, 24, 5, 2, KINDS[seed], seed), seed, slot_columns=300)


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_few_tokens_in_packets(ranks):
    for seed in range(5):
        for m in (1, 11, 37):
            scatters(Case(ranks, m, 70, 20, 5, 2, KINDS[seed], seed), seed, packets_bytes=1 << 14)


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_few_rows_in_packets(ranks):
    for seed in range(5):
        for m in (1, 11, 37):
            gathers(Case(ranks, m, 70, 20, 5, 2, KINDS[seed], seed, gated=seed % 2 == 1), seed, packets_bytes=1 << 13)


@pytest.mark.parametrize("ranks", [2, 3])
def test_few_and_many_rows_in_turn(ranks):
    """Those of 9 and 8 tokens travel in packets, those of 37 and 36 by copies into what the call before may still read on another rank."""
    for seed in range(4):
        cases = [Case(ranks, m, 24, 20, 5, 2, KINDS[seed], seed) for m in (37, 9, 37, 8, 9, 36)]

        def main(team, cases=cases):
            with made(AgMoe, team, cases[0], packets_bytes=24 * 4 * 5) as op:
                kept = []
                for case in cases:
                    route = case.route(team)
                    out = op(rows_of(case.x, team), case.up[team.rank], route, case.sizes[0])
                    kept.append((route_parts(route, case.sizes[0], 5, 2).order, np.array(out)))
                return kept

        for rank, results in enumerate(launched(main, ranks, seed)):
            for case, (order, out) in zip(cases, results, strict=True):
                np.testing.assert_array_equal(out[: len(order)], case.inner_of(rank)[order])


@pytest.mark.parametrize("ranks", [2, 3])
def test_few_and_many_tokens_in_turn(ranks):
    """A rank's sums of 37 tokens have more bytes than go in packets, those of 9 have fewer."""
    for seed in range(4):
        cases = [Case(ranks, m, 24, 20, 5, 2, KINDS[seed], seed) for m in (9, 37, 8, 9, 36)]

        def main(team, cases=cases):
            with made(MoeRs, team, cases[1], swapped=True, packets_bytes=24 * 4 * 5) as op:
                outs = []
                for case in cases:
                    route = case.route(team)
                    order = route_parts(route, case.sizes[0], *case.sizes[3:]).order
                    inner = case.inner_of(team.rank)
                    h = np.zeros_like(inner, dtype=case.x.dtype)
                    h[: len(order)] = inner[order]
                    outs.append(np.array(op(h, case.down[team.rank], route, case.sizes[0])))
                return outs

        for rank, outs in enumerate(launched(main, ranks, seed)):
            for case, out in zip(cases, outs, strict=True):
                np.testing.assert_array_equal(out, rows_on(rank, case.sizes[0], ranks, case.result()))


def test_programs():
    for programs in (1, 5):
        scatters(Case(2, 70, 96, 24, 5, 2, "zipf", programs), programs, programs=programs)


def test_items_of_every_kind():
    """Several items for each rank, whole ones and shorter ones at the end, and so few programs at once that some start late."""
    for seed in range(30):
        ranks, m, top_k = [2, 3, 4, 1, 8][seed % 5], [200, 131, 64][seed % 3], [2, 1, 3][seed % 3]
        case = Case(ranks, m, [96, 160, 70][seed // 3 % 3], 20, 5, top_k, KINDS[seed % 5], seed)
        scatters(case, seed, [None, 3, 4, 7][seed // 2 % 4])


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_rows_in_order(ranks):
    """Rows that are copied into the route's order first."""
    for seed in range(10):
        gathers(Case(ranks, 37, [24, 70][seed % 2], 20, 5, 2, KINDS[seed % 5], seed), seed, ordered=1)
    gathers(Case(ranks, 37, 24, 20, 5, 2, seed=1, gated=True), 3, slots=5, ordered=1)


def test_types():
    for dtype in ("fp16", "bf16"):
        case = Case(2, 30, 16, 16, 4, 2, seed=3, dtype=dtype)
        gathers(case, 0)
    gathers(Case(2, 30, 16, 16, 4, 2, seed=3, gated=True), 0)


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("gated", [False, True])
def test_whole_layer(ranks, gated):
    def layer(team, case):
        with made(MoeMlp, team, case, swapped=True, gated=gated) as op:
            return np.array(op(rows_of(case.x, team), case.up[team.rank], case.down[team.rank], case.route(team), 41))

    for seed in range(4):
        case = Case(ranks, 41, 24, 20, 6, 3, KINDS[seed], seed, gated=gated)
        want = case.result()
        for rank, out in enumerate(launched(functools.partial(layer, case=case), ranks, seed)):
            np.testing.assert_allclose(out, rows_on(rank, 41, ranks, want), rtol=1e-4, atol=1e-2 if gated else 0)


@pytest.mark.parametrize("ranks", [2, 3])
def test_calls_in_a_row(ranks):
    """As a captured graph replays them: the same addresses, other routing and rows, nothing waited for between the calls."""
    cases = [Case(ranks, 26, 16, 12, 5, 2, KINDS[seed % len(KINDS)], seed) for seed in range(6)]
    m = 26

    def main(team):
        first = cases[0]
        dealt, op = RouteIds(team, m, 5, 2, "i32"), made(MoeMlp, team, first, swapped=True)
        moved = team.local_from_array
        ids, weights, x = moved(first.ids), moved(first.weights), moved(rows_of(first.x, team))
        up, down = moved(first.up[team.rank]), moved(first.down[team.rank])
        given = [[moved(a) for a in (c.ids, rows_of(c.x, team), c.up[team.rank], c.down[team.rank], c.weights)] for c in cases]
        outs = [team.local_empty(rows_of(first.x, team).shape, "float32") for _ in cases]
        out, route = team.local_empty(outs[0].shape, "float32"), None
        for data, kept in zip(given, outs):
            for to, source in zip((ids, x, up, down, weights), data):
                if source.size:
                    team.stream.copy(to, source)
            route = dealt(ids, weights, m, out=route)
            op(x, up, down, route, m, out=out)
            if kept.size:
                team.stream.copy(kept, out)
        return [np.array(a) for a in outs]

    wants = [case.result() for case in cases]
    for seed in range(6):
        for rank, outs in enumerate(launched(main, ranks, seed)):
            for out, want in zip(outs, wants):
                np.testing.assert_array_equal(out, rows_on(rank, m, ranks, want))


def test_same_bits_whatever_the_schedule():
    case = Case(3, 40, 24, 16, 5, 2, "zipf")
    rng = np.random.default_rng(5)
    case.x, h = rng.standard_normal(case.x.shape).astype(np.float32), rng.standard_normal((3, 80, 16)).astype(np.float32)

    def main(team):
        route = case.route(team)
        up = made(AgMoe, team, case)(rows_of(case.x, team), case.up[team.rank], route, 40)
        down = made(MoeRs, team, case, swapped=True)(h[team.rank], case.down[team.rank], route, 40)
        return np.array(up).tobytes(), np.array(down).tobytes()

    found = [launched(main, 3, seed) for seed in range(6)]
    assert all(values == found[0] for values in found)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_fp8_and_biases(ranks):
    """A whole layer, and its halves by AllReduce, of fp8 with scales, and of fp32 with biases."""
    m, hidden, inner, experts, top_k = 37, 136, 40, 5, 2
    for seed, dtype in enumerate(["fp8e4nv", "fp32", "fp8e4nv"]):
        case, fp8 = Case(ranks, m, hidden, inner, experts, top_k, KINDS[seed], seed, dtype, gated=True), dtype == "fp8e4nv"
        up_bias = [integers((experts, 2 * inner), "fp32", seed, 4, r) for r in range(ranks)]
        down_bias = integers((experts, hidden), "fp32", seed, 5)
        x_scales = scales(m, 2, seed=seed)
        up_scales, down_scales = [[scales(experts, 2, 2 - way, seed=2 * r + way) for r in range(ranks)] for way in (0, 1)]

        scaling = (x_scales, up_scales, down_scales)

        def main(team, case=case, fp8=fp8, up_bias=up_bias, down_bias=down_bias, scaling=scaling):
            (x_scales, up_scales, down_scales), r, route = scaling, team.rank, case.route(team)
            up_more, down_more = {"bias": up_bias[r]}, {"bias": down_bias}
            more = {"up_bias": up_bias[r], "down_bias": down_bias}
            if fp8:
                up_more |= {"x_scales": rows_of(x_scales, team), "w_scales": up_scales[r]}
                more |= {"x_scales": up_more["x_scales"], "up_scales": up_scales[r], "down_scales": down_scales[r]}
                down_more |= {"w_scales": down_scales[r]}
            whole = made(MoeMlp, team, case, swapped=True, gated=True)
            up = made(AgMoe, team, case, gated=True, quantised=fp8)
            down = made(MoeAr, team, case, swapped=True)
            x = rows_of(case.x, team)
            out = whole(x, case.up[r], case.down[r], route, m, **more)
            inner = up(x, case.up[r], route, m, **up_more)
            if fp8:
                inner, down_more["h_scales"] = inner
            return np.array(out), np.array(down(inner, case.down[r], route, m, **down_more))

        want = np.zeros((m, hidden))
        x = scaled_rows(case.x, x_scales) if fp8 else case.x.astype(np.float64)
        for r in range(ranks):
            up = scaled_matrices(case.up[r], up_scales[r], 2) if fp8 else case.up[r]
            down = scaled_matrices(case.down[r], down_scales[r]) if fp8 else case.down[r]
            for slot, e in enumerate(case.ids.ravel()):
                if e >= 0:
                    y = up[e] @ x[slot // top_k] + up_bias[r][e]
                    result = down[e] @ (silu(y[:inner]) * y[inner:]) + (down_bias[e] if r == 0 else 0)
                    want[slot // top_k] += case.weights.ravel()[slot] * result
        for rank, (out, reduced) in enumerate(launched(main, ranks, seed)):
            for found, exact in ((out, rows_on(rank, m, ranks, want)), (reduced, want)):
                off = np.linalg.norm(found.astype(np.float64) - exact)
                assert off <= (4e-2 if fp8 else 1e-5) * np.linalg.norm(exact)


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp8e4nv"])
def test_memory_is_as_documented(ranks, dtype):
    m, n, k, experts, top_k = 37, 200, 24, 5, 2
    size, of_sums, is_fp8 = {"fp32": (4, 4, 0), "bf16": (2, 2, 0), "fp8e4nv": (1, 2, 1)}[dtype]
    shard, width = -(-m // ranks), -(-n // 32) * 32

    def main(team):
        made = [AgMoe(team, m, k, n, experts, top_k, dtype, ordered=ordered) for ordered in (0, 1)]
        made += [cls(team, m, n, k, experts, top_k, dtype) for cls in (MoeRs, MoeMlp)]
        made += [MoeRs(team, m, 700, k, experts, top_k, dtype, slot_columns=600)]  # two times 256 at once
        made += [MoeRs(team, m, n, k, experts, top_k, dtype, packets_bytes=5 * n * of_sums)]
        made += [ReduceScatter(team, 5 * ranks, n, "fp32" if of_sums == 4 else "bf16")]
        made += [AgMoe(team, m, k, n, experts, top_k, dtype, packets_bytes=5 * n * size)]
        made += [AllGather(team, min(m, 5 * ranks), n, dtype), AllGather(team, min(m, 5 * ranks), -(-n // 128), "fp32")]
        return [op.memory() for op in made]

    row = n * size + 4 * is_fp8 * -(-n // 128)
    pieces = 0 if is_fp8 else 8 * (16 * 32 * 4 + 4)  # of eight programs, where few tiles are cut: not of two steps
    up = {"local": pieces if ranks == 1 else 0, "symmetric": ranks * shard * row + 16 * (ranks + 1)}

    def scattered(width):
        signals = max((ranks - 1) * -(-shard // 8) * (width // 32), 1) + ranks + 8
        symmetric = max((ranks - 1) * shard, 1) * width * of_sums + 8 * signals
        return {"local": m * top_k * width * of_sums + 16, "symmetric": symmetric}

    down = scattered(width)
    whole = {name: up[name] + down[name] for name in up}
    whole["local"] += m * top_k * (k * size + 4 * is_fp8)
    few = min(m, 5 * ranks) if ranks > 1 else 0
    for *memory, packed, packets, gathered, rows, row_scales in tandem.launch(main, ranks=ranks).values:
        assert memory == [up, {**up, "local": m * top_k * row + pieces}, down, whole, scattered(512)]
        more = {name: packets[name] if few else 0 for name in packets}
        more["local"] += few * (top_k * width + n) * of_sums
        assert packed == {name: down[name] + more[name] for name in down}
        more = {name: (rows[name] + is_fp8 * row_scales[name]) if few else 0 for name in rows}
        more["local"] += few * row + (pieces if few else 0)
        assert gathered == {name: up[name] + more[name] for name in up}


def test_wrong_arguments():
    case = Case(2, 16, 8, 4, 4, 2)

    def failing(message, cls, *shapes, m=16):
        def main(team):
            op = made(cls, team, case, swapped=cls is not AgMoe)
            op(*(np.zeros(s, np.float32) for s in shapes[:-1]), np.zeros(shapes[-1], np.int32), m)

        with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
            tandem.launch(main, ranks=2)

    failing(r"`x` has shape \[16, 8\], \[8, 8\] is needed", AgMoe, (16, 8), (4, 4, 8), 264)
    failing(r"`w` has shape \[4, 8, 4\], \[4, 4, 8\] is needed", AgMoe, (8, 8), (4, 8, 4), 264)
    failing(r"`route` has shape \[263\], \[264\] is needed", AgMoe, (8, 8), (4, 4, 8), 263)
    failing(r"`h` has shape \[16, 4\], \[32, 4\] is needed", MoeRs, (16, 4), (4, 8, 4), 264)
    failing("`m` is 17, the operator was made for 1 to 16", MoeRs, (32, 4), (4, 8, 4), 264, m=17)
    failing(r"`down` has shape \[4, 4, 8\], \[4, 8, 4\] is needed", MoeMlp, (8, 8), (4, 4, 8), (4, 4, 8), 264)


@pytest.mark.parametrize("name", ["ag_moe", "moe_rs", "moe_ar", "moe_mlp"])
def test_readme_example(name):
    text = (pathlib.Path(__file__).parents[2] / name / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
