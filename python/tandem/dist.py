"""Names for kernels: ranks, symmetric addresses, wait and notify."""

from ._names import populate

populate(globals(), "dl")
