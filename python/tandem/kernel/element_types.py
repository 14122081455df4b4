"""The element types that NumPy, frameworks and the kernel language share."""

import ml_dtypes
import numpy as np

from .names import DType

_WORD_OF = {
    np.dtype(np.bool_): "i1", np.dtype(np.int8): "i8", np.dtype(np.int16): "i16", np.dtype(np.int32): "i32", np.dtype(np.int64): "i64",
    np.dtype(np.uint8): "u8", np.dtype(np.uint16): "u16", np.dtype(np.uint32): "u32", np.dtype(np.uint64): "u64",
    np.dtype(np.float16): "fp16", np.dtype(np.float32): "fp32", np.dtype(np.float64): "fp64", np.dtype(ml_dtypes.bfloat16): "bf16",
    np.dtype(ml_dtypes.float8_e4m3fn): "fp8e4nv", np.dtype(ml_dtypes.float8_e5m2): "fp8e5",
    np.dtype(ml_dtypes.float8_e4m3fnuz): "fp8e4b8", np.dtype(ml_dtypes.float8_e5m2fnuz): "fp8e5b16",
}
DTYPE_OF = {word: dtype for dtype, word in _WORD_OF.items()}
_BY_NAME = {"bfloat16": ml_dtypes.bfloat16, "bf16": ml_dtypes.bfloat16, "fp16": np.float16, "fp32": np.float32, "fp64": np.float64,
            "float8e4nv": ml_dtypes.float8_e4m3fn, "fp8e4nv": ml_dtypes.float8_e4m3fn, "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
            "float8e5": ml_dtypes.float8_e5m2, "fp8e5": ml_dtypes.float8_e5m2, "float8_e5m2": ml_dtypes.float8_e5m2, "int1": np.bool_}
_TORCH_WORDS = {"bool": "i1", "float16": "fp16", "half": "fp16", "bfloat16": "bf16", "float32": "fp32", "float": "fp32",
                "float64": "fp64", "double": "fp64", "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5", "float8_e4m3fnuz": "fp8e4b8",
                "float8_e5m2fnuz": "fp8e5b16", "int": "i32", "long": "i64", "short": "i16"}
_TORCH_WORDS |= {f"{sign}int{bits}": f"{'u' if sign else 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


def as_dtype(dtype):
    """A NumPy dtype from a NumPy dtype, a name ("float16", "bfloat16", "fp8e4nv") or a kernel-language type."""
    name = getattr(dtype, "name", dtype)
    if isinstance(name, str) and name in _BY_NAME:
        return np.dtype(_BY_NAME[name])
    try:
        return np.dtype(name if isinstance(name, str) else dtype)
    except TypeError:
        raise TypeError(f"`{dtype}` is not an element type") from None


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
