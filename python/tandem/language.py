"""Names for kernels: the kernel language: Triton's."""

from .jit import constexpr_function, jit as builtin, jit as extern  # noqa: F401
from .kernel.element_types import get_int_dtype, str_to_ty
from .kernel.names import Answer, DType as dtype, constexpr, pointer_type, populate  # noqa: F401
from .kernel.source import aggregate as _aggregate  # noqa: F401

get_int_dtype = Answer("tl.get_int_dtype", get_int_dtype)
str_to_ty = Answer("tl.str_to_ty", str_to_ty)
populate(globals(), "tl")
