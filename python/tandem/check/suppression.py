"""Comments that suppress a kind of report: `# tandem: allow(race) reason` on a line of the statement that the report names."""

import ast
import dataclasses
import functools
import io
import linecache
import re
import tokenize

from ..host.report_kinds import KINDS

_ALLOW = re.compile(r"#\s*tandem:\s*allow\(\s*(?P<kinds>[\w-]+(?:\s*,\s*[\w-]+)*)\s*\)(?P<reason>.*)$")


@dataclasses.dataclass(frozen=True)
class Suppression:
    line: int
    kinds: tuple
    reason: str  # empty: it suppresses nothing

    @property
    def unknown(self):
        """The words that are no kind of report."""
        return [k for k in self.kinds if k not in KINDS]


def suppressions(file, line):
    """Returns the comments on the lines of the statement at `line`."""
    text = "".join(linecache.getlines(file))
    first, last = _extents(text).get(line, (line, line))
    return [a for a in _comments(text) if first <= a.line <= last]


@functools.lru_cache(maxsize=32)
def _comments(text):
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            match = token.type == tokenize.COMMENT and _ALLOW.search(token.string)
            if match:
                found.append(Suppression(token.start[0], tuple(re.split(r"\s*,\s*", match["kinds"])), match["reason"].strip(" \t\r\n:-")))
    except (tokenize.TokenError, SyntaxError):
        pass  # what was read until there counts
    return found


@functools.lru_cache(maxsize=32)
def _extents(text):
    """(first, last) line of the innermost statement at each line; of a statement with a body, its head."""
    extents = {}
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return extents
    for node in ast.walk(tree):  # outer ones first
        if not isinstance(node, ast.stmt):
            continue
        last = _head_end(node) if getattr(node, "body", None) else node.end_lineno
        for line in range(node.lineno, last + 1):
            extents[line] = (node.lineno, last)
    return extents


def _head_end(node):
    head = [getattr(node, name, None) or [] for name in ("test", "iter", "items", "args", "returns", "subject")]
    parts = [part for found in head for part in (found if isinstance(found, list) else [found])]
    return max([node.lineno, *(getattr(inner, "end_lineno", 0) for part in parts for inner in ast.walk(part))])
