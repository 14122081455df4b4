"""The wheel on the systems that docs/guide/install.md names, each a fresh one that debootstrap makes: a rank's kernel of the README, its
broken twin, and C++ programs that find the installed prefix. Skipped without root, debootstrap or a system's archive; it takes minutes
and a network, so that pytest runs it only by its name: `pytest test/install/systems.py`."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, run

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("debootstrap"), reason="needs root and debootstrap")

DEBIAN, UBUNTU = "http://deb.debian.org/debian", "http://archive.ubuntu.com/ubuntu"
SYSTEMS = {  # by codename: the archive, Python's version
    "bookworm": (DEBIAN, "3.11"),
    "trixie": (DEBIAN, "3.13"),
    "jammy": (UBUNTU, "3.11"),
    "noble": (UBUNTU, "3.12"),
}
PACKAGES = "g++ cmake make pkgconf"
(KERNEL,) = [block for block in re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S) if "def shift" in block]


@pytest.fixture(scope="module", params=SYSTEMS)
def system(request, wheel, tmp_path_factory):
    """Runs a shell's command in the system, which has the wheel in /venv."""
    archive, python = SYSTEMS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    scripts = [] if os.path.exists(f"/usr/share/debootstrap/scripts/{request.param}") else ["/usr/share/debootstrap/scripts/gutsy"]
    keys = "debian-archive-keyring" if archive == DEBIAN else "ubuntu-archive-keyring"
    parts = "main" if archive == DEBIAN else "main,universe"
    options = [f"--keyring=/usr/share/keyrings/{keys}.gpg", "--variant=minbase", f"--components={parts}"]
    made = subprocess.run(
        ["debootstrap", *options, request.param, folder, archive, *scripts], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if made.returncode:
        pytest.skip(f"debootstrap cannot make {request.param}: {made.stdout.splitlines()[-1]}")
    wheels = folder / "wheels"
    download = ["download", "--quiet", "--disable-pip-version-check", "--only-binary=:all:", f"--python-version={python}", "-d", wheels]
    run(sys.executable, "-m", "pip", *download, wheel, cwd=folder)
    shutil.copytree(ROOT / "examples/cpp", folder / "cpp")
    environment = {"HOME": "/root", "LANG": "C.UTF-8", "PATH": "/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin"}

    def inside(command, code=0):
        chroot = 'mount -t proc proc "$0/proc" && exec chroot "$0" sh -c "$1"'
        return run("unshare", "--mount", "--pid", "--fork", "sh", "-c", chroot, folder, command, code=code, env=environment)

    shutil.copy("/etc/resolv.conf", folder / "etc")
    with open(folder / "etc/apt/sources.list", "a") as sources:
        print(f"deb {archive} {request.param}-updates {parts.replace(',', ' ')}", file=sources)
    inside(f"apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends {PACKAGES} python{python}-venv")
    inside(f"python{python} -m venv /venv && /venv/bin/pip install --quiet --no-index --find-links /wheels tandem")
    inside.folder = folder
    yield inside
    shutil.rmtree(folder)


def test_a_kernel_runs_and_its_race_is_found(system):
    (system.folder / "shift.py").write_text(KERNEL)
    system("tandemc --help && python shift.py")
    racing = re.sub(r".*(dl.wait|dl.consume_token|assert ).*\n", "", KERNEL).replace("team.empty", "team.zeros")
    (system.folder / "racing.py").write_text(racing)
    assert "error: race" in system("tandem check --ranks 2 --explore 4 racing.py", code=1)


def test_programs_in_cpp_find_the_prefix(system):
    system('cmake -S cpp -B built -DCMAKE_PREFIX_PATH="$(tandem prefix)" && cmake --build built')
    assert "rank 3" in system("built/quickstart")
    flags = 'PKG_CONFIG_PATH="$(tandem prefix)/lib/pkgconfig" pkg-config --cflags --libs tandem'
    system(f"g++ cpp/quickstart.cpp $({flags}) -o quickstart")
    assert "rank 3" in system("./quickstart")
