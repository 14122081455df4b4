"""`tandem prefix`."""

import sys

from ..prefix import prefix


def add(commands):
    commands.add_parser(
        "prefix",
        help="print the folder of the C++ libraries, headers and CMake files",
        description="Print the folder that CMAKE_PREFIX_PATH names for find_package(Tandem); lib/pkgconfig in it is for pkg-config.",
    )


def execute(parser, options, arguments):
    folder = prefix()
    if folder is None:
        print("tandem: this package is a build's folder: `cmake --install build --prefix DIR` makes a prefix", file=sys.stderr)
        return 1
    print(folder)
    return 0
