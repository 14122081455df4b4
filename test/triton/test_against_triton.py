"""Compares the simulator with results recorded from Triton on a GPU (golden.npz)."""

import sys

import numpy as np
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


# Triton 3.6 refuses these for limits of its own; here they mean what they mean in Python, and hints may be wrong.
EXTENSIONS = {
    "control.keyword_only_call",
    "control.truth_of_integers",
    "control.negated_integer",
    "control.membership",
    "refused.hint_of_wrong_length",
    "refused.flip_without_axis",
    "refused.unary_plus",
    "refused.rounded_root_of_fp64",
    "refused.chained_comparison",
    "refused.plain_global",
}


def simulate(case):
    arrays = case.host_args()
    tandem.launch(lambda team: case.kernel[case.grid](*arrays, **case.constants))
    return [arrays[i] for i in case.outputs()]


def assert_close(found, expected, case, which):
    exact = case.rtol == 0 and case.atol == 0
    same_type = found if exact and found.dtype.kind in "biu" else found.astype(np.float64)
    wanted = expected if same_type is found else expected.astype(np.float64)
    if same_type is found:
        good = same_type == wanted
    else:
        with np.errstate(invalid="ignore"):
            near = np.abs(same_type - wanted) <= case.atol + case.rtol * np.abs(wanted)
        good = near | (same_type == wanted) | (np.isnan(same_type) & np.isnan(wanted))
    if not good.all():
        at = tuple(int(k) for k in np.argwhere(~good)[0])
        raise AssertionError(
            f"output {which} differs in {int((~good).sum())} of {good.size} places; at {at}: "
            f"{found[at]} here, {expected[at]} in Triton"
        )


def test_every_case_is_recorded():
    assert sorted(CASES) == sorted(GOLDEN)


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    case, expected = CASES[name], GOLDEN[name]
    if name in EXTENSIONS:
        assert isinstance(expected, str)
        simulate(case)
    elif isinstance(expected, str):
        with pytest.raises((tandem.CompileError, TypeError)):
            simulate(case)
    else:
        for which, (found, wanted) in enumerate(zip(simulate(case), expected, strict=True)):
            assert_close(found, wanted, case, which)
