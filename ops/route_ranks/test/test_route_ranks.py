"""Lists of each rank's tokens against NumPy on simulated ranks: sizes, kinds of routing, one program and many, other routes, planted
errors, all schedules of a small instance, wrong arguments."""

import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "route/test"))

from changed_kernels import imported
from moe_reference import drawn_ids, drawn_weights, same_lists, tokens_of_ranks

import tandem
from tandem.ops import RouteIds, RouteRanks


def run(ranks, m, experts, top_k, destinations, kind="uniform", seed=0, slots=None, **options):
    ids, weights = drawn_ids(m, experts, top_k, kind, seed), drawn_weights(m, top_k)

    def main(team):
        route = RouteIds(team, m, experts, top_k, "i32")(ids, weights, m)
        with RouteRanks(team, m, experts, top_k, destinations, "i32", **options) as op:
            return [np.array(a) for a in op(route, m)]

    result = tandem.launch(main, ranks=ranks, seed=seed, slots_per_rank=slots, check=True)
    assert result.reports == []
    for found in result.values:
        same_lists(found, tokens_of_ranks(ids, experts, destinations))


@pytest.mark.parametrize("kind", ["uniform", "zipf", "one", "few", "dropped"])
@pytest.mark.parametrize("m, experts, top_k, to", [(1, 1, 1, 1), (37, 5, 2, 2), (130, 7, 3, 3), (200, 64, 8, 8), (90, 20, 4, 100)])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_against_numpy(ranks, m, experts, top_k, to, kind):
    run(ranks, m, experts, top_k, to, kind, seed=m + ranks)


@pytest.mark.parametrize("slots", [1, 2, 5])
def test_few_resident_programs(slots):
    for seed in range(3):
        run(2, 150, 12, 3, 4, "dropped", seed, slots)
    run(2, 150, 12, 3, 4, programs=3)


def test_routing_that_changes_between_calls():
    given = [drawn_ids(m, 12, 3, kind, m) for m, kind in [(140, "zipf"), (5, "uniform"), (100, "dropped"), (140, "few")]]

    def main(team):
        dealt, op = RouteIds(team, 140, 12, 3, "i32"), RouteRanks(team, 140, 12, 3, 4, "i32")
        return [[np.array(a) for a in op(dealt(ids, drawn_weights(len(ids), 3), len(ids)), len(ids))] for ids in given]

    for seed in range(4):
        result = tandem.launch(main, ranks=2, seed=seed, check=True)
        assert result.reports == []
        for found in result.values:
            for lists, ids in zip(found, given):
                same_lists(lists, tokens_of_ranks(ids, 12, 4))


FILES = ["device/findings.py", "device/routes.py", "route_ranks/route_ranks.py"]
M, EXPERTS, TOP_K, TO, PROGRAMS = 24, 6, 2, 3, 3
# The change of the kernel, and texts of lines that reports name.
STORED = "        tl.store(counts_ptr + pid * DESTINATIONS + to_rank, count, mask=is_rank)\n"
LISTED = ["tl.store(tokens_ptr + to, tl.broadcast_to"]
ERRORS = {
    "programs do not meet": ("        sync_grid()\n", "        pass\n", ["tl.load(at", "tl.store(counts_ptr"]),
    "counts behind the meeting": (
        STORED + "        sync_grid()\n",
        "        sync_grid()\n" + STORED,
        ["tl.load(at", "tl.store(counts_ptr"],
    ),
    "programs before are not counted": ("program < pid", "program < 0", LISTED),
    "one program too few": ("program < pid", "program < pid - 1", LISTED),
    "a token too few is counted": ("first + in_range < end,", "first + in_range < end - 1,", LISTED),
    "all programs' counts in one place": (
        "tl.store(counts_ptr + pid * DESTINATIONS",
        "tl.store(counts_ptr + 0 * DESTINATIONS",
        ["tl.store(counts_ptr"],
    ),
    "all tokens in one place": (" + tl.cumsum(goes, 0) - goes", " + 0 * goes", LISTED),
    "ranks begin in one place": ("base = behind - total + before", "base = before", LISTED),
}


