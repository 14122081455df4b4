"""Kernels' prints, assertions and assumptions."""

import re

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
    "values, shown, more, digits",
    [
        (np.array([1, -2, 3, 4], np.int32), "1 -2 3 4", "2 -1 4 5", "0x00000001 0xfffffffe 0x00000003 0x00000004"),
        (np.array([1, 2, 3, 254], np.uint8), "1 2 3 254", "2 3 4 255", "0x01 0x02 0x03 0xfe"),
        (
            np.array([1, 2, 3, 2**40], np.int64),
            f"1 2 3 {2**40}",
            f"2 3 4 {2**40 + 1}",
            "0x0000000000000001 0x0000000000000002 0x0000000000000003 0x0000010000000000",
        ),
        (
            np.array([0.5, -1, np.nan, np.inf], np.float32),
            "0.500000 -1.000000 nan inf",
            "1.500000 0.000000 nan inf",
            "0x3f000000 0xbf800000 0x7fc00000 0x7f800000",
        ),
        (
            np.array([0.5, -1, 2, 8], np.float16),
            "0.500000 -1.000000 2.000000 8.000000",
            "1.500000 0.000000 3.000000 9.000000",
            "0x3800 0xbc00 0x4000 0x4800",
        ),
    ],
)
def test_prints(capfd, values, shown, more, digits):
    printed[(1,)](values, 4)
    lines = [f"pid (0, 0, 0) idx ({i}) values: (operand 0) {v}" for i, v in enumerate(shown.split())]
    lines += [f"pid (0, 0, 0) idx ({i}) values: (operand 1) {v}" for i, v in enumerate(more.split())]
    lines += [f"pid (0, 0, 0) idx ({i}) hex: {v}" for i, v in enumerate(digits.split())]
    assert capfd.readouterr().out.splitlines()[1:] == [*lines, "pid (0, 0, 0) nothing"]


@triton.jit
def printed_shapes(x):
    tl.device_print("tile", tl.arange(0, 4)[:, None] * 16 + tl.arange(0, 16)[None, :])
    tl.device_print("  n: ", tl.program_id(0) + 7)
    tl.device_print("", tl.program_id(0) == 1)
    tl.device_print("at", x)
    print("100%:", tl.program_id(0), tl.program_id(1))


def test_prints_shapes(capfd):
    tandem.launch(lambda team: printed_shapes[(2, 2)](team.zeros(1, "int32")))
    lines = [line for line in capfd.readouterr().out.splitlines() if line.startswith("pid (1, 0, 0)")]
    tile = [f"pid (1, 0, 0) idx ({i}, {j:2}) tile: {16 * i + j}" for i in range(4) for j in range(16)]
    assert lines[:64] == tile and lines[64:66] == ["pid (1, 0, 0) idx ()  n: 8", "pid (1, 0, 0) idx (): 1"]
    assert re.fullmatch(r"pid \(1, 0, 0\) idx \(\) at: 0x[0-9a-f]+", lines[66])
    assert lines[67:] == ["pid (1, 0, 0) idx () 100%: (operand 0) 1", "pid (1, 0, 0) idx () 100%: (operand 1) 0"]


def test_prints_the_rank_where_there_are_several(capfd):
    tandem.launch(lambda team: printed[(1,)](team.zeros(1, "int32"), 1), ranks=2)
    out = capfd.readouterr().out
    assert all(f"[rank {r}] pid (0, 0, 0) idx (0) hex: 0x00000000\n" in out for r in range(2))


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
