"""What a kernel prints, asserts and assumes."""

import numpy as np
import pytest
import tandem
import triton
import triton.language as tl


@triton.jit
def printed(x, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.static_print("width", N, v.dtype)
    tl.device_print("values", v, v + 1)
    tl.device_print("hex", v, hex=True)
    tl.device_print("nothing")


@pytest.mark.parametrize(
    "values, shown",
    [
        (np.array([1, -2, 3, 4], np.int32), "1 -2 3 4"),
        (np.array([1, 2, 3, 255], np.uint8), "1 2 3 255"),
        (np.array([0.5, -1, 2, np.inf], np.float32), "0.5 -1 2 inf"),
        (np.array([0.5, -1, 2, 8], np.float16), "0.5 -1 2 8"),
    ],
)
def test_prints(capfd, values, shown):
    printed[(1,)](values, 4)
    out = "".join(capfd.readouterr())
    assert shown in out and "nothing" in out and "hex 0x" in out and "(0,0,0)" in out


def test_prints_while_it_is_compiled(capfd):
    x = np.zeros(32, np.float64)
    for _ in range(2):
        printed[(1,)](x, 32)
    assert capfd.readouterr().out.count("width 32 fp64\n") == 1


@triton.jit
def asserted(x, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.device_assert(tl.load(x + i) > 0, "must be positive", mask=i < n)


def test_assert_with_mask():
    x = np.array([1, 2, 3, -4], np.int32)
    tandem.launch(lambda team: asserted[(1,)](x, 3, 4, debug=True))
    tandem.launch(lambda team: asserted[(1,)](x, 4, 4))
    with pytest.raises(tandem.SimulationError, match=r"must be positive \(element 3 of 4\)"):
        tandem.launch(lambda team: asserted[(1,)](x, 4, 4, debug=True))


@triton.jit
def assumed(x, n):
    tl.assume(n > 3)
    tl.store(x, n)


def test_assume():
    x = np.zeros(1, np.int32)
    assumed[(1,)](x, 4)
    assert x[0] == 4
    with pytest.raises(tandem.SimulationError, match="`assume` does not hold"):
        assumed[(1,)](x, 3)


@triton.jit
def assembly(x, o, TEXT: tl.constexpr):
    i = tl.arange(0, 32)
    tl.store(o + i, tl.inline_asm_elementwise(TEXT, "=r,r", [tl.load(x + i)], dtype=tl.int32, is_pure=True, pack=1))


def test_unknown_assembly():
    with pytest.raises(tandem.CompileError, match="inline_asm_elementwise|assembly"):
        assembly[(1,)](np.zeros(32, np.int32), np.zeros(32, np.int32), "vote.nonsense.b32 $0, $1;")
