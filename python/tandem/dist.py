"""Names for kernels: ranks, symmetric addresses, wait and notify."""

from .kernel.names import populate

populate(globals(), "dl")
