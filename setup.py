"""Builds the libraries with CMake for `pip install .` and ships them inside the package.

Needs the Debian packages of scripts/setup.sh.
"""

import pathlib
import shutil
import subprocess

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent


class Build(build_ext):
    def run(self):
        build = ROOT / "build"
        if not (build / "build.ninja").exists():
            compilers = ["-DCMAKE_C_COMPILER=clang-22", "-DCMAKE_CXX_COMPILER=clang++-22"]
            subprocess.run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", *compilers], check=True)
        subprocess.run(["ninja", "-C", build, "tandem", "tandem_runtime_library", "tandem_python", "tandem_stubs"], check=True)
        package = pathlib.Path(self.get_ext_fullpath("tandem._tandem")).parent
        package.mkdir(parents=True, exist_ok=True)
        for library in ("libtandem.so", "libtandem_runtime.so", "_tandem.abi3.so"):
            shutil.copy2(build / "python" / "tandem" / library, package / library)
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


setup(ext_modules=[Extension("tandem._tandem", sources=[], py_limited_api=True)], cmdclass={"build_ext": Build, "bdist_wheel": Wheel})
