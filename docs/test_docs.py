"""Every Python block of the README and the guides runs, the README shows the simulator's error, the request compiles."""

import json
import pathlib
import pydoc
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test"))
import links

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
    if page.parent.name == "tutorials":  # which say what their programs print
        assert done.stdout == blocks(page, "text")[index]


def test_readme_shows_the_deadlock_it_gets(tmp_path):
    page = ROOT / "README.md"
    done = run(blocks(page, "python")[0].replace("waitValue=1)", "waitValue=2)"), tmp_path)
    assert done.returncode != 0
    flat = lambda text: " ".join(text.replace(str(tmp_path) + "/", "").split())
    assert flat(blocks(page, "text")[0]) in flat(done.stderr)


@pytest.mark.parametrize("name", ["remarks", "why_slow"])
def test_the_remarks_are_those_of_the_page(name, tmp_path):
    page = ROOT / f"docs/guide/{name}.md"
    done = run(blocks(page, "python")[0], tmp_path, "product.py")
    assert done.stdout.replace(str(tmp_path) + "/", "") == blocks(page, "text")[0], done.stderr


def test_environment_page_has_the_variables_that_the_code_reads():
    folders = ["abi", "api", "base", "compiler", "emulator", "model", "ops", "python/tandem", "runtime"]
    files = [f for folder in folders for f in (ROOT / folder).rglob("*") if f.suffix in (".cpp", ".h", ".py") and "test" not in f.parts]
    read = {name for f in files for name in re.findall(r'"(TANDEM_[A-Z_]*[A-Z])"', f.read_text())}
    page = (ROOT / "docs/guide/environment.md").read_text()
    assert read == set(re.findall(r"^\| `(TANDEM_\w+)`", page, re.M))


def test_language_page_is_the_compilers_table():
    sys.path.insert(0, str(ROOT / "docs"))
    import language

    assert language.PAGE.read_text() == language.page(), "`python docs/language.py` writes it anew"


def test_every_builtin_has_a_signature():
    import inspect

    import tandem.language as tl
    from tandem.kernel.names import Builtin, table

    assert str(inspect.signature(tl.arange)) == "(start, end)"
    assert str(inspect.signature(tl.add)) == "(x, y, sanitize_overflow=True)"
    for row in table()["names"]:
        if "signature" in row:
            inspect.signature(Builtin(row))


def test_help_describes_a_builtin():
    import tandem.dist as dl

    text = pydoc.render_doc(dl.wait, renderer=pydoc.plaintext)
    assert "wait(barrierPtrs, numBarriers, scope, semantic, waitValue=1, compare='eq', stays=False)" in text
    assert "Executed by all threads of the program together. Memory model: M6." in text
    assert "OpenSHMEM: `shmem_int64_wait_until_all`. Triton-distributed: `triton_dist.language.wait`." in text


def test_request_compiles():
    import tandem._tandem as library

    for text in blocks(ROOT / "docs/guide/compile_request.md", "json"):
        json.loads(text)
        assert "tile.load" in library.emit(text, "tile")


@pytest.mark.parametrize(
    "link, problem",
    [
        ("other.md", None),
        ("other.md#a-heading-of-code-it-has", None),
        ("#here", None),
        ("https://example.org/none", None),
        ("none.md", "no such file"),
        ("other.md#none", "no such heading"),
        ("#there", "no such heading"),
    ],
)
def test_links_lead_somewhere(tmp_path, link, problem):
    page = tmp_path / "page.md"
    page.write_text(f"# Here\n\n[a link]({link}), `[no](link.md)`\n\n```\n# There\n[none](none.md)\n```\n")
    (tmp_path / "other.md").write_text("## A heading of `code` it has\n")
    assert [p.rsplit("is ")[1] for p in links.problems_of(page, tmp_path)] == ([problem] if problem else [])
