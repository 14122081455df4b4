"""The list of comparison cases. A case is a kernel, its arguments, and how closely its outputs must agree.

Knows neither Triton nor Tandem: the kernel files register here, whichever of the two `import triton` means.
"""

import importlib
import pathlib

import ml_dtypes
import numpy as np

DTYPES = {
    "int1": np.bool_,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp32": np.float32,
    "fp64": np.float64,
    "fp8e4nv": ml_dtypes.float8_e4m3fn,
    "fp8e5": ml_dtypes.float8_e5m2,
}
CASES = {}


class Output:
    """An array argument that the kernel writes and the comparison reads."""

    def __init__(self, array):
        self.array = array


class Case:
    def __init__(self, name, kernel, args, grid, rtol, atol, constants):
        self.name, self.kernel, self.args, self.grid = name, kernel, args, grid
        self.rtol, self.atol, self.constants = rtol, atol, constants

    def outputs(self):
        """Positions of the output arguments."""
        return [i for i, a in enumerate(self.args) if isinstance(a, Output)]

    def host_args(self):
        """Fresh arguments: arrays are copies, so that a case can run twice."""
        return [_fresh(a) for a in self.args]


def _fresh(value):
    if isinstance(value, Output):
        return value.array.copy()
    if isinstance(value, tuple):
        return type(value)(*map(_fresh, value)) if hasattr(value, "_fields") else tuple(map(_fresh, value))
    return value.copy() if isinstance(value, np.ndarray) else value


def case(kernel, *args, tag="", grid=(1,), rtol=0.0, atol=0.0, **constants):
    """Registers one run. Tolerance 0 means equal values; `constants` are compile-time arguments and launch options."""
    group = kernel.fn.__module__.removeprefix("kernels_")
    name = ".".join(filter(None, [group, kernel.fn.__name__, tag]))
    if name in CASES:
        raise ValueError(f"two cases are called `{name}`")
    CASES[name] = Case(name, kernel, args, grid if isinstance(grid, tuple) else (grid,), rtol, atol, constants)


def load_all():
    """Imports every kernel file beside this one and returns the cases by name."""
    for path in sorted(pathlib.Path(__file__).parent.glob("kernels_*.py")):
        importlib.import_module(path.stem)
    return CASES


def bits(count, seed=0):
    """`count` pseudo-random 64-bit words (splitmix64): the same on every machine and NumPy version."""
    with np.errstate(over="ignore"):
        z = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed * 1000003)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def uniform(shape, low=0.0, high=1.0, dtype="fp32", seed=0):
    words = bits(int(np.prod(shape)), seed) >> np.uint64(11)
    return (low + (high - low) * (words.astype(np.float64) * 2.0**-53)).reshape(shape).astype(DTYPES[dtype])


def bell(shape, dtype="fp32", seed=0):
    """Bell-shaped numbers of mean 0 and variance 1 (a sum of 12 uniforms)."""
    parts = uniform((12, int(np.prod(shape))), dtype="fp64", seed=seed)
    return (parts.sum(axis=0) - 6.0).reshape(shape).astype(DTYPES[dtype])


def integers(shape, low, high, dtype="int32", seed=0):
    """Integers in [low, high)."""
    words = bits(int(np.prod(shape)), seed) >> np.uint64(1)
    return (words.astype(object) % (high - low) + low).reshape(shape).astype(DTYPES[dtype])


def array(values, dtype):
    return np.array(values, dtype=DTYPES[dtype])


def out(shape, dtype="fp32", fill=0):
    return Output(np.full(shape, fill, DTYPES[dtype]))


def inout(values):
    return Output(values)
