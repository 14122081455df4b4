"""Names for kernels: the kernel language: Triton's."""

from .jit import constexpr_function, jit as builtin, jit as extern
from .kernel.names import DType as dtype, constexpr, pointer_type, populate
from .kernel.source import aggregate as _aggregate

populate(globals(), "tl")
