"""Calls of collectives that do not fit together, or that promise less than is relied on: no schedule hides one."""

import pathlib
import re

import pytest
from test_checker import PAIRS, SEEDS, marked_lines, of_interest, run

MODULES = ("cases_calls.py", "cases_promises.py")
RUNS = [(p, ranks) for p in PAIRS for ranks in p.ranks if pathlib.Path(p.file).name in MODULES]


@pytest.mark.filterwarnings("ignore::tandem.SimulationWarning")
@pytest.mark.parametrize("pair, ranks", RUNS, ids=[f"{p.name}-{ranks}" for p, ranks in RUNS])
def test_every_seed(pair, ranks):
    for seed in SEEDS:
        found = [r for r in of_interest(pair, run(pair, ranks, seed, False)) if r["kind"] == pair.kind]
        assert found, f"seed {seed} finds nothing"
        lines = set(map(int, re.findall(rf"^{re.escape(pair.file)}:(\d+):", "".join(r["text"] for r in found), re.M)))
        assert lines >= marked_lines(pair), found[0]["text"]
