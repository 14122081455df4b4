"""Random protocols: the checker and an oracle that shares no code with it say the same. `python test/checker/protocols` at length."""

import pathlib
import random
import subprocess
import sys

import pytest

PROTOCOLS = pathlib.Path(__file__).parent / "protocols"
sys.path.insert(0, str(PROTOCOLS))

from comparison import compare, draw, tally, verdict_of
from mutations import Mutation, mutate
from oracle import Oracle
from patterns import PATTERNS, Size


def test_checker_and_oracle_agree():
    results = [compare(seed) for seed in range(200)]
    assert [str(r) for r in results if r.disagrees] == []
    counts = tally(results)
    assert counts["judged"] > 180 and counts["wrong"] > 80 and counts["right"] > 40, counts


def test_a_thread_continues_its_own_release():
    """A flag that is released as 1 goes to 2 by a relaxed store of the same thread, and is polled for 1 or more."""
    assert "set_thread(peer=1, index=9, value=2, order=0)" in str(draw(102727).program)
    assert verdict_of(draw(102727)) is None and not compare(102727).disagrees


def test_a_fence_orders_the_signals_of_puts():
    """A signal that one `put_signal` sets goes up by one with the next to that peer, behind a fence."""
    assert verdict_of(draw(408454)) is None and not compare(408454).disagrees


def made(name, ranks, programs, rounds):
    (pattern,) = [p for p in PATTERNS if p.__name__ == name]
    return pattern(Size(ranks, programs, rounds, random.Random(0)), 0)


# The oracle's answers for changes whose effect is known.
KNOWN = [
    ("ring", ("receive", "removed"), "race"),
    ("ring", ("receive", "relaxed"), "race"),
    ("ring", ("credit", "removed"), "race"),
    ("ring", ("tell", "removed"), "deadlock"),
    ("epochs", ("tell", "earlier"), "race"),
    ("epochs", ("tell", "unordered"), "race"),
    ("messages", ("receive", "one fewer"), "race"),
    ("messages", ("late", "removed"), "leftover"),
    ("arrivals", ("all", "one more"), "deadlock"),
    ("arrivals", ("arrive", "set, not added"), "deadlock"),
    ("barriers", ("read by all", "removed"), "race"),
    ("locks", ("take", "removed"), "race"),
    ("reused_source", ("complete", "removed"), "race"),
    ("tickets", ("arrive", "relaxed"), "race"),
]


@pytest.mark.parametrize("name, change, verdict", KNOWN, ids=lambda x: x if isinstance(x, str) else None)
def test_the_oracle(name, change, verdict):
    # Between two ranks the messages of a ring are credits, too.
    program = made(name, 3 if name == "ring" else 2, 1 if name in ("messages", "locks", "arrivals") else 2, 3)
    assert Oracle(program).verdict() is None
    assert Oracle(mutate(program, Mutation(*change, "everywhere"))).verdict() == verdict


def test_the_command():
    """A seed gives its program again; agreement ends with 0."""
    command = [sys.executable, str(PROTOCOLS)]
    shown = subprocess.run([*command, "--show", "3"], capture_output=True, text=True, timeout=60)
    assert shown.returncode == 0 and shown.stdout.startswith(draw(3).program.name), shown
    assert f"oracle: {verdict_of(draw(3))}" in shown.stdout
    run = subprocess.run([*command, "--programs", "5"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and '"disagreements": 0' in run.stdout, run
