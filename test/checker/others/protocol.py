"""A protocol is a `main(team, fault)` with the kinds of report that each of its planted faults may have, by number; 0 is the right program.

Its kernels, where the fault is `F`, begin at the line `# == ` with its name. Lines that a report of fault 3 may name have a comment with
`!3`. A fault whose access runs in some schedules only, as under a lock, is among `sometimes`.
"""

import ast
import dataclasses
import pathlib
import re
from typing import Callable


@dataclasses.dataclass
class Protocol:
    name: str
    file: str
    faults: dict
    ranks: tuple
    sometimes: tuple
    main: Callable

    def lines_of(self, fault):
        """The lines of the marked statements; of compound ones their heads."""
        text = pathlib.Path(self.file).read_text()
        lines, found, owner = text.splitlines(), set(), None
        for number, line in enumerate(lines, 1):
            if begin := re.match(r"# == (\w+)", line):
                owner = begin[1]
            if owner == self.name and re.search(rf"#.*!{fault}\b", line):
                found.add(number)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.stmt):
                end = node.body[0].lineno - 1 if hasattr(node, "body") else node.end_lineno
                head = set(range(node.lineno, end + 1))
                found |= head if head & found else set()
        return found


ALL = []


def protocol(faults, ranks=(2, 4), sometimes=()):
    def add(main):
        ALL.append(Protocol(main.__name__, main.__code__.co_filename, faults, ranks, sometimes, main))
        return main

    return add
