"""The benchmark of derived overlaps compares right results on simulated ranks."""

import json
import pathlib
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).parent / "gpu/overlap/derived.py"
ATTENTION = SCRIPT.with_name("derived_attention.py")


def test_derived_results_are_right():
    run = subprocess.run([sys.executable, SCRIPT, "--simulated", "--ranks", "2"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert [json.loads(line)["collective"] for line in run.stdout.splitlines()] == ["all_gather", "reduce_scatter", "all_reduce"]


def test_derived_attention_is_right():
    run = subprocess.run([sys.executable, ATTENTION, "--simulated"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["keys"] == 64
