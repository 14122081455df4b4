"""The site of the documentation: it builds without a link that leads nowhere, fetches nothing, and its notebooks hold the tutorials."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("mkdocs")

import tandem
import tandem.ops

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))
import site_hooks


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(pathlib.Path(tandem.__file__).parent.parent)}
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return folder


def test_pages_fetch_nothing(site):
    for page in site.rglob("*.html"):
        fetched = re.findall(r'(?:src|<link[^>]* href)="?(https?:[^">]*)', page.read_text())
        assert not fetched, f"{page.name} fetches {fetched}"


def test_the_reference_has_the_names_of_the_stubs(site):
    page = (site / "reference" / "kernel_functions.html").read_text()
    for name in ("tandem.language.load", "tandem.dist.wait", "tandem.shmem.putmem_signal_block", "tandem.simt.tid"):
        assert f'id="{name}"' in page
    assert 'id="tandem.launch"' in (site / "reference" / "host.html").read_text()


def test_the_reference_has_every_operator_with_its_options_as_a_list(site):
    page = (site / "reference" / "operators.html").read_text()
    for made in tandem.ops.CLASSES.values():
        assert f'id="tandem.operator_classes.{made.__name__}"' in page
    assert "<li><code>block_m</code>: rows of a tile</li>" in page and 'id="tandem.tilelink.tile_push_data"' in page
    assert 'id="tandem.ops.operator.Tuned"' in page
    assert "<code>out: [64 + 18*experts + 4*m*top_k]</code>" in page, "a star is no emphasis"


def test_the_reference_has_every_function_of_pytorch(site):
    page = (site / "reference" / "pytorch.html").read_text()
    for name in ("ag_gemm", "moe_mlp", "ColumnParallelLinear"):
        assert f'id="tandem.torch_functions.{name}"' in page


def test_every_tutorial_has_a_picture(site):
    for page in (ROOT / "docs" / "tutorials").glob("*.md"):
        assert re.search(r"^!\[[^\]]+\]\(\.\./images/tutorial_" + page.name[:2], page.read_text(), re.M), page.name


def test_the_reference_has_every_public_header(site):
    page = (site / "reference" / "cpp.html").read_text()
    for header in (ROOT / "include" / "tandem").glob("*.h"):
        assert f"<code>tandem/{header.name}</code>" in page
    assert "class" in page and "symmetric" in page, "their texts"


def test_notebooks_run_the_programs_of_their_pages(site):
    names = sorted(path.stem for path in (site / "notebooks").iterdir())
    assert len(names) == 10
    for name in names:
        text = (site / "notebooks" / f"{name}.ipynb").read_text()
        cells = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        page = (ROOT / "docs" / "tutorials" / f"{name}.md").read_text()
        blocks = re.findall(r"^```(?:python|sh)\n(.*?)^```", page, re.M | re.S)
        assert blocks and [cell.removeprefix("%%bash\n") + "\n" for cell in cells] == blocks
        assert "--8<--" not in text


@pytest.mark.parametrize(
    "text,found",
    [
        ("[x](../guide/gpu.md#ranks)", "[x](../guide/gpu.md#ranks)"),
        ("[`f`](../../examples/all_gather.py)", "`f`"),
        ("[op](../../ops/route/README.md)", "[op](../ops/route.md)"),
        ("[home](../../README.md)", "[home](../index.md)"),
        ("[out](https://a.b/c)", "[out](https://a.b/c)"),
        ("```text\n[x](../../examples/all_gather.py)\n```", "```text\n[x](../../examples/all_gather.py)\n```"),
    ],
)
def test_links_that_leave_the_pages(text, found):
    assert site_hooks._relinked(text, "docs/tutorials/01_first_kernel.md", "tutorials/01_first_kernel.md") == found


def test_a_link_that_leads_nowhere_is_an_error(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# A\n\n[b](#nowhere)\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: A\nstrict: true\nvalidation: {links: {anchors: warn}}\n")
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0 and "nowhere" in done.stderr
