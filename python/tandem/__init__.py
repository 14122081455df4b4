"""Tandem: Triton-syntax kernels that compute and communicate at once, on simulated ranks and on GPUs.

A kernel is a function under `@tandem.jit`; `tandem.launch(main, ranks=4)` runs `main(team)` once on every rank.
"""

from . import _tandem
from . import dist, gpu, language, libdevice, shmem, simt, testing
from .check.explore import Exploration, explore
from .errors import CompileError, OutOfResources, RunError, SimulationError, SimulationWarning
from .host.arrays import Tensor
from .host.current import current_team, on
from .host.team import Stream, Team
from .jit import JITFunction, constexpr_function, jit
from .kernel.descriptor import TensorDescriptor
from .kernel.names import constexpr
from .kernel.sizes import cdiv, next_power_of_2
from .kernel.source import aggregate
from .overlapping import overlap
from .session import Result, init, launch
from .tune.autotune import Config, autotune, heuristics
from .tune.machine_profile import Profile, profile
from . import compat

__version__ = _tandem.version()

__all__ = [
    "CompileError",
    "Config",
    "Exploration",
    "JITFunction",
    "OutOfResources",
    "Profile",
    "Result",
    "RunError",
    "SimulationError",
    "SimulationWarning",
    "Stream",
    "Team",
    "Tensor",
    "TensorDescriptor",
    "aggregate",
    "autotune",
    "cdiv",
    "compat",
    "constexpr",
    "constexpr_function",
    "current_team",
    "dist",
    "explore",
    "gpu",
    "heuristics",
    "init",
    "jit",
    "language",
    "launch",
    "libdevice",
    "next_power_of_2",
    "on",
    "overlap",
    "profile",
    "shmem",
    "simt",
    "testing",
]
