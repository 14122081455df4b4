"""Errors planted in the kernel that deals tokens to experts, between its programs, warps and lanes: every one is reported, at its lines; as
it is, it is right under many schedules."""

import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from changed_kernels import imported
from moe_reference import drawn_ids, drawn_weights, order_of

import tandem
from tandem.ops import route_parts, route_words

FILES = ["device/findings.py", "device/routes.py", "route/blocks.py", "route/route.py", "route/score.py"]
M, EXPERTS, TOP_K, EACH, WARPS, CLAN, COUNTS = 320, 6, 2, 40, 2, 2, 256
ROUTE, BLOCKS = "route/route.py", "route/blocks.py"
SYNC = "        __syncthreads()\n"
CLEARED = "            listed = dl.allocate_smem(tl.int32, [threads // LANES * (COLUMNS + LANES) if LANES == 32 else 1])\n"
OF_EXPERT = "        for e in range(tid(0), EACH * E, threads):\n"
ORDER = "        order_ptr = order_of(route_ptr, E)\n"
STORED = "                    dl.smem_store(seen, above + 1, (nth * WARPS + warp) * E + expert)\n"
OF_RUN = "        at_once: tl.constexpr = WARPS * 32 // LANES\n"
LAST = "                    write_block(words, of, row, by_experts + group, last, by_experts + group, height, end)\n"
RUN = ["tl.store(runs_ptr", ("start = dl.smem_load(runs", "above = dl.smem_load(runs", "count_of = dl.smem_load(runs")]
READ = ("tl.load(heads_ptr", "tl.load(counts_ptr")
WRITTEN = ("atomic_add(heads_ptr", "st(counts_ptr", "st(next_ptr")
NAMED = '        half = ld(clans_ptr, semantic="weak")\n'
DEALT = ["st(order_ptr + row, at"]

# The name; whether there are scores; the change of the kernel; words of the kinds of reports; texts of lines that reports name, of a tuple
# one.
ERRORS = {
    "programs do not meet": (False, (ROUTE, "        sync_grid()\n", "        pass\n"), "race", [READ, WRITTEN]),
    "counts not cleared yet": (
        False,
        (ROUTE, CLEARED + SYNC, CLEARED),
        "race",
        ["dl.smem_store(seen, 0, i)", "atomic_add(dl.smem_get_ptr(seen"],
    ),
    "counts not there yet": (
        False,
        (ROUTE, SYNC + OF_EXPERT, OF_EXPERT),
        "race",
        ["atomic_add(dl.smem_get_ptr(seen", "dl.smem_load(seen, at + w * E)"],
    ),
    "bases not there yet": (False, (ROUTE, SYNC + ORDER, ORDER), "race|uninitialised", ["dl.smem_load(bases"]),
    "runs not there yet": (False, (BLOCKS, SYNC + OF_RUN, OF_RUN), "race|uninitialised", RUN[1:]),
    "runs of the next turn too early": (False, (BLOCKS, LAST + SYNC, LAST), "race", RUN),
    "scored ids not there yet": (
        True,
        (ROUTE, "                )\n                __syncthreads()\n", "                )\n"),
        "race",
        ["ld(ids_ptr"],
    ),
    "lanes count while others look": (
        False,
        (ROUTE, "                __syncwarp()\n                if is_row", "                if is_row"),
        "race",
        ["dl.smem_store(seen, above + 1", "dl.smem_load(seen, (nth"],
    ),
    "lanes look before others have counted": (
        False,
        (ROUTE, STORED + "                __syncwarp()\n", STORED),
        "race",
        ["dl.smem_store(seen, above + 1", "dl.smem_load(seen, (nth"],
    ),
    "programs before are not counted": (False, (ROUTE, "of_head < mine", "of_head < 0"), "race", DEALT),
    "one program too few is counted": (False, (ROUTE, "of_head < mine", "of_head < mine - 1"), "race", DEALT),
    "programs before in the clan are not counted": (False, (ROUTE, "(of_own < pid)", "(of_own < own)"), "race", DEALT),
    "a program counts for the clan before": (False, (ROUTE, "heads_ptr + mine * E", "heads_ptr + (mine ^ 1) * E"), "race", DEALT),
    "sums of this launch are cleared": (
        False,
        (ROUTE, "st(next_ptr + i, 0", "st(heads_ptr + i, 0"),
        "race",
        ["st(heads_ptr + i, 0", "atomic_add(heads_ptr + mine"],
    ),
    "sums of the next launch are named too early": (
        False,
        (ROUTE, NAMED, NAMED + "        if pid == 0:\n            tl.store(clans_ptr, 1 - half)\n"),
        "race",
        ["tl.store(clans_ptr, 1 - half)", "half = ld(clans_ptr"],
    ),
    "a warp's slots in another's place": (
        False,
        (ROUTE, "WARPS + warp) * E + expert) + lower", "WARPS) * E + expert) + lower"),
        "race",
        [],
    ),
    "equal lanes are not told apart": (False, (ROUTE, "((1 << laneid()) - 1)", "0"), "race", DEALT),
}


