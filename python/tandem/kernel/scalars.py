"""Numbers as arguments of kernels: their types, and the bits that a launch passes."""

import struct

from .element_types import ELEMENT_TYPES
from .names import DType


def scalar_type(value):
    """Triton's type word for a Python number argument."""
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, float):
        return "fp32"
    if -(2**31) <= value < 2**31:
        return "i32"
    if -(2**63) <= value < 2**63:
        return "i64"
    if 0 <= value < 2**64:
        return "u64"
    raise OverflowError(f"integer argument {value} does not fit 64 bits")


def scalar_bits(value, word):
    """The 64 bits an argument of type `word` is passed as."""
    if word == "fp64":
        return struct.unpack("<Q", struct.pack("<d", value))[0]
    if word == "fp32":
        return struct.unpack("<I", struct.pack("<f", value))[0]
    if word == "fp16":
        return struct.unpack("<H", struct.pack("<e", value))[0]
    if word == "bf16":
        return struct.unpack("<I", struct.pack("<f", value))[0] >> 16
    bits = 1 if word == "i1" else int(word[1:])
    low, high = (-(2 ** (bits - 1)), 2**bits) if word != "i1" else (0, 2)
    if int(value) != value or not low <= value < high:
        raise OverflowError(f"argument {value} does not fit type `{word}`")
    return int(value) & (2**64 - 1)


def annotated_type(parameter):
    """The type word a parameter's annotation asks for (`n: tl.int64`, `n: "i64"`), or None."""
    annotation = parameter.annotation
    name = annotation.name if isinstance(annotation, DType) else annotation.split(".")[-1] if isinstance(annotation, str) else ""
    return _WORDS.get(name)


# Scalars have no type of 8 bits but integers.
_WORDS = {name: e.word for e in ELEMENT_TYPES if not e.word.startswith("fp8") for name in (e.word, e.name)}
