"""The rules of the memory model (M1, M2, ...), out of the page that ships with the package, and `tandem explain`, which prints them."""

import difflib
import os
import pathlib
import re
import sys

from ..host.report_kinds import KINDS

PAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "memory_model.md")
_NAME = re.compile(r"\bM\d+\b")
_RULE = re.compile(r"^\*\*(M\d+)\. (.+?)\*\*(.*?)(?=^\*\*M\d+\. |^#|\Z)", re.M | re.S)


def rules():
    """{"M4": (title, text)} in the page's order; the text begins with the rule's name."""
    with open(PAGE, encoding="utf-8") as file:
        return {r[1]: (r[2].rstrip("."), r[0].strip()) for r in _RULE.finditer(file.read())}


def names_in(texts):
    """The rules that reports name, each once."""
    return list(dict.fromkeys(name for text in texts for name in _NAME.findall(text or "") if name in rules()))


def hint(texts):
    """A line that says how to read the rules that reports name; an empty string when they name none."""
    names = names_in(texts)
    return f"rules: `tandem explain {' '.join(names)}`" if names else ""


def page_uri():
    return pathlib.Path(PAGE).as_uri()


def _meaning(kind):
    return f"{kind.kind} ({kind.severity}): {kind.what}" + (f" ({', '.join(kind.rules.split())})" if kind.rules else "")


def explain(names):
    """The command `tandem explain`: prints rules and what kinds of reports mean, or a list of all. Gives the exit code."""
    known = rules()
    unknown = [name for name in names if name.upper() not in known and name not in KINDS]
    if unknown:
        near = difflib.get_close_matches(unknown[0], KINDS, 1, 0.5)
        meant = f": did you mean `{near[0]}`?" if near else ""
        print(f"tandem: there is no rule `{unknown[0]}`; they are {', '.join(known)}; nor is it a kind of report{meant}", file=sys.stderr)
        return 2
    for name in names:
        print(f"{_meaning(KINDS[name]) if name in KINDS else known[name.upper()][1]}\n")
    if not names:
        print(*(f"{name:4} {title}" for name, (title, _) in known.items()), "", *map(_meaning, KINDS.values()), sep="\n")
    print(f"the whole page: {PAGE}")
    return 0
