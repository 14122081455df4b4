"""Every example runs on several numbers of ranks and seeds; each checks its own results."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

import tandem

HERE = pathlib.Path(__file__).parent
PACKAGE = pathlib.Path(tandem.__file__).parents[1]
EXAMPLES = sorted(p.stem for p in HERE.glob("*.py") if not p.stem.startswith("test_"))


def load(name):
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, ranks):
    module = load(name)
    for seed in range(3):
        result = tandem.launch(module.main, ranks=ranks, seed=seed)
        assert result.reports == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_prints_what_it_showed(name):
    command = [sys.executable, "-m", "tandem", "run", "--ranks", "4", HERE / f"{name}.py"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(PACKAGE)})
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 1, done.stderr
