"""Names for kernels: device math functions."""

from ._names import populate

populate(globals(), "tl.extra.libdevice")
