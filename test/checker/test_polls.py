"""Each form of a loop that waits is a wait: a value too old is found under every seed, not only where the reader looked early."""

import pytest
import tandem
from cases_polls import FORMS, GATHERED_FORMS, N, data, gathered, late_poll, word


def reports(main, ranks, seed):
    def whole(team):
        main(team)
        team.synchronize()

    try:
        return tandem.launch(whole, ranks=ranks, seed=seed, check=True).reports
    except tandem.SimulationError as error:
        return error.reports


def late(form, enough):
    return lambda team: late_poll[(1,)](
        data(team, count=4 * N), data(team, "y"), data(team, "z", 2 * N), word(team, "count", 2), N, form, enough
    )


def of_all(form, late):
    return lambda team: gathered[(1,)](
        data(team, count=3 * team.size * N), data(team, "y"), word(team, "flag", team.size), form, late, N, 3
    )


@pytest.mark.filterwarnings("ignore::tandem.SimulationWarning")
@pytest.mark.parametrize("form", range(FORMS))
def test_a_count_too_low_is_found_under_every_seed(form):
    for seed in range(8):
        found = [r for r in reports(late(form, 3), 2, seed) if r["severity"] == "error"]
        assert [r["kind"] for r in found] == ["race"], (seed, found)
        assert not [r for r in reports(late(form, 4), 2, seed) if r["severity"] == "error"]


@pytest.mark.filterwarnings("ignore::tandem.SimulationWarning")
@pytest.mark.parametrize("ranks", (2, 4))
@pytest.mark.parametrize("form", range(GATHERED_FORMS))
def test_a_look_at_one_of_many_flags_is_judged_by_its_condition(form, ranks):
    for seed in range(8):
        assert "race" in {r["kind"] for r in reports(of_all(form, 1), ranks, seed)}, seed
        assert not reports(of_all(form, 0), ranks, seed), seed
