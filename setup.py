"""Builds the libraries with CMake for `pip install .` and ships them inside the package, with all that `cmake --install` installs.

Needs the packages of scripts/setup.sh.
"""

import pathlib
import re
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = pathlib.Path(__file__).resolve().parent


def version():
    """The version stands in CMakeLists.txt alone."""
    return re.search(r"project\(tandem VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def tools():
    """What a build calls, with the packages that bring it, by what scripts/configure.sh will choose."""
    found = {"cmake": "cmake", "ninja": "ninja-build"}
    system = pathlib.Path("/etc/os-release")
    ubuntu = system.exists() and "ID=ubuntu" in system.read_text().split() and not pathlib.Path("/usr/lib/llvm-22/lib/cmake/mlir").is_dir()
    clang = 18 if ubuntu else 22
    found |= {f"clang-{clang}": f"clang-{clang}", f"clang++-{clang}": f"clang-{clang}", f"ld.lld-{clang}": f"lld-{clang}"}
    return found | ({str(ROOT / ".venv/bin/python"): "xtc-mlir-dev (from PyPI, in .venv)"} if ubuntu else {})


def need_tools():
    missing = sorted({package for tool, package in tools().items() if shutil.which(tool) is None})
    if missing:
        sys.exit(f"error: {', '.join(missing)} must be installed to build Tandem: run `scripts/setup.sh` (or `make setup`), which does it")


def terminal():
    """The user's terminal, where the build shows its progress: pip keeps to itself what a build prints. None when there is none."""
    try:
        return open("/dev/tty", "w")
    except OSError:
        return None


class Sources(build_py):
    """Nothing of an earlier build stays."""

    def run(self):
        shutil.rmtree(pathlib.Path(self.build_lib) / "tandem", ignore_errors=True)
        super().run()


class Build(build_ext):
    def run(self):
        need_tools()
        build = ROOT / "build"
        subprocess.run([ROOT / "scripts" / "build.sh", "tandem_distribution"], check=True, stdout=terminal())
        package = pathlib.Path(self.get_ext_fullpath("tandem._tandem")).parent
        package.mkdir(parents=True, exist_ok=True)
        # The package's folder is a prefix for C++ users, too: lib, include and bin. A wheel holds no links, so those are left out.
        install = ["cmake", "--install", build, "--prefix", package, "--component", "tandem", "--strip"]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
        extension = package / "_tandem.abi3.so"
        shutil.copy2(build / "python" / "tandem" / extension.name, extension)
        for stub in (build / "python" / "tandem").glob("*.pyi"):  # for editors and type checkers
            shutil.copy2(stub, package)
        shutil.copy2(ROOT / "python" / "tandem" / "py.typed", package)
        (package / "gradients").mkdir(exist_ok=True)
        for gradient in ROOT.glob("ops/*/gradient.py"):
            shutil.copy2(gradient, package / "gradients" / f"{gradient.parent.name}.py")
        shutil.copy2(ROOT / "docs" / "spec" / "memory_model.md", package)  # for `tandem explain`


class Wheel(bdist_wheel):
    def get_tag(self):
        return "cp311", "abi3", super().get_tag()[2]


setup(
    version=version(),
    ext_modules=[Extension("tandem._tandem", sources=[], py_limited_api=True)],
    cmdclass={"build_py": Sources, "build_ext": Build, "bdist_wheel": Wheel},
)
