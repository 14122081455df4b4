"""What `mkdocs build` does beside its plugins: pages from outside of docs/ become pages of the site, links to source files become text, and
each tutorial is a notebook, too."""

import json
import logging
import os
import pathlib
import posixpath
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = {"README.md": "index.md", "ARCHITECTURE.md": "architecture.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}
PAGES |= {path.relative_to(ROOT).as_posix(): f"ops/{path.parent.name}.md" for path in sorted(ROOT.glob("ops/*/README.md"))}
# The lists of names that tandem.torch puts together are no text, which the reader of the package's source remarks on.
logging.getLogger("mkdocs.plugins.griffe").addFilter(lambda record: "tandem.torch.__all__" not in record.getMessage())
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(<?([^)\s>]+)>?\)")
_CODE = re.compile(r"^```.*?^```", re.M | re.S)
_CELL = re.compile(r"^```(python|sh)\n(.*?)^```\n", re.M | re.S)
_MAGIC = {"python": "", "sh": "%%bash\n"}
_SNIPPET = re.compile(r'^--8<-- "(.*)"$', re.M)


def _page_of(path):
    """Where a file of the repository is in the site; None when it is not."""
    if path in PAGES:
        return PAGES[path]
    if f"{path}/README.md" in PAGES:
        return PAGES[f"{path}/README.md"]
    return path.removeprefix("docs/") if path.startswith("docs/") and (ROOT / path).is_file() and not path.endswith(".py") else None


def _relinked(text, source, page):
    """The text of the repository's file `source` as page `page` of the site."""

    def link(found):
        is_image, shown, target = found.groups()
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        file, hash_sign, anchor = target.partition("#")
        there = _page_of(posixpath.normpath(posixpath.join(posixpath.dirname(source), file)))
        if there is None:
            return shown
        return f"{is_image}[{shown}]({posixpath.relpath(there, posixpath.dirname(page) or '.')}{hash_sign}{anchor})"

    out, end = [], 0
    for code in _CODE.finditer(text):
        out += [_LINK.sub(link, text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*out, _LINK.sub(link, text[end:])])


def on_config(config):
    folder = lambda name: sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs" / name).glob("*.md"))
    config.nav += [
        {"Operators": [page for source, page in PAGES.items() if source.startswith("ops/")]},
        {"Measured": folder("performance")},
        {"Inside": ["architecture.md", "contributing.md", "changes.md", {"Decisions": folder("decisions")}]},
    ]
    return config


def on_files(files, config):
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=_relinked((ROOT / source).read_text(), source, page)))
    return files


def on_page_markdown(markdown, page, config, files):
    path = page.file.src_uri
    if page.file.generated_by:
        return markdown
    text = _relinked(markdown, f"docs/{path}", path)
    if path.startswith("tutorials/"):
        text += f'\n<a href="../notebooks/{_notebook_name(path)}" download>This page as a notebook</a>\n'
    return text


def _notebook_name(path):
    return posixpath.basename(path).removesuffix(".md") + ".ipynb"


def _cell(kind, text):
    code = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, **code, "metadata": {}, "source": text.strip().splitlines(keepends=True)}


def notebook(text):
    """A tutorial as a notebook: its programs and commands are cells to run, all else is text."""
    text = _SNIPPET.sub(lambda found: (ROOT / found[1]).read_text().rstrip(), text)
    before, *parts = _CELL.split(text)
    cells = [_cell("markdown", before)]
    for language, code, behind in zip(parts[::3], parts[1::3], parts[2::3]):
        cells += [_cell("code", _MAGIC[language] + code), _cell("markdown", behind)]
    cells = [cell for cell in cells if cell["source"]]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 4}


def on_post_build(config):
    folder = pathlib.Path(config.site_dir) / "notebooks"
    os.makedirs(folder, exist_ok=True)
    for page in sorted((ROOT / "docs" / "tutorials").glob("*.md")):
        (folder / _notebook_name(page.name)).write_text(json.dumps(notebook(page.read_text()), indent=1))
