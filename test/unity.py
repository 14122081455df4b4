"""Sources that TANDEM_UNITY compiles as one file have no local names in common: a first build would fail, and begin anew file by file.

Run `python3 test/unity.py`; it prints each clash and exits with 1 if there is any. It sees constants, types and functions of the same
parameters at the left margin, where this project's C++ has all that a file keeps to itself.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BATCH = 8  # cmake/TandemRoom.cmake

NAMES = (
    re.compile(r"^(?:static |inline )*const(?:expr)?\s[^=({\[]*?\b(\w+)(?:\[\w*\])?\s*[={]", re.M),
    re.compile(r"^(?:struct|class|enum|enum class)\s+(\w+)[^;]*{", re.M),
    re.compile(r"^(?!template)[a-zA-Z][\w:<>&*,\s]*?(?<![:\w])(\w+\([^()]*\))\s*{", re.M),
)


def rooms(text):
    """The sources of each room of a CMakeLists.txt, less those that are compiled alone."""
    for body in re.findall(r"^tandem_room\((.*?)\)", text, re.M | re.S):
        words, lists, key = body.split(), {}, None
        for word in words[1:]:
            if word in ("MLIR", "SOURCES", "LINK", "ALONE"):
                key = word
            else:
                lists.setdefault(key, []).append(word)
        yield words[0], [s for s in lists.get("SOURCES", []) if s not in lists.get("ALONE", [])]


def names_in(text):
    """Local names of a source; functions with the types of their parameters, which may overload one another."""
    for pattern in NAMES:
        for name in pattern.findall(text):
            head, bracket, parameters = name.partition("(")
            types = [re.sub(r"\s*\b\w+$", "", p.strip()) for p in parameters.rstrip(")").split(",")] if bracket else []
            yield head + bracket + ", ".join(types)


def clashes(room, sources, text_of):
    for start in range(0, len(sources), BATCH):
        seen = {}
        for source in sources[start : start + BATCH]:
            for name in sorted(set(names_in(text_of(source)))):
                if name in seen:
                    yield f"{room}: {source} and {seen[name]} both have `{name}`; one of them belongs behind ALONE"
                seen[name] = source


def main():
    problems, count = [], 0
    for cmake in sorted(ROOT.rglob("CMakeLists.txt")):
        if cmake.relative_to(ROOT).parts[0].startswith((".", "build")):
            continue
        for room, sources in rooms(cmake.read_text()):
            count += 1
            there = [s for s in sources if (cmake.parent / s).is_file()]
            problems += clashes(room, there, lambda s: (cmake.parent / s).read_text())
    print("\n".join(problems))
    print(f"{count} rooms, {len(problems)} clashes")
    return 1 if problems or count < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
