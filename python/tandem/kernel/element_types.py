"""The element types that NumPy, frameworks and the kernel language share: the rows of tandem/element_types.h."""

import difflib
import typing

import ml_dtypes
import numpy as np

from .. import _tandem
from .names import DType


class ElementType(typing.NamedTuple):
    word: str  # the kernel language's, of signatures: "i8", "fp16"
    name: str  # tl's: "int8", "float16"
    framework: str  # NumPy's (ml_dtypes') and PyTorch's
    dlpack_code: int

    @property
    def dtype(self):
        return np.dtype(getattr(ml_dtypes, self.framework, self.framework))

    @property
    def is_float(self):
        return self.word.startswith(("fp", "bf"))


def _rows():
    for line in _tandem.ELEMENT_TYPES.splitlines():
        *names, code = line.split()
        yield ElementType(*names, int(code))


ELEMENT_TYPES = tuple(_rows())  # the first ones in the order of tandem::DType
DTYPE_OF = {e.word: e.dtype for e in ELEMENT_TYPES}
FRAMEWORK_NAME_OF = {e.word: e.framework for e in ELEMENT_TYPES}
_WORD_OF = {e.dtype: e.word for e in ELEMENT_TYPES}
# NumPy reads the words of integers otherwise: its "i8" has 8 bytes.
_BY_NAME = {name: e.dtype for e in ELEMENT_TYPES for name in ((e.word, e.name, e.framework) if e.is_float else (e.name, e.framework))}
_TORCH_SYNONYMS = {"half": "fp16", "float": "fp32", "double": "fp64", "short": "i16", "int": "i32", "long": "i64"}
_TORCH_WORDS = {e.framework: e.word for e in ELEMENT_TYPES} | _TORCH_SYNONYMS


_TYPE_NAMES = {e.word: e.word if e.is_float else e.name for e in ELEMENT_TYPES}  # as the compiler's table spells them


def str_to_ty(name, c=None):
    """The kernel language's type for a word of signatures: "fp32", "*i8"."""
    element = name.lstrip("*").removeprefix("k")
    return DType("*" * (len(name) - len(name.lstrip("*"))) + _TYPE_NAMES.get(element, element))


def get_int_dtype(bitwidth, signed):
    """The integers of a width."""
    if bitwidth not in (1, 8, 16, 32, 64):
        raise ValueError(f"there are no integers of {bitwidth} bits")
    return DType(f"{'int' if signed or bitwidth == 1 else 'uint'}{bitwidth}")


def as_dtype(dtype):
    """A NumPy dtype from a NumPy dtype, a name ("float16", "bfloat16", "fp8e4nv") or a kernel-language type."""
    name = getattr(dtype, "name", dtype)
    if isinstance(name, str) and name in _BY_NAME:
        return np.dtype(_BY_NAME[name])
    try:
        return np.dtype(name if isinstance(name, str) else dtype)
    except TypeError:
        near = difflib.get_close_matches(str(dtype), _BY_NAME, 1)
        raise TypeError(f"`{dtype}` is not an element type" + (f"; did you mean `{near[0]}`?" if near else "")) from None


def type_word(dtype):
    """The kernel language's word for a NumPy dtype."""
    try:
        return _WORD_OF[np.dtype(dtype)]
    except (KeyError, TypeError):
        raise TypeError(f"arrays of dtype `{dtype}` cannot be kernel arguments") from None


def element_word(dtype):
    """The kernel language's word for a framework's or NumPy's element type, or an array interface's typestr."""
    text = str(dtype)
    word = _TORCH_WORDS.get(text[6:]) if text.startswith("torch.") else None
    return word or (dtype.name if isinstance(dtype, DType) else type_word(dtype))
