"""The program for many ranks on few: results are right, and what leaves a node is as its experts are placed."""

import json
import pathlib
import subprocess
import sys


def test_on_two_nodes_of_four():
    script = pathlib.Path(__file__).with_name("experts_on_many_ranks.py")
    words = "--ranks 4 8 --node 4 --tokens 3 --columns 64 --timeline".split()
    run = subprocess.run([sys.executable, script, *words], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    rows = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    ways = ["once", "two nodes", "in the node", "once, two levels", "two nodes, two levels"]
    assert [(row["ranks"], row["experts"]) for row in rows] == [(4, "once"), *((8, way) for way in ways)]
    assert all(row["reports"] == 0 and row["dispatch"] > 0 and row["combine"] > 0 for row in rows)
    assert rows[0]["far"] == rows[3]["far"] == 0 and rows[1]["far"] > 0 and rows[3]["rows"] > 0
    assert 0 < rows[4]["far"] < rows[1]["far"] and 0 < rows[5]["far"] < rows[2]["far"]
