"""The C++ side of an installed package: the folder that holds its libraries, headers and CMake files, and its programs as commands."""

import os
import pathlib
import sys


def prefix():
    """The folder of `bin`, `include` and `lib`: what CMAKE_PREFIX_PATH names. None where the package is a build's folder."""
    folder = pathlib.Path(__file__).parent
    return folder if (folder / "lib" / "cmake").is_dir() else None


def _run(program):
    folder = prefix()
    if folder is None:
        sys.exit(f"{program}: this package is a build's folder, which has it in build/tools")
    path = folder / "bin" / program
    os.execv(path, [program, *sys.argv[1:]])


def tandemc():
    _run("tandemc")


def tandem_opt():
    _run("tandem-opt")
