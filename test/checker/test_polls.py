"""Each form of a loop that waits is a wait: a value too old is found under every seed, not only where the reader looked early."""

import pytest
import tandem
from cases_polls import FORMS, N, data, late_poll, word


def reports(form, enough, seed):
    def main(team):
        late_poll[(1,)](data(team, count=4 * N), data(team, "y"), data(team, "z", 2 * N), word(team, "count", 2), N, form, enough)
        team.synchronize()

    try:
        return tandem.launch(main, ranks=2, seed=seed, check=True).reports
    except tandem.SimulationError as error:
        return error.reports


@pytest.mark.filterwarnings("ignore::tandem.SimulationWarning")
@pytest.mark.parametrize("form", range(FORMS))
def test_a_count_too_low_is_found_under_every_seed(form):
    for seed in range(8):
        found = [r for r in reports(form, 3, seed) if r["severity"] == "error"]
        assert [r["kind"] for r in found] == ["race"], (seed, found)
        assert not [r for r in reports(form, 4, seed) if r["severity"] == "error"]
