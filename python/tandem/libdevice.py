"""Names for kernels: device math functions."""

from .kernel.names import populate

populate(globals(), "tl.extra.libdevice")
