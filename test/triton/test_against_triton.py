"""Compares the simulator with results recorded from Triton on a GPU (golden.npz)."""

import sys

import pytest
import tandem
import tandem.compat

if "triton" in sys.modules and not getattr(sys.modules["triton"], "__tandem_compat__", False):
    pytest.skip("another Triton is already imported", allow_module_level=True)
tandem.compat.install()

import cases
import golden

CASES = cases.load_all()
ABOUT, GOLDEN = golden.read()


def simulate(case):
    arrays = case.host_args()
    tandem.launch(lambda team: case.kernel[case.grid](*arrays, **case.constants))
    return [arrays[i] for i in case.outputs()]


def test_every_case_is_recorded():
    assert sorted(CASES) == sorted(GOLDEN)


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    golden.verify(CASES[name], GOLDEN[name], simulate, (tandem.CompileError, TypeError))
