"""Debug mode: integer overflow stops the run, as Triton's does; who turns it on."""

import contextlib

import numpy as np
import pytest
import tandem
import triton
import triton.language as tl


@triton.jit
def combine(x, y, z, OP: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    if OP == "add":
        a += b
    elif OP == "sub":
        a = a - b
    elif OP == "mul":
        a = a * b
    else:
        a = -a
    tl.store(z + i, a)


def run(op, a, b, dtype, **options):
    """Returns the result of a launch on four elements; only the last has the numbers."""
    x, y, z = np.ones(4, dtype), np.ones(4, dtype), np.zeros(4, dtype)
    x[3], y[3] = a, b
    tandem.launch(lambda team: combine[(1,)](x, y, z, op, 4, **options))
    return z[3]


OVERFLOWS = [
    ("add", 2**31 - 1, 1, np.int32),
    ("add", -(2**31), -1, np.int32),
    ("add", 2**15 - 1, 1, np.int16),
    ("add", 255, 1, np.uint8),
    ("add", 2**32 - 1, 1, np.uint32),
    ("sub", -(2**31), 1, np.int32),
    ("sub", 0, 1, np.uint32),
    ("mul", 2**30, 2, np.int32),
    ("mul", -(2**31), -1, np.int32),
    ("mul", 2**32 - 1, 2**32 - 1, np.uint32),
    ("mul", 2**16, 2**16, np.uint32),
    ("mul", 16, 8, np.int8),
    ("neg", -(2**31), 0, np.int32),
]


@pytest.mark.parametrize("op, a, b, dtype", OVERFLOWS)
def test_overflow_is_found(op, a, b, dtype):
    word = "uint" if np.dtype(dtype).kind == "u" else "int"
    name = {"neg": "sub"}.get(op, op)
    text = rf"assertion failed: {word}{8 * np.dtype(dtype).itemsize} overflow detected for operation {name} \(element 3 of 4\)"
    with pytest.raises(tandem.SimulationError, match=text) as found:
        run(op, a, b, dtype, debug=True)
    line = {"add": "a += b", "sub": "a = a - b", "mul": "a = a * b", "neg": "a = -a"}[op]
    assert line in str(found.value) and isinstance(found.value, RuntimeError)
    run(op, a, b, dtype)


@pytest.mark.parametrize(
    "op, a, b, dtype",
    [
        ("add", 2**31 - 1, 0, np.int32),
        ("add", -(2**31), 2**31 - 1, np.int32),
        ("sub", 0, 2**31 - 1, np.int32),
        ("mul", -(2**30), 2, np.int32),
        ("mul", 65535, 65537, np.uint32),
        ("add", 2**63 - 1, 1, np.int64),
        ("add", 3e38, 3e38, np.float32),
    ],
)
def test_what_fits_passes(op, a, b, dtype):
    with np.errstate(over="ignore"):
        want = np.array({"add": np.add, "sub": np.subtract, "mul": np.multiply}[op](dtype(a), dtype(b)))
    assert run(op, a, b, dtype, debug=True) == want


@triton.jit
def wraps(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(o + i, tl.add(v, v, sanitize_overflow=False))
    tl.store(o + N, tl.sum(v, 0))
    tl.store(o + N + 1, (tl.rand(7, i) < 2).to(tl.int32).sum() + (tl.randint(3, i) == 0).to(tl.int32).sum())


def test_what_may_wrap():
    x, o = np.full(64, 2**30, np.int32), np.zeros(66, np.int32)
    tandem.launch(lambda team: wraps[(1,)](x, o, 64, debug=True))
    assert o[0] == -(2**31) and o[64] == 0 and o[65] == 64


def test_all_may_wrap():
    assert run("add", 2**31 - 1, 1, np.int32, debug=True, sanitize_overflow=False) == -(2**31)
    with pytest.raises(tandem.SimulationError, match="positive"):
        tandem.launch(lambda team: always[(1,)](np.zeros(1, np.float32), sanitize_overflow=False))


@triton.jit(debug=True)
def always(x):
    tl.device_assert(tl.load(x) > 0, "positive")


@triton.jit
def asked(x):
    tl.device_assert(tl.load(x) > 0, "positive")


@pytest.mark.parametrize(
    "kernel, options, environment, stops",
    [
        (always, {}, {}, True),
        (always, {"debug": False}, {}, False),
        (asked, {}, {}, False),
        (asked, {"debug": True}, {}, True),
        (asked, {}, {"TRITON_DEBUG": "1"}, True),
        (asked, {}, {"TANDEM_DEBUG": "1"}, True),
        (asked, {}, {"TRITON_DEBUG": "0"}, False),
        (asked, {"debug": False}, {"TRITON_DEBUG": "1"}, True),
    ],
)
def test_who_asks_for_it(monkeypatch, kernel, options, environment, stops):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    launch = lambda: tandem.launch(lambda team: kernel[(1,)](np.zeros(1, np.int32), **options))
    with pytest.raises(tandem.SimulationError, match="positive") if stops else contextlib.nullcontext():
        launch()
