"""Protocols in the manner of other systems: right ones are silent, each planted fault is found under every seed at a line of its own."""

import importlib
import pathlib
import re
import sys

import pytest
import tandem

HERE = pathlib.Path(__file__).parent / "others"
sys.path.insert(0, str(HERE))
for module in sorted(HERE.glob("*.py")):
    importlib.import_module(module.stem)

from protocol import ALL

RUNS = [(p, ranks, fault) for p in ALL for ranks in p.ranks for fault in (0, *p.faults)]
SEEDS, MOST = 2, 20


def reports_of(protocol, ranks, fault, seed):
    def main(team):
        protocol.main(team, fault)
        team.synchronize()

    try:
        return tandem.launch(main, ranks=ranks, seed=seed, check=True, max_steps=10_000_000).reports
    except tandem.SimulationError as error:
        return error.reports


def lines_in(text, file):
    return set(map(int, re.findall(rf"^{re.escape(file)}:(\d+):\d+: (?:error|note)", text, re.M)))


@pytest.mark.filterwarnings("ignore::tandem.SimulationWarning")
@pytest.mark.parametrize("protocol, ranks, fault", RUNS, ids=[f"{p.name}-{ranks}-{fault}" for p, ranks, fault in RUNS])
def test_protocol(protocol, ranks, fault):
    for seed in range(MOST if fault in protocol.sometimes else SEEDS):
        reports = reports_of(protocol, ranks, fault, seed)
        if not fault:
            assert reports == []
            continue
        errors = [r for r in reports if r["severity"] == "error"]
        if not errors and fault in protocol.sometimes:
            continue
        assert errors[0]["kind"] in protocol.faults[fault].split("|"), errors[0]["text"]
        lines = protocol.lines_of(fault)
        assert not lines or lines & lines_in(errors[0]["text"], protocol.file), errors[0]["text"]
        if fault in protocol.sometimes:
            return
    assert fault not in protocol.sometimes, f"not found in {MOST} seeds"
