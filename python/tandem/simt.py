"""Names for kernels: per-thread code inside a tile program."""

from ._names import populate

populate(globals(), "extra")
