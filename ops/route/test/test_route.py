"""Routes against NumPy on simulated ranks, under the checker: sizes, kinds of dealing, one program and many, scores, bad ids, errors."""

import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from changed_kernels import imported
from moe_reference import blocks_of, drawn_ids, drawn_weights, order_of

import tandem
from tandem.ops import Route, RouteIds, route_parts, route_words

KINDS = ["uniform", "zipf", "one", "few", "dropped"]


def check(parts, ids, weights, experts, ranks, rank, block=16):
    order, _ = order_of(ids, experts, ranks, rank)
    np.testing.assert_array_equal(parts.order, order)
    place = np.full(ids.size, -1)
    place[order] = np.arange(len(order))
    np.testing.assert_array_equal(parts.place, place)
    np.testing.assert_array_equal(parts.counts, np.bincount(ids.reshape(-1)[order], minlength=experts))
    np.testing.assert_array_equal(parts.weights, weights.reshape(-1))
    wanted = blocks_of(ids, experts, block, ranks, rank)
    for table, by in ((parts.blocks, wanted), (parts.by_experts, sorted(wanted, key=lambda words: words[1]))):
        assert [(expert, row, min(row + block, end)) for expert, row, _, _, _, _, end, _ in table] == [words[:3] for words in by]
        for at, (expert, _, by_experts, turn, first, height, *_) in enumerate(table):
            group = table[first : first + height]
            assert first <= at < first + height and height <= 8 and (group[:, 0] == expert).all()
            assert turn == by[first + height - 1][3] or table is parts.by_experts and turn == ranks - 1
            assert parts.by_experts[by_experts, 1] == group[0, 1]


def run(ranks, m, experts, top_k, kind="uniform", seed=0, slots=None, block=16, bits=32, **config):
    ids, weights = drawn_ids(m, experts, top_k, kind, seed), drawn_weights(m, top_k, seed)

    def main(team):
        with RouteIds(team, m, experts, top_k, f"i{bits}", **config) as op:
            return route_parts(op(ids.astype(f"int{bits}"), weights, m), m, experts, top_k)

    result = tandem.launch(main, ranks=ranks, seed=seed, slots_per_rank=slots, check=True)
    assert result.reports == []
    for rank, parts in enumerate(result.values):
        check(parts, ids, weights, experts, ranks, rank, block)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m, experts, top_k", [(1, 1, 1), (37, 5, 2), (130, 7, 3), (200, 64, 8)])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_dealing(ranks, m, experts, top_k, kind):
    run(ranks, m, experts, top_k, kind, seed=m + ranks)


@pytest.mark.parametrize("slots", [1, 2, 5])
def test_few_resident_programs(slots):
    """With too few for all ranges at once, one program does everything."""
    for seed in range(3):
        run(3, 120, 9, 2, "zipf", seed, slots=slots)


def test_blocks_and_programs():
    run(2, 300, 5, 2, "zipf", block_m=64, block=64)
    run(2, 300, 5, 2, block_m=32, block=32, programs=4)
    run(1, 300, 300, 2, programs=1)


@pytest.mark.parametrize("m", [9, 130])
def test_ids_of_64_bits(m):
    run(2, m, 7, 3, "dropped", bits=64)
    ids, weights = drawn_ids(m, 7, 3).astype(np.int64), drawn_weights(m, 3)
    for bad in (7, -2, 1 << 32, -(1 << 32), (1 << 63) - 1, -(1 << 63)):
        ids[5, 1] = bad
        with pytest.raises(tandem.SimulationError, match="an id is no expert's"):
            tandem.launch(lambda team: RouteIds(team, m, 7, 3, "i64")(ids, weights, m), ranks=1)


def test_many_blocks():
    """More than are written at once."""
    run(2, 1500, 3, 2, "uniform", seed=4)


