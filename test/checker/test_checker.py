"""Every pair of the case modules: the wrong run is reported with both places and its rule within 20 seeds, the right run never."""

import importlib
import pathlib
import re
import sys

import pytest
import tandem
from tandem.host.report_kinds import KINDS

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
for module in sorted(HERE.glob("cases_*.py")):
    importlib.import_module(module.stem)

from case import PAIRS

SEEDS = range(20)
RUNS = [(p, ranks) for p in PAIRS for ranks in p.ranks]
IDS = [f"{p.name}-{ranks}" for p, ranks in RUNS]


def run(pair, ranks, seed, fixed):
    def main(team):
        pair.main(team, fixed)
        team.synchronize()

    try:
        return tandem.launch(main, ranks=ranks, seed=seed, slots_per_rank=pair.slots, check=True).reports
    except tandem.SimulationError as error:
        return error.reports


def of_interest(pair, reports):
    """Errors; of warnings those of the pair's kind."""
    return [r for r in reports if r["severity"] == "error" or r["kind"] == pair.kind]


def marked_lines(pair):
    lines = pathlib.Path(pair.file).read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith(f"# <-- {pair.name}")}


@pytest.mark.filterwarnings("ignore::tandem.SimulationWarning")
@pytest.mark.parametrize("pair, ranks", RUNS, ids=IDS)
def test_wrong(pair, ranks):
    rules = []
    for seed in SEEDS:
        found = of_interest(pair, run(pair, ranks, seed, False))
        if not found:
            continue
        report = found[0]
        text = report["text"]
        assert report["kind"] == pair.kind, text
        assert set(re.findall(r"\bM\d+\b", report["message"])) <= set(KINDS[pair.kind].rules.split()), text
        place = rf"^{re.escape(pair.file)}:(\d+):\d+: (?:error|warning|note: (?:first access|the |rank \d+.* is here))"
        places = set(map(int, re.findall(place, text, re.M)))
        assert places == marked_lines(pair), text
        if pair.rule is None:
            return
        assert f"seed {seed} " in text, text
        rules += re.findall(r"\((M\d+(?:, M\d+)*)\)", text)
        if any(pair.rule in found.split(", ") for found in rules):
            return
    raise AssertionError(f"{pair.rule} is not among the rules named: {rules}")


@pytest.mark.filterwarnings("ignore::tandem.SimulationWarning")
@pytest.mark.parametrize("pair, ranks", RUNS, ids=IDS)
def test_right(pair, ranks):
    for seed in SEEDS:
        found = of_interest(pair, run(pair, ranks, seed, True))
        assert not found, found[0]["text"]
