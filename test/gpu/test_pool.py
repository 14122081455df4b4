"""The pool of worker processes, with checks of its own in place of kernels; needs no GPU."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import pool

CHECKS = """
import os
import time


def load_all():
    return {}


def sleeps_for_ever():
    time.sleep(600)


def fails():
    raise AssertionError("two is not three")


def run(name, seed):
    {"passes": str, "fails": fails, "ends": lambda: os._exit(3), "hangs": sleeps_for_ever}[name]()
"""


def test_each_check_ends_alone_and_a_hung_one_says_where(tmp_path, monkeypatch):
    (tmp_path / "checks.py").write_text(CHECKS)
    (tmp_path / "device.py").write_text("def is_lost():\n    return False\n")
    monkeypatch.syspath_prepend(tmp_path)
    outcomes = pool.run(["hangs", "fails", "ends", "passes"], workers=2, seconds=60, patience=2)
    assert {name: o.status for name, o in outcomes.items()} == {"hangs": "hung", "fails": "failed", "ends": "crashed", "passes": "passed"}
    assert outcomes["fails"].message == "AssertionError: two is not three"
    assert outcomes["ends"].message == "the process ended with status 3"
    assert "nothing after 2 seconds" in outcomes["hangs"].message
    assert "in sleeps_for_ever" in outcomes["hangs"].message
