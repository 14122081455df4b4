"""The list of checks: kernels with arguments made anew for every seed, run on the GPU and in the simulator, and compared with each other
and with NumPy in double precision. Outputs hold NaN (or -1) before the kernel runs.
"""

import importlib
import pathlib
import sys
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "triton"))

import tandem
import tandem.compat

tandem.compat.install()

import device
from cases import DTYPES, Output

CHECKS = {}
WARPS = (1, 2, 4, 8, 16)


class Check:
    """`make(rng)` gives the arguments; `reference(*arguments)` the outputs, wider or equal in type; `tolerance` bounds the relative norm
    of the difference from it (0: equal); `simulated`: the same bound for the simulator's outputs, None when it is not asked."""

    def __init__(self, kernel, make, reference, grid, tolerance, simulated, constants):
        self.kernel, self.make, self.reference, self.grid = kernel, make, reference, grid
        self.tolerance, self.simulated, self.constants = tolerance, simulated, constants

    def run(self, seed):
        args = self.make(np.random.default_rng(seed))
        outputs = [i for i, a in enumerate(args) if isinstance(a, Output)]
        plain = [a.array if isinstance(a, Output) else a for a in args]
        found = on_gpu(self, plain, outputs)
        if self.simulated is not None:
            for i, here, there in zip(outputs, found, in_simulator(self, plain, outputs), strict=True):
                compare(here, there, self.simulated, f"argument {i} of the simulator")
        if self.reference is not None:
            wanted = self.reference(*[a.copy() if isinstance(a, np.ndarray) else a for a in plain])
            for i, here, there in zip(outputs, found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
                compare(here, there, self.tolerance, f"argument {i} of NumPy")


def on_gpu(check, args, outputs):
    device_args = [device.to_device(a) for a in args]
    check.kernel[check.grid](*device_args, **check.constants)
    device.synchronize()
    return [device.to_host(device_args[i], args[i]) for i in outputs]


def in_simulator(check, args, outputs):
    host = [_copy(a) for a in args]
    tandem.launch(lambda team: check.kernel[check.grid](*host, **check.constants))
    return [host[i] for i in outputs]


def _copy(value):
    if isinstance(value, tuple):
        return type(value)(*map(_copy, value)) if hasattr(value, "_fields") else tuple(map(_copy, value))
    return value.copy() if isinstance(value, np.ndarray) else value


def compare(found, wanted, tolerance, whose):
    """Raises AssertionError unless `found` (any element type) is near `wanted`. NaN and infinities must be in the same places."""
    wanted = np.broadcast_to(wanted, found.shape)
    if found.dtype.kind in "biu" and wanted.dtype.kind in "biu":
        different = found != wanted
        distance = ""
    else:
        a, b = found.astype(np.float64), wanted.astype(np.float64)
        with np.errstate(all="ignore"):
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            special = ~np.isfinite(a) | ~np.isfinite(b)
            gap, size = np.linalg.norm(np.where(same | special, 0, a - b)), np.linalg.norm(np.where(special, 0, b))
        relative = gap / size if size else gap
        if tolerance and not (special & ~same).any() and relative <= tolerance:
            return
        different, distance = ~same, f", relative norm {relative:.3g} of {tolerance:g} allowed"
    if different.any():
        at = tuple(int(k) for k in np.argwhere(different)[0])
        last = tuple(int(k) for k in np.argwhere(different)[-1])
        raise AssertionError(
            f"differs from {whose} in {int(different.sum())} of {found.size} places{distance}; at {at}: {found[at]} here, "
            f"{wanted[at]} there; at {last}: {found[last]}, {wanted[last]}"
        )


def check(kernel, make, reference=None, tag="", grid=(1,), tolerance=0.0, simulated=0.0, **constants):
    """Registers one check; `constants` are compile-time arguments and launch options."""
    group = kernel.fn.__module__.removeprefix("check_")
    add(".".join(filter(None, [group, kernel.fn.__name__, tag])), Check(kernel, make, reference, grid, tolerance, simulated, constants).run)


def add(name, function):
    """Registers `function(seed)`, which raises when something is wrong."""
    if name in CHECKS:
        raise ValueError(f"two checks are called `{name}`")
    CHECKS[name] = function


def load_all():
    """Imports every file of checks beside this one and returns the checks by name."""
    sys.path.insert(0, str(HERE))
    for path in sorted(HERE.glob("check_*.py")):
        importlib.import_module(path.stem)
    return CHECKS


def run(name, seed):
    CHECKS[name]((seed, zlib.crc32(name.encode())))


def poisoned(shape, dtype="fp32"):
    """An output that holds NaN, or -1 in integers."""
    array = np.empty(shape, DTYPES[dtype])
    array.view(np.uint8).fill(1 if dtype == "int1" else 0xFF)
    return Output(array)


def normal(rng, shape, dtype="fp32"):
    """Numbers of mean 0 and variance 1; small integers for integer types."""
    if dtype == "int1":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if "int" in dtype:
        return rng.integers(0 if dtype[0] == "u" else -8, 9, shape).astype(DTYPES[dtype])
    return rng.standard_normal(shape).astype(DTYPES[dtype])


def any_bits(rng, shape, dtype):
    """Integers over their whole range."""
    if dtype == "int1":
        return rng.integers(0, 2, shape).astype(np.bool_)
    info = np.iinfo(DTYPES[dtype])
    return rng.integers(info.min, info.max, shape, dtype=DTYPES[dtype], endpoint=True)


def wide(array):
    """The array in double precision, integers as they are."""
    return array if array.dtype.kind in "biu" else array.astype(np.float64)
