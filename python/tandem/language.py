"""Names for kernels: the kernel language: Triton's."""

from ._names import populate

populate(globals(), "tl")
