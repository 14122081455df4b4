"""A pair of runs that differ in one edge: the wrong one must be reported at the marked lines, the right one must be silent.

A module `cases_*.py` holds kernels and functions `main(team, fixed)` under `@pair(kind, rule)`. Each line, of a kernel or of the host, that
must be named, as the place of the report or of the other access, ends in `# <-- ` and the function's name. `rule` is None where kind and
places say all; `slots` is how many programs of a rank are resident at once.
"""

import dataclasses
from typing import Callable


@dataclasses.dataclass
class Pair:
    name: str
    file: str
    kind: str
    rule: str | None
    ranks: tuple
    slots: int | None
    main: Callable


PAIRS = []


def pair(kind, rule, ranks=(2, 4), slots=None):
    def add(main):
        PAIRS.append(Pair(main.__name__, main.__code__.co_filename, kind, rule, ranks, slots, main))
        return main

    return add
