"""scripts/setup.sh in a bad environment: one clear line, and nothing done."""

import contextlib
import os
import pathlib
import platform
import pty
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run_with(tmp_path, **stubs):
    for name, body in stubs.items():
        stub = tmp_path / name.replace("_", "-")
        stub.write_text(f"#!/bin/sh\n{body}\n")
        stub.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    return subprocess.run([ROOT / "scripts/setup.sh"], capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)


SYSTEM = platform.freedesktop_os_release()
UBUNTU = SYSTEM["ID"] == "ubuntu" and not os.path.isdir("/usr/lib/llvm-22/lib/cmake/mlir")  # it takes LLVM from PyPI
CLANG = 18 if UBUNTU else 22
PLACE = "which Ubuntu has in its component universe: add that component"
if not UBUNTU:
    PLACE = f"which Debian has in its suite {SYSTEM.get('VERSION_CODENAME')}-security: add that suite"
PLENTY = 'echo "h"; echo "d 9 9 99999 9 /"'


@pytest.mark.parametrize(
    "stubs,line",
    [
        (
            dict(dpkg_query="exit 1", df=PLENTY, apt_get='echo "E: Failed to fetch" ; exit 100'),
            "apt-get update failed (is there a network?): E: Failed to fetch",
        ),
        (
            dict(dpkg_query="exit 1", df=PLENTY, apt_get="exit 0", apt_cache="exit 100"),
            f"no source of apt has clang-{CLANG}, {PLACE} to apt's sources",
        ),
        (
            dict(dpkg_query="exit 1", df='echo "h"; echo "d 9 9 12 9 /"', apt_get="exit 0"),
            "the disk under /usr has 12 MB free, 2500 MB are needed",
        ),
        (
            dict(dpkg_query='echo "install ok installed"', df='echo "h"; echo "d 9 9 12 9 /"'),
            "this disk has 12 MB free, 1500 MB are needed",
        ),
    ],
)
def test_one_line(tmp_path, stubs, line):
    done = run_with(tmp_path, **stubs)
    assert done.returncode == 1
    assert done.stderr.strip() == f"setup: {line}"


def test_sudo_is_not_called_unasked(tmp_path):
    called = tmp_path / "called"
    done = run_with(tmp_path, dpkg_query="exit 1", df=PLENTY, id="echo 1000", sudo=f"touch {called}", apt_get=f"touch {called}")
    assert done.returncode == 1 and not called.exists()
    assert done.stderr.startswith(f"setup: nobody is here to allow sudo: run `sudo apt-get install --no-install-recommends clang-{CLANG} ")


def test_nothing_to_do_says_nothing():
    done = subprocess.run([ROOT / "scripts/setup.sh"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def build_with(tmp_path, ninja, unity):
    """scripts/build.sh in a tree of its own, with a cmake that notes its calls; returns what ran."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    for script in ("build.sh", "configure.sh"):
        shutil.copy(ROOT / "scripts" / script, tmp_path / "scripts")
    for name, body in {"cmake": f"echo cmake $* >> {tmp_path}/calls", "ninja": f"echo ninja $* >> {tmp_path}/calls; {ninja}"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    if unity is not None:
        (tmp_path / "build").mkdir()
        (tmp_path / "build/build.ninja").touch()
        (tmp_path / "build/CMakeCache.txt").write_text(f"TANDEM_UNITY:BOOL={unity}\n")
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run([tmp_path / "scripts/build.sh", "tandem"], capture_output=True, text=True, env={**os.environ, "PATH": path})
    return done.returncode, (tmp_path / "calls").read_text().splitlines()


def test_first_build_compiles_files_together(tmp_path):
    status, calls = build_with(tmp_path, "exit 0", None)
    assert status == 0 and "-DTANDEM_UNITY=ON" in calls[0] and calls[1:] == ["ninja -C build tandem"]


def test_files_that_clash_are_compiled_one_by_one(tmp_path):
    once = f"[ -e {tmp_path}/failed ] || {{ touch {tmp_path}/failed; exit 1; }}"
    status, calls = build_with(tmp_path, once, "ON")
    assert (status, calls) == (0, ["ninja -C build tandem", "cmake -DTANDEM_UNITY=OFF build", "ninja -C build tandem"])


def test_an_error_of_a_file_alone_is_an_error(tmp_path):
    assert build_with(tmp_path, "exit 1", "OFF") == (1, ["ninja -C build tandem"])


def test_pip_shows_a_build_on_the_terminal(tmp_path):
    (tmp_path / "scripts").mkdir()
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    shutil.copy(ROOT / "setup.py", tmp_path)
    shutil.copy(ROOT / "CMakeLists.txt", tmp_path)
    (tmp_path / "scripts/build.sh").write_text("#!/bin/sh\necho building $1; exit 1\n")
    (tmp_path / "scripts/build.sh").chmod(0o755)
    process, terminal = pty.fork()
    if process == 0:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1), os.dup2(silent, 2)
        os.chdir(tmp_path)
        os.execv(sys.executable, [sys.executable, "setup.py", "-q", "build_ext"])
    shown = b""
    with contextlib.suppress(OSError):  # the end of what it shows
        while part := os.read(terminal, 4096):
            shown += part
    os.waitpid(process, 0)
    assert shown.split() == [b"building", b"tandem_distribution"]


def test_pip_names_what_is_missing(tmp_path):
    command = [sys.executable, ROOT / "setup.py", "-q", "build_ext", "--build-lib", tmp_path, "--build-temp", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 1
    wanted = f"error: clang-{CLANG}, cmake, lld-{CLANG}, ninja-build must be installed to build Tandem: run `scripts/setup.sh`"
    assert wanted in done.stderr
