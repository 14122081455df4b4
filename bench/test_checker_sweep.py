"""The sweep of shipped programs on a few seeds; `python bench/checker_sweep.py --seeds 100` does it at length."""

import pytest
from checker_sweep import found_in, guides, programs, resident

PROGRAMS = dict(programs())


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_reported(name, ranks):
    for seed in (0, 1, 6):  # any order, round robin with every slot; random priorities with one
        assert found_in(PROGRAMS[name], ranks, seed, resident(name, seed)) == ""


def test_nothing_is_reported_of_the_guide(tmp_path):
    found = {name: found_in(main, ranks, seed) for name, main, ranks in guides(tmp_path) for seed in (0, 1, 6)}
    assert len(found) > 10 and not any(found.values()), found


def test_a_wrong_program_is_reported():
    def main(team):
        if team.rank:
            raise ValueError("wrong result")

    assert "wrong result" in found_in(main, 2, 0)