def kernel_on(team, kernel, ids):
    m, moved = len(ids), team.local_from_array
    route = RouteIds(team, m, EXPERTS, TOP_K, "i32")(moved(ids), moved(drawn_weights(m, TOP_K)), m)
    made = [moved(np.zeros(n, np.int32)) for n in (TO + 1, m * TOP_K, m * TOP_K, PROGRAMS * TO, 8)]
    constants = {"E": EXPERTS, "TOP_K": TOP_K, "DESTINATIONS": TO, "PADDED": 4, "TOKENS": 4, "PROGRAMS": PROGRAMS, "ROWS_AT_ONCE": 2}
    kernel[(PROGRAMS,)](route, *made, m, -(-m // PROGRAMS), **constants, num_warps=1, launch_cooperative_grid=True)
    offsets, slots, tokens = (np.array(a) for a in made[:3])
    return tokens, offsets, slots


def changed(folder, *changes):
    return imported(folder, FILES, ["route_ranks.route_ranks"], *changes)[0].route_ranks


@pytest.mark.parametrize("name", ERRORS)
def test_planted_errors(tmp_path, name):
    old, new, lines = ERRORS[name]
    kernel, ids = changed(tmp_path, ("route_ranks/route_ranks.py", old, new)), drawn_ids(M, EXPERTS, TOP_K)
    for seed in range(6):
        try:
            reports = tandem.launch(lambda team: kernel_on(team, kernel, ids), ranks=1, seed=seed, check=True).reports
        except tandem.SimulationError as error:
            reports = error.reports
        if reports:
            break
    assert reports, "not found"
    assert "race" in reports[0]["kind"], reports[0]["text"]
    for line in lines:
        assert line in reports[0]["text"], reports[0]["text"]


def test_as_it_is(tmp_path):
    kernel, ids = changed(tmp_path), drawn_ids(M, EXPERTS, TOP_K)
    for seed in range(6):
        result = tandem.launch(lambda team: kernel_on(team, kernel, ids), ranks=1, seed=seed, check=True)
        assert result.reports == []
        same_lists(result.values[0], tokens_of_ranks(ids, EXPERTS, TO))


def test_every_schedule(tmp_path):
    kernel, ids = changed(tmp_path), drawn_ids(3, EXPERTS, TOP_K)
    proof = tandem.explore(lambda team: kernel_on(team, kernel, ids), ranks=1, exhaustive=True, limit=200_000)
    assert proof.proven, str(proof)


def test_a_route_of_another_number_of_tokens():
    def main(team):
        route = RouteIds(team, 12, 5, 2, "i32")(drawn_ids(12, 5, 2), drawn_weights(12, 2), 12)
        route[2:3][...] = np.array([11], np.int32)
        RouteRanks(team, 12, 5, 2, 2, "i32")(route, 12)

    with pytest.raises(tandem.SimulationError, match="`route` is of another number of tokens"):
        tandem.launch(main, ranks=1)


def test_wrong_arguments():
    def failing(message, make, words=200):
        with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
            tandem.launch(lambda team: make(team)(np.zeros(words, np.int32), 8), ranks=1)

    failing("`destinations` is 1025, 1 to 1024 are possible", lambda team: RouteRanks(team, 8, 4, 2, 1025, "i32"))
    failing("`top_k` is 5, 1 to 4 are possible", lambda team: RouteRanks(team, 8, 4, 5, 2, "i32"))
    failing("`route_ranks`: i32 is needed, not fp32", lambda team: RouteRanks(team, 8, 4, 2, 2, "fp32"))
    failing(r"`route` has shape \[160\], \[200\] is needed", lambda team: RouteRanks(team, 8, 4, 2, 2, "i32"), 160)


def test_readme_example():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
