"""The checks of this folder as tests. They run in worker processes before the first test reports; without a GPU all are skipped."""

import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "triton")]

import device

if not device.is_available():
    pytest.skip("no GPU", allow_module_level=True)

import checks
import pool

SEED = int(os.environ.get("TANDEM_TEST_SEED", "0"))


@pytest.fixture(scope="session")
def outcomes(request):
    names = [item.callspec.params["name"] for item in request.session.items if item.path == pathlib.Path(__file__)]
    return pool.run(names, os.cpu_count(), SEED)


@pytest.mark.parametrize("name", checks.load_all())
def test_check(name, outcomes):
    outcome = outcomes[name]
    assert outcome.status == "passed", f"{outcome.status}: {outcome.message}"
