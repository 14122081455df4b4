"""The extension module: the C API, for this package alone."""

from typing import Any

def __getattr__(name: str) -> Any: ...
