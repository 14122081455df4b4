"""test/rooms.py reads the package's imports: which arrows and circles between its modules it reports. It looks at no
file that git ignores."""

import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test"))
import rooms


def problems(**texts):
    """Of a package with these files, `host__arrays` being host/arrays.py."""
    return list(rooms.check_wings({f"python/tandem/{name.replace('__', '/', 1)}.py": text for name, text in texts.items()}))


@pytest.mark.parametrize(
    "text",
    [
        "from ..gpu import device",
        "from ..gpu.device import devices",
        "import tandem.gpu.device",
        "from tandem.gpu.device import devices",
        "def f():\n    from ..gpu import device",
        "import tandem",
        "from .. import cli",
        "from ..cli import main",
    ],
)
def test_an_import_upwards(text):
    found = problems(host__arrays=text, gpu__device="", cli="")
    assert len(found) == 1 and found[0].startswith("python/tandem/host/arrays.py:") and "which `host` may not" in found[0]


def test_imports_that_are_allowed():
    arrays = "from .. import _tandem\nfrom ..kernel.names import x\nfrom .layout import y\nimport numpy, tandemonium"
    assert not problems(
        host__arrays=arrays,
        host__layout="from . import frames",
        host__frames="from ..errors import z",
        kernel__names="",
        errors="",
        cli="from .host import arrays\nfrom . import session",
        session="from .host.arrays import x",
    )


def test_a_circle_within_a_wing():
    found = problems(host__a="from .b import x", host__b="def f():\n    from . import c", host__c="from tandem.host.a import y")
    assert len(found) == 1 and "circle" in found[0] and all(f"host.{name}" in found[0] for name in "abc")


def test_a_folder_that_is_no_wing():
    assert problems(misc__a="") == ["python/tandem/misc/a.py: `misc` is no wing that test/rooms.py knows"]


def test_files_that_git_ignores(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for name in (".gitignore", "tracked.py", "gone.py", "new/ä.md", "out/made.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("/out/\n")
    subprocess.run(["git", "-C", tmp_path, "add", "tracked.py", "gone.py"], check=True)
    (tmp_path / "gone.py").unlink()
    assert rooms.files(tmp_path) == [".gitignore", "new/ä.md", "tracked.py"]
