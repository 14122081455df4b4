"""Names for kernels: per-thread code inside a tile program."""

from .kernel.names import populate

populate(globals(), "extra")
