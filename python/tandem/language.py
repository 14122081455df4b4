"""Names for kernels: the kernel language: Triton's."""

from ._names import populate

populate(globals(), "tl")

import types as _types

from . import libdevice as _libdevice, simt as _simt
from . import _names

math = _types.ModuleType("tandem.language.math")
populate(math.__dict__, "tl.math")
extra = _types.ModuleType("tandem.language.extra")
extra.libdevice = _libdevice
extra.cuda = _simt
extra.__dict__.setdefault("__tandem_module__", "tl.extra")
_self = __import__("sys").modules[__name__]
core = standard = _self
