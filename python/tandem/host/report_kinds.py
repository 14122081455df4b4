"""The kinds of reports: the table of the simulator's own code (base/report_kinds.h)."""

import dataclasses
import json

from .. import _tandem


@dataclasses.dataclass(frozen=True)
class Kind:
    kind: str  # its word: "race"
    group: int  # the most serious is the least
    severity: str  # "error" or "warning"
    rules: str  # of the memory model, which its messages may name: "M4 M6"
    what: str


KINDS = {row["kind"]: Kind(**row) for row in json.loads(_tandem.report_kinds())}
