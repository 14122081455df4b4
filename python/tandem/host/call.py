"""A call of a kernel: its arguments by name, its options, its grid."""

import math
import operator

import numpy as np

from ..kernel.mock_tensor import MockTensor
from ..kernel.names import constexpr
from .variables import is_on

_OPTIONS = {"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None, "debug": None, "sanitize_overflow": None}
_COOPERATIVE, _DEPENDENT = 1, 2  # TD_COOPERATIVE, TD_DEPENDENT, and TD_GPU_COOPERATIVE, TD_GPU_DEPENDENT
_IGNORED = {
    "grid",
    "warmup",
    "launch_cooperative_grid",
    "launch_pdl",
    "launch_cluster",
    "enable_fp_fusion",
    "waves_per_eu",
    "matrix_instr_nonkdim",
    "kpack",
}
_UNSET = {"ir_override", "arch", "ptx_version", "ptx_options", "instrumentation_mode"}  # options of Triton that callers may pass unset
_LIBRARIES = {"libdevice"}  # of device functions that are at hand; calls of them need no file


def _check_libraries(kernel, libraries):
    """`extern_libs` names files of device functions: a dict or pairs. Those of libdevice are at hand whatever the file."""
    unknown = sorted(set(dict(libraries or ())) - _LIBRARIES)
    if unknown:
        raise TypeError(
            f"kernel `{kernel.__name__}`: `extern_libs` names `{unknown[0]}`, whose functions kernels cannot call; "
            f"known: {', '.join(sorted(_LIBRARIES))}"
        )


def bind_call(kernel, args, kwargs):
    """(arguments by name, options, stream) of a call."""
    options = {**_OPTIONS, "debug": kernel.debug}
    names = set(kernel.arg_names)
    stream = None
    rest = {}
    for key, value in kwargs.items():
        if key in options:
            options[key] = value
        if key in names:  # also when it is an option: the kernel wants to know it
            rest[key] = value
        elif key == "stream":
            stream = value
        elif key == "extern_libs":
            _check_libraries(kernel, value)
        elif key in _UNSET and not value:
            pass
        elif key not in options and key not in _IGNORED:
            raise TypeError(f"kernel `{kernel.__name__}` has no parameter `{key}`")
    try:
        bound = kernel.signature.bind(*args, **rest)
    except TypeError as error:
        raise TypeError(f"kernel `{kernel.__name__}`: {error}") from None
    bound.apply_defaults()
    options["debug"] = bool(options["debug"]) or is_on("TANDEM_DEBUG", "TRITON_DEBUG")
    for name, value in bound.arguments.items():
        if isinstance(value, MockTensor) and not kwargs.get("warmup"):
            raise TypeError(f"argument `{name}` of kernel `{kernel.__name__}` stands for an array; only `warmup`, which compiles, takes it")
    return bound.arguments, {k: v for k, v in options.items() if v is not None}, stream


def launch_flags(kwargs):
    return (_COOPERATIVE if kwargs.get("launch_cooperative_grid") else 0) | (_DEPENDENT if kwargs.get("launch_pdl") else 0)


def grid_sizes(grid, arguments, options):
    """Returns the three sizes of a grid, which may be a function of the arguments."""
    if callable(grid):
        grid = grid({**{k: v.value if isinstance(v, constexpr) else v for k, v in arguments.items()}, **options})
    try:
        sizes = (grid,) if isinstance(grid, (int, np.integer)) else tuple(grid)
        sizes = tuple(operator.index(size.value if isinstance(size, constexpr) else size) for size in sizes)
    except TypeError:
        raise TypeError(f"a grid is one to three integers, not {grid!r}") from None
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"a grid has one to three sizes, not {len(sizes)}")
    if min(sizes) < 0 or max(sizes) >= 2**31 or math.prod(sizes) >= 2**40:
        raise ValueError(f"grid {sizes} is negative or too large: sizes are below 2**31, their product below 2**40")
    return sizes + (1,) * (3 - len(sizes))
