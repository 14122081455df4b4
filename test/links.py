"""Every link of a Markdown page to a place in this repository leads there: the file exists, and the heading where one is named. Offline."""

import pathlib
import re
import sys

from rooms import files

ROOT = pathlib.Path(__file__).resolve().parent.parent


def prose(text):
    return re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.M | re.S)


def anchors(page):
    """Returns the names that GitHub gives a page's headings, and those that the page gives itself."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    seen, names = {}, set(re.findall(r'<a (?:id|name)="([^"]+)"', text))
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", text, re.M):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        count = seen[name] = seen.get(name, -1) + 1
        names.add(f"{name}-{count}" if count else name)
    return names


def problems_of(page, root=ROOT):
    for target in re.findall(r"\]\(<?([^)\s>]+)", prose(page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue  # elsewhere: this test is offline
        file, _, anchor = target.partition("#")
        there = page.parent / file if file else page
        if not there.exists():
            yield f"{page.relative_to(root)}: `{target}`: there is no such file"
        elif anchor and there.suffix == ".md" and anchor not in anchors(there):
            yield f"{page.relative_to(root)}: `{target}`: there is no such heading"


def main():
    found = [ROOT / name for name in files() if name.endswith(".md") and not name.startswith(".")]
    problems = [problem for page in found for problem in problems_of(page)]
    print("\n".join(problems))
    print(f"{len(found)} pages, {len(problems)} problems")
    return 1 if problems or len(found) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