def dealt(team, kernel, scores, m=M, each=EACH, warps=WARPS, clan=CLAN, writers=2, launches=1):
    rng, moved = np.random.default_rng(0), team.local_from_array
    ids, weights = drawn_ids(m, EXPERTS, TOP_K), drawn_weights(m, TOP_K)
    shard = m // team.size
    parts = shard // each
    logits = moved(rng.standard_normal((m, EXPERTS)).astype(np.float32) if scores else weights)
    words = moved(np.zeros(route_words(m, EXPERTS, TOP_K), np.int32))
    given = (logits, moved(np.zeros(EXPERTS, np.float32)), moved(ids), moved(weights), words)
    clans = team.size * -(-parts // clan)
    local = (moved(np.zeros(COUNTS, np.int32)), moved(np.zeros(8 + 2 * clans * EXPERTS, np.int32)), moved(np.zeros(8, np.int32)))
    constants = {"E": EXPERTS, "PADDED": 8, "BITS": 3, "K": TOP_K, "R": team.size, "WARPS": warps, "MANY": True, "ROWS_AT_ONCE": 4}
    constants |= {"CLAN": clan, "MOST_CLANS": clans, "LANES": 8, "SCORES": scores, "TOLD": True, "SIGMOID": False, "GROUPS": 1}
    constants |= {"TOP_GROUPS": 1, "RENORMALISE": False}
    grid = (team.size * parts + writers,)
    sizes, options = (m, shard, each, parts), {"num_warps": warps, "launch_cooperative_grid": True, "launch_pdl": True}
    for _ in range(launches):
        kernel[grid](*given, words, *local, *sizes, **constants, BLOCK=16, GROUP=8, **options)
    return np.array(words)


def made(folder, *changes):
    return imported(folder, FILES, ["route.route"], *changes)[0].route


def reports_of(kernel, scores, seed):
    try:
        return tandem.launch(lambda team: dealt(team, kernel, scores), ranks=2, seed=seed, check=True).reports
    except tandem.SimulationError as error:
        return error.reports


def test_as_it_is(tmp_path):
    kernel = made(tmp_path)
    for seed in range(4):
        assert reports_of(kernel, True, seed) == []
        run = tandem.launch(lambda team: dealt(team, kernel, False), ranks=2, seed=seed, check=True)
        assert run.reports == []
        for rank, words in enumerate(run.values):
            order, _ = order_of(drawn_ids(M, EXPERTS, TOP_K), EXPERTS, 2, rank)
            np.testing.assert_array_equal(route_parts(words, M, EXPERTS, TOP_K).order, order)


@pytest.mark.parametrize("scores", [False, True])
def test_every_schedule(tmp_path, scores):
    """A program for each of two tokens, and one that writes the blocks."""
    kernel = made(tmp_path)
    sizes = {"m": 2, "each": 1, "warps": 1, "writers": 1}
    proof = tandem.explore(lambda team: dealt(team, kernel, scores, **sizes), ranks=1, exhaustive=True, limit=200_000)
    assert proof.proven, str(proof)


@pytest.mark.parametrize("name", ERRORS)
def test_planted_errors(tmp_path, name):
    scores, change, kinds, lines = ERRORS[name]
    kernel = made(tmp_path, change)
    reports = next((found for seed in range(6) if (found := reports_of(kernel, scores, seed))), None)
    assert reports, "not found"
    assert re.search(kinds, reports[0]["kind"]), reports[0]["text"]
    for line in lines:
        assert any(text in reports[0]["text"] for text in (line if isinstance(line, tuple) else (line,))), reports[0]["text"]


def of_two_launches(kernel, seed):
    try:
        return tandem.launch(lambda team: dealt(team, kernel, False, launches=2), ranks=2, seed=seed, check=True).reports
    except tandem.SimulationError as error:
        return error.reports


@pytest.mark.parametrize("waits", [True, False])
def test_a_launch_begins_early(tmp_path, waits):
    """The next launch may, too, and waits for this one before it reads or writes what both have."""
    kernel = made(tmp_path, *([] if waits else [(ROUTE, "    tl.extra.cuda.gdc_wait()\n", "")]))
    reports = [report for seed in range(4) for report in of_two_launches(kernel, seed)]
    assert bool(reports) != waits
    for report in reports:
        assert re.search("race|out-of-bounds", report["kind"]), report["text"]


SCORE, WARP = "route/score.py", "    __syncwarp()\n"
HEADS, LISTED = "    place = 0\n    for other in tl.static_range(32):\n", "    for nth in range(lane, count, 32):\n"
FOUND = "    id = dl.smem_load(listed, at + PADDED + lane % K)\n"
# Of a token that has a warp: the name; the change; texts of lines that reports name.
ERRORS_OF_PLACES = {
    "heads not there yet": (WARP + HEADS, HEADS, ["dl.smem_load(sums, at + PADDED + other)"]),
    "list not there yet": (WARP + LISTED, LISTED, ["dl.smem_load(sums, at +"]),
    "places not there yet": (WARP + FOUND, FOUND, ["dl.smem_load(listed, at + PADDED + lane % K)"]),
    "a place for two": ("(theirs == mine) & (begin + behind < nth)", "(theirs == mine) & False", ["a token's logit is no number"]),
}


def of_warps(team, kernel):
    """Four tokens of two warps; logits are few numbers, many of them equal."""
    experts, top_k, m, moved = 40, 3, 4, team.local_from_array
    logits = np.random.default_rng(1).integers(0, 2, (m, experts)).astype(np.float32)
    ids, words = moved(np.zeros((m, top_k), np.int32)), moved(np.zeros(route_words(m, experts, top_k), np.int32))
    counts, findings = (moved(np.zeros(8, np.int32)) for _ in range(2))
    constants = {"E": experts, "PADDED": 64, "BITS": 6, "K": top_k, "R": 1, "WARPS": 2, "MANY": False, "ROWS_AT_ONCE": 1, "LANES": 32}
    constants |= {"SCORES": True, "TOLD": True, "SIGMOID": False, "GROUPS": 1, "TOP_GROUPS": 1, "RENORMALISE": True}
    given = (moved(logits), moved(np.zeros(experts, np.float32)), ids, counts, words, words, counts, counts, findings)
    kernel[(1,)](*given, m, m, m, 1, **constants, BLOCK=16, GROUP=8, num_warps=2)
    return np.array(ids), np.argsort(-logits, axis=1, kind="stable")[:, :top_k]


def test_places_as_they_are(tmp_path):
    kernel = made(tmp_path)
    for seed in range(4):
        run = tandem.launch(lambda team: of_warps(team, kernel), ranks=1, seed=seed, check=True)
        assert run.reports == []
        np.testing.assert_array_equal(*run.values[0])


@pytest.mark.parametrize("name", ERRORS_OF_PLACES)
def test_planted_errors_of_places(tmp_path, name):
    old, new, lines = ERRORS_OF_PLACES[name]
    kernel = made(tmp_path, (SCORE, old, new))

    def reports(seed):
        try:
            return tandem.launch(lambda team: of_warps(team, kernel), ranks=1, seed=seed, check=True).reports
        except tandem.SimulationError as error:
            return error.reports

    found = next((of_seed for seed in range(6) if (of_seed := reports(seed))), None)
    assert found, "not found"
    assert re.search("race|uninitialised|assertion", found[0]["kind"]), found[0]["text"]
    for line in lines:
        assert line in found[0]["text"], found[0]["text"]
