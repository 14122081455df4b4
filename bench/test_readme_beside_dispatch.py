"""The benchmark of the README's kernel beside dispatch compares right results on simulated ranks."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "test/kernels"))
from readme_text import SEEDS, published_text


@pytest.mark.parametrize("ranks", [2, 4])
def test_both_are_right(ranks):
    if published_text() is None:
        pytest.skip(f"no text of the README's kernel in {SEEDS}")
    script = ROOT / "bench/gpu/moe/readme_kernel.py"
    run = subprocess.run([sys.executable, script, "--simulated", "--ranks", str(ranks)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    (row,) = map(json.loads, run.stdout.splitlines())
    assert row["readme_bytes"] > row["dispatch_bytes"] > 0
