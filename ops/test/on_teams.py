"""A plugin of pytest that runs the tests of operators on teams of some of the ranks: what a test launches on n ranks runs on two teams
of n, at once, in a run of 2 n + 1. Their ranks lie apart, one team's in the order of the run and the other's in none."""

import pytest

import tandem

_launch = tandem.launch


def teams_of(ranks):
    """The ranks of the two teams, in their order; rank `ranks` of the run is in neither."""
    whole = [r for r in range(2 * ranks + 1) if r != ranks]
    one, other = whole[::2], whole[1::2]
    return one, other[1:] + other[:1]


def launch_on_teams(main, ranks=1, args=(), **options):
    teams = teams_of(ranks)

    def on_team(team):
        for members in teams:
            if team.rank in members:
                return main(team.split(members), *args)

    result = _launch(on_team, ranks=2 * ranks + 1, **options)
    result.values = [result.values[r] for r in teams[0]]
    return result


@pytest.fixture(autouse=True)
def on_teams(monkeypatch):
    monkeypatch.setattr(tandem, "launch", launch_on_teams)
