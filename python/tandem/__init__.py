"""Tandem: Triton-syntax kernels that compute and communicate at once, on simulated ranks and on GPUs.

A kernel is a function under `@tandem.jit`; `tandem.launch(main, ranks=4)` runs `main(team)` once on every rank.
"""

from . import _tandem
from . import dist, language, libdevice, shmem, simt
from ._names import constexpr
from .arrays import Tensor
from .autotune import Config, autotune, heuristics
from .descriptor import TensorDescriptor
from .errors import CompileError, OutOfResources, RunError, SimulationError, SimulationWarning
from .jit import JITFunction, aggregate, constexpr_function, jit
from .explore import Exploration, explore
from .machine_profile import Profile, profile
from .session import Result, Stream, Team, current_team, init, launch
from . import compat, gpu, testing

__version__ = _tandem.version()


def cdiv(x, y):
    """x / y rounded up."""
    return (x + y - 1) // y


def next_power_of_2(n):
    """The smallest power of two not below n."""
    return 1 << max(0, (n - 1).bit_length())


__all__ = ["CompileError", "Config", "Exploration", "JITFunction", "OutOfResources", "Profile", "Result", "RunError", "SimulationError",
           "SimulationWarning", "Stream", "Team", "Tensor", "TensorDescriptor", "aggregate", "autotune", "cdiv", "compat", "constexpr",
           "constexpr_function", "current_team", "dist", "explore", "gpu", "heuristics", "init", "jit", "language", "launch",
           "libdevice", "next_power_of_2", "profile", "shmem", "simt", "testing"]
