"""Sources that TANDEM_UNITY compiles as one file have no local names in common: a first build would fail, and begin anew file by file.

`python3 test/unity.py build/unity.txt` prints each clash and exits with 1 if there is any. It sees constants, types and functions of the
same parameters at the left margin, where this project's C++ has all that a file keeps to itself. Nor do two headers of a folder, or of
those below it, define a type of the same name: a program with both would be wrong in any build, without an error.
"""

import pathlib
import re
import sys

BATCH = 8  # cmake/TandemRoom.cmake

TYPE = re.compile(r"^(?:struct|class|enum|enum class)\s+(?:TANDEM_API\s+)?(?!class\b)(\w+)\b(?!::)[^;]*{", re.M)
SPACE = re.compile(r"^namespace ([\w:]+) {", re.M)
NAMES = (
    re.compile(r"^(?:static |inline )*const(?:expr)?\s[^=({\[]*?\b(\w+)(?:\[\w*\])?\s*[={]", re.M),
    re.compile(r"(?<=, )(k[A-Z]\w*) = (?=[^()\n]*;$)", re.M),
    TYPE,
    re.compile(r"^(?!template)[a-zA-Z][\w:<>&*,\s]*?(?<![:\w])(\w+\([^()]*\))\s*{", re.M),
)


def names_in(text):
    """Local names of a source; functions with the types of their parameters, which may overload one another."""
    for pattern in NAMES:
        for name in pattern.findall(text):
            head, bracket, parameters = name.partition("(")
            types = [re.sub(r"\s*\b\w+$", "", p.strip()) for p in parameters.rstrip(")").split(",")] if bracket else []
            yield head + bracket + ", ".join(types)


def clashes(sources):
    for start in range(0, len(sources), BATCH):
        seen = {}
        for source in sources[start : start + BATCH]:
            for name in sorted(set(names_in(source.read_text()))):
                if name in seen:
                    yield f"{source} and {seen[name].name} both have `{name}`; one of them belongs behind ALONE"
                seen[name] = source


def types_in(header):
    """Types that a header defines, with their namespaces."""
    text = header.read_text()
    spaces = [(found.start(), found[1]) for found in SPACE.finditer(text)]
    for found in TYPE.finditer(text):
        yield "::".join([space for start, space in spaces if start < found.start()][-1:] + [found[1]])


def defined_twice(folder):
    seen = {}
    for header in sorted(folder.rglob("*.h")):
        for name in sorted(set(types_in(header))):
            if name in seen:
                yield f"{header} and {seen[name]} both define `{name}`"
            seen[name] = header


def main():
    if len(sys.argv) != 2:
        raise SystemExit("usage: python3 test/unity.py build/unity.txt, which CMake writes: what is compiled together, a line a folder")
    problems, count = [], 0
    for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
        folder, sources, alone = line.split("|")
        paths = [pathlib.Path(folder, s) for s in sources.split(";") if s.endswith(".cpp")]
        apart = {pathlib.Path(folder, s) for s in alone.split(";")}
        count += len(paths)
        problems += clashes([path for path in paths if path not in apart])
        problems += defined_twice(pathlib.Path(folder))
    print("\n".join(problems))
    print(f"{count} files, {len(problems)} clashes")
    return 1 if problems or count < 300 else 0


if __name__ == "__main__":
    sys.exit(main())
