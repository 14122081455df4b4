"""Every Python block of the README and the guides runs, the README's error is what the simulator says, the request compiles."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "ops").rglob("README.md"))]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


def run(code, folder, name="shift.py"):
    (folder / name).write_text(code)
    return subprocess.run([sys.executable, name], cwd=folder, capture_output=True, text=True, timeout=120)


CASES = [(page, i) for page in PAGES for i in range(len(blocks(page, "python")))]


@pytest.mark.parametrize("page,index", CASES, ids=[f"{p.relative_to(ROOT)}:{i}" for p, i in CASES])
def test_python_block_runs(page, index, tmp_path):
    done = run(blocks(page, "python")[index], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr


def test_readme_shows_the_deadlock_it_gets(tmp_path):
    page = ROOT / "README.md"
    done = run(blocks(page, "python")[0].replace("waitValue=1)", "waitValue=2)"), tmp_path)
    assert done.returncode != 0
    flat = lambda text: " ".join(text.replace(str(tmp_path) + "/", "").split())
    assert flat(blocks(page, "text")[0]) in flat(done.stderr)


def test_request_compiles():
    import tandem._tandem as library
    for text in blocks(ROOT / "docs/guide/compile_request.md", "json"):
        json.loads(text)
        assert "tile.load" in library.emit(text, "tile")


def test_links_lead_somewhere():
    for page in PAGES:
        prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)#:]+)\)", prose):
            assert (page.parent / target).exists(), f"{page}: {target}"
