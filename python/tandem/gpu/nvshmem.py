"""Tells the compiler and the runtime, through the environment, where NVSHMEM is installed, as only Python knows its
packages."""

import ctypes
import os
import pathlib
import sys

_VARIABLE = "TANDEM_NVSHMEM"
_FILES = ("libnvshmem_device.bc", "libnvshmem_host.so.3")
_SYSTEM = ("/usr/local/nvshmem", "/usr/lib/x86_64-linux-gnu/nvshmem/13", "/usr/lib/x86_64-linux-gnu/nvshmem/12")


def _has_files(folder):
    return all((pathlib.Path(folder) / name).is_file() for name in _FILES)


def _in_packages(packages):
    folders = [f"{path}/nvidia/nvshmem" for path in packages if path]
    return next((f for f in folders if _has_files(f"{f}/lib")), None)


def announce(environment=os.environ, packages=None):
    """Names the wheel's folder in the environment, unless somebody has named one."""
    if not environment.get(_VARIABLE) and not environment.get("NVSHMEM_HOME"):
        found = _in_packages(sys.path if packages is None else packages)
        if found:
            environment[_VARIABLE] = found


def find(environment=os.environ, packages=None):
    """The folder with its files; None when there is none. In the compiler's order of places."""
    announce(environment, packages)
    if named := environment.get(_VARIABLE):
        roots = [named]
    else:
        site = [f"{f}/nvidia/nvshmem" for f in environment.get("TANDEM_SITE_PACKAGES", "").split(":") if f]
        roots = [r for r in (environment.get("NVSHMEM_HOME"), *site, *_SYSTEM) if r]
    return next((f for root in roots for f in (f"{root}/lib", root) if _has_files(f)), None)


def version(folder):
    """The version of the library in a folder, such as "3.4.5"; None when it cannot be opened."""
    numbers = [ctypes.c_int() for _ in range(3)]
    try:
        ctypes.CDLL(f"{folder}/{_FILES[1]}").nvshmemx_vendor_get_version_info(*map(ctypes.byref, numbers))
    except (OSError, AttributeError):
        return None
    return ".".join(str(n.value) for n in numbers)