def test_a_million_tokens():
    m, rng = 1 << 20, np.random.default_rng(5)
    ids, weights = rng.integers(-1, 7, (m, 2), dtype=np.int32), rng.random((m, 2), dtype=np.float32)

    def main(team):
        return route_parts(RouteIds(team, m, 7, 2, "i32", block_m=128)(ids, weights, m), m, 7, 2)

    parts = tandem.launch(main, ranks=1).values[0]
    kept = np.flatnonzero(ids.ravel() >= 0)
    np.testing.assert_array_equal(parts.order, kept[np.argsort(ids.ravel()[kept], kind="stable")])
    np.testing.assert_array_equal(parts.place[parts.order], np.arange(len(kept)))
    np.testing.assert_array_equal(parts.counts, np.bincount(ids.ravel()[kept]))
    assert len(parts.blocks) == sum(-(-count // 128) for count in parts.counts)


def test_same_bits_whatever_the_schedule():
    ids, weights = drawn_ids(150, 11, 3, "dropped"), drawn_weights(150, 3)

    def main(team):
        parts = route_parts(RouteIds(team, 150, 11, 3, "i32")(ids, weights, 150), 150, 11, 3)
        return b"".join(x.tobytes() for x in (parts.offsets, parts.order, parts.place, parts.weights, parts.blocks))

    results = [tandem.launch(main, ranks=2, seed=seed, check=True).values for seed in range(8)]
    assert all(values == results[0] for values in results)


def test_routing_that_changes_between_calls():
    sizes = [64, 1, 64, 40, 3, 64]
    given = [(drawn_ids(m, 6, 2, KINDS[i % len(KINDS)], i), drawn_weights(m, 2, i)) for i, m in enumerate(sizes)]

    def main(team):
        op = RouteIds(team, 64, 6, 2, "i32")
        made = [op(*[team.local_from_array(x) for x in pair], len(pair[0])) for pair in given]
        return [route_parts(route, m, 6, 2) for route, m in zip(made, sizes)]

    for seed in range(4):
        result = tandem.launch(main, ranks=2, seed=seed, check=True)
        assert result.reports == []
        for rank, found in enumerate(result.values):
            for parts, (ids, weights) in zip(found, given):
                check(parts, ids, weights, 6, 2, rank)


def chosen(logits, bias, top_k, score="softmax", groups=1, top_groups=1, renormalise=False, scale=1.0):
    x = logits.astype(np.float64)
    scores = 1 / (1 + np.exp(-x)) if score == "sigmoid" else np.exp(x) / np.exp(x).sum(1, keepdims=True)
    selection = scores + bias
    if top_groups < groups:
        of_group = selection.reshape(len(x), groups, -1)
        best = np.argsort(-np.sort(of_group)[:, :, -2:].sum(2), axis=1, kind="stable")[:, :top_groups]
        kept = np.zeros((len(x), groups), bool)
        np.put_along_axis(kept, best, True, axis=1)
        selection = np.where(kept[:, :, None], of_group, -np.inf).reshape(selection.shape)
    ids = np.argsort(-selection, axis=1, kind="stable")[:, :top_k].astype(np.int32)
    weights = np.take_along_axis(scores, ids, axis=1)
    return ids, scale * (weights / weights.sum(1, keepdims=True) if renormalise else weights)


@pytest.mark.parametrize(
    "experts, top_k, options",
    [
        (1, 1, {}),
        (5, 2, {"renormalise": True}),
        (60, 4, {"score": "sigmoid", "scale": 0.5}),
        (32, 4, {"score": "sigmoid", "groups": 8, "top_groups": 4, "renormalise": True}),
        (16, 2, {"groups": 4, "top_groups": 1}),
        (256, 8, {"score": "sigmoid", "groups": 8, "top_groups": 4, "renormalise": True, "scale": 2.5}),
        (300, 8, {}),
        (1024, 16, {"renormalise": True}),
    ],
)
@pytest.mark.parametrize("m", [1, 9, 33, 100])
@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_scores(dtype, m, experts, top_k, options):
    from tandem.kernel.element_types import as_dtype

    rng = np.random.default_rng(m)
    # few distinct values, so ties are decided by the expert's number
    logits = (rng.integers(-8, 9, (m, experts)) / 4).astype(as_dtype(dtype))
    bias = (rng.permutation(experts) / 1024).astype(np.float32)
    ids, weights = chosen(logits, bias, top_k, **options)

    def main(team):
        with Route(team, m, experts, top_k, dtype, **options) as op:
            return route_parts(op(logits, bias, m), m, experts, top_k)

    for ranks in (1, 2):
        result = tandem.launch(main, ranks=ranks, check=True)
        assert result.reports == []
        for rank, parts in enumerate(result.values):
            np.testing.assert_allclose(parts.weights, weights.reshape(-1), rtol=1e-5)
            check(parts, ids, parts.weights, experts, ranks, rank)


@pytest.mark.parametrize(
    "scored, top_k, shared, options",
    [(5, 2, 1, {}), (16, 2, 3, {"groups": 4, "top_groups": 1, "renormalise": True}), (256, 8, 2, {}), (1, 1, 15, {})],
)
@pytest.mark.parametrize("m", [1, 33, 100])
def test_shared_experts_and_ids(m, scored, top_k, shared, options):
    """Every token has the last experts besides those chosen."""
    logits = np.random.default_rng(m).standard_normal((m, scored)).astype(np.float32)
    bias, experts, each = np.zeros(scored, np.float32), scored + shared, top_k + shared
    ids, weights = chosen(logits, bias, top_k, **options)
    ids = np.concatenate([ids, np.tile(np.arange(scored, experts, dtype=np.int32), (m, 1))], axis=1)
    weights = np.concatenate([weights, np.ones((m, shared))], axis=1)

    def main(team):
        with Route(team, m, experts, each, "fp32", shared_experts=shared, with_ids=True, **options) as op:
            route, found = op(logits, bias, m)
            return route_parts(route, m, experts, each), np.array(found)

    for ranks in (1, 2):
        result = tandem.launch(main, ranks=ranks, check=True)
        assert result.reports == []
        for rank, (parts, found) in enumerate(result.values):
            np.testing.assert_array_equal(found, ids)
            np.testing.assert_allclose(parts.weights, weights.reshape(-1), rtol=1e-5)
            check(parts, ids, parts.weights, experts, ranks, rank)


def drawn_logits(kind, m, experts, rng):
    """`lane`: the best ones are one lane's; the others have many that are equal."""
    if kind == "lane":
        logits = rng.standard_normal((m, experts))
        logits[:, ::32] += 9
        return logits.astype(np.float32)
    return rng.integers(-1, {"equal": 0, "two": 1, "five": 4}[kind], (m, experts)).astype(np.float32)


@pytest.mark.parametrize("kind", ["lane", "equal", "two", "five"])
@pytest.mark.parametrize("experts, top_k", [(32, 16), (33, 2), (200, 1), (256, 8), (256, 16)])
@pytest.mark.parametrize("m", [1, 2])
def test_tokens_of_a_warp(m, experts, top_k, kind):
    """So few that each has a warp, which finds the places of its best experts."""
    rng = np.random.default_rng(experts + top_k)
    logits, bias = drawn_logits(kind, m, experts, rng), (rng.integers(0, 3, experts) / 64).astype(np.float32)
    logits[0, 1], bias[5], bias[7] = -np.inf, -np.inf, np.nan  # of the last two none is chosen
    ids, weights = chosen(logits, np.nan_to_num(bias, nan=-np.inf), top_k, renormalise=True)

    def main(team):
        return route_parts(Route(team, m, experts, top_k, "fp32", renormalise=True)(logits, bias, m), m, experts, top_k)

    result = tandem.launch(main, ranks=1, seed=m, check=True)
    assert result.reports == []
    np.testing.assert_allclose(result.values[0].weights, weights.reshape(-1), rtol=1e-5)
    check(result.values[0], ids, result.values[0].weights, experts, 1, 0)


def test_many_programs_of_several_calls():
    """Clans' sums of one call are the next one's zeros, whatever the programs of each."""
    sizes = [400, 90, 1, 400, 300]
    given = [(drawn_ids(m, 6, 2, KINDS[i], i), drawn_weights(m, 2, i)) for i, m in enumerate(sizes)]

    def main(team):
        op = RouteIds(team, 400, 6, 2, "i32")
        made = [op(*[team.local_from_array(x) for x in pair], len(pair[0])) for pair in given]
        return [route_parts(route, m, 6, 2) for route, m in zip(made, sizes)]

    for ranks in (1, 2, 3):
        result = tandem.launch(main, ranks=ranks, seed=ranks, slots_per_rank=14, check=True)
        assert result.reports == []
        for rank, found in enumerate(result.values):
            for parts, (ids, weights) in zip(found, given):
                check(parts, ids, weights, 6, ranks, rank)


def routed_by(logits, top_k):
    m, experts = logits.shape

    def main(team):
        return route_parts(Route(team, m, experts, top_k, "fp32")(logits, np.zeros(experts, np.float32), m), m, experts, top_k)

    return tandem.launch(main, ranks=1, check=True).values[0]


def test_logits_that_exclude_experts():
    logits = np.tile(np.arange(6, dtype=np.float32), (5, 1))
    logits[1, 3:], logits[2, 1:] = -np.inf, -np.inf
    ids, weights = chosen(logits, np.zeros(6, np.float32), 3)
    parts = routed_by(logits, 3)
    np.testing.assert_allclose(parts.weights, weights.reshape(-1), rtol=1e-5)
    check(parts, ids, parts.weights, 6, 1, 0)


def test_logits_that_are_no_numbers_are_named():
    logits = np.tile(np.arange(6, dtype=np.float32), (5, 1))
    logits[3, 2] = np.nan
    with pytest.raises(tandem.SimulationError, match="a token's logit is no number"):
        routed_by(logits, 3)
    shared = np.full((4, 8), np.nan, np.float32)  # the expert behind the eight is a shared one
    with pytest.raises(tandem.SimulationError, match="a token's logit is no number"):
        tandem.launch(lambda team: Route(team, 4, 9, 2, "fp32", shared_experts=1)(shared, np.zeros(8, np.float32), 4), ranks=1)


# What a GPU does with ids that simulated runs end with.
UNREPORTED = [("""                            expect(False, "a token's logit is no number" if SCORES else "an id is no expert's")\n""", "")]
ROUTE_FILES = ["device/findings.py", "device/routes.py", "route/blocks.py", "route/route.py", "route/score.py"]


def test_ids_of_no_expert_are_dropped_counted_and_named(tmp_path):
    ids, weights = drawn_ids(40, 5, 2), drawn_weights(40, 2)
    ids[7, 1], ids[11, 0], ids[12, 0] = 5, -2, 1 << 30

    with pytest.raises(tandem.SimulationError, match="an id is no expert's") as found:
        tandem.launch(lambda team: RouteIds(team, 40, 5, 2, "i32")(ids, weights, 40), ranks=2)
    assert "route.py" in found.value.reports[0]["text"]

    changes = [("route/route.py", text, new) for text, new in UNREPORTED]
    (module,) = imported(tmp_path, ROUTE_FILES, ["route.route"], *changes)

    def main(team):
        words = team.local_from_array(np.zeros(route_words(40, 5, 2), np.int32))
        given = [team.local_from_array(a) for a in (weights, weights, ids, weights)]
        counts, findings = (team.local_from_array(np.zeros(n, np.int32)) for n in (64, 8))
        constants = {"E": 5, "PADDED": 8, "BITS": 3, "K": 2, "R": team.size, "WARPS": 1, "MANY": False, "ROWS_AT_ONCE": 4, "LANES": 8}
        constants |= {"SCORES": False, "TOLD": True, "SIGMOID": False, "GROUPS": 1, "TOP_GROUPS": 1, "RENORMALISE": False}
        arguments = (*given, words, words, counts, counts, findings, 40, 20, 20, 1)
        module.route[(1,)](*arguments, **constants, BLOCK=16, GROUP=8, num_warps=1)
        return np.array(words), np.array(findings), team.rank

    result = tandem.launch(main, ranks=2, check=True)
    assert result.reports == []
    for words, findings, rank in result.values:
        assert words[:10].tolist() == [3, 15, 40, 2, 5, 16, words[6], 77, 2, rank]
        what, seen, most, token, slot = findings[:5]
        assert (what, most) == (1, 4) and ids[token, slot] == seen and not -1 <= seen < 5
        with pytest.raises(ValueError, match="`ids`: 3 are no expert's; the first is that of token 7, slot 1; -1 to 4 are possible"):
            route_parts(words, 40, 5, 2)


def failing(message, make, *arguments):
    def main(team):
        make(team)(*arguments)

    with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
        tandem.launch(main, ranks=1)


def test_wrong_arguments():
    ids, weights = drawn_ids(8, 4, 2), drawn_weights(8, 2)
    failing("`top_k` is 5, 1 to 4 are possible", lambda team: RouteIds(team, 8, 4, 5, "i32"), ids, weights, 8)
    failing("`experts` is 1025, 1 to 1024 are possible", lambda team: Route(team, 8, 1025, 2, "fp32"), ids, weights, 8)
    failing("`route_ids`: i32 or i64 is needed, not fp32", lambda team: RouteIds(team, 8, 4, 2, "fp32"), ids, weights, 8)
    failing("`ids` is i64, the operator was made for i32", lambda team: RouteIds(team, 8, 4, 2, "i32"), ids.astype(np.int64), weights, 8)
    failing("`weights` is fp64, it must be fp32", lambda team: RouteIds(team, 8, 4, 2, "i32"), ids, weights.astype(float), 8)
    failing(r"`ids` has shape \[8, 2\], \[7, 2\] is needed", lambda team: RouteIds(team, 8, 4, 2, "i32"), ids, weights, 7)
    failing("`m` is 9, the operator was made for 1 to 8", lambda team: RouteIds(team, 8, 4, 2, "i32"), ids, weights, 9)
    failing("`block_m` is 20, a power of two from 16 is needed", lambda team: RouteIds(team, 8, 4, 2, "i32", block_m=20), ids, weights, 8)
    failing("`shared_experts` is 2, with `top_k` 2 at most 1 are possible", lambda team: Route(team, 8, 4, 2, "fp32", shared_experts=2))
    failing("`top_k` is 3, 1 to 2 are possible", lambda team: Route(team, 8, 2, 3, "fp32", shared_experts=1))
    failing("`top_groups` is 3, 1 to 2 are possible", lambda team: Route(team, 8, 4, 2, "fp32", groups=2, top_groups=3))
    with pytest.raises(ValueError, match=r"`route` has shape \[3\], \[200\] is that of 8 tokens, 4 experts and top_k 2"):
        route_parts(np.zeros(3, np.int32), 8, 4, 2)


def test_readme_examples():
    for folder in ("route", "route_ids"):
        text = (pathlib.Path(__file__).parents[2] / folder / "README.md").read_text()
        for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            exec(compile(code, "README.md", "exec"), {})
