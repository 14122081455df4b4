"""Names for kernels: the kernel language: Triton's."""

from .jit import constexpr_function, jit as builtin, jit as extern  # noqa: F401
from .kernel.element_types import get_int_dtype, str_to_ty  # noqa: F401
from .kernel.names import DType as dtype, constexpr, pointer_type, populate  # noqa: F401
from .kernel.source import aggregate as _aggregate  # noqa: F401

populate(globals(), "tl")
