"""Names for kernels: the kernel language: Triton's."""

from .jit import constexpr_function, jit as builtin, jit as extern  # noqa: F401
from .kernel import element_types as _types
from .kernel.names import DType as dtype, answers as _answers, constexpr, pointer_type, populate  # noqa: F401
from .kernel.source import aggregate as _aggregate  # noqa: F401

globals().update(_answers("tl", {"get_int_dtype": _types.get_int_dtype, "str_to_ty": _types.str_to_ty}))
populate(globals(), "tl")
