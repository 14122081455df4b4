"""Findings are the reports of many runs, merged: each with its places, its runs, and the comment that allows it.
This file knows no output format but text."""

import dataclasses
import os
import re
import traceback

from ..errors import STUCK, CompileError, SimulationError, is_about_hosts
from ..host.frames import users_traceback
from ..host.report_kinds import KINDS
from .suppression import suppressions

_NOTE, _ERROR = (
    re.compile(rf"^(?P<file>\S.*?):(?P<line>\d+)(?::(?P<column>\d+))?: {word}: (?P<message>.*)$", re.M) for word in ("note", "error")
)
_RANK = re.compile(r"\brank (\d+)")
_PROGRAM = re.compile(r"\bprogram \((\d+),(\d+),(\d+)\)")
_RULE = re.compile(r"\((M\d+(?:, M\d+)*)\)")
_SEED_NOTE = re.compile(r"^note: seed \d+ gives this run again\n?", re.M)
_WRITTEN = "last written by "
_WRITER = re.compile(rf"{_WRITTEN}[^;]*? at (?P<file>[^;\n]+?):(?P<line>\d+)(?=, value|;| \(|$)", re.M)
EXCEPTION = "exception"  # the kind of what the script itself raised
_HOST_CALL = re.compile(r"^note: (?P<message>called|freed|first freed) at (?P<file>.+):(?P<line>\d+)$", re.M)


@dataclasses.dataclass(frozen=True)
class Place:
    file: str
    line: int
    column: int | None
    rank: int | None
    program: tuple | None
    message: str

    @property
    def varies(self):
        """True for a note that differs by run: the last writer of a word that a stuck run waits for, and the wait
        that ended too early."""
        return self.message.startswith((_WRITTEN, "ended early: ", "enough for that wait: "))


@dataclasses.dataclass
class Finding:
    """One defect. `runs`: the (ranks, seed) that showed it; message, places and text are the first one's."""

    kind: str
    severity: str
    message: str
    rule: str | None
    places: list
    text: str
    replay: str
    runs: list = dataclasses.field(default_factory=list)

    def suppression(self):
        """Returns (file, Suppression) of the comment that suppresses this kind where the report points, or None. An empty
        reason suppresses nothing."""
        found = [(p.file, a) for p in self.places for a in suppressions(p.file, p.line) if self.kind in a.kinds]
        return max(found, key=lambda f: bool(f[1].reason), default=None)

    def misspelt(self):
        """(file, line, word) of each comment there that names no kind of report."""
        return sorted({(p.file, a.line, word) for p in self.places for a in suppressions(p.file, p.line) for word in a.unknown})

    @property
    def allowed(self):
        """The reason why the source allows this, or an empty string."""
        suppression = self.suppression()
        return suppression[1].reason if suppression else ""

    def as_dict(self):
        return {
            "kind": self.kind,
            "severity": self.severity,
            "message": self.message,
            "rule": self.rule,
            "places": [dataclasses.asdict(p) for p in self.places],
            "ranks": sorted({r for r, _ in self.runs}),
            "seeds": sorted({s for _, s in self.runs}),
            "runs": len(self.runs),
            "suppressed": self.allowed or None,
            "replay": self.replay,
        }


def _writers(text):
    """Places that notes name inside: each once."""
    found = {(w["file"], int(w["line"])): w[0].rsplit(" at ", 1)[0] for w in _WRITER.finditer(text)}
    for (file, line), message in found.items():
        rank = _RANK.search(message)
        yield Place(file, line, None, rank and int(rank[1]), None, message)


def _placed(pattern, text):
    for note in pattern.finditer(text):
        rank, program = _RANK.search(note["message"]), _PROGRAM.search(note["message"])
        yield Place(
            note["file"],
            int(note["line"]),
            int(note["column"]) if note["column"] else None,
            int(rank[1]) if rank else None,
            tuple(map(int, program.groups())) if program else None,
            note["message"],
        )


def finding_of(report, replay="", host_notes=""):
    """A report of the simulator as a finding that no run has shown yet."""
    text = _SEED_NOTE.sub("", report["text"]).rstrip("\n") + "\n" + host_notes
    rank, program = report.get("rank"), report.get("program")
    places = []
    if report["file"]:
        places.append(
            Place(
                report["file"],
                report["line"],
                report["column"] or None,
                rank if rank is not None and rank >= 0 else None,
                tuple(program) if program and report.get("kernel") else None,
                report["message"],
            )
        )
    places.extend(_placed(_NOTE, text))
    places.extend(Place(n["file"], int(n["line"]), None, None, None, f"{n['message']} here") for n in _HOST_CALL.finditer(text))
    if report["kind"] in STUCK:
        places.extend(_writers(text))
    rule = _RULE.search(report["message"])
    return Finding(report["kind"], report["severity"], report["message"], rule and rule[1], places, text, replay)


def findings_of(reports, error=None, replay=""):
    """Returns the findings of one run; `error` is the exception that ended it: a SimulationError, which may also say
    where the hosts were, or an exception of
    the script."""
    notes, raised = "", [] if error is None else [error]
    if isinstance(error, SimulationError):
        notes = str(error).removeprefix("\n" + "\n".join(r["text"] for r in error.reports if r["severity"] == "error"))
        raised = [exception for _, exception in error.raised]
    for report in reports:
        yield finding_of(report, replay, notes if is_about_hosts(report) else "")
    for exception in raised:
        yield _finding_of_exception(exception, replay)


def _finding_of_exception(error, replay):
    """Returns the finding of an exception: at the script's own line, or at the kernel's if a kernel does not
    compile."""
    trace = traceback.TracebackException.from_exception(error.with_traceback(users_traceback(error)))
    if isinstance(error, CompileError):
        text = f"{error}\n"
        places = [*_placed(_ERROR, text)][:1]
        message = places[0].message if places else text.splitlines()[0]
    else:
        message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        places = [Place(frame.filename, frame.lineno, None, None, None, message) for frame in trace.stack[-1:]]
        text = "".join(trace.format())
        if isinstance(error, SystemExit):
            text = f"tandem: {os.path.relpath(places[0].file) if places else 'the script'} exits with {error.code}\n"
    return Finding(EXCEPTION, "error", message.splitlines()[0], None, places, text, replay)


def finding_of_difference(text, ranks, replay):
    """Returns the finding of a difference between two schedules, as `tandem.explore` tells it."""
    return Finding(
        "schedule-dependent",
        "error",
        f"what is stored depends on the schedule, on {ranks} rank{'s' * (ranks > 1)}",
        None,
        [*_placed(_ERROR, text), *_placed(_NOTE, text)],
        text,
        replay,
    )


class Findings:
    """Merges equal findings of many runs: the same kind at the same lines, whichever of the two a run met first."""

    def __init__(self):
        self._by_key = {}

    def add(self, finding, ranks, seed):
        where = frozenset((p.file, p.line) for p in finding.places if not p.varies) or finding.message
        name = finding.message.split(":")[0] if finding.kind == EXCEPTION else ""
        kept = self._by_key.setdefault((finding.kind, finding.severity, where, name), finding)
        if (ranks, seed) not in kept.runs:
            kept.runs.append((ranks, seed))

    def __iter__(self):
        """The most serious first, then as they were found."""
        return iter(sorted(self._by_key.values(), key=lambda finding: KINDS[finding.kind].group))
