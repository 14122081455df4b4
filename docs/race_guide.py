"""The examples of guide/reading_a_race_report.md and guide/found_in_the_wild.md: scripts, reports and mends, and how they are run."""

import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent / "guide" / "reading_a_race_report.md"
FOUND = PAGE.with_name("found_in_the_wild.md")
_SECTION = re.compile(
    r"^## (?P<title>.*?)\n\n```python\n(?P<script>.*?)```\n\n```text\n(?P<report>.*?)```\n\n"
    r".*?^```diff\n(?P<mend>.*?)```\n",
    re.M | re.S,
)


def sections(page=PAGE):
    """(title, script, report, mend) of each example."""
    return [tuple(found.groups()) for found in _SECTION.finditer(page.read_text())]


def mended(script, mend):
    """The script with the lines of a diff, which has no positions, replaced."""
    lines = mend.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    assert script.count(before) == 1, before
    return script.replace(before, after)


def report_of(script, folder, ranks=2):
    """Returns the output of `tandem check` for it, without its summary."""
    path = pathlib.Path(folder) / "script.py"
    path.write_text(script)
    done = subprocess.run(
        [sys.executable, "-m", "tandem", "check", "--ranks", str(ranks), "--explore", "8", path.name],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode in (0, 1), done.stderr
    text = done.stdout.replace(f"{pathlib.Path(folder).resolve()}/", "")
    return re.split(r"^\n?\d+ findings?, ", text, maxsplit=1, flags=re.M)[0].rstrip("\n") + "\n" if "0 findings" not in text else ""
