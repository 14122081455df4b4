"""Numbers as arguments of kernels: their types, and the bits that a launch passes."""

import struct

from .names import DType


def scalar_type(value):
    """Triton's type word for a Python number argument."""
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, float):
        return "fp32"
    if -2**31 <= value < 2**31:
        return "i32"
    if -2**63 <= value < 2**63:
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


_WORDS = {prefix + bits: word + bits for prefix, word in (("int", "i"), ("uint", "u"), ("i", "i"), ("u", "u"))
          for bits in ("8", "16", "32", "64")}
_WORDS |= {"int1": "i1", "i1": "i1", "bf16": "bf16", "bfloat16": "bf16"}
_WORDS |= {prefix + bits: "fp" + bits for prefix in ("float", "fp") for bits in ("16", "32", "64")}
