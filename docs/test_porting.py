"""tutorials/10_porting.md names only what Tandem has: each name in the right-hand column, each module of the left one under `--compat`."""

import importlib
import pathlib
import re

import pytest

import tandem
import tandem.dist
import tandem.language
import tandem.shmem
import tandem.simt
from tandem.host.team import Stream

PAGE = (pathlib.Path(__file__).resolve().parent / "tutorials" / "10_porting.md").read_text()
ROWS = re.findall(r"^\| (?!There|---)(.*?) \| (.*?) \|$", PAGE, re.M)
OWNERS = {"dl": tandem.dist, "tl": tandem.language, "shmem": tandem.shmem, "stream": Stream, "tensor": tandem.Tensor, "tandem": tandem}
NAMES = sorted({found for _, here in ROWS for found in re.findall(r"\b(dl|tl|shmem|stream|tensor|tandem|team)\.(\w+)", here)})


@pytest.mark.parametrize("owner,name", NAMES, ids=lambda word: word)
def test_name_is_there(owner, name):
    if owner == "team":
        assert hasattr(tandem.Team, name) or name in ("rank", "size", "stream")
    elif not (owner == "tandem" and name == "torch"):  # PyTorch may be missing
        assert hasattr(OWNERS[owner], name) or importlib.util.find_spec(f"tandem.{name}")


def test_modules_of_the_left_column_are_there():
    tandem.compat.install()
    modules = sorted({m for there, _ in ROWS for m in re.findall(r"`(triton_dist(?:\.\w+)*)`", there) if not m.endswith(".jit")})
    assert len(modules) == 3
    for module in modules:
        importlib.import_module(module)


def test_calls_of_a_thread_are_there():
    (row,) = [there for there, here in ROWS if here == "`tandem.simt`"]
    assert [name for name in re.search(r"\((.*)\)", row)[1].replace("`", "").split(", ") if not hasattr(tandem.simt, name)] == []
