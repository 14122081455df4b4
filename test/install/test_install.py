"""What a user installs: the wheel in an environment of its own, and the C++ side below a prefix, used from outside of the tree."""

import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile

import pytest
from conftest import ROOT, run

LIMIT = 30 << 20  # bytes of a wheel
VERSION = re.search(r"project\(tandem VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
KERNEL = """
from tandem import language as tl
import numpy as np, tandem, tandem.dist as dl

@tandem.jit
def shift(x, inbox, signal, y, N: tl.constexpr):
    i = tl.arange(0, N)
    right = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(inbox, right) + i, tl.load(x + i))
    dl.notify(signal, right, signal=1, sig_op="set")
    WAIT
    tl.store(y + i, tl.load(inbox + i))

def main(team):
    inbox, signal = team.zeros(64, "float32"), team.zeros(1, "int64")
    y = np.empty(64, np.float32)
    shift[(1,)](np.full(64, team.rank, np.float32), inbox, signal, y, N=64)
    print(team.rank, y[0])
"""
WAIT = 'inbox = dl.consume_token(inbox, dl.wait(signal, 1, "sys", "acquire", waitValue=1))'


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """The wheel in an environment of its own; NumPy and ml_dtypes, which need a network to install, are links to this one's."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", folder)
    run(folder / "bin/pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", wheel)
    (packages,) = folder.glob("lib/python3*/site-packages")
    for path in pathlib.Path(sysconfig.get_path("purelib")).glob("*"):
        if path.name.split("-")[0] in ("numpy", "numpy.libs", "ml_dtypes"):
            (packages / path.name).symlink_to(path)
    return folder


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", ROOT / "build", "--prefix", folder)
    return folder


def test_tag_size_and_version(wheel):
    assert wheel.name == f"tandem-{VERSION}-cp311-abi3-manylinux_2_34_x86_64.whl"
    assert wheel.stat().st_size <= LIMIT
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(f"tandem-{VERSION}.dist-info/METADATA").decode()
        entries = archive.read(f"tandem-{VERSION}.dist-info/entry_points.txt").decode()
    assert "tandem_pytest.py" in names and "[pytest11]\ntandem = tandem_pytest" in entries
    assert "Provides-Extra: torch" in metadata and "Provides-Extra: plots" in metadata and "## A kernel" in metadata
    held = [
        "py.typed",
        "language.pyi",
        "operator_classes.pyi",
        "torch_functions.pyi",
        "memory_model.md",
        "bin/tandemc",
        "bin/tandem-opt",
        "include/tandem/tandem.h",
    ]
    held += ["include/tandem/ops/ag_gemm.h", "lib/cmake/Tandem/TandemConfig.cmake", "lib/pkgconfig/tandem.pc", "gradients/ag_gemm.py"]
    assert [name for name in held if f"tandem/{name}" not in names] == []
    assert [name for name in names if "/test" in name.replace("testing.py", "") or name.endswith(".so")] == ["tandem/_tandem.abi3.so"]


def test_the_page_names_the_wheel(wheel):
    page = (ROOT / "docs/guide/install.md").read_text()
    assert set(re.findall(r"tandem-[0-9.]+-[\w.-]+?\.whl", page)) == {wheel.name}


def test_names_no_path_of_the_build(wheel):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith((".cmake", ".pc", ".h", "METADATA")):
                assert str(ROOT).encode() not in archive.read(name), name


def test_commands_of_the_wheel(environment):
    commands = environment / "bin"
    assert run(commands / "tandem", "--version").strip() == f"tandem {VERSION}"
    assert run(commands / "python", "-c", "import tandem; print(tandem.__version__)").strip() == VERSION
    assert "Compiles a Triton-syntax kernel" in run(commands / "tandemc", "--help")
    assert "tandem-opt" in run(commands / "tandem-opt", "--help")
    assert "M4" in run(commands / "tandem", "explain", "M4")


def test_first_kernel_and_first_race(environment, tmp_path):
    script = tmp_path / "shift.py"
    script.write_text(KERNEL.replace("WAIT", WAIT))
    out = run(environment / "bin/tandem", "run", "--main", "--ranks", 4, script, cwd=tmp_path)
    assert sorted(out.split("\n")) == ["", "0 3.0", "1 0.0", "2 1.0", "3 2.0"]
    script.write_text(KERNEL.replace("WAIT", "pass"))
    out = run(environment / "bin/tandem", "check", "--ranks", 2, "--explore", 4, script, cwd=tmp_path, code=1)
    assert "error: race" in out and "shift.py:9:5" in out and "shift.py:12:21" in out


def build_examples(folder, prefix):
    """The examples in C++ as a copy outside of the tree, with only the prefix named."""
    shutil.copytree(ROOT / "examples/cpp", folder / "cpp")
    compiler = ["-DCMAKE_CXX_COMPILER=clang++-22"] if shutil.which("clang++-22") else []
    run("cmake", "-S", folder / "cpp", "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", *compiler)
    run("cmake", "--build", folder / "build")
    assert "rank 3" in run(folder / "build/quickstart")
    bundle = subprocess.run([folder / "build/bundle", folder / "build/kernels"], capture_output=True, text=True)
    assert bundle.returncode in (0, 77), bundle.stderr  # 77: there is no GPU
    assert "libtandem_runtime.so" in (needed := run("objdump", "-p", folder / "build/bundle")) and "libtandem.so" not in needed


def test_cmake_finds_the_prefix(prefix, tmp_path):
    build_examples(tmp_path, prefix)


def test_cmake_finds_the_wheel(environment, tmp_path):
    build_examples(tmp_path, run(environment / "bin/tandem", "prefix").strip())


def test_cmake_says_which_component_is_missing(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES NONE)\nfind_package(Tandem {VERSION} REQUIRED COMPONENTS simulator)\n"
    )
    out = run("cmake", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={prefix}", code=1)
    assert "Tandem has the components tandem and runtime, not `simulator`" in out


@pytest.mark.parametrize("where", ["prefix", "environment"])
def test_pkg_config(where, request, tmp_path):
    found = request.getfixturevalue(where)
    folder = found if where == "prefix" else pathlib.Path(run(found / "bin/tandem", "prefix").strip())
    env = {"PKG_CONFIG_PATH": str(folder / "lib/pkgconfig")}
    assert run("pkg-config", "--modversion", "tandem", env=env).strip() == VERSION
    flags = run("pkg-config", "--cflags", "--libs", "tandem", env=env).split()
    run("clang++-22", ROOT / "examples/cpp/quickstart.cpp", "-o", tmp_path / "quickstart", *flags)
    assert "rank 3" in run(tmp_path / "quickstart")


def test_every_header_stands_alone(prefix, tmp_path):
    """Also: the C ABI's headers are C."""
    headers = sorted((prefix / "include/tandem").rglob("*.h"))
    include = f"-I{prefix / 'include'}"
    for header in headers:
        languages = ["c++"] + (["c"] if header.name.endswith("c_api.h") else [])
        for language in languages:
            standard = "-std=c++20" if language == "c++" else "-std=c11"
            run("clang++-22" if language == "c++" else "clang-22", "-fsyntax-only", "-x", language, standard, include, header)


PRELUDE = """#include "tandem/gpu.h"
#include "tandem/ops.h"
#include "tandem/tandem.h"
#include <functional>
#include <vector>
using namespace tandem;
"""
# A block of a page takes this as given.
GIVEN = {
    "docs/guide/host_api.md:0": "void given() {{\n{}\n}}",
    "docs/guide/host_api.md:1": "std::function<void(Team&)> program;\n{}",
    "docs/guide/gpu.md:0": "void given(size_t bytes, int count) {{\n{}\n}}",
}


def cpp_blocks():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("ops/*/README.md")]:
        for i, block in enumerate(re.findall(r"^```cpp\n(.*?)^```", page.read_text(), re.M | re.S)):
            yield f"{page.relative_to(ROOT)}:{i}", block


@pytest.mark.parametrize("name,block", [pytest.param(name, block, id=name) for name, block in cpp_blocks()])
def test_blocks_of_the_pages_compile(name, block, prefix, tmp_path):
    (tmp_path / "block.cpp").write_text(PRELUDE + GIVEN.get(name, "{}").format(block))
    run("clang++-22", "-fsyntax-only", "-std=c++20", f"-I{prefix / 'include'}", tmp_path / "block.cpp")


def test_version_macros(prefix):
    text = (prefix / "include/tandem/version.h").read_text()
    major, minor, patch = VERSION.split(".")
    assert f'#define TANDEM_VERSION "{VERSION}"' in text and f"#define TANDEM_VERSION_MINOR {minor}" in text
    assert (prefix / f"lib/libtandem.so.{major}.{minor}").is_file() and (prefix / "lib/libtandem.so").is_symlink()
