"""The order in which adds or looks have come does not hide what another order shows."""

import pytest
from test_checker import PAIRS, SEEDS, of_interest, run


@pytest.mark.parametrize("name", ["an_add_is_no_wait", "too_few_of_adds_that_acquire", "begun_is_not_done", "nothing_yet_is_no_part"])
def test_every_seed(name):
    pair = next(p for p in PAIRS if p.name == name)
    for seed in SEEDS:
        assert of_interest(pair, run(pair, pair.ranks[0], seed, False)), f"seed {seed} finds nothing"
